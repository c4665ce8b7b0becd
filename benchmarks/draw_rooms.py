"""The rooms of `src/frith` and what each imports, as a picture for docs/design.md.

    python benchmarks/draw_rooms.py [--out FILE]

The edges are read from the source by `tests/imports.py`, so the picture and the architecture test see
the same graph; the words in a box come from the table in docs/design.md. Room A points to room B if A
imports B and no other path leads from A to B. The file also lists every import between rooms.
"""

from __future__ import annotations

import argparse
import re
import sys
from html import escape
from pathlib import Path

from guide_figures import path, picture, rect, text

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.imports import ROOMS, room_graph  # noqa: E402

Graph = dict[str, set[str]]
BOX_WIDTH, BOX_HEIGHT, GAP = 246, 44, 26
COLUMNS = {-1: 16, 0: 294, 1: 572}
"""Where the boxes of the left side, the middle and the right side begin."""


def reachable(graph: Graph, room: str) -> set[str]:
    found: set[str] = set()
    for target in graph[room]:
        found |= {target} | reachable(graph, target)
    return found


def reduced(graph: Graph) -> Graph:
    """The graph without edges that follow from others."""
    return {
        room: {t for t in targets if not any(t in reachable(graph, u) for u in targets)}
        for room, targets in graph.items()
    }


def levels(graph: Graph) -> dict[str, int]:
    """How many rooms lie below each, on the longest path down."""
    found: dict[str, int] = {}
    for room in ROOMS:  # a room imports only rooms before it
        found[room] = 1 + max((found[t] for t in graph[room]), default=-1)
    return found


def columns(graph: Graph, level: dict[str, int]) -> dict[str, int]:
    """The longest path stands in the middle; the others stand where no arrow runs through them."""
    room = max(ROOMS, key=level.__getitem__)
    found = {room: 0}
    while graph[room]:
        room = max(sorted(graph[room]), key=level.__getitem__)
        found[room] = 0
    spans = {r: (level[r], max(level[u] for u in ROOMS if r in graph[u] or u == r)) for r in ROOMS}

    def crowd(room: str, side: int) -> tuple[int, int]:
        low, high = spans[room]
        beside = [spans[r] for r in found if found[r] == side]
        towards = sum(found.get(t, 0) for t in graph[room])
        return sum(a < high and low < b for a, b in beside), -side * towards

    for room in (r for r in ROOMS if r not in found):
        found[room] = min((-1, 1), key=lambda side: crowd(room, side))
    return found


def words() -> dict[str, str]:
    """What each room is, from the second column of the table in docs/design.md."""
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `(\w+)/` \| ([^|]+?) \|", page, flags=re.MULTILINE))


def arrow(start: tuple[float, float], end: tuple[float, float], turn: float) -> str:
    """From a room down to one that it imports, across at the height `turn`."""
    points = [start, (start[0], turn), (end[0], turn), end]
    head = f'<path d="M{end[0]:g} {end[1]:g}l-4 -8h8z" fill="#23694a"/>'
    return path(points, "#23694a", 1.6) + head


def draw(graph: Graph) -> str:
    few, level = reduced(graph), levels(graph)
    column, said, top = columns(few, level), words(), max(level.values())
    width, height = COLUMNS[1] + BOX_WIDTH + 16, 46 + (top + 1) * (BOX_HEIGHT + GAP)
    corner = {
        room: (COLUMNS[column[room]], 40 + (top - level[room]) * (BOX_HEIGHT + GAP))
        for room in ROOMS
    }
    parts = [
        "<desc>" + escape("; ".join(_line(room, graph) for room in ROOMS)) + "</desc>",
        text(16, 24, "Each room imports only rooms below it.", font_weight="600"),
    ]
    for room in ROOMS:
        for target in sorted(few[room], key=ROOMS.index):
            x, y = corner[room]
            to_x, to_y = corner[target]
            shift = 40 * (column[target] - column[room])
            start = (x + BOX_WIDTH / 2 + shift, y + BOX_HEIGHT)
            end = (to_x + BOX_WIDTH / 2 - shift, to_y)
            # a long arrow runs beside the middle column, not through it
            turn = start[1] + GAP / 2 if column[target] else to_y - GAP / 2
            parts.append(arrow(start, end, turn))
    for room in ROOMS:
        x, y = corner[room]
        parts.append(rect(x, y, BOX_WIDTH, BOX_HEIGHT, "#eaf1ec", stroke="#23694a", rx="6"))
        parts.append(text(x + 12, y + 18, f"{room}/", font_weight="600", font_size="14"))
        parts.append(text(x + 12, y + 35, said[room], font_size="12"))
    return picture(width, height, "The rooms of frith", parts)


def _line(room: str, graph: Graph) -> str:
    return f"{room} imports {', '.join(sorted(graph[room], key=ROOMS.index)) or 'no other room'}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "assets" / "rooms.svg")
    options = parser.parse_args()
    options.out.write_text(draw(room_graph()), encoding="utf-8")


if __name__ == "__main__":
    main()
