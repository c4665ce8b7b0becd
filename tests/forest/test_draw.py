"""Pictures: everything is drawn once, nothing overlaps, and noise is told apart."""

import sys
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Forest
from frith.errors import FormatError
from frith.forest.draw import (
    _FADED,
    _MOST_DOTS,
    COLORS,
    GREY,
    picture_of_forest,
    picture_of_tree,
)
from frith.forest.nodes import Nodes
from frith.forest.svg import Box, Dot, Line, Picture, Text, clip, text_width, to_svg
from frith.privacy import Guarantee
from tests.forest.test_rules import LABEL, age_and_color, forests, tree_of
from tests.strategies import domains, examples, unicode

SVG = "{http://www.w3.org/2000/svg}"


def node_boxes(picture):
    return [m for m in picture.marks if isinstance(m, Box) and m.stroke]


def texts(picture):
    return [m.text for m in picture.marks if isinstance(m, Text)]


def nodes_of_tree(forest, tree):
    return np.flatnonzero(Nodes(forest).tree == tree)


def wide_forest(values, levels=1):
    """A tree that asks about one attribute with many values, and again below its last."""
    domain = Domain([Categorical("n", tuple(range(values)))], LABEL)
    nodes, leaf = [], [-1, -1, -1]
    for level in range(levels):
        nodes = nodes[:-1] + [[0, -1, level * values + 1]] + [leaf] * values
    counts = np.array([[n, 1] for n in range(len(nodes))])
    return Forest(domain, tree_of(*nodes), counts, Guarantee(Fraction(1)), np.zeros(len(nodes)))


def ragged_forest():
    """Too broad to grow down: names and answers of all lengths, and leaves at every level."""
    answers = Categorical("who", tuple("ab" * n for n in range(1, 14)))
    longer = Categorical("a long name of an attribute", ("x", "a somewhat longer answer"))
    leaf, nodes = [-1, -1, -1], [[0, -1, 1]]
    below = 14
    for n in range(13):
        nodes.append([1, -1, below] if n % 3 else leaf)
        below += 2 if n % 3 else 0
    nodes += [leaf] * (below - 14)
    counts = np.array([[10**6, 1] if row != leaf else [1, 1] for row in nodes])
    domain = Domain([answers, longer], LABEL)
    return Forest(domain, tree_of(*nodes), counts, Guarantee(Fraction(1)), np.zeros(len(nodes)))


def overlap(a, b):
    return (
        a.x < b.x + b.width - 1e-6
        and b.x < a.x + a.width - 1e-6
        and a.y < b.y + b.height - 1e-6
        and b.y < a.y + a.height - 1e-6
    )


def passes_through(line, box):
    """Whether some point of the line, of many, is inside the box."""
    t = np.linspace(0, 1, 200)
    x, y = line.x1 + t * (line.x2 - line.x1), line.y1 + t * (line.y2 - line.y1)
    inside = (x > box.x + 1e-3) & (x < box.x + box.width - 1e-3)
    return bool(np.any(inside & (y > box.y + 1e-3) & (y < box.y + box.height - 1e-3)))


def extent(text):
    """The space a text takes: left, top, right, bottom."""
    width = text_width(text.text, text.size, text.bold)
    left = text.x - width / 2 if text.centered else text.x
    return Box(left, text.y - 0.7 * text.size, width, 0.7 * text.size, "")


# -- layout ------------------------------------------------------------------------------------


def check_layout(picture):
    boxes = node_boxes(picture)
    words = [extent(m) for m in picture.marks if isinstance(m, Text) and m.text]
    assert not any(overlap(a, b) for a, b in combinations(boxes, 2))
    assert not any(overlap(a, b) for a, b in combinations(words, 2))
    for box in boxes:  # what touches a box is inside it
        touching = [word for word in words if overlap(word, box)]
        assert len(touching) == 2
        for word in touching:
            assert word.x >= box.x
            assert word.x + word.width <= box.x + box.width
    for line in (m for m in picture.marks if isinstance(m, Line)):
        assert not any(passes_through(line, box) for box in boxes)
        assert not any(passes_through(line, word) for word in words)
    for space in [*boxes, *words]:
        assert space.x >= 0
        assert space.y >= 0
        assert space.x + space.width <= picture.width + 1e-6
        assert space.y + space.height <= picture.height + 1e-6


@examples(60)
@given(forests(), st.none() | st.integers(0, 3))
def test_nothing_overlaps_and_nothing_is_cut_off(forest, max_depth):
    check_layout(picture_of_tree(forest, 0, max_depth))


@pytest.mark.parametrize(("values", "levels"), [(3, 2), (3, 9), (12, 2), (40, 1), (40, 4)])
def test_nothing_overlaps_in_wide_and_deep_trees(values, levels):
    check_layout(picture_of_tree(wide_forest(values, levels)))


def test_nothing_overlaps_in_a_ragged_tree_that_grows_to_the_right():
    forest = ragged_forest()
    forest.trees.check(forest.domain)
    picture = picture_of_tree(forest)
    assert len({box.x for box in node_boxes(picture)}) == 3
    assert texts(picture).count("a long name of an attribute?") == 8
    check_layout(picture)


@examples(60)
@given(forests(), st.integers(0, 4))
def test_every_node_is_drawn_or_counted_as_not_drawn(forest, max_depth):
    picture, nodes = picture_of_tree(forest, 0, max_depth), Nodes(forest)
    levels = [np.intersect1d(level, nodes_of_tree(forest, 0)) for level in nodes.levels]
    assert len(node_boxes(picture)) == sum(len(level) for level in levels[: max_depth + 1])
    more = [int(t.split()[1]) for t in texts(picture) if t.startswith("… ")]
    assert sum(more) == sum(len(level) for level in levels[max_depth + 1 :])


def test_of_many_children_the_largest_are_drawn():
    """Of 60 values 24 are drawn, and the largest are the last here."""
    picture = picture_of_tree(wide_forest(60))
    assert len(node_boxes(picture)) == 25
    assert "… 36 more" in texts(picture)
    assert {str(n) for n in range(36, 60)} <= set(texts(picture))


def test_a_large_tree_is_drawn_as_deep_as_stays_readable():
    picture = picture_of_tree(wide_forest(20, levels=30))
    assert 150 < len(node_boxes(picture)) <= 200
    assert any(t.startswith("… ") for t in texts(picture))


def test_a_tree_is_narrow_enough_to_read_whatever_its_splits():
    assert picture_of_tree(wide_forest(24, levels=4)).width < 2_000
    assert len({box.y for box in node_boxes(picture_of_tree(wide_forest(4)))}) == 2  # grows down


def test_children_stand_in_order_around_their_parent():
    root, *children = node_boxes(picture_of_tree(wide_forest(5)))
    middles = [box.x + box.width / 2 for box in children]
    assert middles == sorted(middles)
    assert root.x + root.width / 2 == pytest.approx((middles[0] + middles[-1]) / 2)


# -- what is said ------------------------------------------------------------------------------


def test_boxes_hold_question_support_noise_and_confidence():
    words = texts(picture_of_tree(age_and_color()))
    assert words[0] == "Tree 0 of 1 (counted from 0)"
    assert "epsilon=1" in words[1]
    assert "± holds for all nodes in 95 of 100 such forests" in words[1]
    assert words[2:5] == ["good:", "no", "yes"]
    assert words[5:] == [
        "age < 40", "100 ± 18 · no 60%",
        "yes", "no 100%", "50 ± 10",
        "no", "color?", "50 ± 16 · yes 80%",
        "red", "no 80%", "10 ± 10",
        "green", "no counts", "less than noise",
        "blue", "yes 100%", "27 ± 10",
    ]  # fmt: skip


def test_a_box_tells_its_whole_rule_under_the_mouse():
    titles = [box.title for box in node_boxes(picture_of_tree(age_and_color())) if box.title]
    assert titles == [str(rule) for rule in age_and_color().rules(sort="tree")]


@examples(40)
@given(forests())
def test_nodes_under_their_noise_are_faded_and_no_others(forest):
    faint, nodes = Nodes(forest).is_faint, nodes_of_tree(forest, 0)
    boxes = node_boxes(picture_of_tree(forest, 0, max_depth=99))
    assert sum(box.opacity == _FADED for box in boxes) == sum(faint[nodes])
    assert {box.opacity for box in boxes} <= {1.0, _FADED}


def test_bars_show_label_shares():
    picture = picture_of_tree(age_and_color())
    parts = [m for m in picture.marks if isinstance(m, Box) and m.height == 9 and m.fill in COLORS]
    first, second = parts[:2]
    assert (first.fill, second.fill) == COLORS[:2]
    assert first.width / (first.width + second.width) == pytest.approx(0.6)
    assert second.x == pytest.approx(first.x + first.width)


def test_where_labels_outnumber_colors_the_rarest_are_grey():
    label = Categorical("digit", tuple(range(10)))
    counts = np.arange(1, 11)[None, :]
    domain = replace(age_and_color().domain, label=label)
    leaf = Forest(domain, tree_of([-1, -1, -1]), counts, Guarantee(Fraction(1)), np.zeros(1))
    picture = picture_of_tree(leaf)
    assert texts(picture)[2:11] == ["digit:", *"3456789", "3 other labels"]
    bar = [m for m in picture.marks if isinstance(m, Box) and m.height == 9][1:]
    assert [m.fill for m in bar] == [*COLORS, GREY]
    assert bar[-1].width / sum(m.width for m in bar) == pytest.approx(6 / 55)


@pytest.mark.parametrize(("tree", "depth"), [(1, None), (-1, None), (0, -1)])
def test_what_cannot_be_drawn_is_explained(tree, depth):
    with pytest.raises(ValueError, match="no tree|max_depth"):
        age_and_color().draw(tree=tree, max_depth=depth)


# -- the whole forest --------------------------------------------------------------------------


@examples(40)
@given(forests())
def test_all_trees_have_their_dots_in_their_cells(forest):
    picture = picture_of_forest(forest)
    dots = [m for m in picture.marks if isinstance(m, Dot)]
    is_small = Nodes(forest).sizes.max() <= _MOST_DOTS  # else it is not drawn to its full depth
    assert len(dots) == forest.trees.n_nodes or not is_small
    lines = sum(isinstance(m, Line) for m in picture.marks)
    assert lines == len(dots) - forest.trees.n_trees
    for dot in dots:
        assert dot.radius <= dot.x <= picture.width - dot.radius
        assert dot.radius <= dot.y <= picture.height - dot.radius


def test_dots_are_as_large_as_their_nodes_and_of_their_label():
    dots = [m for m in picture_of_forest(age_and_color()).marks if isinstance(m, Dot)]
    assert [d.fill for d in dots] == [COLORS[i] for i in (0, 0, 1, 0, 1, 1)]
    areas = [(d.radius - 1.5) ** 2 for d in dots]
    assert areas == pytest.approx([36 * n / 100 for n in (100, 50, 50, 10, 0, 30)])


def test_of_very_many_trees_the_first_are_drawn():
    one = age_and_color()
    domain, values = one.domain, np.ones((130, 2))
    leaves = tree_of(*[[-1, -1, -1]] * 130)
    trees = replace(leaves, roots=np.arange(130, dtype=np.int32))
    picture = picture_of_forest(Forest(domain, trees, values, one.guarantee, np.zeros(130)))
    assert texts(picture)[0] == "130 trees, the first 120 of them"
    assert sum(isinstance(m, Dot) for m in picture.marks) == 120


# -- painters ----------------------------------------------------------------------------------


@examples(60)
@given(st.data())
def test_svg_is_well_formed_whatever_names_hold(data):
    domain = data.draw(domains(most=3, names=unicode.filter(bool)))
    forest = data.draw(forests(of=domain))
    for svg in (forest.draw(), forest.draw(tree=None)):
        root = ElementTree.fromstring(svg)
        assert root.tag == f"{SVG}svg"
    picture = picture_of_tree(forest)
    root = ElementTree.fromstring(to_svg(picture))
    assert len(root.findall(f"{SVG}text")) == len(texts(picture))


def test_svg_escapes_what_xml_does_not_hold():
    picture = Picture(10, 10, [Text(1, 2, 'a<b>&"\x00\ufffe')])
    root = ElementTree.fromstring(to_svg(picture))
    assert root.find(f"{SVG}text").text == 'a<b>&"\ufffd\ufffd'


def test_notebooks_show_the_picture():
    svg = age_and_color().draw()
    assert svg._repr_svg_() == svg
    assert svg.startswith("<svg ")


def test_files_are_svg_or_png(tmp_path):
    forest = age_and_color()
    forest.draw(tmp_path / "tree.svg")
    assert (tmp_path / "tree.svg").read_text(encoding="utf-8") == forest.draw()
    forest.draw(tmp_path / "all.SVG", tree=None)
    assert (tmp_path / "all.SVG").read_text(encoding="utf-8") == forest.draw(tree=None)
    with pytest.raises(FormatError, match=r"tree\.pdf"):
        forest.draw(tmp_path / "tree.pdf")


def test_png_has_the_marks_where_the_svg_has_them(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    forest = age_and_color()
    forest.draw(tmp_path / "tree.png")
    pixels = image.imread(tmp_path / "tree.png")
    picture = picture_of_tree(forest)
    assert pixels.shape[:2] == (int(2 * picture.height), int(2 * picture.width))
    bars = [m for m in picture.marks if isinstance(m, Box) and m.fill in COLORS and m.opacity == 1]
    assert len(bars) > 5
    for bar in bars:
        row, column = int(2 * (bar.y + bar.height / 2)), int(2 * (bar.x + bar.width / 2))
        hexadecimal = "#" + "".join(f"{round(255 * v):02x}" for v in pixels[row, column, :3])
        assert hexadecimal == bar.fill


def test_a_huge_picture_still_fits_a_png(tmp_path, monkeypatch):
    image = pytest.importorskip("matplotlib.image")
    monkeypatch.setattr("frith.forest.svg._PIXELS", 1e6)
    wide_forest(24, levels=4).draw(tmp_path / "tree.png", max_depth=4)
    height, width = image.imread(tmp_path / "tree.png").shape[:2]
    assert 0.9e6 < height * width < 1.01e6


def test_without_matplotlib_a_png_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"frith\[plot\]"):
        age_and_color().draw(tmp_path / "tree.png")
    assert not (tmp_path / "tree.png").exists()


@pytest.mark.parametrize(
    "words", ["hours-per-week < 12.188", "48,837 ± 38 · <=50K 76%", "Married-civ-spouse",
              "MAXIMUM HEART RATE >= 120", "… 1,234 more", "illicit filling"],
)  # fmt: skip
@pytest.mark.parametrize("bold", [False, True])
def test_text_is_not_wider_than_its_space(words, bold):
    """In matplotlib's face, which is wider than a browser's."""
    pytest.importorskip("matplotlib")
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    face = FontProperties(family="DejaVu Sans", weight="bold" if bold else "normal")
    drawn = TextPath((0, 0), words, size=10, prop=face).get_extents().width
    assert drawn <= text_width(words, 10, bold) <= 1.5 * drawn


@given(st.text(max_size=40), st.floats(20, 200))
def test_clipped_text_fits_and_keeps_its_beginning(text, width):
    shown = clip(text, width, 10)
    assert text_width(shown, 10) <= width
    assert shown == text or (shown[-1] == "…" and text.startswith(shown[:-1]))
