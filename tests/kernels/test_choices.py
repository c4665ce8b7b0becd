"""Choices, one record more at a time: how far scores move apart, what they count, and what is refused."""

import itertools

import numpy as np
import pytest

from frith import Categorical, Domain
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.growing.builder import TreeBuilder, single_leaf
from frith.growing.grids import partition_trees
from frith.growing.oblivious import ask_once
from frith.kernels import (
    AttributeChoice,
    CorrectChoice,
    LabelChoice,
    LeafCounts,
    NamedSplits,
    NodeSplits,
    Partitions,
    SignsChoice,
    SplitCounts,
    StepChoice,
    StrengthChoice,
    StrengthCounts,
    add_batch,
)
from frith.kernels.counts import CorrectCounts
from frith.kernels.criteria import MaxMass
from frith.kernels.gradients import UNIT, GradientSums, ScoreColumn
from frith.kernels.label_gradients import LabelGradients
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplit, BinarySplits

DOMAIN = Domain(
    [Categorical("kind", tuple("abc")), Categorical("on", ("no", "yes"))],
    Categorical("label", ("x", "y", "z")),
)
TWO = Domain(DOMAIN.attributes, Categorical("label", ("x", "y")))
LAYOUT = Layout(DOMAIN, mixed_cuts(DOMAIN))
SPLITS = BinarySplits(LAYOUT)
EVERY = list(itertools.product(range(3), range(2), range(3)))


def sums(kernel, records):
    rows = np.array(records, dtype=np.int64).reshape(-1, 3)
    codes, labels = rows[:, :2].astype(DOMAIN.code_type), rows[:, 2].astype(DOMAIN.label_type)
    out = np.zeros(kernel.shape, dtype=np.int64)
    add_batch(kernel, Batch(codes, labels), out)
    return out


def level(*nodes, tree=None):
    asks = np.ones((len(nodes), 2), dtype=bool)
    return SplitCounts(tree or single_leaf(), LAYOUT, np.array(nodes), asks)


def two_leaves():
    builder = TreeBuilder()
    children = builder.ask(0, BinarySplit(1, members=np.array([True, False])))
    return level(*children, tree=builder.trees())


def strengths():
    trees = [
        ask_once(DOMAIN, BinarySplit(0, members=np.array([True, True, False]))),
        ask_once(DOMAIN, BinarySplit(1, members=np.array([True, False]))),
    ]
    start = ScoreColumn(trees[0], np.array([[5, 0, 0], [0, 5, 0]]))
    column = ScoreColumn(trees[1], np.array([[0, 0, 9], [0, 0, 0]]), start)
    return StrengthCounts(start, column, np.array([0, 5, 20]), DOMAIN)


def correct():
    scores = np.random.default_rng(0).integers(-9, 9, (LAYOUT.n_bins, 3))
    return CorrectCounts(LAYOUT, (0, 1), np.zeros(3, dtype=np.int64), scores, np.array([0, 1, 4]))


QUESTIONS = {
    "attributes": lambda: AttributeChoice(level(0), (0, 1)),
    "classifiers": lambda: CorrectChoice(correct()),
    "label": lambda: LabelChoice(LeafCounts(single_leaf(), DOMAIN)),
    "strengths": lambda: StrengthChoice(strengths()),
    "named labels": lambda: NamedSplits(two_leaves(), SPLITS, np.array([-1, -1])),
}


@pytest.mark.parametrize("kind", QUESTIONS)
def test_a_record_moves_scores_apart_by_the_range_and_no_further(kind):
    question = QUESTIONS[kind]()
    rng, apart, nodes = np.random.default_rng(0), set(), set()
    for size in (0, 1, 7, 20):
        before = [EVERY[i] for i in rng.integers(0, len(EVERY), size)]
        old = question.scores(sums(question.kernel, before))
        for record in EVERY:
            new = question.scores(sums(question.kernel, [*before, record]))
            moved = [b - a for a, b in zip(np.atleast_2d(old), np.atleast_2d(new), strict=True)]
            apart |= {int(m.max() - m.min()) for m in moved}
            nodes.add(sum(bool(m.any()) for m in moved))
            assert all(m.min() >= 0 for m in moved)
    assert max(apart) == question.range_ == 1
    assert max(nodes) == getattr(question, "n_trees", 1) == 1


def test_an_attributes_score_is_the_records_that_its_values_most_common_labels_get_right():
    records = [EVERY[i] for i in np.random.default_rng(1).integers(0, len(EVERY), 40)]
    question = AttributeChoice(level(0), (1, 0))
    expected = [
        sum(
            max(sum(r[a] == value and r[2] == label for r in records) for label in range(3))
            for value in range(DOMAIN.attributes[a].size)
        )
        for a in question.attributes
    ]
    assert question.scores(sums(question.kernel, records)).tolist() == expected


@pytest.mark.parametrize("attributes", [(-1,), (2,), (0, -1), (), (True,)], ids=str)
def test_attributes_to_choose_from_are_the_domains(attributes):
    with pytest.raises(FormatError, match="some of the domain's"):
        AttributeChoice(level(0), attributes)


@pytest.mark.parametrize("places", [[-1], [2], [0, 2], [0, 0]], ids=str)
def test_a_choice_is_at_open_nodes_each_once(places):
    kernel = two_leaves()
    allowed = np.ones((len(places), LAYOUT.n_candidates), dtype=bool)
    with pytest.raises(FormatError):
        NodeSplits(kernel, np.array(places), allowed, MaxMass())


def step(**options):
    layout = Layout(TWO, mixed_cuts(TWO))
    column = ScoreColumn(ask_once(TWO, BinarySplit()), np.zeros(1))
    splits = options.pop("splits", None) or BinarySplits(layout)
    return StepChoice(GradientSums(layout, column, 0, UNIT), splits, **options)


def test_a_bonus_is_a_public_weight_that_is_not_too_large():
    assert step(bonus=256.0).weights[-1] - step(bonus=-256.0).weights[-1] == 512
    for bonus in (256.5, -256.5, np.inf, np.nan):
        with pytest.raises(FormatError, match="bonus"):
            step(bonus=bonus)


def test_splits_of_another_layout_are_refused():
    with pytest.raises(FormatError, match="another layout"):
        step(splits=BinarySplits(Layout(TWO, mixed_cuts(TWO))))
    column = ScoreColumn(ask_once(DOMAIN, BinarySplit()), np.zeros((1, 3)))
    with pytest.raises(FormatError, match="another layout"):
        SignsChoice(
            LabelGradients(LAYOUT, column), BinarySplits(Layout(DOMAIN, mixed_cuts(DOMAIN)))
        )


def test_a_strength_may_be_as_large_as_is_said_and_the_first_of_equal_labels_wins():
    start = ScoreColumn(ask_once(DOMAIN, BinarySplit()), np.zeros((1, 3)))
    kernel = StrengthCounts(start, start, np.array([-(2**10), 0, 2**10]), DOMAIN)
    assert sums(kernel, EVERY).tolist() == [6, 6, 6]
    assert sums(kernel, [r for r in EVERY if r[2] > 0]).tolist() == [0, 0, 0]


def test_the_label_that_a_node_comes_with_weighs_more_whichever_it_is():
    question = NamedSplits(two_leaves(), SPLITS, np.array([0, -1]))
    kept, none = (np.array(row) for row in question.node_weights())
    assert (kept - none).tolist() == pytest.approx([1.0] + [0.0] * (question.n_options - 1))


@pytest.mark.parametrize(
    ("values", "parts"),
    [(("a",), (1,)), (("a", "b"), (1, 2)), (tuple("abc"), (1, 2, 2, 2, 3))],
    ids=["one value", "two", "three"],
)
def test_each_kind_of_partition_weighs_the_same_however_few_there_are(values, parts):
    domain = Domain([Categorical("kind", values)], Categorical("label", ("x", "y")))
    layout = Layout(domain, mixed_cuts(domain))
    splits = BinarySplits(layout)
    trees, bins = partition_trees(layout)
    question = Partitions(LeafCounts(trees, domain), splits, bins)
    assert question.parts == parts
    mass = np.exp(question.weights) * 2.0 ** np.array(parts)
    assert mass[0] == pytest.approx(np.e)
    n_splits = parts.count(2)
    favored = np.exp(splits.weights[:-1])
    assert mass[1 : 1 + n_splits] == pytest.approx(favored / max(n_splits, 1))
    wide = [float(np.exp(layout.advantages[0]))] * (parts[-1] > 2)
    assert mass[1 + n_splits :].tolist() == pytest.approx(wide)
