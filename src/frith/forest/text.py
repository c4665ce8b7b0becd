"""A forest as text to read, in the layout of scikit-learn's `export_text`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from frith.domain import Categorical, Numeric
from frith.forest.kinds import ValueKind
from frith.forest.nodes import Nodes, plus_minus
from frith.forest.trees import sum_up

if TYPE_CHECKING:
    from frith.forest.voting import VotingTrees


def forest_text(forest: VotingTrees, tree: int | None = None, max_depth: int | None = None) -> str:
    """The text that `Forest.export_text` describes."""
    count = forest.trees.n_trees
    if tree is not None and not 0 <= tree < count:
        raise ValueError(f"there is no tree {tree}: trees are numbered from 0 to {count - 1}")
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth is at least 0, not {max_depth}")
    deepest = math.inf if max_depth is None else max_depth
    if tree is not None:
        return "".join(_tree_lines(forest, tree, deepest))
    lines = ([f"tree {t} of {count}\n", *_tree_lines(forest, t, deepest)] for t in range(count))
    return "\n".join("".join(tree) for tree in lines)


def _tree_lines(forest: VotingTrees, tree: int, deepest: float) -> Iterator[str]:
    """One line for each split or leaf, depth first. Uses a stack, since a file may hold a very deep tree."""
    trees, nodes = forest.trees, Nodes(forest)
    below = sum_up(trees, np.ones((len(trees.leaves), 1), dtype=np.int64), forest.domain)
    stack = [(int(trees.roots[tree]), 0, "")]
    while stack:
        node, depth, condition = stack.pop()
        if condition:
            yield _line(depth - 1, condition)
        if trees.attribute[node] < 0:
            speaker = int(forest.speakers[trees.nodes[node, 3]])
            yield _line(depth, _answer(nodes, node, speaker))
        elif depth >= deepest:
            yield _line(depth, f"{_answer(nodes, node, node)}; {below[node, 0]:,} leaves below")
        else:
            children = list(enumerate(trees.children(node, forest.domain)))
            stack += [(c, depth + 1, _condition(forest, node, b)) for b, c in reversed(children)]


def _line(depth: int, text: str) -> str:
    return "|   " * depth + f"|--- {text}\n"


def _condition(forest: VotingTrees, node: int, branch: int) -> str:
    """The condition on records that go into this branch."""
    attribute = forest.domain.attributes[forest.trees.attribute[node]]
    if forest.trees.cut[node] < -1:
        members = forest.trees.members(node)
        values = [v for v, inside in zip(attribute.values, members, strict=False) if inside]
        return f"{attribute.name} {'not ' if branch else ''}in {values!r}"
    if isinstance(attribute, Categorical):
        return f"{attribute.name} = {attribute.values[branch]!r}"
    return f"{attribute.name} {_side(attribute, int(forest.trees.cut[node]), branch == 1)}"


def _side(attribute: Numeric, cut: int, is_right: bool) -> str:
    if cut >= attribute.cells and attribute.missing:
        return "is missing" if is_right else "is known"
    inside = 0 < cut < attribute.cells
    edge = attribute.text_of(attribute.edges[cut - 1]) if inside else f"{math.inf * (cut or -1)}"
    if not is_right:
        return f"< {edge}"
    return f">= {edge} or missing" if attribute.missing else f">= {edge}"


def _answer(nodes: Nodes, node: int, speaker: int) -> str:
    """What `speaker` says of the records of `node`: a label and its support, or how odds move."""
    forest, label = nodes.forest, nodes.forest.domain.label
    if forest.domain.has_target:
        value, noise = forest.values[node, 0], nodes.forest.variance[node] ** 0.5
        return f"{forest.domain.target_unit} {value:+.4g}" + (
            f", noise {noise:.2g}" if noise else ""
        )
    if nodes.kind is ValueKind.SCORES:
        odds, low, high = (values[node] for values in nodes.figures.values())
        raised = forest.domain.label_values[nodes.label[node]]
        return f"odds of {label.name} = {raised!r} × {odds:.2g}, noise {low:.2g} to {high:.2g}"
    shares = forest.node_shares[speaker]
    best = int(shares.argmax())
    value = forest.domain.label_values[best]
    says = f"{label.name} = {value!r}, confidence {nodes.confidence[speaker]:.2f}"
    if shares[best] <= 0:
        says = "no positive count"
    elif speaker != node:
        says += " from above"
    if not nodes.told[node]:
        return f"{says}, support less than its noise"
    return f"{says}, support {plus_minus(nodes.support[node], nodes.support_margin[node])}"
