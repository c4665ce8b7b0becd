"""What every node of a forest says: the path to it, its label, and how sure that is.

A path from a root to a leaf is a rule, one that ends earlier a sub-rule (section 3.3 of DPDF).
Everything here is read from the released forest, so it may be shown to anyone who may see the forest.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._cached import cached_property
from frith.domain import Attribute, Categorical, Date, Numeric, Ordered, Value, spelling
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_column
from frith.forest.intervals import LEVEL, deviation, noise_factor, share_interval
from frith.forest.kinds import ValueKind
from frith.forest.voting import VotingTrees, find_speakers

# -- one rule ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Condition:
    """One attribute's codes from `low` up to `high`, `without` some: all cuts on a path, as one.

    A record meets it by its *encoded* value: outside values count as the domain declares, and so
    do missing ones.

    >>> age = Numeric("age", 0, 80, cells=8, missing=True)
    >>> [str(Condition(age, low, high)) for low, high in ((0, 4), (2, 8), (2, 9), (8, 9), (0, 8))]
    ['age < 40', 'age >= 20', 'age >= 20 (or missing)', 'age is missing', 'age is known']
    >>> str(Condition(age, 2, 4)), str(Condition(Categorical("color", ("red", "blue")), 1, 2))
    ('20 <= age < 40', 'color = blue')
    >>> color = Categorical("color", ("red", "blue", "green", "white"))
    >>> str(Condition(color, 0, 4, (1,))), str(Condition(color, 0, 4, (0, 1)))
    ('color is not blue', 'color = green or white')
    """

    attribute: Attribute
    low: int
    high: int
    without: tuple[int, ...] = ()

    @property
    def codes(self) -> list[int]:
        return [c for c in range(self.low, self.high) if c not in self.without]

    @property
    def is_possible(self) -> bool:
        """False if the splits on one path exclude each other."""
        return self.low < self.high and (not self.without or bool(self.codes))

    @property
    def values(self) -> tuple[Value, ...]:
        """The legal values of a categorical attribute; none for a number."""
        if isinstance(self.attribute, Numeric):
            return ()
        return tuple(self.attribute.values[c] for c in self.codes)

    @property
    def bounds(self) -> tuple[float | None, float | None]:
        """A number is at least the first and less than the second; None where it is not bounded.

        Exact, where the text rounds to what tells the edges of the grid apart.
        """
        a = self.attribute
        if not isinstance(a, Numeric):
            return None, None
        inside = [a.edges[c - 1].item() if 0 < c < a.cells else None for c in (self.low, self.high)]
        return inside[0], inside[1]

    @property
    def missing(self) -> bool:
        """Whether the condition includes missing numbers, if they have their own code."""
        return isinstance(self.attribute, Numeric) and self.low <= self.attribute.cells < self.high

    def covers(self, codes: NDArray[Any]) -> NDArray[np.bool_]:
        return (codes >= self.low) & (codes < self.high) & ~np.isin(codes, self.without)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"attribute": self.attribute.name, "text": str(self)}
        if not isinstance(self.attribute, Numeric):
            return data | {"values": list(self.values)}
        low, high = (self._as_json(bound) for bound in self.bounds)
        numbers = self.is_possible and self.low < self.attribute.cells
        return data | {"at_least": low, "below": high, "numbers": numbers, "missing": self.missing}

    def _as_json(self, bound: float | None) -> float | str | None:
        """A bound as a number, a date or a value."""
        a = self.attribute
        is_text = bound is not None and isinstance(a, Date | Ordered)
        return a.text_of(bound) if is_text else bound  # type: ignore[union-attr, arg-type]

    def __str__(self) -> str:
        name = printable(self.attribute.name)
        if not self.is_possible:
            return f"{name} is impossible"
        if not isinstance(self.attribute, Numeric):
            return f"{name} {self._set(self.attribute)}"
        return self._interval(name, self.attribute)

    def _set(self, a: Categorical) -> str:
        """The values by name, or those left out where they are fewer."""
        left_out = [v for v in a.values if v not in self.values]
        if 2 * len(left_out) < len(a.values):
            return f"is not {' or '.join(map(_spelled, left_out))}" if left_out else "is anything"
        return f"= {' or '.join(map(_spelled, self.values))}"

    def _interval(self, name: str, a: Numeric) -> str:
        if self.low >= a.cells:
            return f"{name} is missing"
        low, high = (_edge(a, c) if 0 < c < a.cells else None for c in (self.low, self.high))
        if low is None and high is None:
            return f"{name} is {'anything' if self.high >= a.size else 'known'}"
        if high is None:
            return f"{name} >= {low}{' (or missing)' if self.missing else ''}"
        return f"{name} < {high}" if low is None else f"{low} <= {name} < {high}"


def _spelled(value: Value) -> str:
    return printable(spelling(value))


def printable(text: str) -> str:
    """A name or value as it is, or quoted where it would not show on one line."""
    return text if text.isprintable() and text.strip() == text != "" else repr(text)


@functools.lru_cache(maxsize=2**14)
def _edge(attribute: Numeric, cut: int) -> str:
    """The edge of the grid at a cut with as few digits as tell it from its neighbors."""
    edge = attribute.edges[cut - 1].item()
    if type(attribute) is not Numeric:
        return printable(attribute.text_of(edge))
    around = [attribute.low, *attribute.edges[max(0, cut - 2) : cut + 1], attribute.high]
    near = min(abs(other - edge) for other in around if other != edge) / 10
    texts = (f"{edge:.{digits}g}" for digits in range(1, 18))
    text = next(t for t in texts if abs(float(t) - edge) <= near)
    return spelling(float(text)) if abs(edge) < 1e15 else text


@dataclass(frozen=True, slots=True)
class Rule:
    """Conditions that lead to one node, and what was released there.

    A rule of a forest of counts has a confidence and a support, one of a forest of scores has odds.

    Attributes
    ----------
    label : value
        For counts, the most common label; if none is positive, that of the nearest node above that has
        a positive one. For scores, the label whose odds the node raises most.
    confidence : float
        The label's share of the released counts; 0 if none is positive.
    support : float
        The released number of records, which noise can make negative.
    confidence_low, confidence_high, support_margin : float
        95% intervals for the table's own share and number of records (support ± margin). They hold for
        all rules of the forest at once (`forest.intervals`), so also for those that a filter or an
        order picks.
    counts : tuple of float or None
        The released count of each label.
    odds : float
        The factor by which the node moves the odds of its label. It was not counted: it is what one
        tree of many says, and has no true value.
    odds_low, odds_high : float
        The same, one standard deviation of the noise less and more.
    """

    tree: int
    node: int
    kind: ValueKind
    conditions: tuple[Condition, ...]
    label: Value
    is_leaf: bool
    figures: dict[str, float]
    counts: tuple[float, ...] | None = None

    def __getattr__(self, name: str) -> float:
        try:
            return self.figures[name]
        except KeyError:
            raise AttributeError(f"a rule of {self.kind} has no {name}") from None

    def covers(self, table: Any) -> NDArray[np.bool_]:
        """Which records of a DataFrame or Arrow table meet all conditions."""
        columns, rows = columns_of(table)
        inside = np.ones(rows, dtype=bool)
        codes = np.empty(rows, dtype=np.uint16)
        for condition in self.conditions:
            encode_column(columns(condition.attribute.name), condition.attribute, codes)
            inside &= condition.covers(codes)
        return inside

    @property
    def text(self) -> str:
        """The conditions in words."""
        return " and ".join(map(str, self.conditions)) or "always"

    @property
    def cells(self) -> tuple[str, str]:
        """Its figures in words, under the two `HEADINGS` of its kind."""
        if self.kind is ValueKind.SCORES:
            return f"× {self.odds:.2g}", f"{self.odds_low:.2g} to {self.odds_high:.2g}"
        return share_words(self), plus_minus(self.support, self.support_margin)

    def to_json(self) -> dict[str, Any]:
        data = {name: getattr(self, name) for name in ("tree", "node", "label", "is_leaf")}
        data |= {"kind": self.kind.value, "conditions": [c.to_json() for c in self.conditions]}
        data |= {name: _finite(value) for name, value in self.figures.items()}
        return data if self.counts is None else data | {"counts": list(self.counts)}

    def __str__(self) -> str:
        first, second = self.cells
        said = (
            f"odds {first}, noise {second}"
            if self.kind is ValueKind.SCORES
            else f"{first} of {second}"
        )
        return f"{self.text} -> {printable(spelling(self.label))} ({said})"


HEADINGS = {ValueKind.COUNTS: ("confidence", "support"), ValueKind.SCORES: ("odds", "noise")}


def share_words(rule: Rule) -> str:
    """A share and its interval, rounded outwards; without noise the share alone."""
    low, high = (100 * rule.confidence_low, 100 * rule.confidence_high)
    span = f" [{math.floor(low)}% to {math.ceil(high)}%]" if rule.support_margin else ""
    return f"{percent(rule.confidence)}{span}"


def percent(share: float) -> str:
    return f"{100 * share:.0f}%"


def plus_minus(support: float, margin: float) -> str:
    """A number of records and its margin, in whole records, rounded outwards."""
    off = abs(support - round(support))
    noise = f" ± {math.ceil(margin + off):,}" if margin else ""
    return f"{round(support):,}{noise}"


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


# -- all nodes of a forest ---------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Nodes:
    """What is known of each node of a forest: where it is, and what its released values say."""

    forest: VotingTrees

    @cached_property
    def parent(self) -> NDArray[np.int64]:
        """The node above each node; -1 for a root, and for a node that no tree reaches."""
        return self._places[0]

    @cached_property
    def tree(self) -> NDArray[np.int64]:
        """The tree each node is in; -1 where no tree reaches it."""
        return self._places[1]

    @property
    def levels(self) -> list[NDArray[np.int64]]:
        """The nodes of all trees by their depth, roots first."""
        return self._places[2]

    @cached_property
    def _places(self) -> tuple[NDArray[np.int64], NDArray[np.int64], list[NDArray[np.int64]]]:
        trees, widths = self.forest.trees, self.forest.trees.widths(self.forest.domain)
        trees.check(self.forest.domain)
        parent, tree = np.full((2, trees.n_nodes), -1)
        level, number = trees.roots.astype(np.int64), np.arange(trees.n_trees)
        above = np.full(trees.n_trees, -1)
        levels = []
        while len(level):
            parent[level], tree[level] = above, number
            levels.append(level)
            inner = level[trees.attribute[level] >= 0]
            counts = widths[inner]
            above = np.repeat(inner, counts)
            within = np.arange(len(above)) - np.repeat(np.cumsum(counts) - counts, counts)
            level, number = trees.first_child[above] + within, tree[above]
        return parent, tree, levels

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """How many nodes each node's subtree has, itself among them."""
        sizes = np.ones(len(self.parent), dtype=np.int64)
        for level in self.levels[:0:-1]:
            above = self.parent[level]  # siblings stand side by side
            first = np.flatnonzero(np.diff(above, prepend=-1))
            sizes[above[first]] += np.add.reduceat(sizes[level], first)
        return sizes

    @property
    def kind(self) -> ValueKind:
        return self.forest.kind

    @cached_property
    def told(self) -> NDArray[np.bool_]:
        """The nodes that say something: not those that were emptied for their noise.

        Of scores, not the root of a tree that asks something: a mean of leaves, which reads as if it
        held for everybody.
        """
        if self.kind is ValueKind.SCORES:
            return (self.parent >= 0) | (self.forest.trees.attribute < 0)
        return self.forest.values.any(axis=1) | (self.forest.variance == 0)

    @cached_property
    def figures(self) -> dict[str, NDArray[np.float64]]:
        """What rules state of every node, by the kind of its values."""
        if self.kind is ValueKind.SCORES:
            noise = np.stack([-self.effect_error, 0 * self.effect_error, self.effect_error])
            low, odds, high = np.exp(np.minimum(self.effect + noise, 700))
            return {"odds": odds, "odds_low": low, "odds_high": high}
        low, high = self._confidence_interval
        return {
            "confidence": self.confidence, "confidence_low": low, "confidence_high": high,
            "support": self.support, "support_margin": self.support_margin,
        }  # fmt: skip

    @cached_property
    def certainty(self) -> NDArray[np.float64]:
        """What is left of a node's figure after its noise: the least share, or the least effect."""
        if self.kind is ValueKind.SCORES:
            return self.effect - self.effect_error
        return self._confidence_interval[0]

    @cached_property
    def is_faint(self) -> NDArray[np.bool_]:
        """Where noise is larger than what it is on."""
        if self.kind is ValueKind.SCORES:
            return self.effect < self.effect_error
        return self.support < self.support_margin

    @cached_property
    def label(self) -> NDArray[np.int64]:
        """The code of each node's label."""
        if self.kind is ValueKind.SCORES:
            return self.forest.values.argmax(axis=1)
        trees, speaker = self.forest.trees, np.arange(len(self.parent), dtype=np.int32)
        widths, shares = trees.widths(self.forest.domain), self.forest.node_shares
        find_speakers(trees.first_child, widths, shares.max(axis=1), False, speaker)
        return shares[speaker].argmax(axis=1)

    # -- counts --------------------------------------------------------------------------------

    @cached_property
    def totals(self) -> NDArray[np.float64]:
        """The number of records of each node, negative counts as zero."""
        return np.maximum(self.forest.values, 0).sum(axis=1, dtype=np.float64)

    @cached_property
    def support(self) -> NDArray[np.float64]:
        return self.forest.values.sum(axis=1, dtype=np.float64)

    @cached_property
    def support_margin(self) -> NDArray[np.float64]:
        noise = deviation(self.forest.variance, self._factor)
        return self._factor * math.sqrt(self.forest.domain.n_labels) * noise

    @cached_property
    def confidence(self) -> NDArray[np.float64]:
        """The share of the most common label, between 0 and 1."""
        some = np.maximum(self.support, 1e-300)
        share = np.maximum(self.forest.values.max(axis=1), 0) / some
        return np.where(self.support > 0, np.minimum(share, 1), 0.0)

    @cached_property
    def _confidence_interval(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        largest = self.forest.values.max(axis=1).astype(np.float64)
        n_labels = self.forest.domain.n_labels
        return share_interval(
            largest, self.support, self.forest.variance, 1, n_labels, self._factor
        )

    @property
    def _factor(self) -> float:
        """Of the margins: support and every label's share of all candidates hold at once."""
        candidates = max(self.forest.candidates, self.forest.trees.n_nodes)
        return noise_factor((1 - LEVEL) / (candidates * (self.forest.domain.n_labels + 1)))

    # -- scores --------------------------------------------------------------------------------

    @cached_property
    def effect(self) -> NDArray[np.float64]:
        """How far each node raises the log-odds of its label against the mean of the others."""
        n_labels, scores = self.forest.domain.n_labels, self.forest.values
        above = scores.max(axis=1) - scores.mean(axis=1)
        return above * (n_labels / max(1, n_labels - 1))

    @cached_property
    def effect_error(self) -> NDArray[np.float64]:
        n_labels = self.forest.domain.n_labels
        return np.sqrt(self.forest.variance) * (n_labels / max(1, n_labels - 1))

    # -- paths ---------------------------------------------------------------------------------

    def asks(self, attribute: int) -> NDArray[np.bool_]:
        """Whether the path to each node splits on the attribute."""
        asks = np.zeros(len(self.parent), dtype=bool)
        here = self.forest.trees.attribute == attribute
        for level in self.levels[1:]:
            above = self.parent[level]
            asks[level] = asks[above] | here[above]
        return asks

    def conditions(self, node: int) -> tuple[Condition, ...]:
        """The conditions that lead to the node: one for each attribute, in the order of the splits."""
        path = [node]
        while self.parent[path[-1]] >= 0:
            path.append(int(self.parent[path[-1]]))
        merged: dict[str, Condition] = {}
        for child in reversed(path[:-1]):
            new = self.step(child)
            old = merged.get(new.attribute.name, new)
            low, high = max(old.low, new.low), min(old.high, new.high)
            without = tuple(sorted({*old.without, *new.without}))
            merged[new.attribute.name] = Condition(new.attribute, low, max(low, high), without)
        return tuple(merged.values())

    def step(self, node: int) -> Condition:
        """The condition on records that the node's parent sends here."""
        above, trees = int(self.parent[node]), self.forest.trees
        asked = self.forest.domain.attributes[trees.attribute[above]]
        branch = node - int(trees.first_child[above])
        if isinstance(asked, Categorical) and trees.cut[above] < -1:
            members = trees.members(above)[: asked.size]
            without = np.flatnonzero(members if branch else ~members)
            return Condition(asked, 0, asked.size, tuple(without.tolist()))
        if isinstance(asked, Categorical):
            return Condition(asked, branch, branch + 1)
        cut = min(int(trees.cut[above]), asked.size)
        return Condition(asked, cut, asked.size) if branch else Condition(asked, 0, cut)

    def rule(self, node: int) -> Rule:
        forest = self.forest
        counts = None if self.kind is ValueKind.SCORES else tuple(forest.values[node].tolist())
        return Rule(
            tree=int(self.tree[node]),
            node=node,
            kind=self.kind,
            conditions=self.conditions(node),
            label=forest.domain.label_values[self.label[node]],
            is_leaf=bool(forest.trees.attribute[node] < 0),
            figures={name: float(values[node]) for name, values in self.figures.items()},
            counts=counts,
        )
