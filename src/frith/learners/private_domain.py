"""A domain that is paid for: bounds and values read from the records by private questions."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

from frith._arrays import Floats, frozen
from frith._cached import cached_property
from frith.curator.drafting import DraftingCurator
from frith.domain import Attribute, Categorical, Csv, Date, Domain, Numeric, Person, spelling
from frith.domain.draft import OTHER, TARGET_CELLS
from frith.engines import Engine, open_table
from frith.engines.raw import EVERY, RawTable
from frith.errors import DomainError
from frith.kernels import CodeCounts, QuantileChoice
from frith.learners import spending
from frith.learners.session import ledger_for
from frith.privacy.budget import Budget

KINDS = ("number", "date", "values")
Kind = str | Iterable[Any] | Attribute
"""What is declared of a column: a word of `KINDS`, a public list to choose from, or all of it."""

_SIZE_SHARE = Fraction(1, 50)
_FIRST, _LAST = "1900-01-01", "2099-12-31"
_MONTHS = 2_400
_LEAST_TAIL = 0.01
_FINE_TAIL = 0.1  # up to here, a finer grid is worth quantiles that are further in
_TAIL_OF_TWO, _TAIL_OF_ONE = 0.25, 0.35
_STEPS = (1, 10, 60)  # cells of a grid that are taken as one
_MARGIN = 5.0  # the logarithm of how much likelier the quantile is than all that lies beyond it
_LIST_MARGIN = 3.0  # of a list's values that do not occur, noise shows one in about forty lists
_SPECK = 1e-6
_WIDE = 100  # the ratio of bounds from which on a scale is logarithmic


def draft_privately(
    table: Any,
    label: str,
    columns: Mapping[str, Kind],
    *,
    epsilon: Any,
    delta: Any = 0,
    records: int | None = None,
    person: Person | None = None,
    csv: Csv | None = None,
    ledger: str | Path | None = None,
    n_jobs: int | None = None,
) -> Domain:
    """A domain whose bounds and values are private releases: for tables without public bounds.

    Columns and their kinds are declared; nothing else is taken from the table without being paid for.
    The domain carries its guarantee in `paid`, and a forest that is trained with it states the sum of
    that and its own. Read the domain before you use it, and widen what you know better: that is free.

    Parameters
    ----------
    table : DataFrame, Arrow table, path or URL of a database
        The records, with their label.
    label : str
        The column to predict.
    columns : mapping of str to str, list or Attribute
        What is public about each column, the label among them. "number" and "date" get bounds. "values"
        gets the list of values that enough records hold, which needs a delta. A list of values gets those
        of the list that occur (of a label: all of them, for free). An attribute is taken as it is.
    epsilon : int, float, str or Fraction
        What the draft spends, read exactly as written.
    delta : int, float, str or Fraction, default=0
        What the values that nobody declared spend; 0 if no column has the kind "values".
    records : int or None, default=None
        The number of records, if it is public. Otherwise a noisy one is bought and declared.
    person : Person or None, default=None
        The column that names the protected person, and the most records of each that count.
    csv : Csv or None, default=None
        How CSV files are written, if not as usual. Nothing is guessed.
    ledger : str, Path or None, default=None
        The ledger file that the draft is charged to. One with a delta cannot be charged.
    n_jobs : int or None, default=None
        The number of threads; None takes all cores.

    Privacy
    -------
    The domain is (epsilon, delta)-DP. Shares of epsilon are fixed before the first question and equal
    for all of them: two quantiles of each number and date (`kernels.quantiles`), the counts of each
    public list (a record is in one: L1 = 1), and the thresholded counts of each other column
    (`privacy.thresholds`), which share delta equally. A noisy number of records has a share of 1/50.
    Which quantiles are asked follows from that number. All else reads releases: crossed bounds are
    swapped, bounds of inner quantiles are widened as a normal law would have it, and rounded outwards.

    Examples
    --------
    >>> import frith
    >>> X, y, _ = frith.datasets.load("tic_tac_toe")
    >>> columns = dict.fromkeys(X.columns, ["b", "o", "x"]) | {"class": ["negative", "positive"]}
    >>> domain = frith.draft_privately(X.assign(**{"class": y}), "class", columns, epsilon=1)
    >>> print(domain.paid)
    epsilon=1.0 differential privacy; neighbors: one record added or removed
    """
    plan = DraftPlan(label, dict(columns), Budget.of(epsilon, delta), records, person, csv)
    source = open_table(table, plan.source, threads=n_jobs)
    raw = RawTable(source, plan.asked, plan.grids, n_jobs)
    charged = ledger_for(ledger)
    curator = DraftingCurator(raw, epsilon, delta, ledger=charged, purpose="draft a domain")
    try:
        return _Drafting(plan, curator).domain()
    finally:  # a draft that is refused has cost what it asked
        if curator.receipt is None and curator.guarantee.asked:
            spending.add(plan.budget, curator.guarantee, draft=True)


def draft_charged(plan: DraftPlan, source: Engine) -> Domain:
    """The domain of a plan whose whole budget the caller has charged before. Charges nothing.

    `source` is the table, opened with `plan.source`.
    """
    raw = RawTable(source, plan.asked, plan.grids)
    curator = DraftingCurator(raw, plan.budget.epsilon, plan.budget.delta)
    return _Drafting(plan, curator).domain()


@dataclass
class DraftPlan:
    """What follows from what was declared, before a record is read."""

    label: str
    columns: dict[str, Any]
    budget: Budget
    records: int | None
    person: Person | None
    csv: Csv | None
    source: Domain = field(init=False)
    """What the table is opened with: its columns, and nothing about their values."""
    asked: Domain = field(init=False)
    """The columns that are asked about, the label among them, on public grids."""

    def __post_init__(self) -> None:
        if self.label not in self.columns:
            raise DomainError(f"the label {self.label!r} has no kind; say what it is in `columns`")
        for name, kind in self.columns.items():
            self.columns[name] = self._declared(name, kind)
        if not self.questions:
            raise DomainError(
                "every column is declared: make a Domain of them, which costs nothing"
            )
        has_values = "values" in self.kinds.values()
        if has_values and not self.budget.delta:
            raise DomainError(
                "columns of the kind 'values' need a delta: a value that only one record holds must not "
                "be shown; ask for one, such as 1e-6, or give a list of values to choose from"
            )
        if self.budget.delta and not has_values:
            raise DomainError(
                "no column has the kind 'values', so nothing needs a delta; leave it out"
            )
        self.asked = Domain(
            tuple(self._grid(name, kind) for name, kind in self.kinds.items()),
            Categorical(self._free_name(), (EVERY,)),
            records=self.records,
            person=self.person,
        )
        opened = {a.name: a for a in self.asked.attributes}
        opened |= {n: a for n, a in self.columns.items() if isinstance(a, Categorical | Numeric)}
        as_label = opened.pop(self.label)
        if self.label not in self.kinds:
            Domain((Numeric(self._free_name(), 0, 1),), as_label)  # raises where it is no label
        if isinstance(as_label, Numeric):
            as_label = Numeric(self.label, 0, 1)
        else:
            as_label = Categorical(self.label, (EVERY,))
        self.source = Domain(tuple(opened.values()), as_label, person=self.person, csv=self.csv)

    def _declared(self, name: str, kind: Any) -> Any:
        if isinstance(kind, Categorical | Numeric):
            if kind.name != name:
                raise DomainError(
                    f"column {name!r} is declared as an attribute named {kind.name!r}"
                )
            return kind
        if isinstance(kind, str):
            if kind not in KINDS or (kind == "date" and name == self.label):
                known = "number or values" if name == self.label else ", ".join(KINDS)
                raise DomainError(
                    f"column {name!r} has the kind {kind!r}; known are {known}, a list of values, or "
                    "an attribute"
                )
            return kind
        listed = Categorical(name, kind)
        return listed if name == self.label else listed.values

    @cached_property
    def kinds(self) -> dict[str, Any]:
        """The columns that are asked about, with their kinds."""
        return {n: k for n, k in self.columns.items() if isinstance(k, str | tuple)}

    @cached_property
    def questions(self) -> int:
        return sum(2 if kind in ("number", "date") else 1 for kind in self.kinds.values())

    @property
    def share(self) -> Fraction:
        """The share of epsilon that each question has."""
        return (1 - (_SIZE_SHARE if self.records is None else 0)) / Fraction(self.questions)

    @property
    def grids(self) -> dict[str, Floats]:
        return {name: magnitudes() for name, kind in self.kinds.items() if kind == "number"}

    def _grid(self, name: str, kind: Any) -> Attribute:
        if kind == "number":
            cells = 2 * len(magnitudes()) + 1
            return Numeric(name, 0, cells, cells=cells, missing=True)
        if kind == "date":
            return Date(name, _FIRST, _LAST, cells=_MONTHS, missing=True)
        if kind == "values":
            return Categorical(name, (EVERY,))
        texts = [text for text in map(spelling, kind) if text != OTHER]
        return Categorical(name, (*texts, OTHER), other=OTHER)

    def _free_name(self) -> str:
        name = EVERY
        while name in self.columns or (self.person is not None and name == self.person.column):
            name += "_"
        return name


@dataclass
class _Drafting:
    """Asks the questions of a plan, and reads a domain off the releases."""

    plan: DraftPlan
    curator: DraftingCurator

    def domain(self) -> Domain:
        plan = self.plan
        n = self.curator.records(_SIZE_SHARE)
        amount = float(plan.share * self.curator.budget.total) / self.curator.records_per_unit
        self._signal = math.inf if self.curator.is_exact else n * amount
        drafted = {name: self._attribute(name, kind) for name, kind in plan.columns.items()}
        label = drafted.pop(plan.label)
        if isinstance(label, Numeric) and plan.label in plan.kinds:  # not one that was declared
            label = Numeric(label.name, label.low, label.high, cells=TARGET_CELLS)
        guarantee = replace(self.curator.guarantee, asked=())
        return Domain(
            tuple(drafted.values()),
            label,
            records=n,
            person=plan.person,
            csv=plan.csv,
            paid=guarantee if guarantee.holds else None,
            learned=not guarantee.holds,
        )

    def _attribute(self, name: str, kind: Any) -> Attribute:
        if kind == "number":
            return self._number(name)
        if kind == "date":
            return self._date(name)
        if kind == "values":
            return self._values(name)
        return self._listed(name) if isinstance(kind, tuple) else kind

    # -- bounds --------------------------------------------------------------------------------

    def _number(self, name: str) -> Numeric:
        grid = magnitudes()
        cells, tail = self._cells(name)
        # an odd cell is a number of the grid, an even one lies between two
        high = float(grid[min(len(grid) - 1, cells[-1] // 2)])
        if len(cells) > 1:
            low, high = _widened(float(grid[max(0, (cells[0] - 1) // 2)]), high, tail)
        else:
            low, high = sorted((-high * _spread(tail), high * _spread(tail)))
        low, high = _without_specks(low, high)
        low = float(grid[max(0, int(np.searchsorted(grid, low, "right")) - 1)])
        high = float(grid[min(len(grid) - 1, int(np.searchsorted(grid, high, "left")))])
        if not low < high:
            high = low + max(1.0, abs(low))
        scale = "log" if 0 < _WIDE * low < high else "linear"
        return Numeric(name, low, high, scale=scale, missing=True)

    def _date(self, name: str) -> Date:
        grid = self.plan.asked.view([name]).attributes[0]
        assert isinstance(grid, Date)
        cells, tail = self._cells(name)
        ends = [grid.low, *grid.edges, grid.high + 1]
        low, high = ends[cells[0]] if len(cells) > 1 else grid.low, ends[cells[-1] + 1] - 1
        more = _reach(tail) * (high - low)
        low, high = max(low - more, grid.low), min(high + more, grid.high)
        first, last = (grid.value_of(math.floor(x)) for x in (low, high))
        return Date(name, first, last, missing=True)

    def _cells(self, name: str) -> tuple[list[int], float]:
        """The first cell of a low quantile and the last of a high one, and the share beyond each.

        Quantiles are as far out as the budget can tell the records there from none. Where it cannot
        carry two of them, there is a high one alone, for the price of both.
        """
        counts = CodeCounts(self.plan.asked, self.plan.asked.names.index(name))
        tail, step = _tail(counts.shape[0], self._signal)
        share, has_two = self.plan.share, tail <= _TAIL_OF_TWO
        if not has_two:
            (tail, step), share = _tail(counts.shape[0], 2 * self._signal), 2 * share
        if tail > _TAIL_OF_ONE:
            raise DomainError(
                f"the budget is too small to find bounds: each of {self.plan.questions} questions has "
                f"{self._signal:.2g} (records times epsilon), and about 20 are needed; declare some "
                "columns, or ask for a larger epsilon"
            )
        level = math.ceil(1_000 * tail)
        asked = {"low": level, "high": 1_000 - level} if has_two else {"high": 1_000 - level}
        found = []
        for side, q in asked.items():
            choice = QuantileChoice(counts, q, step)
            cells = choice.chosen(self.curator.choose(choice, share, f"{side} end of {name}"))
            found += [cells[0], cells[-1]]
        return ([min(found), max(found)] if has_two else found[-1:]), tail

    # -- values --------------------------------------------------------------------------------

    def _listed(self, name: str) -> Categorical:
        """Those of a public list that seem to occur."""
        asked = self.plan.asked
        counts = CodeCounts(asked, asked.names.index(name))
        (values,) = asked.view([name]).attributes
        assert isinstance(values, Categorical)
        sums = self.curator.noisy_counts(counts, self.plan.share, f"values of {name}")
        scale = math.sqrt(sums.variance / 2)
        least = max(1, scale * (math.log(len(sums.values)) + _LIST_MARGIN))
        kept = [v for v, times in zip(values.values, sums.values, strict=True) if times >= least]
        return _grouped(name, kept)

    def _values(self, name: str) -> Categorical:
        kinds = list(self.plan.kinds.values())
        delta_share = Fraction(1, kinds.count("values"))
        shown = self.curator.frequent_values(
            name, self.plan.share, delta_share, f"values of {name}"
        )
        if name != self.plan.label:
            return _grouped(name, shown)
        if not shown:
            raise DomainError(
                f"no value of the label {name!r} is held by enough records to be shown at this epsilon and "
                "delta, which were charged; declare the label's values, or ask for more"
            )
        return Categorical(name, _numbers_if_all(shown))


def _grouped(name: str, values: Iterable[Any]) -> Categorical:
    kept = [v for v in values if v != OTHER]
    return Categorical(name, (*kept, OTHER), other=OTHER, missing=OTHER)


def _numbers_if_all(texts: list[str]) -> tuple[Any, ...]:
    """Numbers, where all of the texts are a number's spelling; else the texts."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return tuple(texts)
    if not all(map(math.isfinite, numbers)) or [spelling(x) for x in numbers] != texts:
        return tuple(texts)
    return tuple(sorted(int(x) if x.is_integer() else x for x in numbers))


def _tail(cells: int, signal: float) -> tuple[float, int]:
    """The share of the records beyond a quantile, and how many cells are taken as one.

    Cells far out are many, g, and alike. With a share t of n records beyond it, the quantile is
    exp(n t epsilon / (2 - 2 t)) times as likely as each of them; that is to be exp(`_MARGIN`) g.
    """
    for step in _STEPS:
        needed = 2 * (math.log(max(2, cells / step)) + _MARGIN) / signal
        tail = max(needed / (1 + needed), _LEAST_TAIL)
        if tail <= _FINE_TAIL:
            break
    return tail, step


def _without_specks(low: float, high: float) -> tuple[float, float]:
    """0 in the place of a bound that is tiny beside the other."""
    size = max(abs(low), abs(high))
    low, high = (0.0 if abs(x) < _SPECK * size else x for x in (low, high))
    return low, high


def _widened(low: float, high: float, tail: float) -> tuple[float, float]:
    """Bounds of all but 1% on each side, from those of all but `tail`.

    On a log scale where bounds are far apart, and not across 0: most numbers have a sign.
    """
    if 0 < _WIDE * low < high:
        factor = (high / low) ** _reach(tail)
        return low / factor, high * factor
    more = _reach(tail) * (high - low)
    return (low - more if low < 0 else max(0.0, low - more)), high + more


def _reach(tail: float) -> float:
    """How far outside of two quantiles the 1% ones lie, over their distance, in a normal law."""
    return (_spread(tail) - 1) / 2


def _spread(tail: float) -> float:
    """How far the 1% quantile of a normal law is from its middle, over the distance of another one."""
    inner, outer = (-NormalDist().inv_cdf(t) for t in (tail, _LEAST_TAIL))
    return outer / inner


@functools.cache
def magnitudes() -> Floats:
    """0 and all numbers of two digits times a power of ten, from 1e-9 to 1e12, of both signs."""
    positive = [float(f"{d}e{e}") for e in range(-10, 11) for d in range(10, 100)] + [1e12]
    return frozen([*(-x for x in reversed(positive)), 0.0, *positive], np.float64)
