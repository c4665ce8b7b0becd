"""A forest as an ONNX model: codes, leaves, votes and label as in `frith.forest.forest`, number by number.

Leaves are found by the library's own walk, written with lookups: a tree operator of ONNX would
turn a split of many values into a chain of comparisons and add in single precision. Trees are
added one after another in double precision, so sums round, and labels tie, as they do here.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from frith.domain import Numeric, class_array, spelling
from frith.forest.onnx.graph import INT64, NEEDS_ONNX, Graph, described
from frith.forest.onnx.inputs import OUTPUTS, encode_inputs, input_names

if TYPE_CHECKING:
    from onnx import ModelProto

    from frith.forest.voting import VotingTrees


def onnx_model(forest: VotingTrees) -> ModelProto:
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
    weights = vote(graph, forest, leaves, rows)
    if forest.vote == "product":
        weights = graph.op("Exp", graph.op("Sub", weights, _highest(graph, weights)))
    decide = _clip if forest.domain.has_target else _decide
    decide(graph, forest, weights)
    facts = {
        "frith.guarantee": json.dumps(forest.guarantee.to_json()),
        "frith.domain.domain": forest.domain.fingerprint,
        "frith.vote": forest.vote,
        "frith.kind": forest.kind.value,
        "frith.inputs": json.dumps(names),
    }
    label = forest.domain.label
    facts |= (
        {"frith.bounds": json.dumps([label.low, label.high]), "frith.scale": label.scale}
        if isinstance(label, Numeric)
        else {"frith.labels": json.dumps(label.values)}
    )
    return graph.model("forest", forest.describe(), facts)


def _find_leaves(
    graph: Graph, forest: VotingTrees, codes: str, columns: NDArray[np.int64], rows: str
) -> str:
    """The number of the leaf that each tree has for each record, [trees, N]."""
    trees, step_tables = forest.trees, _step_tables(forest, columns)
    first, column, cut = (graph.constant(table) for table in step_tables)
    outside = graph.constant((~trees.sets).astype(np.int64).ravel()) if trees.sets.size else None
    shape = graph.op("Concat", np.array([trees.n_trees]), rows, axis=0)
    # All in one dimension: there, onnxruntime finds elements several times faster than by Gather.
    cells = _flat(graph, codes)
    record = graph.op("Range", np.int64(0), graph.op("Squeeze", rows), np.int64(1))
    record = graph.op("Mul", record, np.int64(len(columns)))
    record = _flat(graph, graph.op("Expand", record, shape))
    start = _flat(graph, graph.op("Expand", trees.roots.astype(np.int64)[:, None], shape))

    def step(body: Graph, i: str, node: str) -> list[str]:
        cell = body.op("Add", record, body.op("GatherElements", column, node))
        code = body.op("GatherElements", cells, cell)
        at = body.op("GatherElements", cut, node)
        right = body.op("Cast", body.op("GreaterOrEqual", code, at), to=INT64)
        branch = body.op("Where", body.op("Less", at, np.int64(0)), code, right)
        if outside is not None:
            row = body.op("Mul", body.op("Sub", np.int64(-2), at), np.int64(trees.sets.shape[1]))
            is_set = body.op("Less", at, np.int64(-1))
            place = body.op("Where", is_set, body.op("Add", row, code), np.int64(0))
            asked = body.op("GatherElements", outside, place)
            branch = body.op("Where", is_set, asked, branch)
        return [body.op("Add", body.op("GatherElements", first, node), branch)]

    (node,) = graph.repeat(forest.max_depth, [start], step)
    number = trees.nodes[:, 3].astype(np.int64)
    leaves = graph.op("GatherElements", number, node)
    return graph.op("Reshape", leaves, shape, allowzero=1)  # there may be no records


def _flat(graph: Graph, value: str) -> str:
    return graph.op("Reshape", value, np.array([-1]))


def _step_tables(forest: VotingTrees, columns: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
    """First child, column asked about and cut of each node; a leaf leads to itself, by any code."""
    attribute, cut, first, _ = forest.trees.nodes.T.astype(np.int64)
    inner = attribute >= 0
    return (
        np.where(inner, first, np.arange(len(inner))),
        np.where(inner, columns[attribute], 0),
        np.where(inner, cut, np.iinfo(np.int64).max),
    )


def _added(graph: Graph, forest: VotingTrees, leaves: str, rows: str) -> str:
    """What the leaves of a record add up to, in the order of the trees."""
    table = graph.constant(forest.leaf_values)

    def step(body: Graph, i: str, sums: str) -> list[str]:
        said = body.op("Gather", table, body.op("Gather", leaves, i))
        return [body.op("Add", sums, said)]

    (sums,) = graph.repeat(forest.trees.n_trees, [_filled(graph, forest, rows, 0.0)], step)
    return sums


def _most_confident(graph: Graph, forest: VotingTrees, leaves: str, rows: str) -> str:
    """The shares of the first most confident leaf; where labels tie there, the sum over all trees.

    `top` is the highest share of each label so far: labels tie if several have the highest of all.
    """
    table = graph.constant(forest.leaf_values)

    def step(body: Graph, i: str, sums: str, top: str, speaker: str) -> list[str]:
        said = body.op("Gather", table, body.op("Gather", leaves, i))
        surer = body.op("Greater", _highest(body, said), _highest(body, top))
        speaker = body.op("Where", surer, said, speaker)
        return [body.op("Add", sums, said), body.op("Max", top, said), speaker]

    zeros, under = (_filled(graph, forest, rows, fill) for fill in (0.0, -1.0))
    sums, top, speaker = graph.repeat(forest.trees.n_trees, [zeros, under, zeros], step)
    winning = graph.op("Equal", top, _highest(graph, top))
    winners = graph.op("ReduceSum", graph.op("Cast", winning, to=INT64), np.array([1]), keepdims=1)
    return graph.op("Where", graph.op("Greater", winners, np.int64(1)), sums, speaker)


def _filled(graph: Graph, forest: VotingTrees, rows: str, fill: float) -> str:
    shape = graph.op("Concat", rows, np.array([forest.domain.n_outputs]), axis=0)
    return graph.op("Expand", np.float64(fill), shape)


def _highest(graph: Graph, weights: str) -> str:
    return graph.op("ReduceMax", weights, axes=[1], keepdims=1)


def _decide(graph: Graph, forest: VotingTrees, weights: str) -> None:
    """Negative sums count as zero; a record without a positive one gets the forest's own shares."""
    weights = graph.op("Max", weights, np.float64(0))
    some = graph.op("Greater", _highest(graph, weights), np.float64(0))
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


def _clip(graph: Graph, forest: VotingTrees, sums: str) -> None:
    """The number that is predicted, within its declared bounds; of a logarithm its exponential."""
    label, number = forest.domain.label, graph.op("Squeeze", sums, np.array([1]))
    assert isinstance(label, Numeric)
    if forest.domain.has_log_target:
        number = graph.op("Exp", number)
    number = graph.op("Max", number, np.float64(label.low))
    graph.op("Min", number, np.float64(label.high), name="label")
    graph.outputs = [described("label", np.float64, ["N"], label.name)]


def label_array(forest: VotingTrees) -> NDArray[Any]:
    """The labels in a type that ONNX has: as declared, else spelled as text."""
    labels = class_array(forest.domain.label_values)
    if labels.dtype.kind in "iufb":
        return labels
    return np.array([spelling(v) for v in forest.domain.label_values], dtype=object)
