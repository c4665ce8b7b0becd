"""Edges: budgets, persons, lists and sums where numbers are very small, very large or many.

Replays a learner on neighbors, as the replay rung does, at amounts far from any that people use. Every
run either keeps its budget or is refused on public facts alone: the same way on both tables, and before
anything was answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from frith.audit.frozen import arbitrary_releases, constant_releases
from frith.audit.outcomes import Outcome, Status
from frith.audit.pairs import WHO, Pair, hard_pairs, numbered
from frith.audit.replay import compare, observe
from frith.audit.replay_rung import Tally
from frith.audit.sizes import Size
from frith.audit.subjects import Subject
from frith.domain import Categorical, Domain, Person
from frith.engines.base import Engine
from frith.engines.memory import MemoryEngine
from frith.errors import OutsideWindow
from frith.kernels import Kernel
from frith.privacy.budget import Budget

RUNG = "edges"
AMOUNTS = ("1e-18", "1e-14", "1e-9", "1e-6", "1e-3", "1e3", "1e6", "1e9")
_REPEATED = 2**40  # how often each record of a huge table occurs


class RepeatedEngine(MemoryEngine):
    """A table of one record and more copies of all the others than any file can hold."""

    def __init__(self, table: pd.DataFrame, once: pd.DataFrame, domain: Domain):
        super().__init__(table, domain, threads=1)
        self._once = MemoryEngine(once, domain, threads=1)

    def aggregate(self, kernel: Kernel) -> NDArray[np.int64]:
        return super().aggregate(kernel) * _REPEATED + self._once.aggregate(kernel)


def audit_edges(subject: Subject, budget: Budget, size: Size) -> Outcome:
    """Replay a subject at every edge, in the kind of budget that it is audited with."""
    tally, refused = Tally(), 0
    for name, pair in _pairs(size, subject.target):
        for amount in AMOUNTS:
            try:
                small = Budget.of(amount, budget.delta)
            except OutsideWindow:
                refused += 1
                continue
            for invent in (arbitrary_releases(1), constant_releases(150)):
                engines = [_open(subject, pair, t) for t in (pair.table, pair.neighbor)]
                traces = [observe(subject, e, small, invent) for e in engines]
                tally.add(compare(traces[0], traces[1], small), f"{name}, epsilon {amount}")
    return _outcome(subject, tally, refused)


def _pairs(size: Size, target: bool) -> Iterator[tuple[str, Pair]]:
    yield "one record", hard_pairs(target=target)[0]
    persons = hard_pairs(person=True, target=target)[0]
    yield "persons of 2 records", persons
    many = replace(persons.domain, person=Person(WHO, 10**6))
    yield "persons of a million records", replace(persons, domain=many)
    yield "a huge table", replace(hard_pairs(target=target)[3], name="huge")
    if size.worlds > 10:
        long = _long_list()
        yield "a long list", numbered(long, records=150) if target else long


def _open(subject: Subject, pair: Pair, table: pd.DataFrame) -> Engine:
    if pair.name != "huge" or not subject.is_plain:
        return subject.open(table, pair.domain)
    lone = pair.table.index.difference(pair.neighbor.index)
    rest = pair.table.drop(index=lone)
    return RepeatedEngine(rest, table.loc[table.index.isin(lone)], pair.domain)


def _long_list() -> Pair:
    """Forty attributes of twelve values: over eighty thousand ways to group values in two."""
    values = tuple("abcdefghijkl")
    attributes = tuple(Categorical(f"a{i}", values) for i in range(40))
    domain = Domain(attributes, Categorical("label", ("no", "yes")), records=30)
    rng = np.random.default_rng(0)
    table = pd.DataFrame({a.name: rng.choice(list(values), 30) for a in attributes})
    table["label"] = rng.choice(["no", "yes"], 30)
    return Pair("long", domain, table, table.drop(index=5))


def _outcome(subject: Subject, tally: Tally, refused: int) -> Outcome:
    if not tally.answered and not tally.differences:
        return Outcome(
            RUNG, subject.name, Status.NOT_CHECKED, "no question was answered at any edge"
        )
    text = (
        f"{tally.answered:,} of {tally.count:,} pairs answered, {refused} budgets refused; the "
        f"worst took {float(tally.worst):.4g} of its budget"
    )
    text += f" ({tally.at})" if tally.at else ""
    if tally.differences:
        shown = "; ".join(f"{what} ({where})" for what, where in [*tally.differences.items()][:4])
        text += f"; public things that differ between neighbors: {shown}"
    failed = tally.worst > 1 or bool(tally.differences)
    return Outcome(RUNG, subject.name, Status.of(failed), text)
