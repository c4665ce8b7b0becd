"""Pictures of trees: where boxes and lines go, and what they say.

Only released numbers are drawn, each with its noise: counts as label shares and records, scores as the
factor by which a node moves the odds of a label. A node whose noise is larger than its figure is faded.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from frith.domain import spelling
from frith.errors import FormatError
from frith.forest.kinds import ValueKind, refuse_number
from frith.forest.nodes import Nodes, percent, plus_minus, printable
from frith.forest.svg import (
    LINE,
    PAPER,
    Box,
    Dot,
    Line,
    Mark,
    Picture,
    Svg,
    Text,
    clip,
    save_png,
    text_width,
    to_svg,
)
from frith.forest.voting import VotingTrees

# Okabe and Ito's colors, told apart with every kind of color vision; grey is for other labels.
COLORS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442")
GREY = "#9a9a9a"
_DIM = "#666666"
_FADED = 0.4
_MARGIN, _BOX, _GAP, _LEVEL = 20.0, 56.0, 12.0, 116.0  # box height; from one level to the next
_BROAD = 1_500  # a tree wider than this grows to the right instead of down
_MOST_BOXES, _MOST_DOTS, _MOST_TREES = 200, 150, 120  # drawn unless a depth is asked for
_WIDEST = 24  # children of a node that are drawn

# -- what is drawn -----------------------------------------------------------------------------


def draw(forest: VotingTrees, tree: int = 0, max_depth: int | None = None) -> Svg:
    """One tree as SVG, down to `max_depth` questions, by default as deep as stays readable."""
    return to_svg(picture_of_tree(forest, tree, max_depth))


def draw_forest(forest: VotingTrees) -> Svg:
    """All trees at a glance as SVG: shapes, labels, and sizes of counts or scores."""
    return to_svg(picture_of_forest(forest))


def write(
    forest: VotingTrees, path: str | Path, tree: int | None, max_depth: int | None = None
) -> Svg:
    """Write a tree, or the whole forest if it is None, to an .svg or .png file."""
    picture = (
        picture_of_forest(forest) if tree is None else picture_of_tree(forest, tree, max_depth)
    )
    return write_picture(picture, path)


def write_picture(picture: Picture, path: str | Path) -> Svg:
    """Write a picture to an .svg or .png file."""
    path = Path(path)
    if path.suffix.lower() not in (".svg", ".png"):
        raise FormatError(f"pictures are written as .svg or .png; not as {path.name}")
    svg = to_svg(picture)
    if path.suffix.lower() == ".png":
        save_png(picture, path)
    else:
        path.write_text(svg, encoding="utf-8")
    return svg


def picture_of_tree(forest: VotingTrees, tree: int = 0, max_depth: int | None = None) -> Picture:
    if not 0 <= tree < forest.trees.n_trees:
        raise ValueError(
            f"there is no tree {tree}; the forest has {forest.trees.n_trees}, counted from 0"
        )
    if max_depth is not None and max_depth < 0:
        raise ValueError(f"max_depth is {max_depth}; it is the number of questions, at least 0")
    refuse_number(forest.domain, "pictures of trees")
    nodes, paint = Nodes(forest), _Palette(forest)
    spots = _spots(nodes, int(forest.trees.roots[tree]), max_depth, _MOST_BOXES)
    down, width, height = _place(spots, nodes)
    counts = nodes.kind is ValueKind.COUNTS
    has_noise = bool(np.any(forest.variance > 0))
    notes = [] if counts else ["× moves the odds; longer bars move them further"]
    notes += ["± holds for all nodes in 95 of 100 such forests"] if counts and has_noise else []
    faint = any(nodes.is_faint[s.node] for s in spots if s.node >= 0)
    notes += ["faded: less than its noise"] if faint else []
    title = f"Tree {tree} of {forest.trees.n_trees} (counted from 0)"
    picture = _head(forest, title, notes, paint, width)
    left = (picture.width - width) / 2
    for spot in spots:
        spot.x, spot.y = spot.x + left, spot.y + picture.height
        picture.marks += _edge(spot, spots, nodes, down) + _box(spot, nodes, paint)
    return replace(picture, height=picture.height + height + _MARGIN)


def picture_of_forest(forest: VotingTrees) -> Picture:
    refuse_number(forest.domain, "pictures of trees")
    nodes, paint, trees = Nodes(forest), _Palette(forest), forest.trees
    shown = min(trees.n_trees, _MOST_TREES)
    columns = min(shown, math.ceil(math.sqrt(1.6 * shown)), 8)
    title = f"{trees.n_trees} tree{'s' if trees.n_trees > 1 else ''}"
    title += f", the first {shown} of them" if shown < trees.n_trees else ""
    counts = nodes.kind is ValueKind.COUNTS
    notes = ["larger: more records" if counts else "larger: moves the odds further"]
    notes += ["faded: less than its noise"] if nodes.is_faint.any() else []
    picture = _head(forest, title, notes, paint, columns * 170.0)
    cell, tall = (picture.width - 2 * _MARGIN) / columns, 130.0
    for i in range(shown):
        x, y = _MARGIN + i % columns * cell + 12, picture.height + i // columns * tall
        picture.marks += _glance(nodes, paint, i, (x, y), cell - 24, tall - 50)
    return replace(picture, height=picture.height + math.ceil(shown / columns) * tall)


# -- layout: which nodes, and where ------------------------------------------------------------


@dataclass(slots=True)
class _Spot:
    """A node's place in a picture; without a node, `hidden` ones that are not drawn."""

    node: int
    parent: int  # in the list of spots
    level: int
    hidden: int = 0
    room: float = 1.0  # what it needs among its siblings
    at: float = 0.0  # its middle among them
    x: float = 0.0  # the middle of its box
    y: float = 0.0
    width: float = 0.0
    answer: str = ""  # what leads here
    lead: float = 0.0  # how far before its box the answer begins


def _spots(nodes: Nodes, root: int, max_depth: int | None, max_spots: int) -> list[_Spot]:
    """Level by level, down to `max_depth`, or as deep as `max_spots` spots go."""
    spots, level, depth = [_Spot(root, -1, 0)], [0], 0
    while level:
        below = {place: _shown_children(nodes, spots[place].node) for place in level}
        wanted = len(spots) + sum(map(len, below.values()))
        stop = depth > 0 and wanted > max_spots if max_depth is None else depth >= max_depth
        level, depth = [], depth + 1
        for place, children in below.items():
            children = [] if stop else children
            level += range(len(spots), len(spots) + len(children))
            spots += [_Spot(child, place, depth) for child in children]
            hidden = int(nodes.sizes[spots[place].node] - 1 - nodes.sizes[children].sum())
            if hidden:
                spots.append(_Spot(-1, place, depth, hidden))
    return spots


def _shown_children(nodes: Nodes, node: int) -> list[int]:
    """The children of a node, in order; of very many only the largest."""
    trees = nodes.forest.trees
    if trees.attribute[node] < 0:
        return []
    children = np.array(trees.children(node, nodes.forest.domain))
    largest = np.argsort(-_size(nodes)[children], kind="stable")[:_WIDEST]
    return children[np.sort(largest)].tolist()


def _size(nodes: Nodes) -> NDArray[np.float64]:
    """The records of each node, or how far it moves the odds."""
    return nodes.totals if nodes.kind is ValueKind.COUNTS else nodes.effect


def _arrange(spots: list[_Spot]) -> float:
    """Set every `at` such that subtrees stand side by side, as close as their outlines let them.

    Parents stand before the middle of their children. Returns the width of the whole.
    """
    children: list[list[int]] = [[] for _ in spots]
    for place, spot in enumerate(spots[1:], start=1):
        children[spot.parent].append(place)
    outline: dict[int, tuple[list[float], list[float]]] = {}  # left and right ends, level by level
    for place in range(len(spots) - 1, -1, -1):  # children come after their parents
        left: list[float] = []
        right: list[float] = []
        for child in children[place]:
            starts, ends = outline.pop(child)
            gaps = (a - b for a, b in zip(right, starts, strict=False))
            shift = spots[child].at = max(gaps, default=0.0)
            left += [x + shift for x in starts[len(left) :]]
            right[: len(ends)] = [x + shift for x in ends]
        below = [spots[c].at for c in children[place]] or [0.0]
        middle, half = (below[0] + below[-1]) / 2, spots[place].room / 2
        for child in children[place]:
            spots[child].at -= middle
        outline[place] = (
            [-half, *(x - middle for x in left)],
            [half, *(x - middle for x in right)],
        )
    starts, ends = outline[0]
    spots[0].at = -min(starts)
    for spot in spots[1:]:
        spot.at += spots[spot.parent].at
    return max(ends) - min(starts)


def _place(spots: list[_Spot], nodes: Nodes) -> tuple[bool, float, float]:
    """Set every x and y. Returns whether the tree grows down, and the size it takes."""
    for spot in spots:
        spot.answer = _answer(spot, spots, nodes)
        spot.width = _box_width(spot, nodes)
        spot.room = max(spot.width, text_width(spot.answer, 10)) + _GAP
    width = _arrange(spots)
    if width > _BROAD:
        return False, *_place_right(spots)
    for spot in spots:
        spot.x, top = spot.at, spot.level * _LEVEL
        spot.y = top + _BOX / 2 if spot.node >= 0 else top - 10
    return True, width, max(s.y for s in spots) + _BOX / 2


def _place_right(spots: list[_Spot]) -> tuple[float, float]:
    """Levels as columns of equally wide boxes, so that no line passes through one."""
    columns = spots[-1].level + 1
    boxes, leads = np.zeros(columns), np.full(columns, 10.0)
    for spot in spots:
        boxes[spot.level] = max(boxes[spot.level], spot.width)
        leads[spot.level] = max(leads[spot.level], text_width(spot.answer, 10) + 10)
        spot.room = (_BOX if spot.node >= 0 else 10) + _GAP
    height = _arrange(spots)
    ends = np.cumsum(boxes + leads + 50) - leads[0] - 50
    for spot in spots:
        left = ends[spot.level] - boxes[spot.level]
        spot.width, spot.lead = boxes[spot.level], leads[spot.level]
        spot.x, spot.y = left + spot.width / 2, spot.at
    return float(ends[-1]), height


# -- a node as marks ---------------------------------------------------------------------------


class _Palette:
    """A color for each label; where there are too many, for the most common ones."""

    def __init__(self, forest: VotingTrees):
        self.labels = forest.domain.label_values
        common = np.argsort(-forest.label_weights, kind="stable")[: len(COLORS)]
        self.color = dict(zip(np.sort(common).tolist(), COLORS, strict=False))

    def legend(self) -> list[tuple[str, str]]:
        known = [(color, printable(spelling(self.labels[i]))) for i, color in self.color.items()]
        more = len(self.labels) - len(known)
        return known + ([(GREY, f"{more} other labels")] if more else [])

    def parts(self, node: int, nodes: Nodes) -> list[tuple[str, float]]:
        """Colors and widths of a node's bar: the shares of labels, or how far it moves its label."""
        if nodes.kind is ValueKind.SCORES:
            length = float(nodes.effect[node] / (nodes.effect.max() or 1))
            return [(self.color.get(int(nodes.label[node]), GREY), length)]
        shares = nodes.forest.node_shares[node]
        parts = [(color, float(shares[i])) for i, color in self.color.items()]
        return [*parts, (GREY, max(0.0, float(shares.sum()) - sum(s for _, s in parts)))]


def _lines(node: int, nodes: Nodes) -> tuple[str, str]:
    """The first and the last line in a node's box."""
    forest = nodes.forest
    label = printable(spelling(forest.domain.label_values[nodes.label[node]]))
    if nodes.kind is ValueKind.SCORES:
        odds, low, high = (float(values[node]) for values in nodes.figures.values())
        share, support = f"{label} × {odds:.2g}", f"noise: {low:.2g} to {high:.2g}"
    elif nodes.told[node]:
        support = plus_minus(float(nodes.support[node]), float(nodes.support_margin[node]))
        share = f"{label} {percent(nodes.confidence[node])}"
        share = share if nodes.confidence[node] else "no counts"
    else:
        share, support = "no counts", "less than noise"
    if forest.trees.attribute[node] < 0:
        return share, support
    asked = forest.domain.attributes[forest.trees.attribute[node]]
    name = printable(asked.name)
    first = int(forest.trees.first_child[node])
    question = str(nodes.step(first)) if forest.trees.cut[node] != -1 else f"{name}?"
    return question, f"{support} · {share}"


def _answer(spot: _Spot, spots: list[_Spot], nodes: Nodes) -> str:
    """What leads from the parent to this spot."""
    if spot.node < 0 or spot.parent < 0:
        return ""
    step, parent, trees = nodes.step(spot.node), spots[spot.parent].node, nodes.forest.trees
    if trees.cut[parent] != -1:
        return "yes" if spot.node == trees.first_child[parent] else "no"
    return clip(printable(spelling(step.values[0])), 140, 10)


def _box_width(spot: _Spot, nodes: Nodes) -> float:
    if spot.node < 0:
        return text_width(_more(spot), 10)
    first, last = _lines(spot.node, nodes)
    wanted = max(text_width(first, 11, bold=True), text_width(last, 10)) + 16
    return min(max(wanted, 72.0), 220.0)


def _more(spot: _Spot) -> str:
    return f"… {spot.hidden:,} more"


def _edge(spot: _Spot, spots: list[_Spot], nodes: Nodes, down: bool) -> list[Mark]:
    """A line from the parent's box, and the answer between its end and this spot."""
    if spot.parent < 0:
        return []
    above, faded = spots[spot.parent], _opacity(spot, nodes)
    if down:
        tip = spot.y - (_BOX / 2 + 18 if spot.node >= 0 else 8)
        line = Line(above.x, above.y + _BOX / 2, spot.x, tip, faded)
        return [line, Text(spot.x, tip + 12, spot.answer, 10, False, _DIM, True, faded)]
    tip = spot.x - spot.width / 2 - spot.lead
    line = Line(above.x + above.width / 2, above.y, tip, spot.y, faded)
    return [line, Text(tip + 4, spot.y + 4, spot.answer, 10, False, _DIM, False, faded)]


def _opacity(spot: _Spot, nodes: Nodes) -> float:
    return _FADED if spot.node >= 0 and nodes.is_faint[spot.node] else 1.0


def _box(spot: _Spot, nodes: Nodes, paint: _Palette) -> list[Mark]:
    x, y, width, left = spot.x, spot.y - _BOX / 2, spot.width, spot.x - spot.width / 2
    if spot.node < 0:
        start = left - max(0.0, spot.lead - 4)
        return [Text(start, spot.y + 4, _more(spot), 10, fill=_DIM)]
    is_leaf = nodes.forest.trees.attribute[spot.node] < 0
    color = paint.color.get(int(nodes.label[spot.node]), GREY) if is_leaf else LINE
    first, last = _lines(spot.node, nodes)
    told = nodes.told[spot.node]
    marks: list[Mark] = [
        Box(
            left, y, width, _BOX, PAPER, color, 4, title=str(nodes.rule(spot.node)) if told else ""
        ),
        Text(x, y + 17, clip(first, width - 10, 11, bold=True), 11, bold=True, centered=True),
        *_bar(paint.parts(spot.node, nodes), left + 8, y + 25, width - 16, 9),
        Text(x, y + 48, clip(last, width - 10, 10), 10, fill=_DIM, centered=True),
    ]
    return [replace(mark, opacity=_opacity(spot, nodes)) for mark in marks]


def _bar(
    parts: list[tuple[str, float]], x: float, y: float, width: float, height: float
) -> list[Mark]:
    marks: list[Mark] = [Box(x, y, width, height, "#eeeeee")]
    for color, share in parts:
        if share > 0:
            marks.append(Box(x, y, width * share, height, color))
            x += width * share
    return marks


def _glance(
    nodes: Nodes,
    paint: _Palette,
    tree: int,
    corner: tuple[float, float],
    width: float,
    height: float,
) -> list[Mark]:
    """One tree in a small cell: dots as large as their nodes, and the first question's name."""
    trees = nodes.forest.trees
    root = int(trees.roots[tree])
    spots = _spots(nodes, root, None, _MOST_DOTS)
    scale = width / _arrange(spots)
    step = height / max(1, max(s.level for s in spots if s.node >= 0))
    for s in spots:
        s.x, s.y = corner[0] + s.at * scale, corner[1] + s.level * step
    shown = [s for s in spots if s.node >= 0]
    edges = [(spots[s.parent], s) for s in shown[1:]]
    marks: list[Mark] = [Line(a.x, a.y, b.x, b.y, 0.6) for a, b in edges]
    size = _size(nodes)
    largest = size[root] if nodes.kind is ValueKind.COUNTS else size.max()
    for s in shown:
        radius = 1.5 + 6 * math.sqrt(min(1.0, size[s.node] / (largest or 1)))
        color = paint.color.get(int(nodes.label[s.node]), GREY)
        marks.append(Dot(s.x, s.y, radius, color, _opacity(s, nodes)))
    asked = int(trees.attribute[root])
    name = printable(nodes.forest.domain.names[asked]) if asked >= 0 else "one leaf"
    x, y = corner[0] + width / 2, corner[1] + height + 24
    return [*marks, Text(x, y, clip(f"{tree}: {name}", width, 10), 10, fill=_DIM, centered=True)]


def _head(
    forest: VotingTrees, title: str, notes: list[str], paint: _Palette, width: float
) -> Picture:
    """The title, what is promised, and the legend, on paper of at least `width` in the margins."""
    promise = str(forest.guarantee).splitlines()[0]
    words = [(title, 14.0, True), ("; ".join([promise, *notes]), 10.0, False)]
    width = max(width, *(min(text_width(*w), 900.0) for w in words))
    marks: list[Mark] = [
        Text(_MARGIN, _MARGIN + 14 + 18 * i, clip(text, width, size, bold), size, bold)
        for i, (text, size, bold) in enumerate(words)
    ]
    x, y = _MARGIN, _MARGIN + 52.0
    for color, name in [("", f"{printable(forest.domain.label.name)}:"), *paint.legend()]:
        shown, before = clip(name, 240, 11), 15 if color else 0
        needed = before + text_width(shown, 11) + 14
        if x + needed > _MARGIN + width and x > _MARGIN:
            x, y = _MARGIN, y + 18
        marks += [Box(x, y - 9, 10, 10, color)] if color else []
        marks.append(Text(x + before, y, shown))
        x += needed
    return Picture(width + 2 * _MARGIN, y + 28, marks)
