"""Sensitivity measured: every type of question, over structures nobody would grow, record by record."""

from dataclasses import replace
from fractions import Fraction
from itertools import product
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Forest, Numeric
from frith.domain.encoding import Batch
from frith.errors import QuestionError
from frith.forest.trees import Trees
from frith.growing.builder import TreeBuilder, single_leaf
from frith.growing.grids import partition_trees
from frith.growing.grower import Grower
from frith.growing.random_trees import grow_random_trees
from frith.kernels import (
    CHOICES,
    KERNELS,
    VIEWS,
    AttributeChoice,
    BinCounts,
    CodeCounts,
    ConfusionCounts,
    CorrectChoice,
    CorrectCounts,
    DistanceCounts,
    DistanceQuantile,
    ErrorSums,
    ForestChoice,
    IntervalChoice,
    LabelChoice,
    LeafCounts,
    NamedSplits,
    NodeCounts,
    NodeSizes,
    NodeSplits,
    Partitions,
    QuantileChoice,
    RecordCount,
    ResidualCells,
    ResidualChoice,
    ResidualSums,
    RightCounts,
    ScoreCounts,
    SignsChoice,
    SplitCounts,
    SplitTables,
    StepChoice,
    StrangeCounts,
    StrangeQuantile,
    StrengthChoice,
    StrengthCounts,
    TargetCounts,
    add_batch,
    measuring,
)
from frith.kernels.criteria import EntropyMass, GiniMass, MaxMass
from frith.kernels.gradients import UNIT, CellSums, GradientSums, ScoreColumn
from frith.kernels.label_gradients import LabelCells, LabelGradients
from frith.kernels.layout import Layout, equal_width_cuts, mixed_cuts
from frith.kernels.measuring import check_measured, moved_by
from frith.kernels.splits import BinarySplits
from frith.privacy.guarantee import Guarantee
from frith.privacy.mechanisms import PrivateChoice
from tests.hostile import walk
from tests.strategies import domains, examples, forest_over, lone, trees

TYPES = (*KERNELS, *VIEWS, *CHOICES)
TWO = (GradientSums, CellSums, StepChoice)
NUMBER = (
    TargetCounts, IntervalChoice, ResidualSums, ResidualCells, ResidualChoice, DistanceCounts,
    DistanceQuantile, ErrorSums,
)  # fmt: skip

DOMAIN = Domain(
    [
        Categorical("values", tuple("abc")),
        Numeric("number", 0, 1, cells=5),
        Categorical("sets", tuple("abcd")),
    ],
    Categorical("label", ("0", "1")),
)
EVERY = list(product(range(3), range(5), range(4)))


@st.composite
def questions(draw, kind):
    """A question of a type, with everything in it drawn: trees, nodes, cuts, scores, weights."""
    domain = draw(domains(most=3))
    count = 2 if kind in TWO else draw(st.integers(1, 4))
    label = Categorical(domain.label.name, tuple("abcd"[:count]))
    if kind in NUMBER:
        cells = draw(st.sampled_from([2, 3, 1_024, 65_535]))
        label = Numeric(domain.label.name, -1, 7, cells=cells)
    domain = replace(domain, label=label, person=None)
    if kind is QuantileChoice:
        number = Numeric(
            "number", 0, 1, cells=draw(st.integers(2, 40)), missing=draw(st.booleans())
        )
        domain = replace(domain, attributes=(*domain.attributes, number))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    cuts = draw(st.sampled_from([mixed_cuts(domain), equal_width_cuts(domain, 3)]))
    return domain, make(kind, domain, Layout(domain, cuts), draw(trees(domain)), rng), rng


def make(kind, domain, layout, several, rng):
    one = lone(several, 0, domain)
    if kind is RecordCount:
        return RecordCount()
    if kind is LeafCounts:
        return LeafCounts(several, domain)
    if kind is ConfusionCounts:
        return ConfusionCounts(forest_over(domain, several, "shares", 3))
    if kind in (StrangeCounts, StrangeQuantile):
        strange = StrangeCounts(forest_over(domain, several, "shares", 3))
        return strange if kind is StrangeCounts else StrangeQuantile(strange, 900, 3)
    if kind in (RightCounts, ForestChoice):
        forests = tuple(forest_over(domain, several, vote, 3) for vote in ("shares", "counts"))
        return RightCounts(forests) if kind is RightCounts else ForestChoice(RightCounts(forests))
    if kind in (ScoreCounts, BinCounts):
        positive = int(rng.integers(domain.n_labels))
        by = [None, int(rng.integers(len(domain.attributes)))][rng.integers(2)]
        edges = np.unique(rng.uniform(0, 1, rng.integers(0, 6)).round(2))
        if kind is ScoreCounts:
            return ScoreCounts(forest_over(domain, several, "shares", 3), positive, edges, by)
        a = int(rng.integers(len(domain.attributes)))
        size = domain.attributes[a].size
        return BinCounts(domain, a, rng.integers(0, size, size), positive, by)
    if kind is LabelChoice:
        return LabelChoice(LeafCounts(single_leaf(), domain))
    if kind in (CorrectCounts, CorrectChoice):
        asked = tuple(a for a in range(len(domain.attributes)) if rng.random() < 0.7)
        sizes = [(domain.n_labels,), (layout.n_bins, domain.n_labels), (3,)]
        counts = CorrectCounts(layout, asked, *(rng.integers(-9, 9, size) for size in sizes))
        return counts if kind is CorrectCounts else CorrectChoice(counts)
    if kind is AttributeChoice:
        asks = np.ones((1, len(domain.attributes)), dtype=bool)
        level = SplitCounts(single_leaf(), layout, np.zeros(1), asks)
        return AttributeChoice(level, tuple(range(len(domain.attributes))))
    if kind is Partitions:
        trees, bins = partition_trees(layout)
        return Partitions(LeafCounts(trees, domain), BinarySplits(layout), bins)
    if kind is NamedSplits:
        nodes = rng.permutation(one.leaves)[: rng.integers(1, len(one.leaves) + 1)]
        level = SplitCounts(one, layout, nodes, np.ones((len(nodes), len(domain.attributes))))
        kept = rng.integers(-1, domain.n_labels, len(nodes))
        return NamedSplits(level, BinarySplits(layout), kept)
    if kind in (SplitCounts, SplitTables, NodeCounts, NodeSizes, NodeSplits):
        nodes = rng.permutation(several.leaves)[: rng.integers(1, len(several.leaves) + 1)]
        asks = rng.random((len(nodes), len(domain.attributes))) < 0.6
        level = SplitCounts(several, layout, nodes, asks)
        if kind is NodeSplits:
            places = np.arange(len(nodes))
            allowed = np.ones((len(nodes), layout.n_candidates), dtype=bool)
            by = [GiniMass(), EntropyMass(int(rng.integers(2, 40))), MaxMass()][rng.integers(3)]
            return NodeSplits(level, places, allowed, by)
        return level if kind is SplitCounts else kind(level)
    if kind in (CodeCounts, QuantileChoice):
        counts = CodeCounts(domain, len(domain.attributes) - 1)
        return (
            counts
            if kind is CodeCounts
            else QuantileChoice(counts, int(rng.integers(1, 1_000)), int(rng.integers(1, 3)))
        )
    if kind in (DistanceCounts, DistanceQuantile, ErrorSums):
        values = rng.uniform(-3, 9, (several.n_nodes, 1))
        claim = Guarantee(Fraction(1))
        forest = Forest(domain, several, values, claim, np.zeros(several.n_nodes), "sum")
        if kind is ErrorSums:
            return ErrorSums(
                forest, float(rng.choice([1e-9, 0.5, 8])), [None, 0.0, 1.5][rng.integers(3)]
            )
        counts = DistanceCounts(forest)
        return counts if kind is DistanceCounts else DistanceQuantile(counts, 900, 3)
    if kind in (TargetCounts, IntervalChoice):
        counts = TargetCounts(domain)
        return counts if kind is TargetCounts else IntervalChoice(counts)
    n_scores = () if kind in TWO + NUMBER else (domain.n_labels,)
    values = rng.integers(-(2**20), 2**20, (len(one.leaves), *n_scores))
    column = ScoreColumn(one, values)
    width, tilt = int(rng.choice([1, 7, 1_000, 2**18, 2**24])), int(rng.integers(1 - UNIT, UNIT))
    reach, clip = int(rng.integers(0, 2**20)), int(rng.integers(1, UNIT + 1))
    made = {
        GradientSums: lambda: GradientSums(layout, column, reach, clip),
        LabelGradients: lambda: LabelGradients(layout, column),
        CellSums: lambda: CellSums(one, column, domain),
        LabelCells: lambda: LabelCells(one, column, domain),
        StepChoice: lambda: StepChoice(make(GradientSums, domain, layout, several, rng),
                                       BinarySplits(layout), 1.5),
        SignsChoice: lambda: SignsChoice(LabelGradients(layout, column), BinarySplits(layout)),
        StrengthCounts: lambda: StrengthCounts(
            column, ScoreColumn(one, values[::-1], column), rng.integers(-9, 20, 3), domain),
        ResidualSums: lambda: ResidualSums(layout, column, width, tilt),
        ResidualCells: lambda: ResidualCells(one, column, domain, width, tilt),
        ResidualChoice: lambda: ResidualChoice(
            ResidualSums(layout, column, width, tilt), BinarySplits(layout),
            asked=tuple(rng.integers(0, 9, len(layout.cuts)).tolist())),
        StrengthChoice: lambda: StrengthChoice(
            make(StrengthCounts, domain, layout, several, rng)),
    }  # fmt: skip
    return made[kind]()


def records_of(domain, count, rng):
    """Batches of one record each."""
    sizes = [a.size for a in domain.attributes]
    for _ in range(count):
        codes = np.array([[rng.integers(s) for s in sizes]], dtype=domain.code_type)
        yield Batch(codes, rng.integers(0, domain.label.size, 1).astype(domain.label_type))


def sums_of(kernel, batches):
    out = np.zeros(kernel.shape, dtype=np.int64)
    for batch in batches:
        add_batch(kernel, batch, out)
    return out


@pytest.mark.parametrize("kind", TYPES[: len(KERNELS) + len(VIEWS)], ids=lambda k: k.__name__)
@examples(12)
@given(st.data())
def test_no_record_moves_an_answer_further_than_is_stated(kind, data):
    domain, question, rng = data.draw(questions(kind))
    assert type(question) is kind
    for record in records_of(domain, 30, rng):
        l1, l2_squared = moved_by(question, record)
        assert l1 <= question.l1
        assert l2_squared <= question.l2_squared
    if question.l1:
        check_measured(question, domain)


@pytest.mark.parametrize("kind", TYPES[len(KERNELS) + len(VIEWS) :], ids=lambda k: k.__name__)
@examples(12)
@given(st.data())
def test_no_unit_moves_scores_further_apart_than_their_range(kind, data):
    """On tables of every size: masses are not linear, and a unit may have several records."""
    domain, question, rng = data.draw(questions(kind))
    assert type(question) is kind
    records = list(records_of(domain, 60, rng))
    for size, m in ((0, 1), (3, 1), (40, 1), (12, 4)):
        base = sums_of(question.kernel, records[:size])
        base = base * int(rng.choice([1, 2**10, 2**33]))
        unit = sums_of(question.kernel, records[50 : 50 + m])
        before, after = question.scores(base), question.scores(base + unit)
        if kind is SignsChoice:
            assert np.abs(after - before).sum(axis=1).max() <= m * question.reach
        elif kind is Partitions:
            starts = np.concatenate([[0], np.cumsum(question.parts)[:-1]])
            rise = np.add.reduceat((after - before).max(axis=1), starts)
            assert (after - before).min() >= 0
            assert rise.max() <= m
        elif kind is NamedSplits:
            rises = [a - b for a, b in zip(after, before, strict=True)]
            assert min(r.min() for r in rises) >= 0
            assert sum(int(r.max()) for r in rises) <= m * question.range_ * question.n_trees
        elif kind is NodeSplits:
            spread = sum(int(c.max() - c.min()) for c in map(np.subtract, after, before))
            assert spread <= m * question.range_ * question.n_trees
        else:
            choice = PrivateChoice(Fraction(1, 3), question.range_)
            weights = question.weights.tolist()
            change = [
                a - b
                for a, b in zip(
                    choice.weighed(after.tolist(), weights),
                    choice.weighed(before.tolist(), weights),
                    strict=True,
                )
            ]
            assert max(change) - min(change) <= m * question.range_


def test_a_question_that_understates_itself_is_found():
    """The measurement can fail: a kernel that says 1 and moves by the number of its trees."""

    class Cheap(LeafCounts):
        l1 = l2_squared = 1

    domain = forest_domain()
    made = Cheap(grown(domain), domain)
    assert made.trees.n_trees == 3
    with pytest.raises(QuestionError, match="moves this question by 3, and it states 1"):
        check_measured(made, domain)


def test_records_are_aimed_at_leaves_that_chance_would_miss():
    """One leaf of a deep tree, open: a random record is there once in thousands."""
    domain = forest_domain()
    level = deep_level(domain)
    hits = [moved_by(level, record)[0] for record in measuring.hostile_records(level, domain, 64)]
    assert max(hits) == 2
    assert sum(h > 0 for h in hits) >= 5


def test_what_a_record_takes_away_is_as_far_as_what_it_adds():
    """And squares are past 64 bits where they have to be."""

    class Away(RecordCount):
        shape = (4,)

        def add(self, batch, out):
            out += np.array([-1, 0, 2, -(2**40)]) * len(batch)

    record = next(records_of(forest_domain(), 1, np.random.default_rng(0)))
    assert moved_by(Away(), record) == (2**40 + 3, 2**80 + 5)


def test_the_node_above_a_child_is_its_parent_and_above_a_root_is_none():
    made = every_split()
    assert made.n_nodes == 42
    assert measuring._parents(made, DOMAIN).tolist() == nodes_above(made)


def test_a_record_aimed_at_a_leaf_ends_in_it_if_any_record_does():
    """Whatever it was before: by cuts, also those with nothing on one side, all values and sets."""
    made = every_split()
    plain, above, missed = made.to_json(), nodes_above(made), 0
    ends = {root: {walk(plain, record, root) for record in EVERY} for root in plain["roots"]}
    for leaf in made.leaves.tolist():
        root = leaf
        while above[root] >= 0:
            root = above[root]
        missed += leaf not in ends[root]
        for record in EVERY:
            row = aimed(record, leaf, made)
            assert row[0] in range(3)
            assert row[1] in range(5)
            assert row[2] in range(4)
            assert leaf not in ends[root] or walk(plain, row, root) == leaf
    assert (len(made.leaves), missed) == (24, 3)


def test_a_record_that_is_at_its_leaf_stays_as_it_is():
    """Nor is an attribute changed that no split on the path asks."""
    builder = TreeBuilder()
    _, right = builder.split(0, 1, 2)
    _, last = builder.split_by_set(right, 2, np.array([False, True, False, True]))
    made = builder.trees()
    for record in EVERY:
        assert aimed(record, walk(made.to_json(), record, 0), made) == list(record)
        assert aimed(record, last, made)[0] == record[0]


def test_every_other_record_stays_as_chance_drew_it(monkeypatch):
    domain = forest_domain()
    question = LeafCounts(grown(domain), domain)
    monkeypatch.setattr(measuring, "_aim", lambda row, *_: row.fill(0))
    records = measuring.hostile_records(question, domain, 64)
    assert [not record.codes.any() for record in records] == [True, False] * 32


def test_records_are_aimed_through_thousands_of_splits_and_no_more(monkeypatch):
    """All of them together, however long a question's paths are."""
    domain, builder, node = forest_domain(), TreeBuilder(), 0
    for _ in range(3_000):
        node = builder.split(node, 0, branches=8)[0]
    looked = []

    class Noted(np.ndarray):
        def __getitem__(self, node):
            looked.append(node)
            return super().__getitem__(node)

    above = measuring._parents
    monkeypatch.setattr(measuring, "_parents", lambda *of: above(*of).view(Noted))
    measuring.hostile_records(LeafCounts(builder.trees(), domain), domain, 64)
    assert 2**10 < len(looked) < 2**14


def test_a_small_question_is_tried_by_many_records_and_a_large_one_by_a_few(monkeypatch):
    """Few are some: none is answered that was not tried."""
    asked = []
    monkeypatch.setattr(measuring, "hostile_records", lambda *of: asked.append(of[-1]) or [])
    for cells in (1, 2**15, 2**19, 2**22, 2**24):
        check_measured(SimpleNamespace(shape=(cells // 2 + 1, 2)), forest_domain())
    assert min(asked[:2]) > 50
    assert max(asked) < 80
    assert 5 <= asked[2] <= 16
    assert all(3 <= tries <= 5 for tries in asked[3:])


def every_split():
    """Two trees that ask each attribute once on a path: one begins with a cut, one with a set."""
    builder, members = TreeBuilder(2), np.array([[0, 1, 0, 1], [1, 1, 1, 0]], dtype=bool)
    for i, left_or_right in enumerate(builder.split(0, 1, 2)):
        for value in builder.split(left_or_right, 0, branches=3):
            builder.split_by_set(value, 2, members[i])
    cuts = iter((0, 1, 3, 4, 5, 0))
    for side in builder.split_by_set(1, 2, members[0]):
        for value in builder.split(side, 0, branches=3):
            builder.split(value, 1, next(cuts))
    return builder.trees()


def aimed(record, leaf, made):
    row = np.array(record)
    measuring._aim(row, leaf, made, measuring._parents(made, DOMAIN), DOMAIN, 99)
    return row.tolist()


def nodes_above(made):
    """One by one."""
    above = [-1] * made.n_nodes
    for node in np.flatnonzero(made.attribute >= 0).tolist():
        for child in made.children(node, DOMAIN):
            above[child] = node
    return above


def forest_domain():
    attributes = [Categorical(f"a{i}", tuple("abcdefgh")) for i in range(5)]
    return Domain(attributes, Categorical("label", ("0", "1")))


def grown(domain):
    return grow_random_trees(domain, 3, 2, np.random.default_rng(0))


def deep_level(domain):
    """A path of five splits; of its leaves, the deepest eight are open and ask one attribute."""
    grower, node = Grower(domain, 1, 2), 0
    for attribute in range(4):
        node = grower.split(node, attribute)[3]
    leaves = np.array(grower.split(node, 4))
    asks = np.eye(5, dtype=bool)[[0] * len(leaves)]
    return SplitCounts(grower.trees(), grower.layout, leaves, asks)


def test_a_record_is_aimed_between_two_cuts_of_one_number():
    """From 9 to 0 it would be on the wrong side of the lower cut."""
    domain = Domain((Numeric("size", 0, 10, cells=10),), Categorical("label", ("no", "yes")))
    tree = Trees([0], [0, 0, -1, -1, -1], [8, 5, -1, -1, -1], [1, 3, -1, -1, -1])
    parents = measuring._parents(tree, domain)
    ends = {3: range(5), 4: range(5, 8), 2: range(8, 10)}
    for leaf, codes in ends.items():
        for before in range(10):
            row = np.array([before])
            measuring._aim(row, leaf, tree, parents, domain, 9)
            assert row[0] in codes
