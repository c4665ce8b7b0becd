"""What one record adds to each kind of sum, on a GPU.

Arithmetic is in 32 bits, unsigned where it is an index. A step adds to cells from `base` on, in shared
memory or in the GPU's own: no record adds as much as 2^15 to a cell, so that 2^16 records fit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, int32, int64, uint32
from numpy.typing import NDArray

from frith.errors import SourceError
from frith.forest.trees import Trees
from frith.kernels.gradients import _REACH, UNIT
from frith.kernels.gradients import _SHIFT as _STEP_SHIFT
from frith.kernels.label_gradients import _LARGEST, _SHIFT
from frith.kernels.residuals import clipped_residual
from frith.kernels.strengths import _TENTHS

RECORDS = 2**16
"""The most records that 32 bits can add up."""
PAIRS = 32
"""The most pairs of attributes in one pass: each is code of its own, which takes a while to compile."""
_CUT, _ALL, _SET = 0, 1, 2
_MAX_ATTRIBUTES, _MAX_SETS = 2**14, 2**16  # that fit into a node's word

Step = Callable[..., None]


# -- trees ---------------------------------------------------------------------------------------


def pack(trees: Trees) -> NDArray[np.int64]:
    """A word for every node: attribute, kind of split, cut or set, first child; for a leaf, its number."""
    if max(trees.asked, default=0) >= _MAX_ATTRIBUTES or len(trees.sets) > _MAX_SETS:
        raise SourceError(
            f"a GPU walks trees of at most {_MAX_ATTRIBUTES:,} attributes and {_MAX_SETS:,} sets of "
            "values; leave out device='cuda'"
        )
    attribute, cut, child, leaf = trees.nodes.astype(np.int64).T
    kind = np.select([cut >= 0, cut == -1], [_CUT, _ALL], _SET)
    value = np.where(kind == _CUT, cut, np.where(kind == _SET, -2 - cut, 0))
    words = attribute | (kind << 14) | (value << 16) | (child << 32)
    return np.where(attribute < 0, -1 - leaf, words)


def pack_pairs(pairs: NDArray[np.int64]) -> NDArray[np.int64]:
    """Two attributes, the number of codes of the second, and the first cell, in a word."""
    first, second, width, start = pairs.T
    return first | (second << 16) | (width << 32) | (start << 48)


@cuda.jit(device=True)
def walk(codes, i, node, words, sets):  # type: ignore[no-untyped-def]
    """Like `frith.forest.trees.find_leaf`, with one word for each node."""
    word = words[node]
    while word >= 0:
        low = uint32(word)
        code, value = uint32(codes[low & uint32(0x3FFF), i]), low >> uint32(16)
        kind = (low >> uint32(14)) & uint32(3)
        node = uint32(word >> 32)
        if kind == uint32(_CUT):
            if code >= value:
                node += uint32(1)
        elif kind == uint32(_ALL):
            node += code
        elif not sets[value, code]:
            node += uint32(1)
        word = words[node]
    return uint32(-1 - word)


# -- steps ---------------------------------------------------------------------------------------


@cuda.jit(device=True)
def count_records(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    cuda.atomic.add(out, base, 1)


@cuda.jit(device=True)
def count_leaves(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    roots, sets, n_labels = args
    label = uint32(labels[i])
    for t in range(roots.shape[0]):
        leaf = walk(codes, i, roots[t], words, sets)
        cuda.atomic.add(out, base + leaf * uint32(n_labels) + label, 1)


@cuda.jit(device=True)
def count_splits(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    roots, sets, leaf_to_open, asked, counts, lookup, begins, n_bins, n_labels = args
    for t in range(roots.shape[0]):
        place = leaf_to_open[walk(codes, i, roots[t], words, sets)]
        if place >= 0:
            first = base + place * (n_bins + 1) * n_labels + labels[i]
            cuda.atomic.add(out, first + n_bins * n_labels, 1)
            for j in range(counts[place]):
                a = asked[place, j]
                cuda.atomic.add(out, first + lookup[begins[a] + codes[a, i]] * n_labels, 1)


@cuda.jit(device=True)
def probability(score, table):  # type: ignore[no-untyped-def]
    """The same as `frith.kernels.gradients.probability_of`."""
    size = min(abs(score), int32(_REACH))
    steps = (size + int32(1 << (_STEP_SHIFT - 1))) >> int32(_STEP_SHIFT)
    return table[uint32(int32(_REACH >> _STEP_SHIFT) + (steps if score >= 0 else -steps))]


@cuda.jit(device=True)
def gradient(label, score, table, max_gradient):  # type: ignore[no-untyped-def]
    g = int32(label) * int32(UNIT) - probability(score, table)
    return min(max(g, -max_gradient), max_gradient)


@cuda.jit(device=True)
def sum_gradients(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    """By code; the host adds them up by bin."""
    scores, table, max_gradient, begins = args
    g = gradient(labels[i], scores[0, i], table, int32(max_gradient))
    for a in range(codes.shape[0]):
        cuda.atomic.add(out, base + begins[a] + codes[a, i], g)


@cuda.jit(device=True)
def sum_cells(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    scores, table, root, sets = args
    p = probability(scores[0, i], table)
    place = base + uint32(2) * walk(codes, i, root, words, sets)
    cuda.atomic.add(out, place, int32(labels[i]) * int32(UNIT) - p)
    cuda.atomic.add(out, place + uint32(1), p * (int32(UNIT) - p) // int32(UNIT))


@cuda.jit(device=True)
def count_targets(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    cells, parts = args
    cuda.atomic.add(out, base + int64(labels[i]) * parts // cells, 1)


@cuda.jit(device=True)
def sum_residuals(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    """By code; the host adds them up by bin."""
    scores, cells, width, tilt, begins = args
    g = int32(tilt + clipped_residual(labels[i], cells, scores[0, i], width))
    for a in range(codes.shape[0]):
        cuda.atomic.add(out, base + begins[a] + codes[a, i], g)


@cuda.jit(device=True)
def sum_residual_cells(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    scores, cells, width, tilt, root, sets = args
    c = int32(clipped_residual(labels[i], cells, scores[0, i], width))
    place = base + uint32(2) * walk(codes, i, root, words, sets)
    cuda.atomic.add(out, place, int32(tilt) + c)
    cuda.atomic.add(out, place + uint32(1), int32(UNIT) - abs(c))


# -- many labels: an array of each record's own, whose size a GPU must know when it compiles -----


@cuda.jit(device=True)
def _probabilities(scores, i, weights, out):  # type: ignore[no-untyped-def]
    best = int64(scores[0, i])
    for k in range(1, scores.shape[0]):
        best = max(best, int64(scores[k, i]))
    total = int64(0)
    for k in range(scores.shape[0]):
        out[k] = weights[min((best - int64(scores[k, i])) >> _SHIFT, _LARGEST)]
        total += out[k]
    for k in range(scores.shape[0]):
        out[k] = out[k] * UNIT // total


@cuda.jit(device=True)
def _shrunk(value, norm):  # type: ignore[no-untyped-def]
    if norm <= UNIT:
        return value
    size = abs(value) * UNIT // norm
    return size if value > 0 else -size


@functools.cache
def sum_vectors(n_labels: int) -> Step:
    @cuda.jit(device=True)
    def step(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
        scores, weights, begins = args
        vector = cuda.local.array(n_labels, int64)
        _probabilities(scores, i, weights, vector)
        norm = int64(0)
        for k in range(n_labels):
            vector[k] = (UNIT if k == labels[i] else 0) - vector[k]
            norm += abs(vector[k])
        for k in range(n_labels):
            vector[k] = _shrunk(vector[k], norm)
        for a in range(codes.shape[0]):
            place = base + (begins[a] + codes[a, i]) * n_labels
            for k in range(n_labels):
                cuda.atomic.add(out, place + k, vector[k])

    return step


@functools.cache
def sum_label_cells(n_labels: int) -> Step:
    @cuda.jit(device=True)
    def step(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
        scores, weights, root, sets = args
        p = cuda.local.array(n_labels, int64)
        _probabilities(scores, i, weights, p)
        norm = int64(0)
        for k in range(n_labels):
            norm += abs((UNIT if k == labels[i] else 0) - p[k]) // 2
            norm += p[k] * (UNIT - p[k]) // (2 * UNIT)
        place = base + 2 * n_labels * walk(codes, i, root, words, sets)
        for k in range(n_labels):
            gradient = (UNIT if k == labels[i] else 0) - p[k]
            half = abs(gradient) // 2
            curvature = p[k] * (UNIT - p[k]) // (2 * UNIT)
            signed = half if gradient > 0 else -half
            cuda.atomic.add(out, place + 2 * k, _shrunk(signed, norm))
            cuda.atomic.add(out, place + 2 * k + 1, _shrunk(curvature, norm))

    return step


@functools.cache
def count_correct(n_labels: int) -> Step:
    @cuda.jit(device=True)
    def step(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
        asked, start, scores, factors, lookup, begins = args
        total = cuda.local.array(n_labels, int64)
        for k in range(n_labels):
            total[k] = 0
        for j in range(len(asked)):
            place = lookup[begins[asked[j]] + codes[asked[j], i]]
            for k in range(n_labels):
                total[k] += scores[place, k]
        for f in range(len(factors)):
            best = 0
            for k in range(1, n_labels):
                if start[k] + factors[f] * total[k] > start[best] + factors[f] * total[best]:
                    best = k
            if best == labels[i]:
                cuda.atomic.add(out, base + f, 1)

    return step


@cuda.jit(device=True)
def count_right(i, codes, labels, words, args, out, base):  # type: ignore[no-untyped-def]
    start, scores, factors = args
    for f in range(len(factors)):
        best, most = 0, int64(0)
        for k in range(scores.shape[0]):
            first = int64(start[k, i])
            value = _TENTHS * first + factors[f] * (int64(scores[k, i]) - first)
            if k == 0 or value > most:
                best, most = k, value
        if best == labels[i]:
            cuda.atomic.add(out, base + f, 1)


# -- passes --------------------------------------------------------------------------------------


@cuda.jit(device=True)
def _flush(sums, cells, copies, out):  # type: ignore[no-untyped-def]
    """Add a block's copies of the sums to those in the GPU's own memory."""
    for c in range(uint32(cuda.threadIdx.x), cells, uint32(cuda.blockDim.x)):
        total = int64(0)
        for copy in range(copies):
            total += sums[copy * cells + c]
        if total != 0:
            cuda.atomic.add(out, c, total)


@functools.cache
def pass_in_shared(step: Step, with_words: bool) -> Any:
    """Adds up a block's sums in shared memory, one copy for some of its warps, then in the GPU's own.

    A block adds up `tile` records at a time. With `with_words` the trees are in shared memory too.
    """

    @cuda.jit
    def run(codes, labels, words, args, cells, copies, tile, out):  # type: ignore[no-untyped-def]
        x, width = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        if with_words:
            near = cuda.shared.array(0, int64)
            for c in range(x, words.shape[0], width):
                near[c] = words[c]
            sums = cuda.shared.array(0, int32)[2 * words.shape[0] :]
        else:
            near, sums = words, cuda.shared.array(0, int32)
        base = x // uint32(32) % copies * cells
        first, records = uint32(cuda.blockIdx.x) * tile, uint32(labels.shape[0])
        while first < records:
            for c in range(x, cells * copies, width):
                sums[c] = 0
            cuda.syncthreads()
            for i in range(first + x, min(first + tile, records), width):
                step(uint32(i), codes, labels, near, args, sums, base)
            cuda.syncthreads()
            _flush(sums, cells, copies, out)
            cuda.syncthreads()
            first += uint32(cuda.gridDim.x) * tile

    return run


@functools.cache
def pass_in_memory(step: Step) -> Any:
    """For sums that do not fit into shared memory."""

    @cuda.jit
    def run(codes, labels, words, args, out):  # type: ignore[no-untyped-def]
        for i in range(cuda.grid(1), labels.shape[0], cuda.gridsize(1)):
            step(uint32(i), codes, labels, words, args, out, uint32(0))

    return run


@functools.cache
def _add_pairs(n_pairs: int) -> Any:
    """A function that adds four records' gradients to the sums of so many pairs, one after the other.

    A loop over the pairs would take half as long again: each turn waits for what the last one loads.
    """
    if n_pairs == 0:

        @cuda.jit(device=True)
        def add_none(i, fours, pairs, g0, g1, g2, g3, sums, base):  # type: ignore[no-untyped-def]
            pass

        return add_none

    add_others, p = _add_pairs(n_pairs - 1), n_pairs - 1

    @cuda.jit(device=True)
    def add(i, fours, pairs, g0, g1, g2, g3, sums, base):  # type: ignore[no-untyped-def]
        add_others(i, fours, pairs, g0, g1, g2, g3, sums, base)
        both, rest = uint32(pairs[p]), uint32(pairs[p] >> 32)
        v, w = fours[both & uint32(0xFFFF), i], fours[both >> uint32(16), i]
        m, b = rest & uint32(0xFFFF), base + (rest >> uint32(16))
        cuda.atomic.add(sums, b + (v & uint32(255)) * m + (w & uint32(255)), g0)
        v, w = v >> uint32(8), w >> uint32(8)
        cuda.atomic.add(sums, b + (v & uint32(255)) * m + (w & uint32(255)), g1)
        v, w = v >> uint32(8), w >> uint32(8)
        cuda.atomic.add(sums, b + (v & uint32(255)) * m + (w & uint32(255)), g2)
        v, w = v >> uint32(8), w >> uint32(8)
        cuda.atomic.add(sums, b + v * m + w, g3)

    return add


@functools.cache
def sum_pairs(with_push: bool, n_pairs: int) -> Any:
    """Gradients by the codes of two attributes at a time, four records a thread, codes of 8 bits.

    Half as many additions and a quarter of the loads: a boosted forest spends its time in this
    pass. `fours` and `labels` are words of four records each, `pairs` words of two attributes each. A
    record beyond the last counts 0. With `with_push`, each record's score first grows by the entry of
    `by_code` for its value of one attribute.
    """
    add_pairs = _add_pairs(n_pairs)

    @cuda.jit(device=True)
    def score_of(j, code, by_code, scores):  # type: ignore[no-untyped-def]
        score = scores[0, j]
        if with_push:
            score += by_code[code & uint32(255)]
            scores[0, j] = score
        return score

    @cuda.jit
    def run(  # type: ignore[no-untyped-def]
        fours, labels, attribute, by_code, scores, table, max_gradient, pairs, cells, copies, tile, out
    ):  # fmt: skip
        sums = cuda.shared.array(0, int32)
        x, width = uint32(cuda.threadIdx.x), uint32(cuda.blockDim.x)
        base = x // uint32(32) % copies * cells
        first, records = uint32(cuda.blockIdx.x) * tile, uint32(scores.shape[1])
        quads = (records + uint32(3)) // uint32(4)
        while first < quads:
            for c in range(x, cells * copies, width):
                sums[c] = 0
            cuda.syncthreads()
            for i in range(first + x, min(first + tile, quads), width):
                i = uint32(i)
                four, j, code = labels[i], uint32(4) * i, fours[attribute, i]
                score = score_of(j, code, by_code, scores)
                g0 = gradient(four & uint32(255), score, table, max_gradient)
                g1, g2, g3 = int32(0), int32(0), int32(0)
                j += uint32(1)
                if j < records:
                    score = score_of(j, code >> uint32(8), by_code, scores)
                    g1 = gradient((four >> uint32(8)) & uint32(255), score, table, max_gradient)
                j += uint32(1)
                if j < records:
                    score = score_of(j, code >> uint32(16), by_code, scores)
                    g2 = gradient((four >> uint32(16)) & uint32(255), score, table, max_gradient)
                j += uint32(1)
                if j < records:
                    score = score_of(j, code >> uint32(24), by_code, scores)
                    g3 = gradient(four >> uint32(24), score, table, max_gradient)
                add_pairs(i, fours, pairs, g0, g1, g2, g3, sums, base)
            cuda.syncthreads()
            _flush(sums, cells, copies, out)
            cuda.syncthreads()
            first += uint32(cuda.gridDim.x) * tile

    return run


@cuda.jit
def add_to_scores(codes, root, words, sets, values, scores):  # type: ignore[no-untyped-def]
    for i in range(cuda.grid(1), scores.shape[1], cuda.gridsize(1)):
        i = uint32(i)
        leaf = walk(codes, i, root, words, sets)
        for k in range(scores.shape[0]):
            scores[k, i] += values[leaf, k]


@cuda.jit
def turn(rows, first, columns):  # type: ignore[no-untyped-def]
    """Rows of codes, as engines hand them over, into columns from `first` on, as GPUs read them."""
    for i in range(cuda.grid(1), rows.shape[0], cuda.gridsize(1)):
        for a in range(rows.shape[1]):
            columns[a, first + i] = rows[i, a]
