"""Choices that name labels, against a loop over records: scores, weights, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from frith import Categorical, Domain, Numeric, open_table
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest.leaf_tables import leaves_of
from frith.forest.trees import Trees, find_leaf
from frith.growing.builder import TreeBuilder, each_tree, join_trees, single_leaf
from frith.growing.grids import partition_trees
from frith.growing.oblivious import ask_once
from frith.kernels import (
    LeafCounts,
    NamedSplits,
    Partitions,
    SplitCounts,
    StrengthChoice,
    StrengthCounts,
    add_batch,
)
from frith.kernels.gradients import ScoreColumn
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.partitions import BinGroups
from frith.kernels.splits import BinarySplit, BinarySplits

DOMAIN = Domain(
    [
        Categorical("kind", tuple("abcd")),
        Numeric("size", 0, 8, cells=8, missing=True),
        Categorical("on", ("no", "yes")),
        Categorical("same", ("only",)),
    ],
    Categorical("label", ("x", "y", "z")),
)
LAYOUT = Layout(DOMAIN, mixed_cuts(DOMAIN))
SPLITS = BinarySplits(LAYOUT)


def records(n, seed):
    """Codes and labels, drawn at random."""
    rng = np.random.default_rng(seed)
    codes = np.column_stack([rng.integers(0, a.size, n) for a in DOMAIN.attributes])
    return codes.astype(DOMAIN.code_type), rng.integers(0, 3, n).astype(DOMAIN.label_type)


def level(tree, nodes):
    asks = np.ones((len(nodes), len(DOMAIN.attributes)), dtype=bool)
    return SplitCounts(tree, LAYOUT, np.array(nodes), asks)


def sums(kernel, codes, labels):
    out = np.zeros(kernel.shape, dtype=np.int64)
    add_batch(kernel, Batch(codes, labels), out)
    return out


def goes_left(split, codes):
    if split.attribute < 0:
        return np.ones(len(codes), dtype=bool)
    size = DOMAIN.attributes[split.attribute].size
    return split.left(size)[codes[:, split.attribute]]


def two_leaves():
    """A tree of one split, and its leaves."""
    builder = TreeBuilder()
    children = builder.ask(0, BinarySplit(2, members=np.array([True, False])))
    return builder.trees(), [*children]


def test_a_score_is_the_number_of_records_that_get_their_own_label():
    tree, nodes = two_leaves()
    codes, labels = records(60, 0)
    question = NamedSplits(level(tree, nodes), SPLITS, np.array([-1, 2]))
    scores = question.scores(sums(question.kernel, codes, labels))
    for place, here in enumerate((codes[:, 2] == 0, codes[:, 2] == 1)):
        assert len(scores[place]) == question.n_options == 3 + 6 * (len(SPLITS) - 1)
        for pick in range(question.n_options):
            split, left, right = question.chosen(pick)
            assert (left == right) == (split.attribute < 0)
            named = np.where(goes_left(split, codes), left, right)
            assert scores[place][pick] == np.sum((named == labels) & here)


def test_every_candidate_is_listed_once():
    question = NamedSplits(level(single_leaf(), [0]), SPLITS, np.array([-1]))
    picks = range(3, question.n_options)
    places = {(pick - 3) // 6: question.chosen(pick)[0] for pick in picks}
    assert len(places) == len(SPLITS) - 1
    assert {question.chosen(pick)[1:] for pick in picks} == {
        (a, b) for a in range(3) for b in range(3) if a != b
    }


def test_one_label_for_all_weighs_more_and_the_kept_one_most():
    tree, nodes = two_leaves()
    question = NamedSplits(level(tree, nodes), SPLITS, np.array([-1, 2]))
    first, second = question.node_weights()
    bonus = 0.5 * np.log(question.n_options - 3)
    assert first[:3] == pytest.approx([bonus] * 3)
    assert second[:3] == pytest.approx([bonus, bonus, bonus + 1])
    assert first[3:] == second[3:] == pytest.approx(np.repeat(SPLITS.weights[:-1], 6))


@pytest.mark.parametrize(
    "kept", [[0], [0, 1, 2], [-2, 0], [0, 3], [[0, 1]]], ids=["short", "long", "-2", "3", "deep"]
)
def test_a_node_comes_with_one_label_of_the_domain_or_with_none(kept):
    with pytest.raises(FormatError, match="comes with"):
        NamedSplits(level(*two_leaves()), SPLITS, np.array(kept))


def test_labels_are_named_where_every_attribute_is_asked_in_one_tree():
    asks = np.ones((1, 4), dtype=bool)
    asks[0, 1] = False
    some = SplitCounts(single_leaf(), LAYOUT, np.zeros(1), asks)
    several = SplitCounts(TreeBuilder(2).trees(), LAYOUT, np.zeros(1), np.ones((1, 4)))
    other = BinarySplits(Layout(DOMAIN, mixed_cuts(DOMAIN)))
    for kernel, splits in ((some, SPLITS), (several, SPLITS), (level(single_leaf(), [0]), other)):
        with pytest.raises(FormatError):
            NamedSplits(kernel, splits, np.array([-1]))


def partitions(layout=LAYOUT, splits=SPLITS):
    trees, bins = partition_trees(layout)
    return Partitions(LeafCounts(trees, layout.domain), splits, bins)


def test_partitions_are_counted_by_trees_of_their_own_domain():
    trees, bins = partition_trees(LAYOUT)
    counts = LeafCounts(trees, DOMAIN)
    elsewhere = replace(DOMAIN, records=7)
    with pytest.raises(FormatError, match="domain"):
        Partitions(counts, BinarySplits(Layout(elsewhere, LAYOUT.cuts)), bins)
    with pytest.raises(FormatError, match="for each attribute"):
        Partitions(LeafCounts(single_leaf(), DOMAIN), SPLITS, bins)


def test_first_trees_have_a_leaf_for_each_bin_and_only_they_have():
    trees, bins = partition_trees(LAYOUT)
    counts = LeafCounts(trees, DOMAIN)
    twice, moved = bins.copy(), np.roll(bins, 1)
    twice[1] = twice[0]
    for wrong in (twice, moved, bins[:-1]):
        with pytest.raises(FormatError, match="one leaf for each bin"):
            Partitions(counts, SPLITS, wrong)
    with pytest.raises(FormatError, match="only leaves of the first"):
        Partitions(counts, SPLITS, np.append(bins, bins[-1] + 1))


def test_parts_are_of_one_tree_each():
    """Two trees whose nodes lie in one another: a record could be in two parts of what looks like one."""
    trees, bins = partition_trees(LAYOUT)
    builder = TreeBuilder(2)
    for root in (0, 1):
        builder.split(root, 2)
    mixed, turned = join_trees([trees, builder.trees()]), trees.roots[::-1]
    backwards = Trees(turned, trees.attribute, trees.cut, trees.first_child, trees.sets)
    for wrong in (mixed, backwards):
        with pytest.raises(FormatError, match="one after another"):
            Partitions(LeafCounts(wrong, DOMAIN), SPLITS, bins)


def test_a_grid_of_nothing_is_refused():
    trees, bins = partition_trees(LAYOUT)
    with pytest.raises(FormatError, match="asks for an attribute"):
        Partitions(LeafCounts(join_trees([trees, single_leaf()]), DOMAIN), SPLITS, bins)


def test_what_a_question_knows_of_its_parts_stays_as_it_was():
    question = partitions()
    with pytest.raises(ValueError, match="read-only"):
        question.bins[0] = question.bins[1]
    with pytest.raises(ValueError, match="read-only"):
        question._ends[0] += 1
    assert isinstance(question.wide, tuple)
    assert isinstance(question.parts, tuple)


def part_of(chosen, codes):
    if isinstance(chosen, int):
        tree, _ = each_tree(partitions().kernel.trees, DOMAIN)[chosen]
        return leaves_of(tree, codes)
    if isinstance(chosen, BinarySplit):
        return np.where(goes_left(chosen, codes), 0, 1)
    bins = LAYOUT.lookup[0][LAYOUT.lookup[1][chosen.attribute] + codes[:, chosen.attribute]]
    return chosen.group[bins - LAYOUT.starts[chosen.attribute]]


def test_every_part_of_every_partition_has_its_label_counts():
    codes, labels = records(80, 1)
    question = partitions()
    counts = question.scores(sums(question.kernel, codes, labels))
    assert len(counts) == sum(question.parts)
    ends = np.cumsum(question.parts)
    wide = set()
    for place, (parts, end) in enumerate(zip(question.parts, ends, strict=True)):
        chosen = question.chosen(place)
        expected = np.zeros((parts, 3), dtype=int)
        np.add.at(expected, (part_of(chosen, codes), labels), 1)
        assert np.array_equal(counts[end - parts : end], expected)
        if isinstance(chosen, BinGroups):
            wide.add((chosen.attribute, parts))
    assert {w for w in wide if w[0] == 0} == {(0, 4)}
    assert {a for a, _ in wide} == {0, 1}
    assert question.parts[0] == 1
    assert question.chosen(0).attribute == -1


def test_kinds_partitions_and_labelings_are_alike_beforehand():
    question = partitions()
    mass = np.exp(question.weights) * 3.0 ** np.array(question.parts)
    n_splits = len(SPLITS) - 1
    assert mass[0] == pytest.approx(np.e)
    assert mass[1 : 1 + n_splits] == pytest.approx(np.exp(SPLITS.weights[:-1]) / n_splits)
    n_wide = len(question.wide)
    assert mass[1 + n_splits :][:n_wide].sum() == pytest.approx(1)
    assert mass[1 + n_splits + n_wide :].sum() == pytest.approx(1)


def test_one_grid_weighs_as_much_as_all_grids_of_another_domain():
    domain = Domain(
        [Categorical("a", ("0", "1")), Categorical("b", ("0", "1"))], Categorical("y", tuple("xyz"))
    )
    layout = Layout(domain, mixed_cuts(domain))
    question = partitions(layout, BinarySplits(layout))
    assert question.parts == (1, 2, 2, 4)
    assert np.exp(question.weights[-1]) * 3.0**4 == pytest.approx(1)


def columns(seed):
    """Two columns of scores, the second on top of the first."""
    rng = np.random.default_rng(seed)
    first = ask_once(DOMAIN, BinarySplit(0, members=np.array([True, True, False, False])))
    second = ask_once(DOMAIN, BinarySplit(2, members=np.array([True, False])))
    start = ScoreColumn(first, rng.integers(-50, 50, (2, 3)))
    return start, ScoreColumn(second, rng.integers(-50, 50, (2, 3)), start)


@pytest.mark.parametrize("seed", range(5))
def test_a_strength_counts_the_records_that_are_right_with_it(seed):
    start, column = columns(seed)
    codes, labels = records(70, seed)
    factors = np.array([0, 4, 10, 14, -3])
    kernel = StrengthCounts(start, column, factors, DOMAIN)
    counts = sums(kernel, codes, labels)
    expected = []
    for factor in factors:
        right = 0
        for i in range(len(codes)):
            leaves = [
                find_leaf(codes, i, c.tree.roots[0], c.tree.nodes, c.tree.sets)
                for c in (start, column)
            ]
            scores = 10 * start.values[leaves[0]] + factor * column.values[leaves[1]]
            right += int(np.argmax(scores)) == labels[i]
        expected.append(right)
    assert counts.tolist() == expected
    assert StrengthChoice(kernel).scores(counts) is counts
    assert (kernel.l1, kernel.l2_squared, kernel.shape) == (5, 5, (5,))
    assert kernel.attributes == (0, 2)


def test_strengths_are_tenths_in_bounds_over_columns_of_the_domain():
    start, column = columns(0)
    for factors in ([2**10 + 1], [[1]]):
        with pytest.raises(FormatError, match="strengths"):
            StrengthCounts(start, column, np.array(factors), DOMAIN)
    lone = ScoreColumn(single_leaf(), np.zeros(1))
    for pair in ((lone, column), (start, lone)):
        with pytest.raises(FormatError, match="number of scores"):
            StrengthCounts(*pair, np.array([1]), DOMAIN)


def test_an_engine_that_forgot_the_start_computes_it_again():
    start, column = columns(3)
    codes, labels = records(40, 3)
    frame = pd.DataFrame(
        {
            a.name: [a.values[c] for c in codes[:, i]]
            for i, a in enumerate(DOMAIN.attributes)
            if isinstance(a, Categorical)
        }
    ).assign(size=1.0, label=[DOMAIN.label.values[k] for k in labels])
    kernel = StrengthCounts(start, column, np.array([0, 10]), DOMAIN)
    fresh, kept = (open_table(frame, DOMAIN) for _ in range(2))
    kept.derive(start)
    kept.derive(column)
    assert kept.aggregate(kernel).tolist() == fresh.aggregate(kernel).tolist()
