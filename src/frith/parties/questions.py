"""Questions as parties send them: kernels as plain JSON, from a closed set.

A party that receives a question builds the kernel itself, with its own domain, and so computes the
sensitivity itself: it believes nothing that a question states about itself. Before anything is
charged, it measures how far single records move the answer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from frith.domain import Domain
from frith.errors import FormatError, TooManyCells
from frith.forest.trees import Trees, read_integers
from frith.kernels import (
    MAX_CELLS,
    LeafCounts,
    NodeCounts,
    NodeSizes,
    Question,
    RecordCount,
    SplitCounts,
    SplitTables,
    base_of,
    check_question,
)
from frith.kernels.layout import Layout
from frith.kernels.measuring import check_measured

VIEWS: dict[str, type[SplitTables] | type[NodeCounts] | type[NodeSizes]] = {
    "tables": SplitTables,
    "labels": NodeCounts,
    "sizes": NodeSizes,
}

_FIELDS = {
    "records": {"kind"},
    "leaves": {"kind", "trees"},
    "level": {"kind", "view", "trees", "cuts", "open_nodes", "asks"},
}


def question_to_json(kernel: Question) -> dict[str, Any]:
    """A kernel as JSON; only counts of records, leaves and levels can be sent."""
    if isinstance(kernel, RecordCount):
        return {"kind": "records"}
    if isinstance(kernel, LeafCounts):
        return {"kind": "leaves", "trees": kernel.trees.to_json()}
    for name, view in VIEWS.items():
        if isinstance(kernel, view):
            return {"kind": "level", "view": name, **_level_to_json(kernel.base)}
    raise ValueError(
        "this learner asks questions that do not travel between servers; use random-decision, "
        "signal, gini, id3, c45 or info-gain"
    )


def question_from_json(data: Any, domain: Domain, max_cells: int = MAX_CELLS) -> Question:
    """The strict reader: a question over this domain, measured; `FormatError` or `QuestionError`."""
    question = _read(data, domain)
    check_question(question, domain, "a question from outside")
    if (cells := math.prod(base_of(question).shape)) > max_cells:
        raise TooManyCells(f"the question has {cells:,} cells, and at most {max_cells:,} travel")
    check_measured(question, domain)
    return question


def _read(data: Any, domain: Domain) -> Question:
    if not isinstance(data, dict) or {*data} not in _FIELDS.values():
        raise FormatError("the question is incomplete, or says more than it asks")
    kind = data["kind"]
    if type(kind) is not str or {*data} != _FIELDS.get(kind):
        raise FormatError("the question is of a kind that frith does not know")
    if kind == "records":
        return RecordCount()
    trees = Trees.from_json(data["trees"], domain)
    if kind == "leaves":
        return LeafCounts(trees, domain)
    if type(data["view"]) is not str or data["view"] not in VIEWS:
        raise FormatError(f"a level is seen as one of {', '.join(VIEWS)}")
    return VIEWS[data["view"]](_level_from_json(data, trees, domain))


def _level_to_json(level: SplitCounts) -> dict[str, Any]:
    return {
        "trees": level.trees.to_json(),
        "cuts": [cuts.tolist() for cuts in level.layout.cuts],
        "open_nodes": level.open_nodes.tolist(),
        "asks": [np.flatnonzero(row).tolist() for row in level.asks],
    }


def _level_from_json(data: Any, trees: Trees, domain: Domain) -> SplitCounts:
    nodes, lists = read_integers(data["open_nodes"], np.int64, "open_nodes"), data["asks"]
    if type(lists) is not list or len(lists) != len(nodes):
        raise FormatError("a level says for each open node which attributes are asked there")
    if len(nodes) * len(domain.attributes) > MAX_CELLS:  # every attribute has at least one bin
        raise TooManyCells(f"a level has at most {MAX_CELLS:,} cells; name fewer open nodes")
    asks = np.zeros((len(nodes), len(domain.attributes)), dtype=bool)
    for row, asked in zip(asks, lists, strict=True):
        attributes = read_integers(asked, np.int64, "asks")
        if len(attributes) and not 0 <= attributes.min() <= attributes.max() < len(row):
            raise FormatError("a level splits on an attribute that the domain does not have")
        row[attributes] = True
    if type(data["cuts"]) is not list:
        raise FormatError("a level has a list of cuts for every attribute")
    cuts = tuple(read_integers(c, np.int32, "cuts") for c in data["cuts"])
    return SplitCounts(trees, Layout(domain, cuts), nodes, asks)
