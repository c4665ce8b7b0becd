"""Adding up releases of one structure, and joining forests over different attributes.

Privacy of a merge
------------------
Nothing here reads a record: merging is post-processing, and what needs care is the guarantee that
is written on the result.

*Horizontal.* Each party's release is private for its own records. A person may be among the records
of several parties, and then each release tells something about them: epsilons add. Where the
parties declare that no person is at two of them, removing a person changes one party's table and
no other's, so the largest epsilon holds for all releases together.

*Vertical.* Parties hold different attributes of the same people. That attributes are not shared is
no help: every release depends on the same person. Two records show it. Let Alice's table hold one
person with a = 1 and Bob's the same person with b = 1. Each publishes a count of records with noise
of scale 1/epsilon. Without that person both counts fall by one, and the pair (x, y) becomes
e^epsilon * e^epsilon times less likely where both are large: 2 epsilon in all, not epsilon. So
epsilons add, always.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from frith.curator import Release
from frith.domain import Attribute, Domain
from frith.errors import FrithError
from frith.forest import Forest
from frith.forest.kinds import ValueKind
from frith.forest.nodes import Nodes
from frith.forest.trees import Trees
from frith.growing.builder import join_trees, keep_nodes
from frith.learners.public_trees import Together
from frith.parties.releases import PartyRelease
from frith.parties.shared_structure import Structure
from frith.privacy.guarantee import Guarantee


class MergeError(FrithError, ValueError):
    """Releases that do not belong together; the message names the party and the reason."""


def merge(
    structure: Structure, releases: Sequence[PartyRelease], *, disjoint: bool = False
) -> Forest:
    """The forest of all parties' records, horizontally: any subset of releases, in any order.

    Parameters
    ----------
    structure : Structure
        What all releases must be counts of.
    releases : sequence of PartyRelease
        The parties' releases, in any order; none twice.
    disjoint : bool, default=False
        True declares that no protected person has records at two of the parties.
    """
    if not releases:
        raise MergeError("there is no release to merge")
    _check(structure, releases)
    releases = sorted(releases, key=lambda r: (r.party, r.id))  # any order gives the same file
    values = add_up([r.values for r in releases])
    leaves = Release(values, float(sum(r.variance for r in releases)))
    guarantee = together(_by_party(releases), disjoint)
    model = structure.learner_class(structure.domain)
    return model.finish(Together(structure.domain, guarantee), structure.trees, leaves)


def join(forests: Mapping[str, Forest]) -> Forest:
    """The trees of all parties in one forest, vertically (Algorithm 6): epsilons add.

    Parties, given by their names, hold different attributes of the same people, and the label. An
    attribute that two of them have must be declared alike by both.
    """
    if not forests:
        raise MergeError("there is no forest to join")
    domain = _union({party: f.domain for party, f in forests.items()})
    (first, one), *others = forests.items()
    for party, f in others:
        if f.vote != one.vote:
            raise MergeError(f"{party} decides by {f.vote}, and {first} by {one.vote}")
    guarantee = together([_named(f.guarantee, party) for party, f in forests.items()], False)
    trees = join_trees([_translated(f, domain) for f in forests.values()])
    values = np.concatenate([f.values for f in forests.values()])
    variance = np.concatenate([f.variance for f in forests.values()])
    candidates = sum(max(f.candidates, f.trees.n_nodes) for f in forests.values())
    return Forest(domain, trees, values, guarantee, variance, one.vote, candidates)


def restrict(forest: Forest, columns: Iterable[str]) -> Forest:
    """The trees that ask nothing but these columns: the others do not vote.

    For records without the attributes of some parties (section 5.3 of Private-RDT). Reads releases
    only, so the guarantee stays the same.

    Parameters
    ----------
    forest : Forest
        A forest of counts, as `join` makes it.
    columns : iterable of str
        The columns that the records have; others than the forest's attributes are ignored.
    """
    if forest.kind is ValueKind.SCORES:
        raise MergeError("trees of scores correct each other, so none of them can be left out")
    known = set(columns)
    may_ask = np.array([name in known for name in forest.domain.names] + [True])
    tree = Nodes(forest).tree
    hidden = np.unique(tree[~may_ask[forest.trees.attribute]])
    kept = ~np.isin(tree, hidden)
    if not kept.any() or not may_ask[:-1].any():
        names = ", ".join(n for n in forest.domain.names if n not in known)
        raise MergeError(f"every tree asks for a missing attribute; missing are {names}")
    domain = replace(
        forest.domain, attributes=tuple(a for a in forest.domain.attributes if a.name in known)
    )
    numbers = np.append(np.cumsum(may_ask[:-1]) - 1, -1).astype(np.int32)
    trees = keep_nodes(forest.trees, kept)
    return replace(
        forest,
        domain=domain,
        trees=replace(trees, attribute=numbers[trees.attribute]),
        values=forest.values[kept],
        variance=forest.variance[kept],
        candidates=max(forest.candidates, forest.trees.n_nodes),
    )


def add_up(counts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The sum of the counts."""
    return np.asarray(np.sum(counts, axis=0, dtype=np.int64))


def _check(structure: Structure, releases: Sequence[PartyRelease]) -> None:
    seen: dict[str, str] = {}
    shape = (len(structure.trees.leaves), structure.per_leaf)
    for r in releases:
        if r.id in seen:
            raise MergeError(
                f"the release of {r.party} is given twice"
                if seen[r.id] == r.party
                else f"{r.party} and {seen[r.id]} gave the same release"
            )
        seen[r.id] = r.party
        if r.domain != structure.domain.fingerprint:
            raise MergeError(f"the release of {r.party} is over another domain")
        if r.structure != structure.hash:
            raise MergeError(f"the release of {r.party} is of another structure")
        if r.values.shape != shape or not r.variance >= 0:
            raise MergeError(f"the release of {r.party} lacks a number for some leaf")


def _by_party(releases: Sequence[PartyRelease]) -> list[Guarantee]:
    """One claim per party: releases of one party are about the same people, so epsilons add."""
    own: dict[str, Guarantee] = {}
    for r in releases:
        own[r.party] = own[r.party].then(r.guarantee) if r.party in own else r.guarantee
    return list(own.values())


def _named(guarantee: Guarantee, party: str) -> Guarantee:
    """A claim that lists its parties."""
    return guarantee if guarantee.parties else guarantee.of_party(party)


def together(guarantees: Sequence[Guarantee], disjoint: bool) -> Guarantee:
    """The claim for the releases of all parties."""
    if not guarantees:
        raise MergeError("no party has answered")
    first, *others = guarantees
    for other in others:
        if other.neighbors != first.neighbors:
            raise MergeError(
                f"{_who(other)} protects something else than {_who(first)}: records, or persons"
            )
        first = first.then(other, disjoint=disjoint)
    return first


def _who(guarantee: Guarantee) -> str:
    return " and ".join(share.party for share in guarantee.parties) or "a party"


def _union(domains: Mapping[str, Domain]) -> Domain:
    """All attributes, in the order of the parties; parties that share one must declare it alike."""
    name, first = next(iter(domains.items()))
    attributes: dict[str, Attribute] = {}
    for party, domain in domains.items():
        if domain.label.to_json() != first.label.to_json():
            raise MergeError(f"{party} declares another label than {name}")
        if domain.person != first.person:
            raise MergeError(f"{party} declares another person than {name}")
        for attribute in domain.attributes:
            known = attributes.setdefault(attribute.name, attribute)
            if known.to_json() != attribute.to_json():
                raise MergeError(
                    f"{party} declares attribute {attribute.name!r} differently from the others"
                )
    records = {d.records for d in domains.values()}
    return Domain(
        tuple(attributes.values()),
        first.label,
        records.pop() if len(records) == 1 else None,
        first.person,
        any(d.learned for d in domains.values()),
        paid=_paid_together([d.paid for d in domains.values() if d.paid is not None]),
    )


def _paid_together(paid: list[Guarantee]) -> Guarantee | None:
    """What the parts of a domain cost together: drafts of one table add, whoever holds them."""
    return functools.reduce(Guarantee.then, paid) if paid else None


def _translated(forest: Forest, domain: Domain) -> Trees:
    """The same trees, with attributes numbered as in the union."""
    place = {name: i for i, name in enumerate(domain.names)}
    numbers = np.array([place[name] for name in forest.domain.names] + [-1], dtype=np.int32)
    return replace(forest.trees, attribute=numbers[forest.trees.attribute])
