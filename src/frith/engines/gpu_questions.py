"""Questions as a GPU answers them: a step for each kind of kernel, and how its cells become sums."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from frith.domain import Domain
from frith.engines import gpu_loops as loops
from frith.kernels import Kernel, LeafCounts, RecordCount, SplitCounts
from frith.kernels.counts import CorrectCounts
from frith.kernels.gradients import SIGMOID, CellSums, GradientSums, ScoreColumn
from frith.kernels.label_gradients import WEIGHTS, LabelCells, LabelGradients
from frith.kernels.residuals import ResidualCells, ResidualSums, TargetCounts
from frith.kernels.strengths import StrengthCounts

SHARED_CELLS = 12_000
"""How many sums of 32 bits every GPU has room for near its threads."""


@dataclass(frozen=True)
class Question:
    """A kernel as the GPU answers it: a step, what it reads, and how its cells become sums.

    With `pairs`, each cell belongs to two attributes (`frith.engines.gpu_loops.sum_pairs`).
    """

    step: loops.Step
    cells: int
    args: tuple[Any, ...] = ()
    words: Any = field(default_factory=lambda: cuda.to_device(np.zeros(0, dtype=np.int64)))
    columns: tuple[ScoreColumn, ...] = ()
    finish: Callable[[NDArray[np.int64]], NDArray[np.int64]] = lambda cells: cells
    pairs: tuple[np.int64, ...] = ()


def _leaves(kernel: LeafCounts) -> Question:
    words, roots, sets = on_gpu(loops.pack(kernel.trees), kernel.trees.roots, kernel.trees.sets)
    n_labels = np.uint32(kernel.shape[1])
    return Question(loops.count_leaves, _size(kernel), (roots, sets, n_labels), words)


def _splits(kernel: SplitCounts) -> Question:
    trees, (lookup, begins) = kernel.trees, kernel.layout.lookup
    words, *tables = on_gpu(
        loops.pack(trees), trees.roots, trees.sets, *_places(kernel), lookup, begins
    )
    args = (*tables, kernel.layout.n_bins, kernel.shape[2])
    return Question(loops.count_splits, _size(kernel), args, words)


def _places(kernel: SplitCounts) -> tuple[NDArray[np.int64], ...]:
    """Where each leaf is among the open nodes, or -1; the attributes asked there, and how many."""
    leaf_to_open = np.full(len(kernel.trees.leaves), -1, dtype=np.int64)
    leaf_to_open[kernel.trees.nodes[kernel.open_nodes, 3]] = np.arange(len(kernel.open_nodes))
    asked = np.argsort(~kernel.asks, axis=1, kind="stable").astype(np.int64)
    return leaf_to_open, asked, kernel.asks.sum(axis=1).astype(np.int64)


def _gradients(kernel: GradientSums) -> Question:
    layout, (lookup, begins) = kernel.layout, kernel.layout.lookup
    args, columns = (_sigmoid(), kernel.max_gradient, *on_gpu(begins)), (kernel.column,)
    pairs = _pairs(layout.domain)
    if pairs is None:
        return Question(
            loops.sum_gradients, len(lookup), args, columns=columns,
            finish=lambda cells: _by_bin(cells[:, None], layout),
        )  # fmt: skip
    return Question(
        loops.sum_gradients, _cells_of(pairs, layout.domain), args, columns=columns,
        finish=lambda cells: _by_bin(_by_code(cells, pairs, layout.domain)[:, None], layout),
        pairs=tuple(loops.pack_pairs(pairs)),
    )  # fmt: skip


def _cells(kernel: CellSums) -> Question:
    words, sets = on_gpu(loops.pack(kernel.tree), kernel.tree.sets)
    args = (_sigmoid(), np.uint32(kernel.tree.roots[0]), sets)
    return Question(loops.sum_cells, _size(kernel), args, words, (kernel.column,))


def _targets(kernel: TargetCounts) -> Question:
    return Question(loops.count_targets, _size(kernel), (kernel.domain.target.cells, _size(kernel)))


def _residuals(kernel: ResidualSums) -> Question:
    (lookup, begins), layout = kernel.layout.lookup, kernel.layout
    args = (kernel.domain.target.cells, kernel.width, kernel.tilt, *on_gpu(begins))
    return Question(
        loops.sum_residuals, len(lookup), args, columns=(kernel.column,),
        finish=lambda cells: _by_bin(cells[:, None], layout),
    )  # fmt: skip


def _residual_cells(kernel: ResidualCells) -> Question:
    words, sets = on_gpu(loops.pack(kernel.tree), kernel.tree.sets)
    cells, root = kernel.domain.target.cells, np.uint32(kernel.tree.roots[0])
    args, columns = (cells, kernel.width, kernel.tilt, root, sets), (kernel.column,)
    return Question(loops.sum_residual_cells, _size(kernel), args, words, columns)


def _vectors(kernel: LabelGradients) -> Question:
    (lookup, begins), n_labels = kernel.layout.lookup, kernel.domain.n_labels
    return Question(
        loops.sum_vectors(n_labels), len(lookup) * n_labels, on_gpu(WEIGHTS, begins),
        columns=(kernel.column,),
        finish=lambda cells: _by_bin(cells.reshape(-1, n_labels), kernel.layout),
    )  # fmt: skip


def _label_cells(kernel: LabelCells) -> Question:
    weights, words, sets = on_gpu(WEIGHTS, loops.pack(kernel.tree), kernel.tree.sets)
    args = (weights, np.uint32(kernel.tree.roots[0]), sets)
    step = loops.sum_label_cells(kernel.domain.n_labels)
    return Question(step, _size(kernel), args, words, (kernel.column,))


def _correct(kernel: CorrectCounts) -> Question:
    asked, (lookup, begins) = np.array(kernel.asked, dtype=np.int64), kernel.layout.lookup
    args = on_gpu(asked, kernel.start, kernel.scores, kernel.factors, lookup, begins)
    return Question(loops.count_correct(kernel.domain.n_labels), len(kernel.factors), args)


def _right(kernel: StrengthCounts) -> Question:
    columns = (kernel.start, kernel.column)
    args = on_gpu(kernel.factors)
    return Question(loops.count_right, len(kernel.factors), args, columns=columns)


def _records(kernel: RecordCount) -> Question:
    return Question(loops.count_records, 1)


QUESTIONS: dict[type, Callable[[Any], Question]] = {
    RecordCount: _records, LeafCounts: _leaves, SplitCounts: _splits, GradientSums: _gradients,
    CellSums: _cells, LabelGradients: _vectors, LabelCells: _label_cells, CorrectCounts: _correct,
    StrengthCounts: _right, TargetCounts: _targets, ResidualSums: _residuals,
    ResidualCells: _residual_cells,
}  # fmt: skip


def _size(kernel: Kernel) -> int:
    return int(np.prod(kernel.shape))


def _pairs(domain: Domain) -> NDArray[np.int64] | None:
    """Attributes two by two, the second's codes and the first cell; None if they do not fit.

    An attribute left over is paired with itself.
    """
    if domain.code_type != np.uint8 or domain.label_type != np.uint8:
        return None
    sizes = [a.size for a in domain.attributes]
    order = sorted(range(len(sizes)), key=lambda a: sizes[a])
    pairs, cells = [], 0
    while order:  # the smallest with the largest
        first = order.pop(0)
        second = order.pop() if order else first
        pairs.append((first, second, sizes[second], cells))
        cells += sizes[first] * sizes[second]
    return np.array(pairs) if cells <= SHARED_CELLS else None


def _cells_of(pairs: NDArray[np.int64], domain: Domain) -> int:
    first, _, width, start = (int(n) for n in pairs[-1])
    return start + domain.attributes[first].size * width


def _by_code(
    cells: NDArray[np.int64], pairs: NDArray[np.int64], domain: Domain
) -> NDArray[np.int64]:
    """Sums by two codes as sums by one, all attributes in a row."""
    parts: list[NDArray[np.int64]] = [np.zeros(0, dtype=np.int64)] * len(domain.attributes)
    for first, second, width, start in pairs.tolist():
        size = domain.attributes[first].size
        table = cells[start : start + size * width].reshape(size, width)
        parts[second], parts[first] = table.sum(axis=0), table.sum(axis=1)
    return np.concatenate(parts)


def _by_bin(of_codes: NDArray[np.int64], layout: Any) -> NDArray[np.int64]:
    out = np.zeros((layout.n_bins, of_codes.shape[1]), dtype=np.int64)
    np.add.at(out, layout.lookup[0], of_codes)
    return out


@functools.cache
def _sigmoid() -> Any:
    return cuda.to_device(SIGMOID)


def on_gpu(*arrays: NDArray[Any]) -> tuple[Any, ...]:
    return tuple(cuda.to_device(np.ascontiguousarray(array)) for array in arrays)
