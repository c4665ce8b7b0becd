"""Small world: the exact output law of a learner on tables of a few records.

Enumerates all choices that a learner may make, each with its exact probability; a release of counts
has its closed-form supremum. Then compares two neighboring tables on every path:

pure    the largest sum over the path of log P / P' of its choices and distance / scale of its
        counts, which is the largest logarithm of a ratio of densities;
zCDP    Renyi divergences of several orders, each at most order x rho, and the delta that the
        privacy loss leaves at the claimed epsilon, by the loss's own distribution.

Claim    With releases of counts frozen to some values, the largest loss found is one that an output
         of the learner has (as a supremum), so it is a lower bound on epsilon; where later
         questions do not depend on earlier counts it is the epsilon of these tables.
Assumes  probabilities as floats, each logarithm off by at most 1e-9; for delta, the loss rounded up
         to a grid, which can only make delta larger.
Checked  tests/audit/test_small_world.py: against a loop over all outputs of a mechanism.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from frith.audit.frozen import (
    Exchange,
    FrozenSource,
    Invent,
    arbitrary_releases,
    as_integers,
    constant_releases,
)
from frith.audit.laws import (
    SLACK,
    is_choice,
    label_option,
    log_probability,
    n_options,
    sign_option,
)
from frith.audit.loss import delta_of
from frith.audit.outcomes import Outcome, Status
from frith.audit.pairs import WHO, decoded
from frith.audit.replay import loss_of, observe
from frith.audit.sizes import Size
from frith.audit.subjects import Subject
from frith.domain import Attribute, Categorical, Domain, Numeric, Person
from frith.engines.base import Engine
from frith.privacy.budget import Budget
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import SignChoice
from frith.privacy.sources import Selection

RUNG = "small world"
ORDERS = (1.5, 2.0, 4.0, 16.0, 64.0)
_KINDS = 6  # of records, for each label

Unit = tuple[int, ...]
"""The indices of one protected unit's records; a single one if records are protected."""


@dataclass
class ScriptedSource(FrozenSource):
    """Makes the choices of a script, then takes the first option of every further choice."""

    script: tuple[int, ...] = ()
    made: list[int] = field(default_factory=list)

    def choose(self, scores: Sequence[int], log_weights: Sequence[float], choice: Selection) -> int:
        self.exchanges.append(Exchange(as_integers(choice.weighed(scores, log_weights)), choice))
        return self._next(len(scores))

    def choose_signs(
        self, differences: NDArray[np.int64], log_weights: NDArray[np.float64], choice: SignChoice
    ) -> tuple[int, NDArray[np.int64]]:
        self.exchanges.append(Exchange(differences.copy(), choice, log_weights.copy()))
        option = self._next(n_options(self.exchanges[-1]))
        return sign_option(option, differences.shape[1])

    def choose_labels(
        self, counts: NDArray[np.int64], log_weights: NDArray[np.float64], choice: LabelingChoice
    ) -> tuple[int, NDArray[np.int64]]:
        self.exchanges.append(Exchange(counts.copy(), choice, log_weights.copy()))
        option = self._next(n_options(self.exchanges[-1]))
        return label_option(option, choice.parts, counts.shape[1])

    def _next(self, count: int) -> int:
        at = len(self.made)
        pick = self.script[at] if at < len(self.script) else 0
        self.made.append(min(pick, count - 1))
        return self.made[-1]


@dataclass(frozen=True)
class Path:
    """One possible course of a run: its choices, its questions, and what it shows."""

    script: tuple[int, ...]
    exchanges: tuple[Exchange, ...]
    public: str


class TooManyPaths(Exception):
    """A subject has more paths than the audit's size allows."""


# -- the worlds --------------------------------------------------------------------------------


def small_domain(person: bool, n_labels: int, target: bool = False) -> Domain:
    """A domain of two values, a number of three cells, and labels: it has every kind of split.

    A target has as many cells as there would be labels.
    """
    attributes = (Categorical("a", ("0", "1")), Numeric("b", 0, 3, cells=3))
    label: Attribute = Categorical("label", tuple(str(k) for k in range(n_labels)))
    if target:
        label = Numeric("label", 0, n_labels, cells=n_labels)
    return Domain(attributes, label, records=4, person=Person(WHO, 1) if person else None)


def small_tables(domain: Domain, count: int) -> list[tuple[Unit, ...]]:
    """Tables of up to four units, the smallest first; if there are more than `count`, a spread of them."""
    numbers = range(_KINDS * domain.label.size)
    kinds: list[Unit] = [(i,) for i in numbers]
    if domain.person is not None:
        kinds = [tuple(two) for two in itertools.combinations(numbers, 2)][::5]
    tables = [t for size in range(4) for t in itertools.combinations_with_replacement(kinds, size)]
    if len(tables) <= count:
        return tables
    few = 1 + min(len(kinds), count) // 3
    picked = np.random.default_rng(0).choice(len(tables), count - few, replace=False)
    return [*tables[:few], *(tables[i] for i in sorted(picked))]


def neighbors_of(
    table: tuple[Unit, ...], known: set[tuple[Unit, ...]]
) -> Iterator[tuple[Unit, ...]]:
    """The table without each of its units; adds each result to `known`."""
    for i in range(len(table)):
        less = table[:i] + table[i + 1 :]
        known.add(less)
        yield less


def as_frame(table: tuple[Unit, ...], domain: Domain) -> pd.DataFrame:
    """The rows of a table, in an order unrelated to that of its neighbors."""
    records = [(who, r) for who, unit in enumerate(table) for r in unit]
    order = np.random.default_rng([len(table), *(r for _, r in records)]).permutation(len(records))
    numbers = np.array([records[i][1] for i in order], dtype=int)
    codes = np.column_stack([numbers % 2, numbers // 2 % 3]).reshape(-1, 2)
    frame = decoded(domain, codes, numbers // _KINDS)
    if domain.person is None:
        return frame
    names = [f"{unit}, number {table[:who].count(unit)}" for who, unit in enumerate(table)]
    people = [names[records[i][0]] for i in order]
    return frame.assign(**{WHO: np.array(people, dtype=object)})


# -- enumeration -------------------------------------------------------------------------------


def run_path(
    subject: Subject, engine: Engine, budget: Budget, invent: Invent, script: tuple[int, ...]
) -> Path:
    source = ScriptedSource(invent, script=script)
    trace = observe(subject, engine, budget, source)
    return Path(tuple(source.made), trace.exchanges, repr(sorted(trace.public.items())))


def all_paths(
    subject: Subject, engine: Engine, budget: Budget, invent: Invent, max_paths: int
) -> list[Path]:
    """Every path of a run, depth first; raises `TooManyPaths` beyond `max_paths`."""
    found: list[Path] = []
    todo: list[tuple[int, ...]] = [()]
    while todo:
        path = run_path(subject, engine, budget, invent, todo.pop())
        found.append(path)
        if len(found) > max_paths:
            raise TooManyPaths
        todo += _branches(path)
    return found


def _branches(path: Path) -> Iterator[tuple[int, ...]]:
    """The scripts that leave this path at a choice where it took the first option by default."""
    options = [n_options(e) for e in path.exchanges if is_choice(e)]
    last = max((i for i, pick in enumerate(path.script) if pick), default=-1)
    for place in range(last + 1, len(options)):
        for pick in range(1, options[place]):
            yield path.script[:place] + (pick,)


# -- comparison --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Compared:
    """Two neighbors on every path: log P, log P', and the cost of the counts on the path."""

    log_p: NDArray[np.float64]
    log_q: NDArray[np.float64]
    counts: NDArray[np.float64]
    shifts: list[list[tuple[float, tuple[int, ...]]]]

    def pure(self) -> float:
        """The largest logarithm of a ratio, either way."""
        return float(np.max(np.abs(self.log_p - self.log_q) + self.counts))

    def renyi(self, order: float) -> float:
        """The larger Renyi divergence of the two directions; `counts` is the rho of each path."""
        return max(
            self._renyi(self.log_p, self.log_q, order), self._renyi(self.log_q, self.log_p, order)
        )

    def _renyi(self, p: NDArray[np.float64], q: NDArray[np.float64], order: float) -> float:
        terms = order * p + (1 - order) * q + (order - 1) * order * self.counts
        top = terms.max()
        return float((top + np.log(np.exp(terms - top).sum())) / (order - 1))

    def delta(self, epsilon: float) -> float:
        one = delta_of(self.log_p, self.log_p - self.log_q, self.shifts, epsilon)
        other = delta_of(self.log_q, self.log_q - self.log_p, self.shifts, epsilon)
        return max(one, other)


def compare_paths(
    paths: list[Path], others: dict[tuple[int, ...], Path], unit: str
) -> Compared | None:
    """None if something public differs although choices and releases are the same."""
    log_p, log_q, counts, shifts = [], [], [], []
    for path in paths:
        other = others.get(path.script)
        if other is None or other.script != path.script or other.public != path.public:
            return None
        if len(path.exchanges) != len(other.exchanges):
            return None
        pairs = list(zip(path.exchanges, other.exchanges, strict=True))
        if any(not _alike(a, b) for a, b in pairs):
            return None
        log_p.append(_log_probability(path))
        log_q.append(_log_probability(other))
        noisy = [(a, b) for a, b in pairs if not is_choice(a)]
        counts.append(float(sum(loss_of(a, b, unit) for a, b in noisy)))
        shifts.append([_shift(a, b) for a, b in noisy])
    return Compared(np.array(log_p), np.array(log_q), np.array(counts), shifts)


def _alike(a: Exchange, b: Exchange) -> bool:
    """The same shape, and for counts the same noise; a choice has its own law on either table."""
    return a.exact.shape == b.exact.shape and (is_choice(a) or a.mechanism == b.mechanism)


def _log_probability(path: Path) -> float:
    chosen = [e for e in path.exchanges if is_choice(e)]
    return float(sum(log_probability(e, pick) for e, pick in zip(chosen, path.script, strict=True)))


def _shift(a: Exchange, b: Exchange) -> tuple[float, tuple[int, ...]]:
    """The noise's scale, and by how much each count differs."""
    change = (a.exact - b.exact).ravel()
    return float(a.mechanism.scale), tuple(sorted(abs(change[change != 0]).tolist()))


# -- the rung ----------------------------------------------------------------------------------


def audit_small_world(subject: Subject, budget: Budget, size: Size) -> Outcome:
    """Compare the exact laws of a subject on small neighboring tables, for records and persons."""
    worst = Worst(budget)
    for person, n_labels in ((False, 2), (True, 2), (False, 3)):
        try:
            domain = small_domain(person, n_labels, subject.target)
            _compare_world(subject, budget, size, domain, worst)
        except TooManyPaths:
            worst.left_out.append(f"{n_labels} labels{', persons' if person else ''}")
    return worst.outcome(subject)


def _compare_world(
    subject: Subject, budget: Budget, size: Size, domain: Domain, worst: Worst
) -> None:
    """All neighbors among some small tables; the more paths there are, the fewer tables."""
    for invent in (arbitrary_releases(1, 8), constant_releases(150)):
        first = subject.open(as_frame(small_tables(domain, 1_000)[-1], domain), domain)
        scripts = [p.script for p in all_paths(subject, first, budget, invent, size.paths)]
        known = set(small_tables(domain, min(size.tables, max(3, size.runs // len(scripts)))))
        pairs = [(t, less) for t in sorted(known) for less in neighbors_of(t, known)]
        laws = {}
        for table in known:
            engine = subject.open(as_frame(table, domain), domain)
            runs = (run_path(subject, engine, budget, invent, s) for s in scripts)
            laws[table] = {path.script: path for path in runs}
        for table, less in pairs:
            found = compare_paths(list(laws[table].values()), laws[less], budget.unit)
            worst.add(found, table, less)


@dataclass
class Worst:
    """The worst of many pairs, in the numbers that a budget claims."""

    budget: Budget
    pairs: int = 0
    loss: float = 0.0
    delta: float = 0.0
    share: float = 0.0
    different: str = ""
    left_out: list[str] = field(default_factory=list)

    def add(self, found: Compared | None, table: object, less: object) -> None:
        self.pairs += 1
        if found is None:
            self.loss, self.different = math.inf, self.different or f"{table} and {less}"
        elif self.budget.unit == "epsilon":
            self.loss = max(self.loss, _or_all(found.pure()))
        else:
            rho = float(self.budget.total)
            self.share = max(self.share, *(_or_all(found.renyi(o) / (o * rho)) for o in ORDERS))
            if self.share > 0:
                self.delta = max(self.delta, _or_all(found.delta(float(self.budget.epsilon))))

    def outcome(self, subject: Subject) -> Outcome:
        if not self.pairs:
            text = f"more paths than this size allows ({', '.join(self.left_out)})"
            return Outcome(RUNG, subject.name, Status.NOT_CHECKED, text)
        pure, slack = self.budget.unit == "epsilon", 1 + 1e-6
        failed = self.loss > float(self.budget.epsilon) + 10 * SLACK
        if not pure:
            failed |= self.share > slack or self.delta > float(self.budget.delta) * slack
        loss = self.loss if pure or self.different else None
        return Outcome(RUNG, subject.name, Status.of(failed), self._text(pure), loss)

    def _text(self, pure: bool) -> str:
        text = f"{self.pairs:,} pairs of small tables on every path: "
        if self.different:
            return f"{text}something public differs between neighbors ({self.different})"
        if pure:
            text += f"a loss of {self.loss:.6g}"
        else:
            text += f"Renyi divergences up to {self.share:.4g} of the claim, delta {self.delta:.3g}"
        left = f"; too many paths with {', '.join(self.left_out)}" if self.left_out else ""
        return text + left


def _or_all(loss: float) -> float:
    """NaN counts as infinite loss, since it was not shown to be small; `max` would skip it."""
    return math.inf if math.isnan(loss) else loss
