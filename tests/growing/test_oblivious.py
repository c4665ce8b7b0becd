"""Candidates against a walk over codes, and trees of two answers against every possible record."""

from fractions import Fraction
from itertools import combinations, product
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Numeric
from frith.engines import MemoryEngine
from frith.growing.builder import join_trees
from frith.growing.oblivious import ObliviousTree, ask_once
from frith.kernels import StepChoice
from frith.kernels.gradients import POINT, UNIT, GradientSums, ScoreColumn, probability_of
from frith.kernels.layout import Layout, equal_width_cuts, mixed_cuts
from frith.kernels.splits import GROUPED, BinarySplit, BinarySplits
from frith.privacy.mechanisms import PrivateChoice
from tests import twins
from tests.strategies import examples, trees
from tests.tables import small_domain, small_table

LABEL = Categorical("label", ("0", "1"))


def categorical(size, name="a"):
    return Categorical(name, tuple(range(size)))


@st.composite
def domains(draw, most=3, sizes=6):
    """Few codes in all, so that every possible record can be tried."""
    attributes = []
    for i in range(draw(st.integers(1, most))):
        size = draw(st.integers(1, sizes))
        if size > 2 and draw(st.booleans()):
            missing = draw(st.booleans())
            attributes.append(Numeric(f"a{i}", -1, 3, cells=size - missing, missing=missing))
        else:
            attributes.append(categorical(size, f"a{i}"))
    return Domain(attributes, LABEL)


@st.composite
def questions_about(draw, domain):
    """A candidate, or one that no list has: cuts at the ends, sets of none and of all values."""
    candidates = BinarySplits(Layout(domain, mixed_cuts(domain)))
    if draw(st.booleans()):
        return candidates[draw(st.integers(0, len(candidates) - 1))]
    a = draw(st.integers(0, len(domain.attributes) - 1))
    size = domain.attributes[a].size
    if isinstance(domain.attributes[a], Numeric):
        return BinarySplit(a, cut=draw(st.integers(0, size)))
    return BinarySplit(
        a, members=np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)))
    )


def every_record(domain):
    return list(product(*(range(a.size) for a in domain.attributes)))


def answer(question, codes, domain):
    """+1 on the left, -1 on the right; by eye and not by `left`."""
    if question.attribute < 0:
        return 1
    code = codes[question.attribute]
    if question.members is None:
        return 1 if code < question.cut else -1
    return 1 if question.members[code] else -1


def leaf_number(codes, made, tree=0):
    return made.leaves.tolist().index(twins.leaf_of(codes, made.roots[tree], made))


def documented_count(layout):
    """Cuts of a number; of a categorical one as its size says; and the one for everybody."""
    count = 1
    for attribute, cuts in zip(layout.domain.attributes, layout.cuts, strict=True):
        size = attribute.size
        if isinstance(attribute, Numeric):
            count += len(cuts)
        elif size <= 3:
            count += {1: 0, 2: 1, 3: 3}[size]
        else:
            count += (size - 1) + size + (2 ** (size - 1) - 1 if size <= 12 else 0)
    return count


# -- candidates ------------------------------------------------------------------------------------


@examples(40)
@given(domains(sizes=7), st.booleans(), st.integers(0, 10**6))
def test_scores_are_left_minus_right(domain, coarse, seed):
    layout = Layout(domain, equal_width_cuts(domain, 3) if coarse else mixed_cuts(domain))
    questions, rng = BinarySplits(layout), np.random.default_rng(seed)
    records = [[int(rng.integers(a.size)) for a in domain.attributes] for _ in range(20)]
    weights = rng.integers(-UNIT, UNIT, 20).tolist()
    lookup, begins = layout.lookup
    sums = np.zeros(layout.n_bins, dtype=np.int64)
    for codes, g in zip(records, weights, strict=True):
        for a, code in enumerate(codes):
            sums[lookup[begins[a] + code]] += g
    scores = questions.differences(sums)
    assert scores.dtype == np.int64
    assert len(scores) == len(questions) == documented_count(layout)
    for i, score in enumerate(scores):
        a, expected = questions[i].attribute, sum(weights)
        if a >= 0:
            left = questions[i].left(domain.attributes[a].size)
            expected = sum(
                g if left[codes[a]] else -g for codes, g in zip(records, weights, strict=True)
            )
        assert score == expected


@pytest.mark.parametrize("size", range(1, 16))
def test_the_candidates_of_an_attribute_are_as_many_as_documented(size):
    domain = Domain([categorical(size)], LABEL)
    questions = BinarySplits(Layout(domain, mixed_cuts(domain)))
    assert len(questions) == documented_count(questions.layout)
    assert GROUPED == 12


@pytest.mark.parametrize("size", [2, 3, 4, 5, 8, 12])
def test_few_values_are_grouped_in_every_two_parts(size):
    domain = Domain([categorical(size)], LABEL)
    questions = BinarySplits(Layout(domain, mixed_cuts(domain)))
    first = {  # the part that has the first value names the grouping
        frozenset(np.flatnonzero(left if left[0] else ~left).tolist())
        for left in (questions[i].left(size) for i in range(len(questions) - 1))
    }
    parts = {
        frozenset({0, *others})
        for count in range(size - 1)
        for others in combinations(range(1, size), count)
    }
    assert first == parts
    assert len(parts) == 2 ** (size - 1) - 1


@pytest.mark.parametrize("size", [13, 14, 40])
def test_many_values_are_cut_in_order_or_asked_for_one(size):
    domain = Domain([categorical(size)], LABEL)
    questions = BinarySplits(Layout(domain, mixed_cuts(domain)))
    lefts = [questions[i].left(size).tolist() for i in range(len(questions) - 1)]
    cuts = [[code < at for code in range(size)] for at in range(1, size)]
    ones = [[code == one for code in range(size)] for one in range(size)]
    assert sorted(lefts) == sorted(cuts + ones)


def test_the_cuts_of_a_number_are_those_of_the_layout():
    domain = Domain([categorical(1, "one"), Numeric("n", 0, 1, cells=40, missing=True)], LABEL)
    layout = Layout(domain, mixed_cuts(domain))
    questions = BinarySplits(layout)
    assert [questions[i].cut for i in range(len(questions))] == [*layout.cuts[1].tolist(), -1]
    assert [questions[i].attribute for i in range(len(questions) - 1)] == [1] * len(layout.cuts[1])


@examples(60)
@given(domains(sizes=7))
def test_every_candidate_parts_the_values_and_only_the_last_is_for_everybody(domain):
    questions = BinarySplits(Layout(domain, mixed_cuts(domain)))
    for i in range(len(questions) - 1):
        size = domain.attributes[questions[i].attribute].size
        left = questions[i].left(size)
        assert (left.dtype, left.shape) == (bool, (size,))
        assert left.any()
        assert not left.all()
    assert questions[len(questions) - 1].attribute == -1


@examples(60)
@given(domains(most=4, sizes=14))
def test_weights_are_finite_and_groupings_pay_for_being_many(domain):
    questions = BinarySplits(Layout(domain, mixed_cuts(domain)))
    weights = questions.weights
    assert weights.shape == (len(questions),)
    assert np.isfinite(weights).all()
    light = np.flatnonzero(weights < 0)
    grouped = [a for a in domain.attributes if isinstance(a, Categorical) and 3 < a.size <= 12]
    assert len(light) == sum(2 ** (a.size - 1) - 1 for a in grouped)
    for i in light:  # less than one each, and more than one together
        size = domain.attributes[questions[int(i)].attribute].size
        assert -log(2 ** (size - 1) - 1) < weights[i] < 0
    assert not (weights > 0).any()


# -- signed candidates -----------------------------------------------------------------------------


@examples(30)
@given(domains(), st.integers(0, 10**6), st.sampled_from([1, 10, 50_000]), st.floats(0, 9))
def test_each_sign_has_its_score_and_both_have_the_public_weight(domain, seed, scale, bonus):
    layout = Layout(domain, mixed_cuts(domain))
    rng = np.random.default_rng(seed)
    codes, g = [int(rng.integers(a.size)) for a in domain.attributes], int(rng.integers(-99, 99))
    sums = np.zeros(layout.n_bins, dtype=np.int64)
    lookup, begins = layout.lookup
    sums[lookup[begins + codes]] += g
    column = ScoreColumn(ask_once(domain, BinarySplit()), np.zeros(1, dtype=np.int32))
    list_ = StepChoice(GradientSums(layout, column, 0, 99), BinarySplits(layout), bonus)
    choice = PrivateChoice(Fraction(list_.range_) / scale, list_.range_)
    scores = choice.weighed(list_.scores(sums).tolist(), list_.weights.tolist())
    assert len(scores) == len(list_) == 2 * len(list_.splits)
    weights = list_.splits.weights.tolist()
    for i, score in enumerate(scores):
        question, sign = list_.chosen(i)
        public = weights[i // 2] + (bonus if question.attribute < 0 else 0.0)
        assert score == sign * answer(question, codes, domain) * g + round(choice.scale * public)
    assert sum(list_.chosen(i)[1] for i in range(len(list_))) == 0
    assert list_.range_ == 2 * 99


def test_scores_of_a_table_are_left_minus_right_of_its_gradients():
    domain, table = small_domain(), small_table(60)
    layout = Layout(domain, mixed_cuts(domain))
    split = BinarySplit(2, cut=7)
    column = ScoreColumn(ask_once(domain, split), np.array([POINT, -2 * POINT], dtype=np.int32))
    kernel = GradientSums(layout, column, 2 * POINT, UNIT)
    list_ = StepChoice(kernel, BinarySplits(layout))
    scores = list_.scores(MemoryEngine(table, domain, rows=7).aggregate(kernel))
    records = twins.records_of(table.to_dict("list"), domain)
    for i, score in enumerate(scores):
        question, sign = list_.chosen(i)
        assert score == sum(
            sign
            * answer(question, codes, domain)
            * (label * UNIT - probability_of(POINT if codes[2] < 7 else -2 * POINT))
            for codes, label in records
        )


# -- trees of one question -------------------------------------------------------------------------


@examples(40)
@given(domains(most=2))
def test_a_candidates_tree_sends_left_what_its_question_says(domain):
    questions, records = BinarySplits(Layout(domain, mixed_cuts(domain))), every_record(domain)
    for i in range(len(questions)):
        question = questions[i]
        made = ask_once(domain, question)
        made.check(domain)
        if i == len(questions) - 1:
            assert (made.n_nodes, made.asked) == (1, ())
            continue
        left = question.left(domain.attributes[question.attribute].size)
        assert made.asked == (question.attribute,)
        for codes in records:
            assert leaf_number(codes, made) == (0 if left[codes[question.attribute]] else 1)


# -- oblivious trees -------------------------------------------------------------------------------


@examples(80)
@given(st.data())
def test_every_record_is_in_the_leaf_of_its_answers_and_no_leaf_is_without(data):
    domain = data.draw(domains())
    asked = data.draw(st.lists(questions_about(domain), max_size=6))
    tree = ObliviousTree(domain)
    for question in asked:
        tree.ask(question)
    made, signs = tree.trees(), tree.signs
    made.check(domain)
    assert made.n_trees == 1
    assert signs.shape == (len(made.leaves), len(asked))
    reached = set()
    for codes in every_record(domain):
        leaf = leaf_number(codes, made)
        assert signs[leaf].tolist() == [answer(q, codes, domain) for q in asked]
        reached.add(leaf)
    assert reached == set(range(len(made.leaves)))
    assert len(np.unique(signs, axis=0)) == len(signs)  # a leaf is all records of some answers


def test_a_question_asked_again_or_already_answered_makes_no_leaf():
    domain = Domain([Numeric("n", 0, 1, cells=8), categorical(4, "c")], LABEL)
    low, middle = BinarySplit(0, cut=2), BinarySplit(0, cut=5)
    first = BinarySplit(1, members=np.array([True, False, False, False]))
    second = BinarySplit(1, members=np.array([False, True, False, False]))
    tree = ObliviousTree(domain)
    shapes = []
    for question in (low, low, BinarySplit(), middle, first, second, first):
        tree.ask(question)
        shapes.append(len(tree.trees().leaves))
    assert shapes == [2, 2, 2, 3, 6, 9, 9]
    signs = tree.signs
    assert np.array_equal(signs[:, 0], signs[:, 1])
    assert (signs[:, 2] == 1).all()
    assert not ((signs[:, 0] == 1) & (signs[:, 3] == -1)).any()  # below 2 and not below 5
    assert not ((signs[:, 4] == 1) & (signs[:, 5] == 1)).any()  # two values at once


def test_a_tree_that_asks_nothing_is_one_leaf():
    tree = ObliviousTree(small_domain())
    assert tree.signs.shape == (1, 0)
    assert tree.trees().leaves.tolist() == [0]


def test_trees_of_one_domain_share_nothing():
    one, other = ObliviousTree(small_domain()), ObliviousTree(small_domain())
    one.ask(BinarySplit(2, cut=3))
    assert len(other.trees().leaves) == 1


# -- trees side by side ----------------------------------------------------------------------------


@st.composite
def part(draw, domain):
    if draw(st.booleans()):
        return draw(trees(domain))
    tree = ObliviousTree(domain)
    for question in draw(st.lists(questions_about(domain), max_size=4)):
        tree.ask(question)
    return tree.trees()


@examples(60)
@given(st.data())
def test_joined_trees_send_every_record_where_their_parts_do(data):
    domain = data.draw(domains())
    parts = data.draw(st.lists(part(domain), min_size=1, max_size=4))
    joined = join_trees(parts)
    joined.check(domain)
    assert joined.n_trees == sum(p.n_trees for p in parts)
    for array in (joined.roots, joined.attribute, joined.cut, joined.first_child):
        assert array.dtype == np.int32
    records = data.draw(st.lists(st.sampled_from(every_record(domain)), min_size=1, max_size=5))
    tree = leaves = 0
    for p in parts:
        for place in range(p.n_trees):
            for codes in records:
                assert leaf_number(codes, joined, tree) == leaves + leaf_number(codes, p, place)
            tree += 1
        leaves += len(p.leaves)
    assert len(joined.leaves) == leaves


def test_sets_of_any_width_are_joined():
    domain = Domain([categorical(3, "a"), categorical(6, "b"), Numeric("n", 0, 1, cells=4)], LABEL)
    narrow, wide = np.array([False, True, False]), np.array([True, False] * 3)
    asked = [
        BinarySplit(0, members=narrow),
        BinarySplit(2, cut=1),
        BinarySplit(1, members=wide),
        BinarySplit(),
        BinarySplit(0, members=~narrow),
    ]
    parts = [ask_once(domain, question) for question in asked]
    assert [p.sets.shape for p in parts] == [(1, 3), (0, 0), (1, 6), (0, 0), (1, 3)]
    joined = join_trees(parts)
    joined.check(domain)
    assert joined.sets.shape == (3, 6)
    for codes in every_record(domain):
        for tree, question in enumerate(asked):
            node = twins.leaf_of(codes, joined.roots[tree], joined)
            side = int(answer(question, codes, domain) < 0)
            assert node == joined.roots[tree] + (0 if question.attribute < 0 else 1 + side)
