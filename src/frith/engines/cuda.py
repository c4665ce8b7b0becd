"""Records on a GPU: codes in its memory, column by column, and exact sums of them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from frith._threads import ahead
from frith.domain import Domain, Numeric
from frith.domain.encoding import Batch
from frith.engines import gpu_loops as loops
from frith.engines.base import Engine, LocalEngine, Raw
from frith.errors import SourceError
from frith.kernels import ColumnKernel, Kernel, LeafCounts, RecordCount, SplitCounts
from frith.kernels.counts import CorrectCounts
from frith.kernels.gradients import SIGMOID, CellSums, GradientSums, ScoreColumn
from frith.kernels.label_gradients import WEIGHTS, LabelCells, LabelGradients
from frith.kernels.residuals import ResidualCells, ResidualSums, TargetCounts
from frith.kernels.strengths import StrengthCounts

_SHARED_CELLS = 12_000  # of 32 bits, which every GPU has
_MAX_COPIES = 8
_FIRST_ROWS, _MAX_ROWS = 2**20, 2**29
_ROOM = 0.9  # of the memory that is free; the rest is for scores and sums


@dataclass(frozen=True)
class Launch:
    """How many threads walk the records: blocks on the whole GPU, and threads in a block."""

    blocks: int
    threads: int = 512

    def tile(self, records: int, most: int) -> np.uint32:
        """How many records a block adds up at a time, so that all blocks stay busy."""
        share = -(-records // self.blocks)
        return np.uint32(min(most, -(-share // self.threads) * self.threads))

    @classmethod
    def usual(cls) -> Launch:
        return cls(4 * cuda.get_current_device().MULTIPROCESSOR_COUNT)


class CudaEngine(Engine):
    """A table whose codes are kept on a GPU; sums equal those of every other engine.

    The table is read once, at the first question. What does not fit into the GPU's memory is read
    again in each pass. The table's own engine counts what private scores ask.
    """

    def __init__(
        self,
        table: LocalEngine,
        *,
        launch: Launch | None = None,
        room: int | None = None,
        rows: int = _FIRST_ROWS,
    ):
        check_device()
        super().__init__(table.domain, table.threads)
        self.assumptions, self.types = table.assumptions, table.types
        self._table, self._launch = table, launch or Launch.usual()
        self._room, self._rows = room, rows
        self._kept: list[Chunk] | None = None
        self._kept_tasks, self._has_more = 0, False

    def aggregate(self, kernel: Kernel) -> NDArray[np.int64]:
        if type(kernel) not in QUESTIONS:
            return self._table.aggregate(kernel)
        question = QUESTIONS[type(kernel)](kernel)
        total = cuda.to_device(np.zeros(question.cells, dtype=np.int64))
        for chunk in self._chunks():
            chunk.add(question, self._launch, total)
        return question.finish(total.copy_to_host()).reshape(kernel.shape)

    def derive(self, column: ColumnKernel) -> None:
        assert isinstance(column, ScoreColumn)
        push = Push(column)
        for chunk in self._kept or ():
            chunk.derive(push, self._launch)

    def peek(self) -> Raw | None:
        return self._table.peek()

    def _chunks(self) -> Iterator[Chunk]:
        """The chunks kept on the GPU, then those that every pass reads again."""
        if self._kept is None:
            yield from self._read()
            return
        yield from self._kept
        if not self._has_more:
            return
        tasks = self._tasks()
        for _ in range(self._kept_tasks):
            next(tasks)
        yield from self._filled(tasks, 0)

    def _read(self) -> Iterator[Chunk]:
        kept: list[Chunk] = []
        self._kept_tasks, self._has_more = 0, False
        left = self._room if self._room is not None else _ROOM * _free_bytes()
        for chunk in self._filled(self._tasks(), left):
            if chunk.is_kept:
                kept.append(chunk)
                self._kept_tasks += chunk.n_tasks
            else:
                self._has_more = True
            yield chunk
        kept.reverse()  # the largest first: it keeps the GPU busy while the others are sent
        self._kept = kept

    def _tasks(self) -> Iterator[Callable[[], Batch]]:
        return self._table.tasks(tuple(range(len(self.domain.attributes))))

    def _filled(self, tasks: Iterator[Callable[[], Batch]], left: float) -> Iterator[Chunk]:
        """Chunks full of records, each as large as all before it while they fit into `left` bytes.

        After the last chunk that fits, one chunk is refilled for the rest.
        """
        total, chunk = 0, None
        for batch in ahead(self.threads, tasks):
            if chunk is not None and not chunk.has_room(batch):
                yield chunk
                total += chunk.size
                chunk = None if chunk.is_kept else chunk.emptied()
            if chunk is None or not chunk.has_room(batch):
                chunk = self._new(max(self._rows, len(batch)), min(total, _MAX_ROWS), left)
                taken = len(chunk.labels) * Chunk.row_bytes(self.domain)
                left = left - taken if chunk.is_kept else 0
            chunk.fill(batch, self._launch)
        if chunk is not None:
            yield chunk

    def _new(self, least: int, wanted: int, left: float) -> Chunk:
        """A chunk for the wanted number of rows if they fit, else for the least."""
        each = Chunk.row_bytes(self.domain)
        rows = max(least, wanted if wanted * each <= left else 0)
        return Chunk.new(self.domain, rows, is_kept=rows * each <= left)


@dataclass
class Chunk:
    """Some records in the GPU's memory, `codes` with a row for each attribute."""

    codes: Any
    labels: Any
    is_kept: bool
    size: int = 0
    n_tasks: int = 0
    derived: dict[ScoreColumn, Any] = field(default_factory=dict)
    pending: Push | None = None

    @classmethod
    def new(cls, domain: Domain, rows: int, *, is_kept: bool) -> Chunk:
        rows += -rows % 4  # words of four records are read at once
        codes = cuda.device_array((len(domain.attributes), rows), domain.code_type)
        codes[:] = 0  # also for records beyond the last, which are read and count nothing
        return cls(codes, cuda.device_array(rows, domain.label_type), is_kept)

    @functools.cached_property
    def fours(self) -> tuple[Any, Any]:
        """Codes and labels of 8 bits, in words of four records."""
        return self.codes.view(np.uint32), self.labels.view(np.uint32)

    @staticmethod
    def row_bytes(domain: Domain) -> int:
        """Including its scores, twice: for this step and for the step before."""
        is_target = isinstance(domain.label, Numeric)
        n_scores = 1 if is_target or domain.n_labels == 2 else domain.n_labels
        codes = len(domain.attributes) * domain.code_type.itemsize
        return int(codes + domain.label_type.itemsize + 8 * n_scores)

    def has_room(self, batch: Batch) -> bool:
        return self.size + len(batch) <= len(self.labels)

    def fill(self, batch: Batch, launch: Launch) -> None:
        self.n_tasks += 1
        if not len(batch):
            return
        rows, stop = cuda.to_device(np.ascontiguousarray(batch.codes)), self.size + len(batch)
        loops.turn[launch.blocks, launch.threads](rows, self.size, self.codes)
        self.labels[self.size : stop].copy_to_device(np.ascontiguousarray(batch.labels))
        self.size = stop

    def emptied(self) -> Chunk:
        return replace(self, size=0, n_tasks=0, derived={}, pending=None)

    def add(self, question: Question, launch: Launch, total: Any) -> None:
        """Add what its records add to a question's sums."""
        if not self.size:
            return
        if question.pairs:
            self._add_pairs(question, launch, total)
            return
        columns = tuple(self.scores(column, launch) for column in question.columns)
        labels, words, cells = self.labels[: self.size], question.words, question.cells
        args = (*columns, *question.args)
        if cells > _SHARED_CELLS:
            run = loops.pass_in_memory(question.step)
            run[launch.blocks, launch.threads](self.codes, labels, words, args, total)
            return
        near = len(words) if cells + 2 * len(words) <= _SHARED_CELLS else 0
        copies = _copies(cells, 2 * near)
        run = loops.pass_in_shared(question.step, near > 0)
        run[launch.blocks, launch.threads, 0, 8 * near + 4 * cells * copies](
            self.codes, labels, words, args, np.uint32(cells), np.uint32(copies),
            launch.tile(self.size, loops.RECORDS), total,
        )  # fmt: skip

    def _add_pairs(self, question: Question, launch: Launch, total: Any) -> None:
        (column,), cells, (table, max_gradient, starts) = (
            question.columns,
            question.cells,
            question.args,
        )
        push, copies = self.pending, _copies(cells, 0)
        if push is not None and push.column is column and push.by_code is not None:
            assert column.before is not None
            scores, (attribute, by_code) = self.derived[column.before], push.by_code
            self.derived, self.pending, raises = {column: scores}, None, True
        else:
            scores, attribute, by_code, raises = self.scores(column, launch), 0, starts, False
        for begin in range(0, len(question.pairs), loops.PAIRS):
            pairs = question.pairs[begin : begin + loops.PAIRS]
            run = loops.sum_pairs(raises and begin == 0, len(pairs))
            run[launch.blocks, launch.threads, 0, 4 * cells * copies](
                *self.fours, np.uint32(attribute), by_code, scores, table, np.int32(max_gradient),
                pairs, np.uint32(cells), np.uint32(copies),
                launch.tile(-(-self.size // 4), loops.RECORDS // 4), total,
            )  # fmt: skip

    def derive(self, push: Push, launch: Launch) -> None:
        """Keep this column instead of the one that it adds to; the next pass makes it."""
        self._settle(launch)
        column = push.column
        if column.before in self.derived:
            self.derived = {column.before: self.derived[column.before]}
            self.pending = push
        elif column not in self.derived:
            self.derived = {column: self.scores(column, launch)}

    def _settle(self, launch: Launch) -> None:
        if self.pending is not None:
            assert self.pending.column.before is not None
            scores = self.derived[self.pending.column.before]
            self.pending.add(self.codes, scores, launch)
            self.derived, self.pending = {self.pending.column: scores}, None

    def scores(self, column: ScoreColumn, launch: Launch) -> Any:
        self._settle(launch)
        if column in self.derived:
            return self.derived[column]
        missing = [column]
        while missing[-1].before is not None and missing[-1].before not in self.derived:
            missing.append(missing[-1].before)
        n_scores = column.values.shape[1] if column.values.ndim == 2 else 1
        scores = cuda.device_array((n_scores, self.size), np.int32)
        known = missing[-1].before
        if known is None:
            scores[:] = 0
        else:
            scores.copy_to_device(self.derived[known])
        for one in reversed(missing):
            Push(one).add(self.codes, scores, launch)
        return scores


@dataclass(frozen=True)
class Push:
    """One more tree for a column of scores."""

    column: ScoreColumn

    @functools.cached_property
    def tables(self) -> tuple[Any, ...]:
        values = self.column.values.reshape(len(self.column.values), -1)
        return _on_gpu(loops.pack(self.column.tree), self.column.tree.sets, values)

    @functools.cached_property
    def by_code(self) -> tuple[int, Any] | None:
        """A tree of one split, and one score: the attribute asked, and the score of each of its codes."""
        tree, values = self.column.tree, self.column.values
        if len(tree.asked) != 1 or values.ndim != 1 or tree.n_nodes - len(tree.leaves) != 1:
            return None
        root, codes = int(tree.roots[0]), np.arange(256)
        cut, first = int(tree.cut[root]), int(tree.first_child[root])
        if cut >= 0:
            branch = np.asarray(codes >= cut, dtype=np.int64)
        elif cut == -1:
            branch = np.minimum(codes, tree.n_nodes - 2)
        else:
            is_left = np.zeros(256, dtype=bool)
            is_left[: tree.sets.shape[1]] = tree.sets[-2 - cut, :256]
            branch = np.where(is_left, 0, 1)
        return tree.asked[0], *_on_gpu(values[tree.nodes[first + branch, 3]])

    def add(self, codes: Any, scores: Any, launch: Launch) -> None:
        root = np.uint32(self.column.tree.roots[0])
        loops.add_to_scores[launch.blocks, launch.threads](codes, root, *self.tables, scores)


# -- questions -----------------------------------------------------------------------------------


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
    words, roots, sets = _on_gpu(loops.pack(kernel.trees), kernel.trees.roots, kernel.trees.sets)
    n_labels = np.uint32(kernel.shape[1])
    return Question(loops.count_leaves, _size(kernel), (roots, sets, n_labels), words)


def _splits(kernel: SplitCounts) -> Question:
    trees, (lookup, begins) = kernel.trees, kernel.layout.lookup
    words, *tables = _on_gpu(
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
    args, columns = (_sigmoid(), kernel.max_gradient, *_on_gpu(begins)), (kernel.column,)
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
    words, sets = _on_gpu(loops.pack(kernel.tree), kernel.tree.sets)
    args = (_sigmoid(), np.uint32(kernel.tree.roots[0]), sets)
    return Question(loops.sum_cells, _size(kernel), args, words, (kernel.column,))


def _targets(kernel: TargetCounts) -> Question:
    return Question(loops.count_targets, _size(kernel), (kernel.domain.target.cells, _size(kernel)))


def _residuals(kernel: ResidualSums) -> Question:
    (lookup, begins), layout = kernel.layout.lookup, kernel.layout
    args = (kernel.domain.target.cells, kernel.width, kernel.tilt, *_on_gpu(begins))
    return Question(
        loops.sum_residuals, len(lookup), args, columns=(kernel.column,),
        finish=lambda cells: _by_bin(cells[:, None], layout),
    )  # fmt: skip


def _residual_cells(kernel: ResidualCells) -> Question:
    words, sets = _on_gpu(loops.pack(kernel.tree), kernel.tree.sets)
    cells, root = kernel.domain.target.cells, np.uint32(kernel.tree.roots[0])
    args, columns = (cells, kernel.width, kernel.tilt, root, sets), (kernel.column,)
    return Question(loops.sum_residual_cells, _size(kernel), args, words, columns)


def _vectors(kernel: LabelGradients) -> Question:
    (lookup, begins), n_labels = kernel.layout.lookup, kernel.domain.n_labels
    return Question(
        loops.sum_vectors(n_labels), len(lookup) * n_labels, _on_gpu(WEIGHTS, begins),
        columns=(kernel.column,),
        finish=lambda cells: _by_bin(cells.reshape(-1, n_labels), kernel.layout),
    )  # fmt: skip


def _label_cells(kernel: LabelCells) -> Question:
    weights, words, sets = _on_gpu(WEIGHTS, loops.pack(kernel.tree), kernel.tree.sets)
    args = (weights, np.uint32(kernel.tree.roots[0]), sets)
    step = loops.sum_label_cells(kernel.domain.n_labels)
    return Question(step, _size(kernel), args, words, (kernel.column,))


def _correct(kernel: CorrectCounts) -> Question:
    asked, (lookup, begins) = np.array(kernel.asked, dtype=np.int64), kernel.layout.lookup
    args = _on_gpu(asked, kernel.start, kernel.scores, kernel.factors, lookup, begins)
    return Question(loops.count_correct(kernel.domain.n_labels), len(kernel.factors), args)


def _right(kernel: StrengthCounts) -> Question:
    columns = (kernel.start, kernel.column)
    args = _on_gpu(kernel.factors)
    return Question(loops.count_right, len(kernel.factors), args, columns=columns)


def _records(kernel: RecordCount) -> Question:
    return Question(loops.count_records, 1)


QUESTIONS: dict[type, Callable[[Any], Question]] = {
    RecordCount: _records, LeafCounts: _leaves, SplitCounts: _splits, GradientSums: _gradients,
    CellSums: _cells, LabelGradients: _vectors, LabelCells: _label_cells, CorrectCounts: _correct,
    StrengthCounts: _right, TargetCounts: _targets, ResidualSums: _residuals,
    ResidualCells: _residual_cells,
}  # fmt: skip


def _copies(cells: int, taken: int) -> int:
    """How many copies of the sums a block keeps: few enough that others fit beside it."""
    return max(1, min(_MAX_COPIES, (_SHARED_CELLS // 2 - taken) // cells))


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
    return np.array(pairs) if cells <= _SHARED_CELLS else None


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


def _on_gpu(*arrays: NDArray[Any]) -> tuple[Any, ...]:
    return tuple(cuda.to_device(np.ascontiguousarray(array)) for array in arrays)


def _free_bytes() -> float:
    return float(cuda.current_context().get_memory_info()[0])


def check_device() -> None:
    """Raise unless CUDA can use a GPU here."""
    if not cuda.is_available():
        raise SourceError(
            "there is no GPU that CUDA can use here; leave out device='cuda', or install frith[cuda] "
            "on a machine with an NVIDIA GPU and its driver"
        )
