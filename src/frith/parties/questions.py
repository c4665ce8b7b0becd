"""Questions as they travel between parties: kernels as plain JSON, from a closed set.

A party that is sent one makes the kernel itself, with its own domain, and so computes the sensitivity
itself: nothing that a question says about itself is believed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from frith.domain import Domain
from frith.errors import FormatError, FrithError
from frith.kernels import (
    Kernel,
    LeafCounts,
    NodeCounts,
    NodeSizes,
    RecordCount,
    SplitCounts,
    SplitTables,
    View,
)
from frith.layout import Layout
from frith.structure import Trees

VIEWS: dict[str, type[SplitTables] | type[NodeCounts] | type[NodeSizes]] = {
    "tables": SplitTables,
    "labels": NodeCounts,
    "sizes": NodeSizes,
}


def question_to_json(kernel: Kernel | View) -> dict[str, Any]:
    """A kernel in plain words; only counts of records, leaves and levels travel."""
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


def question_from_json(data: Any, domain: Domain) -> Kernel | View:
    """The kernel behind a question, over this domain; `FormatError` where it is not legal."""
    try:
        if data["kind"] == "records":
            return RecordCount()
        trees = Trees.from_json(data["trees"], domain)
        if data["kind"] == "leaves":
            return LeafCounts(trees, domain)
        if data["kind"] == "level":
            return VIEWS[data["view"]](_level_from_json(data, trees, domain))
    except FrithError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError):
        pass
    raise FormatError("the question is incomplete or malformed")


def _level_to_json(level: SplitCounts) -> dict[str, Any]:
    return {
        "trees": level.trees.to_json(),
        "cuts": [cuts.tolist() for cuts in level.layout.cuts],
        "open_nodes": level.open_nodes.tolist(),
        "asks": [np.flatnonzero(row).tolist() for row in level.asks],
    }


def _level_from_json(data: Any, trees: Trees, domain: Domain) -> SplitCounts:
    nodes = np.array(data["open_nodes"], dtype=np.int64)
    leaves = set(trees.leaves.tolist())
    if len(set(nodes.tolist())) < len(nodes) or not set(nodes.tolist()) <= leaves:
        raise FormatError("a level's open nodes are leaves, each named once")
    asks = np.zeros((len(nodes), len(domain.attributes)), dtype=bool)
    if len(data["asks"]) != len(nodes):
        raise FormatError("a level says for each open node what is asked there")
    for row, attributes in zip(asks, data["asks"], strict=True):
        if attributes and not 0 <= min(attributes) <= max(attributes) < len(row):
            raise FormatError("a level asks about an attribute that the domain does not have")
        row[attributes] = True
    return SplitCounts(trees, Layout(domain, _cuts(data["cuts"], domain)), nodes, asks)


def _cuts(lists: Any, domain: Domain) -> tuple[np.ndarray[Any, Any], ...]:
    if len(lists) != len(domain.attributes):
        raise FormatError("a level has cuts for every attribute")
    found = []
    for cuts, attribute in zip(lists, domain.attributes, strict=True):
        numbers = np.array(cuts, dtype=np.int32)
        legal = np.all(np.diff(numbers) > 0) and np.all((numbers > 0) & (numbers < attribute.size))
        if numbers.ndim != 1 or not legal:
            raise FormatError("a level's cuts are ascending codes of their attribute")
        found.append(numbers)
    return tuple(found)
