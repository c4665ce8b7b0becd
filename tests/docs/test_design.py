"""The design page is about the source as it is: its picture, its table of rooms, its walk, its paths."""

import ast
import itertools
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from tests.imports import ROOMS, SOURCE, room_graph

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DESIGN = (DOCS / "design.md").read_text(encoding="utf-8")
MOST_STOPS = 15


def section(heading):
    return re.search(
        rf"^## {re.escape(heading)}.*?\n(.*?)(?=^## |\Z)", DESIGN, re.DOTALL | re.MULTILINE
    )[1]


# -- rooms -----------------------------------------------------------------------------------------


def test_the_table_of_rooms_is_the_folder_list():
    rows = re.findall(r"^\| `(\w+)/` \| ([^|]+?) \|", section("Rooms"), re.MULTILINE)
    assert tuple(name for name, _ in rows) == ROOMS
    for name, words in rows:
        assert len(words) <= 32, f"{name}: {words!r} does not fit a box of the picture"


def test_the_picture_of_the_rooms_is_up_to_date(tmp_path):
    script, drawn = ROOT / "benchmarks" / "draw_rooms.py", tmp_path / "rooms.svg"
    subprocess.run([sys.executable, script, "--out", drawn], check=True, timeout=600)
    kept = (DOCS / "assets" / "rooms.svg").read_text(encoding="utf-8")
    assert drawn.read_text(encoding="utf-8") == kept, "run python benchmarks/draw_rooms.py"
    for room, targets in room_graph().items():
        words = ", ".join(sorted(targets, key=ROOMS.index)) or "no other room"
        assert f"{room} imports {words}" in kept


# -- the walk --------------------------------------------------------------------------------------

WALKS = ("What happens in `fit`", "What happens in a request")
STOP = re.compile(r"^\d+\. `([\w/]+\.py)`, `([\w.]+)`: (.+)$", re.MULTILINE)
STOPS = {walk: STOP.findall(section(walk)) for walk in WALKS}


def defined(path):
    """The functions and classes of a file, and the methods of its classes."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            inside = (n.name for n in node.body if isinstance(n, ast.FunctionDef))
            names |= {f"{node.name}.{name}" for name in inside}
    return names


@pytest.mark.parametrize("walk", WALKS)
def test_a_walk_is_short(walk):
    numbered = re.findall(r"^\d+\.", section(walk), re.MULTILINE)
    assert 10 <= len(STOPS[walk]) == len(numbered) <= MOST_STOPS


@pytest.mark.parametrize(("file", "name", "words"), list(itertools.chain(*STOPS.values())))
def test_every_stop_of_the_walk_is_there(file, name, words):
    assert name in defined(SOURCE / file)
    assert words.endswith(".")


# -- paths and names in prose ----------------------------------------------------------------------

PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
    *(ROOT / "benchmarks").glob("*.md"),
    *sorted(p for p in DOCS.rglob("*.md") if p.parent.name != "results"),
]
PLACES = (ROOT, SOURCE, DOCS, ROOT / "benchmarks", DOCS / "results")


def quoted(page):
    """What stands in backquotes, outside of blocks of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", text)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_that_prose_names_exist(page):
    for words in quoted(page):
        for name in re.findall(r"^(?:python )?([\w./-]+(?:\.py|\.md|\.toml|/))(?= |$)", words):
            if name in ("domain.toml", "draft.toml"):  # a reader's own
                continue
            assert any((place / name).exists() for place in PLACES), f"{name} is not there"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_names_that_prose_gives_in_full_exist(page):
    rooms = "|".join(ROOMS)
    for words in quoted(page):
        found = re.match(rf"(?:frith\.(?=\w+\.))?((?:{rooms})(?:\.\w+){{1,}})", words)
        if found is None or "/" in words or words.count(".") < 2:
            continue
        place = import_module("frith")
        for part in found[1].split("."):
            try:
                place = import_module(f"{place.__name__}.{part}")
            except (ImportError, AttributeError):
                assert hasattr(place, part), f"frith.{found[1]} is not there"
                place = getattr(place, part)


def test_mutants_are_made_of_files_that_exist_and_run_tests_that_exist(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import mutants
    import mutants_making as making

    named = {entry.split(" ")[0] for entry in mutants.EXPLAINED}
    for file in {*mutants.GUARDS, *making.ONLY, *named}:
        assert (SOURCE / file).exists(), file
    assert len(list(making.broken_equations())) > 30  # each of a text that is there once
    for tests in mutants.GUARDS.values():
        for test in tests:
            assert (ROOT / test).exists(), test
