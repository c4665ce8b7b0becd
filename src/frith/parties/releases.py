"""What one party releases: noisy counts, or sums of a number, in the leaves of a shared structure."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._documents import read_file, reading, write_file
from frith.curator import RECORDS_ARE_PUBLIC, Curator, Progress, Release
from frith.engines import Engine, open_table
from frith.errors import FormatError
from frith.learners.session import ledger_for
from frith.ledger import Receipt
from frith.parties.shared_structure import Structure, hash_of
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee

FORMAT = "frith-release/1"


@dataclass(frozen=True, eq=False)
class PartyRelease:
    """One party's noisy numbers for the leaves, its guarantee, and an id so that none is added twice."""

    party: str
    structure: str
    domain: str
    values: NDArray[np.int64]
    variance: float
    guarantee: Guarantee
    receipt: Receipt | None = None
    id: str = ""

    def __post_init__(self) -> None:
        own = self.guarantee.of_party(self.party)
        object.__setattr__(self, "guarantee", own)
        object.__setattr__(self, "id", self.id or secrets.token_hex(16))

    @property
    def leaves(self) -> Release:
        return Release(self.values, self.variance)

    @property
    def hash(self) -> str:
        return hash_of(self._content())

    def _content(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "party": self.party,
            "structure": self.structure,
            "domain": self.domain,
            "values": self.values.tolist(),
            "variance": self.variance,
            "guarantee": self.guarantee.to_json(),
            "receipt": None if self.receipt is None else self.receipt.to_json(),
        }

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "hash": self.hash, **self._content()}

    @classmethod
    def from_json(cls, data: Any) -> PartyRelease:
        with reading(data, "release", FORMAT):
            receipt = data["receipt"]
            found = cls(
                str(data["party"]),
                str(data["structure"]),
                str(data["domain"]),
                _counts(data["values"]),
                float(data["variance"]),
                replace(Guarantee.from_json(data["guarantee"]), parties=()),
                None if receipt is None else Receipt.from_json(receipt),
                str(data["id"]),
            )
        if found.hash != data.get("hash"):
            raise FormatError(f"the release of {found.party} was changed: its hash does not match")
        return found

    def save(self, path: str | Path) -> None:
        write_file(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> PartyRelease:
        return cls.from_json(read_file(path))


def release(
    structure: Structure,
    table: Any,
    *,
    party: str,
    epsilon: Any,
    delta: Any = 0,
    ledger: str | Path | None = None,
    progress: Progress | None = None,
) -> PartyRelease:
    """Count one party's records in the leaves of a structure (Algorithm 5 of Private-RDT).

    If the label is a number, it is summed there too.

    Privacy
    -------
    (epsilon, delta)-DP for the party's own records: the structure holds nothing about them, a
    record is in one leaf of each tree, and a curator with that budget answers what is asked about
    the leaves. The ledger, if there is one, is charged before the first record is read.
    """
    _check_name(party)
    engine = table if isinstance(table, Engine) else open_table(table, structure.domain)
    if engine.domain != structure.domain:
        raise ValueError("the table was opened with another domain than the structure's")
    curator = Curator(
        engine,
        Budget.of(epsilon, delta),
        ledger=ledger_for(ledger),
        purpose=f"release of {party}",
        progress=progress,
    )
    leaves = structure.learner_class.ask(curator, structure.trees)
    guarantee = curator.guarantee
    if structure.domain.records is not None:  # the trees may have been grown for that many
        guarantee = guarantee.assuming(RECORDS_ARE_PUBLIC)
    return release_of(structure, party, leaves, guarantee, curator.receipt)


def release_of(
    structure: Structure,
    party: str,
    leaves: Release,
    guarantee: Guarantee,
    receipt: Receipt | None = None,
) -> PartyRelease:
    """A release of counts that were made for a structure."""
    _check_name(party)
    return PartyRelease(
        party,
        structure.hash,
        structure.domain.fingerprint,
        leaves.values,
        leaves.variance,
        guarantee,
        receipt,
    )


def _check_name(party: str) -> None:
    if not party.strip():
        raise ValueError("a party needs a name; pass one that the other parties know")


def _counts(lists: Any) -> NDArray[np.int64]:
    values = np.array(lists)
    if values.ndim != 2 or values.dtype.kind != "i":
        raise FormatError("the release's values are not a table of whole numbers")
    return values.astype(np.int64)
