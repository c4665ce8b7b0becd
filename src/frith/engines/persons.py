"""At most m records of each person, chosen by their content and not by their position.

Each person keeps the m records with the smallest keyed hash of (person, encoded record), so what
one person keeps depends on that person's records alone: removing a person removes at most m
records and changes nothing else. (The first m in file order would not do: order is not a property
of a person's records.) Codes break ties between equal hashes; equal records are interchangeable.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._jit import compiled
from frith.domain import Domain
from frith.domain.columns import Columns
from frith.domain.encoding import Batch, encode_records, person_digests


def encode_with_persons(columns: Columns, domain: Domain) -> tuple[Batch, NDArray[np.uint64]]:
    """Encoded records that have a person, and the digests of those persons."""
    assert domain.person is not None
    digests, named = person_digests(columns(domain.person.column), _key(domain))
    batch, labelled = encode_records(columns, domain)
    kept = named[labelled]
    return Batch(batch.codes[kept], batch.labels[kept]), digests[labelled & named]


def bound_records(batch: Batch, digests: NDArray[np.uint64], domain: Domain) -> Batch:
    """The batch with at most m records of each person; all records of a person must be in it."""
    kept = kept_records(batch, digests, domain)
    return Batch(batch.codes[kept], batch.labels[kept])


def kept_records(batch: Batch, digests: NDArray[np.uint64], domain: Domain) -> NDArray[np.int64]:
    """Which records are kept of each person: the m smallest.

    The smallest of a union are the smallest of what its parts kept, so a person's records may
    first be bounded part by part.
    """
    assert domain.person is not None
    hashes = record_hashes(batch, digests, domain)
    order = np.lexsort((*batch.codes.T, batch.labels, hashes, *digests.T))
    return order[_rank_in_runs(digests[order]) < domain.person.records]


def record_hashes(batch: Batch, digests: NDArray[np.uint64], domain: Domain) -> NDArray[np.uint64]:
    """A keyed hash of each record's codes, label and digest."""
    hashes = np.empty(len(batch), dtype=np.uint64)
    seed = np.frombuffer(_key(domain)[:8], dtype="<u8")[0]
    _hash_records(seed, digests, batch.codes, batch.labels, hashes)
    return hashes


def kept_raw_records(parts: Iterable[Columns], domain: Domain) -> NDArray[np.bool_]:
    """Which records are kept of each person, by digests of their raw cells in all attributes."""
    assert domain.person is not None
    key, cells, persons, named = _key(domain), [], [], [np.empty(0, np.bool_)]
    for columns in parts:
        digests, known = person_digests(columns(domain.person.column), key)
        words = [person_digests(columns(name), key)[0][:, 0] for name in domain.names]
        cells.append(np.column_stack(words)[known])
        persons.append(digests[known])
        named.append(known)
    kept = np.concatenate(named)
    if kept.any():
        batch = Batch(np.concatenate(cells), np.zeros(int(kept.sum()), np.uint8))
        places = np.flatnonzero(kept)[kept_records(batch, np.concatenate(persons), domain)]
        kept = np.isin(np.arange(len(kept)), places)
    return kept


def _key(domain: Domain) -> bytes:
    """Depends on the domain alone, so that every engine keeps the same records."""
    return bytes.fromhex(domain.fingerprint)


def _rank_in_runs(sorted_digests: NDArray[np.uint64]) -> NDArray[np.int64]:
    """0, 1, 2, ... within each run of equal rows."""
    places = np.arange(len(sorted_digests))
    if len(places) == 0:
        return places
    starts = np.append(True, np.any(sorted_digests[1:] != sorted_digests[:-1], axis=1))
    return np.asarray(places - np.maximum.accumulate(np.where(starts, places, 0)))


@compiled
def _mix(state: Any, word: Any):  # type: ignore[no-untyped-def]
    """The splitmix64 finalizer over state and word."""
    z = (state ^ word) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def _hash_records(seed, digests, codes, labels, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        state = seed
        for j in range(digests.shape[1]):
            state = _mix(state, digests[i, j])
        state = _mix(state, np.uint64(labels[i]))
        for j in range(codes.shape[1]):
            state = _mix(state, np.uint64(codes[i, j]))
        out[i] = state
