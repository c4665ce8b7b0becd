"""The inputs of an ONNX model, and the part of its graph that turns them into codes.

This is `frith.domain.encoding` once more, for values of three types. An input is a column of one
attribute, of shape [N, 1]:

attribute                            type     missing is spelled
text                                 string   ""
whole numbers                        int64    -2**63
booleans                             int64    -2**63 (false is 0, true is 1)
other numbers among declared values  double   NaN
a number between bounds              double   NaN
a date                               double   NaN (days since 1970-01-01; seconds if it has a time)
values in an order                   as the values without it

Where the spelling of missing is itself a declared value, it means that value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frith.domain import Attribute, Categorical, Date, Domain, Numeric, Ordered
from frith.forest.onnx.graph import Graph, described, tensor

OUTPUTS = ("label", "probabilities")


def input_names(domain: Domain) -> dict[str, str]:
    """The input of each attribute: its name, with "_" added where an output has that name."""
    taken = {*domain.names, *OUTPUTS}
    names = {}
    for attribute in domain.names:
        name = attribute
        while name in OUTPUTS or (name != attribute and name in taken):
            name += "_"
        taken.add(name)
        names[attribute] = name
    return names


def encode_inputs(graph: Graph, domain: Domain) -> tuple[str, NDArray[np.int64]]:
    """Codes [N, attributes], and the column in which each attribute's codes are."""
    names = input_names(domain)
    listed = [j for j, a in enumerate(domain.attributes) if isinstance(a, Categorical | Ordered)]
    measured = [j for j in range(len(domain.attributes)) if j not in listed]
    graph.inputs += [_input(names[a.name], a) for a in domain.attributes]
    parts = [_listed_codes(graph, domain.attributes[j], names) for j in listed]
    if measured:
        parts.append(_measured_codes(graph, [domain.attributes[j] for j in measured], names))
    return graph.op("Concat", *parts, axis=1), np.argsort([*listed, *measured])


def input_type(attribute: Attribute) -> type:
    """The numpy type of the attribute's input; object is text."""
    attribute = attribute.listed if isinstance(attribute, Ordered) else attribute
    if isinstance(attribute, Numeric):
        return np.float64
    if attribute.kind == "text":
        return np.object_
    whole = all(int(v) == v and -(2**63) <= v < 2**63 for v in attribute.values)
    return np.int64 if whole else np.float64


class _Spelled(NamedTuple):
    native: Callable[[Any], Any]
    missing: Any
    about: str


_SPELLED = {
    np.object_: _Spelled(str, "", 'text, "" where missing'),
    np.int64: _Spelled(int, -(2**63), "whole number (false 0, true 1), -2**63 where missing"),
    np.float64: _Spelled(float, math.nan, "number, NaN where missing"),
}


def _input(name: str, attribute: Attribute) -> Any:
    kind = input_type(attribute)
    about = _SPELLED[kind].about
    if isinstance(attribute, Date):
        about = f"{'seconds' if attribute.has_time else 'days'} since 1970-01-01, NaN where missing"
    return described(name, kind, ["N", 1], f"{attribute.name}: {about}")


def _listed_codes(graph: Graph, attribute: Any, names: dict[str, str]) -> str:
    kind = input_type(attribute)
    native = _SPELLED[kind].native
    is_ordered = isinstance(attribute, Ordered)
    listed = attribute.listed if is_ordered else attribute
    if listed.kind == "text":
        codes = dict(listed.codes)  # with every spelling of a boolean
    else:  # a long integer that no double equals is met by no double, so it is no key
        codes = {native(v): c for c, v in enumerate(listed.values) if native(v) == v}
    codes.setdefault(_SPELLED[kind].missing, attribute.missing_code)
    outside = attribute.missing_code if is_ordered else attribute.outside_code
    keys: NDArray[Any] = np.array([*codes], dtype=kind)
    return graph.op(
        "LabelEncoder",
        names[attribute.name],
        keys_tensor=tensor(keys),
        values_tensor=tensor(np.array([*codes.values()], dtype=np.int64)),
        default_tensor=tensor(np.array([outside], dtype=np.int64)),
    )


def _measured_codes(graph: Graph, attributes: list[Any], names: dict[str, str]) -> str:
    """How many edges are at most the number, by binary search in all columns at once.

    Compared in double precision, as the library does: a number at an edge falls on its right.
    """
    numbers = graph.op("Concat", *(names[a.name] for a in attributes), axis=1)
    edges = graph.constant(np.concatenate([a.edges for a in attributes]))
    counts = [len(a.edges) for a in attributes]
    first = graph.constant(np.cumsum([0, *counts[:-1]]))
    halves = _halves(counts)
    strides = graph.constant(halves)

    def step(body: Graph, i: str, place: str) -> list[str]:
        stride = body.op("Gather", strides, i)
        # A column that is done strides by 0 and looks before its place, at worst at index -1.
        look = body.op("Sub", body.op("Add", place, stride), np.int64(1))
        under = body.op("LessOrEqual", body.op("Gather", edges, look), numbers)
        return [body.op("Add", place, body.op("Where", under, stride, np.int64(0)))]

    start = graph.op("Expand", first, graph.op("Shape", numbers))
    (place,) = graph.repeat(len(halves), [start], step)
    missing = np.array([a.missing_code for a in attributes], dtype=np.int64)
    code = graph.op("Sub", place, first)
    return graph.op("Where", graph.op("IsNaN", numbers), missing, code)


def _halves(counts: list[int]) -> NDArray[np.int64]:
    """The strides of a binary search among `edges` edges, one row for each step."""
    left, rows = np.array(counts), []
    while left.any():
        rows.append((left + 1) // 2)
        left = left // 2
    return np.array(rows, dtype=np.int64)
