"""A forest as an ONNX model: codes, leaves, votes and label as in `frith.forest`, number by number.

Leaves are found by the library's own walk, written with lookups: a tree operator of ONNX would
turn a split of many values into a chain of comparisons and add in single precision. Trees are
added one after another in double precision, so sums round, and labels tie, as they do here.
"""

from __future__ import annotations

import functools
import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from frith.domain import class_array, spelling
from frith.export.graph import NEEDS_ONNX, Graph, described
from frith.export.inputs import OUTPUTS, encode_inputs, input_names

if TYPE_CHECKING:
    from onnx import ModelProto

    from frith.forest import Forest


def onnx_model(forest: Forest) -> ModelProto:
    """The model that `Forest.to_onnx` describes."""
    try:
        import onnx  # noqa: F401 - to say what to do before anything is built
    except ImportError:
        raise ImportError(NEEDS_ONNX) from None
    names = input_names(forest.domain)
    graph = Graph([*names.values(), *OUTPUTS])
    codes, columns = encode_inputs(graph, forest.domain)
    rows = graph.op("Shape", codes, start=0, end=1)
    leaves = _find_leaves(graph, forest, codes, columns, rows)
    vote = _most_confident if forest.vote == "confident" else _added
    _decide(graph, forest, vote(graph, forest, leaves, rows))
    facts = {
        "frith.guarantee": json.dumps(forest.guarantee.to_json()),
        "frith.domain": forest.domain.fingerprint,
        "frith.vote": forest.vote,
        "frith.inputs": json.dumps(names),
        "frith.labels": json.dumps(forest.domain.label.values),
    }
    return graph.model("forest", forest.describe(), facts)


def _find_leaves(
    graph: Graph, forest: Forest, codes: str, columns: NDArray[np.int64], rows: str
) -> str:
    """The number of the leaf that each tree has for each record, [trees, N]."""
    trees = forest.trees
    first, column, cut = (graph.constant(a) for a in _steps(forest, columns))
    shape = graph.op("Concat", np.array([trees.n_trees]), rows, axis=0)
    # All in one dimension: there, runtimes look elements up several times faster than by Gather.
    flat = functools.partial(_flat, graph)
    cells = flat(codes)
    count = graph.op("Squeeze", rows)
    record = graph.op("Mul", graph.op("Range", np.int64(0), count, np.int64(1)), np.int64(len(columns)))
    record = flat(graph.op("Expand", record, shape))
    start = flat(graph.op("Expand", trees.roots.astype(np.int64)[:, None], shape))

    def step(body: Graph, i: str, node: str) -> list[str]:
        cell = body.op("Add", record, body.op("GatherElements", column, node))
        code = body.op("GatherElements", cells, cell)
        at = body.op("GatherElements", cut, node)
        right = body.op("Cast", body.op("GreaterOrEqual", code, at), to=7)
        branch = body.op("Where", body.op("Less", at, np.int64(0)), code, right)
        return [body.op("Add", body.op("GatherElements", first, node), branch)]

    (node,) = graph.repeat(forest.height, [start], step)
    number = trees.nodes[:, 3].astype(np.int64)
    return graph.op("Reshape", graph.op("GatherElements", number, node), shape)


def _flat(graph: Graph, value: str) -> str:
    return graph.op("Reshape", value, np.array([-1]))


def _steps(forest: Forest, columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """First child, column asked about and cut of each node; a leaf leads to itself, by any code."""
    trees = forest.trees
    inner = trees.attribute >= 0
    first = np.where(inner, trees.first_child, np.arange(trees.n_nodes))
    column = np.where(inner, columns[trees.attribute], 0)
    cut = np.where(inner, trees.cut, np.iinfo(np.int64).max)
    return first.astype(np.int64), column.astype(np.int64), cut.astype(np.int64)


def _added(graph: Graph, forest: Forest, leaves: str, rows: str) -> str:
    """What the leaves of a record add up to, in the order of the trees."""
    table = graph.constant(forest._leaf_values)

    def step(body: Graph, i: str, sums: str) -> list[str]:
        said = body.op("Gather", table, body.op("Gather", leaves, i))
        return [body.op("Add", sums, said)]

    (sums,) = graph.repeat(forest.trees.n_trees, [_filled(graph, forest, rows, 0.0)], step)
    return sums


def _most_confident(graph: Graph, forest: Forest, leaves: str, rows: str) -> str:
    """The shares of the first most confident leaf; where labels tie there, the sum over all trees.

    `top` is the highest share of each label so far: labels tie if several have the highest of all.
    """
    table = graph.constant(forest._leaf_values)
    highest = {"axes": [1], "keepdims": 1}

    def step(body: Graph, i: str, sums: str, top: str, speaker: str) -> list[str]:
        said = body.op("Gather", table, body.op("Gather", leaves, i))
        confidence, best = (body.op("ReduceMax", shares, **highest) for shares in (said, top))
        speaker = body.op("Where", body.op("Greater", confidence, best), said, speaker)
        return [body.op("Add", sums, said), body.op("Max", top, said), speaker]

    zeros, under = (_filled(graph, forest, rows, fill) for fill in (0.0, -1.0))
    sums, top, speaker = graph.repeat(forest.trees.n_trees, [zeros, under, zeros], step)
    winning = graph.op("Equal", top, graph.op("ReduceMax", top, **highest))
    winners = graph.op("ReduceSum", graph.op("Cast", winning, to=7), np.array([1]), keepdims=1)
    return graph.op("Where", graph.op("Greater", winners, np.int64(1)), sums, speaker)


def _filled(graph: Graph, forest: Forest, rows: str, fill: float) -> str:
    shape = graph.op("Concat", rows, np.array([forest.domain.n_labels]), axis=0)
    return graph.op("Expand", np.float64(fill), shape)


def _decide(graph: Graph, forest: Forest, weights: str) -> None:
    """Negative sums count as zero; a record without a positive one gets the forest's own shares."""
    weights = graph.op("Max", weights, np.float64(0))
    some = graph.op("Greater", graph.op("ReduceMax", weights, axes=[1], keepdims=1), np.float64(0))
    weights = graph.op("Where", some, weights, forest.label_weights)
    total = graph.op("ReduceSum", weights, np.array([1]), keepdims=1)
    graph.op("Div", weights, total, name="probabilities")
    labels = label_array(forest)
    best = graph.op("ArgMax", weights, axis=1, keepdims=0)  # the first, where labels tie
    graph.op("Gather", labels, best, name="label")
    graph.outputs = [
        described("label", labels.dtype, ["N"], forest.domain.label.name),
        described("probabilities", np.float64, ["N", len(labels)], "in the order of frith.labels"),
    ]


def label_array(forest: Forest) -> NDArray[Any]:
    """The labels in a type that ONNX has: as declared, else spelled as text."""
    labels = class_array(forest.domain.label.values)
    if labels.dtype.kind in "iufb":
        return labels
    return np.array([spelling(v) for v in forest.domain.label.values], dtype=object)
