"""`frith draw`."""

import sys
from xml.etree import ElementTree

import pytest

from frith import Forest


def test_a_tree_is_drawn(run, forest, desk):
    result = run("draw", forest, "-o", desk / "tree.svg", "--tree", 3, "--depth", 2)
    assert result.stdout == ""
    assert "tree.svg" in result.stderr
    written = (desk / "tree.svg").read_text(encoding="utf-8")
    assert written == Forest.load(forest).draw(tree=3, max_depth=2)
    ElementTree.fromstring(written)


def test_the_first_tree_is_drawn_by_default(run, forest, desk):
    run("draw", forest, "-o", desk / "tree.svg")
    assert (desk / "tree.svg").read_text(encoding="utf-8") == Forest.load(forest).draw(tree=0)


def test_all_trees_are_drawn_at_a_glance(run, forest, desk):
    run("draw", forest, "-o", desk / "all.svg", "--all")
    assert (desk / "all.svg").read_text(encoding="utf-8") == Forest.load(forest).draw(tree=None)


def test_png_needs_matplotlib(run, forest, desk, monkeypatch):
    pytest.importorskip("matplotlib")
    run("draw", forest, "-o", desk / "tree.png")
    assert (desk / "tree.png").read_bytes().startswith(b"\x89PNG")
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    result = run("draw", forest, "-o", desk / "other.png", code=2)
    assert "frith[plot]" in result.stderr
    assert not (desk / "other.png").exists()


@pytest.mark.parametrize(
    ("args", "word"),
    [
        (("-o", "tree.pdf"), ".svg or .png"),
        (("-o", "tree.svg", "--tree", 99), "no tree 99"),
        (("-o", "tree.svg", "--all", "--tree", 1), "--all"),
        (("-o", "tree.svg", "--all", "--depth", 1), "--all"),
        (("-o", "no/such/folder.svg"), "no folder"),
    ],
)
def test_what_cannot_be_drawn_is_one_line(run, forest, desk, monkeypatch, args, word):
    monkeypatch.chdir(desk)
    result = run("draw", forest, *args, code=2)
    assert word in result.stderr
    assert result.stderr.count("\n") == 1
    assert not (desk / "tree.svg").exists()


def test_the_forest_is_not_written_over(run, forest, desk):
    path = desk / "forest.svg"
    forest.rename(path)
    before = path.read_bytes()
    run("draw", path, "-o", path, code=2)
    assert path.read_bytes() == before
