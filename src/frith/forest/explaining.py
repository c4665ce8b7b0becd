"""What one prediction is made of: contributions of attributes that add up to its score.

A leaf of a tree adds its score s where a record meets all its conditions. For the condition on attribute
a let o_a be 1 if the record meets it and 0 if not, and q_a its public weight:
that of all values that meet it. The attribute contributes

    s (o_a - q_a) * integral over t from 0 to 1 of  prod_{b != a} (q_b + t (o_b - q_b))

summed over leaves. This is the Shapley value of a under the public weights (Owen's form of it): every
effect of several attributes together is split evenly between them.

It adds up: the integrands' sum over a is the derivative of prod_b (q_b + t (o_b - q_b)) by t, so the
contributions of a leaf sum to s (prod_b o_b - prod_b q_b): what the leaf adds to the record, less
what it adds on average. The averages are the base. The integrand is a polynomial in t of a degree below the
number of attributes, which Gauss and Legendre's rule integrates exactly.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith._jit import available_threads
from frith._threads import on_threads
from frith.domain import Value, spelling
from frith.forest.scores import ScoredTree, Scores
from frith.forest.voting import VotingTrees

_ROWS = 65_536  # records that a thread explains at a time
_CELLS = 2**22  # records x leaves x attributes worked on at once


def explain(forest: VotingTrees, table: Any, label: Value | None = None) -> Any:
    """Contributions as a DataFrame; see `Forest.explain`."""
    import pandas as pd

    base, parts = contributions(Scores(forest), forest.encode(table), available_threads())
    whole = np.broadcast_to(base, (len(parts), 1, len(base)))
    columns = np.concatenate([whole, parts], axis=1)
    names = [_base_name(forest), *forest.domain.names]
    index = table.index if isinstance(table, pd.DataFrame) else None
    shown = Scores(forest).labels
    if label is not None:
        values = forest.domain.label_values
        place = {spelling(value): k for k, value in enumerate(values)}
        if spelling(label) not in place:
            raise ValueError(
                f"the forest has no label {label!r}; it has {', '.join(map(spelling, values))}"
            )
        k = place[spelling(label)]
        columns = (2 * k - 1) * columns if len(values) == 2 else columns[:, :, k : k + 1]
        shown = (values[k],)
    if len(shown) == 1:
        unit = forest.domain.target_unit if forest.domain.has_log_target else None
        return pd.DataFrame(columns[:, :, 0], index, pd.Index(names, name=unit))
    wide = columns.transpose(0, 2, 1).reshape(len(columns), -1)
    return pd.DataFrame(wide, index, pd.MultiIndex.from_product([shown, names]))


def contributions(scores: Scores, codes: NDArray[Any], threads: int = 1) -> tuple[Floats, Floats]:
    """The base, which all encoded records share; and records x attributes x scores."""
    parts = np.zeros((len(codes), len(scores.forest.domain.attributes), len(scores.labels)))
    base = np.zeros(len(scores.labels))
    for tree in scores.trees:
        base += tree.mean
    every = range(0, len(codes), _ROWS)
    starts = iter(every)

    def run() -> None:
        for start in starts:
            rows = slice(start, start + _ROWS)
            _add_parts(scores, codes[rows], parts[rows])

    on_threads(max(1, min(threads, len(every))), run)
    return base, parts


def _add_parts(scores: Scores, codes: NDArray[Any], parts: Floats) -> None:
    for tree in scores.trees:
        if tree.asked:
            pieces = [scores.pieces[a].of_code[codes[:, a]] for a in tree.asked]
            parts[:, tree.asked] += _of_tree(tree, pieces)


def _of_tree(tree: ScoredTree, pieces: list[NDArray[np.int64]]) -> Floats:
    """What a tree gives each attribute that it asks for: records x attributes x scores."""
    if len(tree.asked) == 1:
        return np.asarray(tree.reach[0].T @ tree.scores - tree.mean)[pieces[0]][:, None]
    sides = [np.unique(r.toarray(), axis=1, return_inverse=True) for r in tree.reach]
    groups = [group.reshape(-1)[piece] for (_, group), piece in zip(sides, pieces, strict=True)]
    place = np.zeros_like(groups[0])
    for group in groups:  # records that the tree treats alike are computed once
        place = np.unique(place * (group.max(initial=0) + 1) + group, return_inverse=True)[1]
    alike = np.array(groups)[:, np.unique(place, return_index=True)[1]]
    out = np.empty((alike.shape[1], len(tree.asked), tree.scores.shape[1]))
    step = max(1, _CELLS // tree.share.size)
    for start in range(0, len(out), step):
        rows = slice(start, start + step)
        met = [side.T[group[rows]] for (side, _), group in zip(sides, alike, strict=True)]
        out[rows] = _shapley(np.array(met), tree)
    return out[place]


def _shapley(met: Floats, tree: ScoredTree) -> Floats:
    """The formula above, from which conditions are met: attributes x records x leaves."""
    q = tree.share[:, None]
    more, whole = met - q, np.zeros_like(met)
    for t, weight in zip(*_rule(len(met)), strict=True):
        whole += weight * _others(q + t * more)
    return np.moveaxis((more * whole) @ tree.scores, 0, 1)


def _others(factors: Floats) -> Floats:
    """For each attribute the product over all others, without a division."""
    before, after = np.ones_like(factors), np.ones_like(factors)
    np.cumprod(factors[:-1], axis=0, out=before[1:])
    after[:-1] = np.cumprod(factors[:0:-1], axis=0)[::-1]
    return before * after


def _rule(attributes: int) -> tuple[Floats, Floats]:
    """Points and weights on [0, 1] that are exact for polynomials of degree `attributes` - 1."""
    points, weights = np.polynomial.legendre.leggauss((attributes + 1) // 2)
    return (points + 1) / 2, weights / 2


def _base_name(forest: VotingTrees) -> str:
    """The name of the base's column, which no attribute has."""
    name = "(base)"
    while name in forest.domain.names:
        name = f"({name})"
    return name
