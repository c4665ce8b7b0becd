"""Records on a GPU: codes in its memory, column by column, and exact sums of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numba import cuda
from numpy.typing import NDArray

from frith._cached import cached_property
from frith._threads import ahead
from frith.domain import Domain, Numeric
from frith.domain.encoding import Batch
from frith.engines import gpu_loops as loops
from frith.engines.base import Engine, LocalEngine, Raw
from frith.engines.gpu_questions import QUESTIONS, SHARED_CELLS, Question, on_gpu
from frith.errors import SourceError
from frith.kernels import ColumnKernel, Kernel
from frith.kernels.gradients import ScoreColumn

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

    @cached_property
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
        if cells > SHARED_CELLS:
            run = loops.pass_in_memory(question.step)
            run[launch.blocks, launch.threads](self.codes, labels, words, args, total)
            return
        near = len(words) if cells + 2 * len(words) <= SHARED_CELLS else 0
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

    @cached_property
    def tables(self) -> tuple[Any, ...]:
        values = self.column.values.reshape(len(self.column.values), -1)
        return on_gpu(loops.pack(self.column.tree), self.column.tree.sets, values)

    @cached_property
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
        return tree.asked[0], *on_gpu(values[tree.nodes[first + branch, 3]])

    def add(self, codes: Any, scores: Any, launch: Launch) -> None:
        root = np.uint32(self.column.tree.roots[0])
        loops.add_to_scores[launch.blocks, launch.threads](codes, root, *self.tables, scores)


def _copies(cells: int, taken: int) -> int:
    """How many copies of the sums a block keeps: few enough that others fit beside it."""
    return max(1, min(_MAX_COPIES, (SHARED_CELLS // 2 - taken) // cells))


def _free_bytes() -> float:
    return float(cuda.current_context().get_memory_info()[0])


def check_device() -> None:
    """Raise unless CUDA can use a GPU here."""
    if not cuda.is_available():
        raise SourceError(
            "there is no GPU that CUDA can use here; leave out device='cuda', or install frith[cuda] "
            "on a machine with an NVIDIA GPU and its driver"
        )
