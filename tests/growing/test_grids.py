"""Public trees of several attributes: each is a partition, and which there are follows from the domain."""

import itertools

import numpy as np
import pytest

from frith import Categorical, Domain, Numeric
from frith.forest.leaf_tables import leaves_of
from frith.growing import grids
from frith.growing.builder import each_tree
from frith.growing.grids import grids_of, partition_trees
from frith.kernels.base import MAX_CELLS
from frith.kernels.layout import Layout, mixed_cuts

LABEL = Categorical("label", ("x", "y", "z"))
MIXED = Domain(
    [
        Numeric("size", 0, 8, cells=8, missing=True),
        Categorical("on", ("no", "yes")),
        Categorical("kind", tuple("abcdefghij")),
        Categorical("same", ("only",)),
        Numeric("age", -5, 5, cells=4),
    ],
    LABEL,
)


def layout_of(domain):
    return Layout(domain, mixed_cuts(domain))


def numbers(count):
    return layout_of(Domain([Numeric(f"x{i}", 0, 1) for i in range(count)], LABEL))


def every_record(domain):
    sizes = [range(a.size) for a in domain.attributes]
    return np.array(list(itertools.product(*sizes)), dtype=domain.code_type)


def test_first_trees_have_every_bin_of_their_attribute():
    layout = layout_of(MIXED)
    trees, bins = partition_trees(layout)
    codes, (lookup, begins) = every_record(MIXED), layout.lookup
    made = each_tree(trees, MIXED)
    for a, (tree, places) in enumerate(made[: len(layout.cuts)]):
        expected = lookup[begins[a] + codes[:, a].astype(np.int64)]
        assert np.array_equal(bins[places][leaves_of(tree, codes)], expected)
    assert trees.n_trees == len(layout.cuts) + len(grids_of(layout))


def test_a_grid_has_every_combination_of_parts_and_nothing_else():
    layout, codes = layout_of(MIXED), every_record(MIXED)
    for grid in grids_of(layout):
        leaves = leaves_of(grid, codes)
        assert set(leaves.tolist()) == set(range(len(grid.leaves)))  # none is empty
        parts = {a: _parts(layout, grid, codes, a) for a in grid.asked}
        assert len(grid.leaves) == np.prod([p.max() + 1 for p in parts.values()])
        together = np.unique(np.column_stack([*parts.values(), leaves]), axis=0)
        assert len(together) == len(grid.leaves)  # a leaf is one part of each attribute


def _parts(layout, grid, codes, attribute):
    """The part of each record in one attribute, by the cuts that the grid asks."""
    cuts = np.unique(grid.cut[(grid.attribute == attribute) & (grid.cut >= 0)])
    if not layout.is_numeric(attribute):
        return codes[:, attribute].astype(int)
    return np.searchsorted(cuts, codes[:, attribute], side="right")


def test_categories_of_many_values_and_of_one_are_in_no_grid():
    asked = {a for grid in grids_of(layout_of(MIXED)) for a in grid.asked}
    assert asked == {0, 1, 4}


def test_kinds_from_few_attributes_to_many():
    kinds = [(len(g.asked), len(g.leaves)) for g in grids_of(numbers(5))]
    pairs = [(2, parts**2) for parts in (3, 4, 5, 6) for _ in range(10)]
    halves = [(2, 4)] * 10 + [(3, 8)] * 10 + [(4, 16)] * 5 + [(5, 32)]
    assert kinds == halves + pairs


@pytest.mark.parametrize("count", [12, 40, 300])
def test_wide_tables_have_so_many_grids_of_a_kind_and_the_same_ones_for_everybody(count):
    first, second = grids_of(numbers(count)), grids_of(numbers(count))
    kinds = [(len(g.asked), len(g.leaves)) for g in first]
    assert max(kinds.count(kind) for kind in set(kinds)) <= grids._MOST_GRIDS
    assert min(kinds.count(kind) for kind in set(kinds)) > 0.9 * grids._MOST_GRIDS
    assert [g.asked for g in first] == [g.asked for g in second]
    assert len({a for g in first for a in g.asked}) > 0.9 * min(count, 240)


def test_parts_of_a_number_have_about_as_many_bins_each():
    layout = numbers(2)
    bins, codes = np.diff(layout.starts)[0], np.arange(layout.domain.attributes[0].size)
    (halves,) = (g for g in grids_of(layout) if len(g.leaves) == 4)
    cut = int(halves.cut[0])
    below = len(np.unique(layout.lookup[0][codes[codes < cut]]))
    assert abs(below - bins / 2) <= 1


def test_no_grid_is_there_twice():
    """Values of categories, and the bins of a number of few, are the same in however many parts."""
    domain = Domain([Categorical(f"c{i}", ("no", "yes")) for i in range(3)], LABEL)
    assert [g.asked for g in grids_of(layout_of(domain))] == [(0, 1), (0, 2), (1, 2), (0, 1, 2)]


def test_no_grid_has_more_leaves_than_a_choice_takes():
    values = tuple("abcdefgh")
    domain = Domain([Categorical(f"c{i}", values) for i in range(4)], LABEL)
    found = grids_of(layout_of(domain))
    assert {len(g.leaves) for g in found} == {64}  # 8 values are few beside six parts


def test_very_many_labels_and_attributes_leave_what_one_question_may_count():
    names = tuple(f"l{k}" for k in range(1_000))
    domain = Domain([Numeric(f"x{i}", -5, 9) for i in range(200)], Categorical("label", names))
    layout = layout_of(domain)
    trees, bins = partition_trees(layout)
    assert len(trees.leaves) * 1_000 <= MAX_CELLS < (len(trees.leaves) + 64) * 1_000
    assert len(bins) == layout.n_bins
    assert trees.n_trees > len(layout.cuts)
