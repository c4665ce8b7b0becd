"""The replay rung: one subject over many worlds, places, hard neighbors and invented releases."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from frith.audit.frozen import Invent, arbitrary_releases, constant_releases
from frith.audit.outcomes import Outcome, Status
from frith.audit.pairs import Pair, hard_pairs, random_pair, worst_pairs
from frith.audit.places import Open, places
from frith.audit.replay import Replay, Trace, compare, observe
from frith.audit.sizes import Size
from frith.audit.subjects import Subject
from frith.privacy.budget import Budget

RUNG = "replay"


@dataclass
class Tally:
    """The worst of many replays, and what differed in any of them."""

    count: int = 0
    answered: int = 0
    worst: Fraction = Fraction(0)
    at: str = ""
    differences: dict[str, str] = field(default_factory=dict)

    def add(self, result: Replay, where: str) -> None:
        self.count += 1
        self.answered += result.questions > 0
        share = result.loss / result.budget
        if share > self.worst:
            self.worst, self.at = share, where
        for name in result.differences:
            self.differences.setdefault(name, where)


def audit_replay(subject: Subject, budget: Budget, size: Size) -> Outcome:
    """Replay a subject on hard, random and worst neighbors, in every place, on many releases."""
    tally = Tally()
    target = subject.target
    for pair in (*hard_pairs(target=target), *hard_pairs(person=True, target=target)):
        for name, invent in _releases(0):
            _replay_pair(subject, budget, pair, invent, f"{pair.name}, {name}", tally)
    for seed in range(size.worlds):
        pair = random_pair(seed, target)
        name, invent = list(_releases(seed))[seed % 5]
        trace = _replay_pair(subject, budget, pair, invent, f"{pair.name}, {name}", tally)
        kernels = trace.kernels[:4] if subject.is_plain else ()  # else they may know other values
        for worst in worst_pairs(pair, kernels, np.random.default_rng(seed)):
            _replay_pair(subject, budget, worst, invent, f"{worst.name}, {name}", tally)
    if subject.is_plain:
        _replay_places(subject, budget, size, tally)
    return _outcome(subject, tally)


def _releases(seed: int) -> Iterator[tuple[str, Invent]]:
    """Releases of every order of magnitude: none is likely, and the promise must hold for all."""
    yield "small releases", arbitrary_releases(seed, 4)
    yield "middling releases", arbitrary_releases(seed, 60)
    yield "large releases", arbitrary_releases(seed, 5_000)
    yield "equal releases", constant_releases(150)
    yield "empty releases", constant_releases(0)


def _replay_pair(
    subject: Subject, budget: Budget, pair: Pair, invent: Invent, where: str, tally: Tally
) -> Trace:
    tables = (pair.table, pair.neighbor)
    traces = [observe(subject, subject.open(t, pair.domain), budget, invent) for t in tables]
    tally.add(compare(traces[0], traces[1], budget), where)
    return traces[0]


def _replay_places(subject: Subject, budget: Budget, size: Size, tally: Tally) -> None:
    """Replay one neighbor in memory and the other in each place; only the guarantee may differ."""
    target, count = subject.target, 2 + size.worlds // 10
    wanted = [hard_pairs(target=target)[0], *(random_pair(s, target) for s in range(count))]
    with tempfile.TemporaryDirectory() as folder:
        for name, open_ in places(Path(folder)).items():
            for seed, pair in enumerate(wanted):
                invent = arbitrary_releases(seed)
                _compare_place(subject, budget, pair, open_, invent, name, tally)


def _compare_place(
    subject: Subject,
    budget: Budget,
    pair: Pair,
    open_: Open,
    invent: Invent,
    name: str,
    tally: Tally,
) -> None:
    here = observe(subject, subject.open(pair.table, pair.domain), budget, invent)
    there = observe(subject, open_(pair.neighbor, pair.domain), budget, invent)
    result = compare(here, there, budget)
    same = tuple(d for d in result.differences if d not in _OF_PLACES)
    tally.add(replace(result, differences=same), f"{pair.name} in {name}")


_OF_PLACES = ("the forest's guarantee",)  # the guarantee states what each place assumes


def _outcome(subject: Subject, tally: Tally) -> Outcome:
    if not tally.answered and not tally.differences:
        return Outcome(
            RUNG, subject.name, Status.NOT_CHECKED, "no question was answered on any pair"
        )
    text = f"{tally.count:,} pairs replayed; the worst took {float(tally.worst):.4g} of the budget"
    if tally.at:
        text += f" ({tally.at})"
    if tally.differences:
        shown = "; ".join(f"{what} ({where})" for what, where in [*tally.differences.items()][:4])
        text += f"; public things that differ between neighbors: {shown}"
    failed = tally.worst > 1 or bool(tally.differences)
    return Outcome(RUNG, subject.name, Status.of(failed), text)
