"""Effects: what all trees of a forest add to a score together, value by value and pair by pair.

Let every value of a category, and every interval between neighboring cuts of a number, count alike, and
attributes be independent; these weights follow from domain and cuts, and from no record. A tree's score f
then has a mean, and

    main effect of a       f_a(x)     = E[f | a = x] - E[f]
    effect of a pair a, b  f_ab(x, y) = E[f | a = x, b = y] - f_a(x) - f_b(y) - E[f]

whose weighted means are 0. Effects of trees add up. A leaf adds its score times the weight of its other
conditions, so every effect is a sum of released scores with public factors, and the variance of its
noise is the sum of theirs with the squared factors. Bands state this noise and claim no
coverage: a score has no true value in the table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from frith._arrays import Floats
from frith._cached import cached_property
from frith.domain import Attribute, Value, spelling
from frith.forest.nodes import printable
from frith.forest.pieces import Pieces, role_of
from frith.forest.scores import ScoredTree, Scores
from frith.forest.voting import VotingTrees

FORMAT = "frith-effects/1"
_ROUNDING = 1e-9  # what remains of a pair whose effects only add up


@dataclass(frozen=True, eq=False)
class Effect:
    """What one attribute adds to each score, piece by piece, and the standard error of its noise."""

    pieces: Pieces
    values: Floats
    noise: Floats

    @property
    def attribute(self) -> Attribute:
        return self.pieces.attribute

    @cached_property
    def strength(self) -> float:
        """How far the attribute moves a score: the root of its mean square, of the score moved most."""
        return float(np.sqrt(self.pieces.weights @ self.values**2).max())


@dataclass(frozen=True, eq=False)
class PairEffect:
    """What two attributes add together, beyond what each adds alone: pieces x pieces x scores."""

    pieces: tuple[Pieces, Pieces]
    values: Floats
    noise: Floats

    @property
    def names(self) -> tuple[str, str]:
        first, second = self.pieces
        return first.attribute.name, second.attribute.name

    @cached_property
    def strength(self) -> float:
        """How far the pair moves a score: the root of its mean square, of the score moved most."""
        a, b = (pieces.weights for pieces in self.pieces)
        return float(np.sqrt(np.einsum("i,j,ijk->k", a, b, self.values**2)).max())


class EffectSums:
    """The effects of a forest of scores; each is computed when it is first asked for.

    Attributes
    ----------
    labels : tuple of values
        The labels whose scores these are. With two labels, the log-odds of the second; with more, the
        logarithm of each label's probability, less the mean over labels.
    base : ndarray
        Each score before any attribute is asked for.
    mains : tuple of Effect
        The effect of each attribute that a split asks for, the strongest first.
    pairs : tuple of PairEffect
        The effect of each two attributes that some tree asks for together, the strongest first, without
        pairs whose effects only add up.
    """

    def __init__(self, forest: VotingTrees):
        self._scores = Scores(forest)
        self.labels: tuple[Value, ...] = self._scores.labels

    @property
    def forest(self) -> VotingTrees:
        return self._scores.forest

    @property
    def unit(self) -> str:
        """What effects are added to, in words."""
        label = printable(self.forest.domain.label.name)
        if self.forest.domain.has_log_target:
            return f"the natural logarithm of {label} (+0.1 is about 10% more)"
        if self.forest.domain.has_target:
            return f"{label}, in its own unit"
        if len(self.labels) > 1:
            return f"the score of each {label}"
        return f"the log-odds of {label} = {printable(spelling(self.labels[0]))}"

    @cached_property
    def base(self) -> Floats:
        return np.sum([tree.mean for tree in self._scores.trees], axis=0)

    @cached_property
    def mains(self) -> tuple[Effect, ...]:
        return _strongest(self._main(place) for place in self._scores.pieces)

    @cached_property
    def pairs(self) -> tuple[PairEffect, ...]:
        together = {p for tree in self._scores.trees for p in combinations(tree.asked, 2)}
        made = (self._pair(*places) for places in sorted(together))
        return _strongest(pair for pair in made if pair.strength > _ROUNDING)

    @property
    def never_asked(self) -> tuple[str, ...]:
        """Attributes that no split asks for: the forest says nothing about them."""
        names = self.forest.domain.names
        return tuple(n for a, n in enumerate(names) if a not in self._scores.pieces)

    def of(self, attribute: str) -> Effect:
        """The effect of one attribute."""
        for effect in self.mains:
            if effect.attribute.name == attribute:
                return effect
        if attribute in self.never_asked:
            raise ValueError(f"no tree of this forest asks for {attribute!r}: it has no effect")
        asked = ", ".join(repr(effect.attribute.name) for effect in self.mains)
        raise ValueError(f"the forest has no attribute {attribute!r}; it asks for {asked}")

    # -- sums over leaves ----------------------------------------------------------------------

    def _main(self, place: int) -> Effect:
        pieces = self._scores.pieces[place]
        values, variance = np.zeros((2, len(pieces), len(self.labels)))
        for tree in self._scores.trees:
            if place in tree.asked:
                added, noise = _main_of(tree, place)
                values += added
                variance += noise
        return Effect(pieces, values, np.sqrt(variance))

    def _pair(self, first: int, second: int) -> PairEffect:
        pieces = self._scores.pieces[first], self._scores.pieces[second]
        values, variance = np.zeros((2, len(pieces[0]), len(pieces[1]), len(self.labels)))
        for tree in self._scores.trees:
            if {first, second} <= {*tree.asked}:
                added, noise = _pair_of(tree, first, second)
                values += added
                variance += noise
        return PairEffect(pieces, values, np.sqrt(variance))

    # -- as tables -----------------------------------------------------------------------------

    def to_frame(self) -> Any:
        """A pandas DataFrame: a row for each attribute, value and label. Categories value by value.

        `at_least` and `below` bound a number; `role` says where a value also stands for others, or for
        missing ones. `noise` is a standard error.
        """
        import pandas as pd

        return pd.DataFrame([row for effect in self.mains for row in self._rows(effect)])

    def _rows(self, effect: Effect) -> Iterator[dict[str, Any]]:
        shown = effect.pieces.one_each()
        for code, condition, text in zip(shown.first, shown.conditions, shown.texts, strict=True):
            piece, (low, high) = effect.pieces.of_code[code], condition.bounds
            for k, label in enumerate(self.labels):
                yield {
                    "attribute": effect.attribute.name,
                    "value": text,
                    "at_least": low,
                    "below": high,
                    "role": role_of(effect.attribute, int(code)),
                    "label": label,
                    "effect": float(effect.values[piece, k]),
                    "noise": float(effect.noise[piece, k]),
                }

    def pairs_to_frame(self) -> Any:
        """A pandas DataFrame: a row for each pair, values of both, and label."""
        import pandas as pd

        columns = ("first", "first_value", "second", "second_value", "label", "effect", "noise")
        rows = [row for pair in self.pairs for row in self._pair_rows(pair)]
        return pd.DataFrame(rows, columns=columns)

    def _pair_rows(self, pair: PairEffect) -> Iterator[tuple[Any, ...]]:
        (first, second), (a, b) = pair.names, pair.pieces
        for i, j, k in np.ndindex(pair.values.shape):
            here = (first, a.texts[i], second, b.texts[j], self.labels[k])
            yield (*here, float(pair.values[i, j, k]), float(pair.noise[i, j, k]))

    def to_json(self) -> dict[str, Any]:
        """Plain data, with the guarantee that covers it."""
        frames = {"effects": self.to_frame(), "pairs": self.pairs_to_frame()}
        return {
            "format": FORMAT,
            "guarantee": self.forest.guarantee.to_json(),
            "labels": list(self.labels),
            "unit": self.unit,
            "base": self.base.tolist(),
            "never_asked": list(self.never_asked),
            **{name: frame.astype(object).where(frame.notna(), None).to_dict("records")
               for name, frame in frames.items()},
        }  # fmt: skip


def _main_of(tree: ScoredTree, place: int) -> tuple[Floats, Floats]:
    """Sum over leaves of s r (1[x] - q): s the score, r the other conditions' weight, q this one's."""
    at = tree.asked.index(place)
    reach, q = tree.reach[at].T, tree.share[at][:, None]
    r = tree.without(place)[:, None]
    values = reach @ (r * tree.scores) - (r * q * tree.scores).sum(axis=0)
    spread = r**2 * tree.variance  # (1[x] - q)^2 = 1[x] (1 - 2 q) + q^2
    return values, reach @ (spread * (1 - 2 * q)) + (spread * q**2).sum(axis=0)


def _pair_of(tree: ScoredTree, first: int, second: int) -> tuple[Floats, Floats]:
    """Sum over leaves of s r (1[x] - q) (1[y] - p)."""
    at = [tree.asked.index(place) for place in (first, second)]
    x, y = (tree.reach[i].toarray() - tree.share[i][:, None] for i in at)
    r = tree.without(first, second)[:, None]
    values = np.einsum("li,lj,lk->ijk", x, y, r * tree.scores, optimize=True)
    return values, np.einsum("li,lj,lk->ijk", x**2, y**2, r**2 * tree.variance, optimize=True)


def _strongest(effects: Iterator[Any]) -> tuple[Any, ...]:
    return tuple(sorted(effects, key=lambda effect: -effect.strength))
