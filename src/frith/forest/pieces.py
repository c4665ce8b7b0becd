"""The values of an attribute that a forest tells apart: pieces of its codes, and their public weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith._cached import cached_property
from frith.domain import Attribute, Categorical, Domain, Numeric, spelling
from frith.forest.nodes import Condition, printable
from frith.forest.trees import Trees

_NAMED = 2  # values of a piece by name, where it has many


@dataclass(frozen=True, eq=False)
class Pieces:
    """Groups of an attribute's codes that every split treats alike, in the order of their first code.

    A missing number has a piece of its own, whether a split asks for it or not.
    """

    attribute: Attribute
    of_code: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.of_code.max()) + 1

    @cached_property
    def weights(self) -> Floats:
        """How much each piece counts where values are averaged: from the domain and the cuts alone.

        Each value of a category counts alike. So does each interval between neighboring cuts of a
        number, however wide: skewed numbers would else count by where nobody is.
        """
        if isinstance(self.attribute, Numeric):
            return np.full(len(self), 1 / len(self))
        return np.asarray(np.bincount(self.of_code) / len(self.of_code))

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """One code of each piece."""
        return np.unique(self.of_code, return_index=True)[1]

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        """Each piece as the condition that its records meet."""
        groups = np.split(
            np.argsort(self.of_code, kind="stable"), np.cumsum(np.bincount(self.of_code))[:-1]
        )
        return tuple(self._condition(codes) for codes in groups)

    def _condition(self, codes: NDArray[np.int64]) -> Condition:
        low, high = int(codes[0]), int(codes[-1]) + 1
        if high - low == len(codes):
            return Condition(self.attribute, low, high)
        without = np.setdiff1d(np.arange(low, high), codes)
        return Condition(self.attribute, low, high, tuple(without.tolist()))

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Each piece in words, without the attribute's name.

        >>> age = Pieces(Numeric("age", 0, 80, cells=4, missing=True), np.array([0, 1, 1, 2, 3]))
        >>> age.texts
        ('< 20', '20 to 60', '>= 60', 'missing')
        >>> Pieces(Categorical("color", tuple("abcde")), np.array([0, 1, 0, 0, 0])).texts
        ('a or c or 2 more', 'b')
        """
        return tuple(map(_text, self.conditions))

    def one_each(self) -> Pieces:
        """Every value of a category on its own; numbers as they are."""
        if isinstance(self.attribute, Numeric):
            return self
        return Pieces(self.attribute, np.arange(self.attribute.size))


def pieces_of(trees: Trees, domain: Domain) -> dict[int, Pieces]:
    """The pieces of every attribute that the trees split on, by its place in the domain."""
    return {a: Pieces(domain.attributes[a], _groups(trees, domain, a)) for a in trees.asked}


def _groups(trees: Trees, domain: Domain, place: int) -> NDArray[np.int64]:
    """The piece of each code."""
    attribute, cuts = domain.attributes[place], np.unique(trees.cut[trees.attribute == place])
    codes = np.arange(attribute.size)
    if isinstance(attribute, Numeric):
        cuts = np.append(cuts, [attribute.cells] if attribute.missing else [])
        inner = np.unique(cuts[(cuts > 0) & (cuts < attribute.size)])
        return np.searchsorted(inner, codes, side="right")
    if np.any(cuts == -1):  # a split into all values
        return codes
    sides = trees.sets[-2 - cuts][:, : attribute.size]
    return _in_order(np.unique(sides, axis=1, return_inverse=True)[1].reshape(-1))


def _in_order(groups: NDArray[Any]) -> NDArray[np.int64]:
    """The same groups, numbered by where they occur first."""
    first = np.unique(groups, return_index=True)[1]
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    return number[groups]


def _text(condition: Condition) -> str:
    names = [printable(spelling(value)) for value in condition.values]
    if len(names) > _NAMED + 1:
        names = [*names[:_NAMED], f"{len(names) - _NAMED} more"]
    name = printable(condition.attribute.name)
    words = str(condition).replace(f"<= {name} <", "to").removeprefix(f"{name} ")
    return " or ".join(names) or words.removeprefix("is ")


def role_of(attribute: Attribute, code: int) -> str:
    """What else a code stands for: values outside the domain, missing ones, or nothing."""
    if isinstance(attribute, Categorical):
        other = attribute.other is not None and code == attribute.outside_code
        missing = attribute.missing is not None and code == attribute.missing_code
        return " and ".join(["other"] * other + ["missing"] * missing)
    return "missing" if attribute.missing and code == attribute.cells else ""
