"""The closed set: foreign types are refused before anything is charged, and what is asked stays put."""

import dataclasses
import pickle
from copy import deepcopy
from fractions import Fraction

import numpy as np
import pytest

from frith import Budget, Categorical, Domain, Forest, Ledger, Numeric, Person, open_table
from frith.curator import Curator
from frith.domain.encoding import Batch
from frith.errors import DomainError, FormatError, OutsideWindow, QuestionError
from frith.forest.trees import Trees
from frith.growing.builder import single_leaf
from frith.growing.grids import partition_trees
from frith.growing.grower import Grower
from frith.growing.oblivious import ask_once
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
)
from frith.kernels.criteria import EntropyMass, GiniMass
from frith.kernels.gradients import CellSums, GradientSums, ScoreColumn
from frith.kernels.label_gradients import LabelCells, LabelGradients
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.measuring import moved_by
from frith.kernels.splits import BinarySplit, BinarySplits
from frith.privacy.guarantee import Guarantee
from frith.privacy.sources import OpenDPSource
from tests.tables import small_domain, small_table

DOMAIN = small_domain()
LAYOUT = Layout(DOMAIN, mixed_cuts(DOMAIN))
SPLITS = BinarySplits(LAYOUT)
COLUMN = ScoreColumn(ask_once(DOMAIN, BinarySplit()), np.zeros(1, dtype=np.int32))
NUMBER = dataclasses.replace(DOMAIN, label=Numeric("weight", 0, 1))
NUMBERS = Layout(NUMBER, mixed_cuts(NUMBER))
VECTORS = ScoreColumn(ask_once(DOMAIN, BinarySplit()), np.zeros((1, 2), dtype=np.int32))


def one_of_each():
    """A question of every type that there is."""
    trees = Grower(DOMAIN, 1, 4).trees()
    level, allowed = Grower(DOMAIN, 2, 4).level([0, 1])
    lone, _ = Grower(DOMAIN, 1, 4).level([0])
    values = np.ones((1, 2))
    forest = Forest(DOMAIN, trees, values, Guarantee(Fraction(1)), np.zeros(1))
    scores = np.zeros((LAYOUT.n_bins, 2), dtype=np.int64)
    correct = CorrectCounts(LAYOUT, (0,), np.zeros(2), scores, np.array([1, 2]))
    gradients, vectors = GradientSums(LAYOUT, COLUMN, 0, 9), LabelGradients(LAYOUT, VECTORS)
    leaves = LeafCounts(trees, DOMAIN)
    partitions, bins = partition_trees(LAYOUT)
    parts = LeafCounts(partitions, DOMAIN)
    whole = SplitCounts(trees, LAYOUT, np.zeros(1), np.ones((1, 3)))
    strengths = StrengthCounts(VECTORS, VECTORS, np.array([0, 10]), DOMAIN)
    targets, residuals = TargetCounts(NUMBER), ResidualSums(NUMBERS, COLUMN, 9)
    codes = CodeCounts(DOMAIN, 2)
    number = Forest(NUMBER, trees, np.ones((1, 1)), Guarantee(Fraction(1)), np.zeros(1), "sum")
    distances = DistanceCounts(number)
    return [
        RecordCount(), leaves, level, correct, ConfusionCounts(forest), gradients,
        CellSums(trees, COLUMN, DOMAIN), vectors, LabelCells(trees, VECTORS, DOMAIN),
        SplitTables(level), NodeCounts(level), NodeSizes(level),
        AttributeChoice(lone, (0, 2)), CorrectChoice(correct), LabelChoice(leaves),
        NodeSplits(level, np.array([0, 1]), allowed, GiniMass()),
        SignsChoice(vectors, SPLITS), StepChoice(gradients, SPLITS),
        NamedSplits(whole, SPLITS, np.array([1])), Partitions(parts, SPLITS, bins),
        strengths, StrengthChoice(strengths),
        targets, residuals, ResidualCells(trees, COLUMN, NUMBER, 9),
        IntervalChoice(targets), ResidualChoice(residuals, BinarySplits(NUMBERS)),
        StrangeCounts(forest), StrangeQuantile(StrangeCounts(forest), 900),
        RightCounts((forest,)), ForestChoice(RightCounts((forest, forest))),
        ScoreCounts(forest, 1, np.array([0.5])), BinCounts(DOMAIN, 0, np.arange(3), 1, 2),
        codes, QuantileChoice(codes, 10), distances, DistanceQuantile(distances, 900),
        ErrorSums(number, 0.5),
    ]  # fmt: skip


COUNTED = (CodeCounts, ConfusionCounts, DistanceCounts, RecordCount, StrangeCounts, TargetCounts)


@pytest.mark.parametrize(
    "question",
    [q for q in one_of_each() if type(q) in COUNTED],
    ids=lambda q: type(q).__name__,
)
def test_a_record_is_in_one_cell_and_no_more_is_stated(question):
    """A larger sensitivity would be as private, and noisier."""
    codes = np.zeros((1, 3), dtype=DOMAIN.code_type)
    record = Batch(codes, np.zeros(1, dtype=domain_of(question).label_type))
    assert moved_by(question, record) == (1, 1) == (question.l1, question.l2_squared)


def ask(curator, question, share=Fraction(1, 2)):
    if isinstance(question, NodeSplits | NamedSplits):
        return curator.choose_splits(question, share, "it")
    if isinstance(question, Partitions):
        return curator.choose_labels(question, share, "it")
    if isinstance(question, SignsChoice):
        return curator.choose_signs(question, share, "it")
    if isinstance(question, CHOICES):
        return curator.choose(question, share, "it")
    return curator.noisy_counts(question, share, "it")


def domain_of(question):
    """That of a question about classes, or about numbers."""
    domain = getattr(getattr(question, "kernel", question), "domain", DOMAIN)
    return NUMBER if domain is NUMBER else DOMAIN


def curator(tmp_path=None, epsilon=1, domain=DOMAIN):
    ledger = tmp_path and Ledger.create(tmp_path / "budget.db", epsilon=epsilon)
    table = open_table(small_table().assign(weight=0.5), domain)
    return Curator(table, Budget.of(epsilon), ledger=ledger), ledger


@pytest.mark.parametrize("share", [Fraction(1), Fraction(1, 1000)])
def test_noise_past_the_window_is_refused_for_every_type_before_anything_is_charged(share):
    """Of people with so many records that noise for them would be past 2^50."""
    for question in one_of_each():
        domain = domain_of(question)
        many = dataclasses.replace(domain, person=Person("who", 10**17))
        table = open_table(small_table().assign(weight=0.5, who="x"), many)
        asked = Curator(table, Budget.of(10))
        with pytest.raises(OutsideWindow):
            ask(asked, question, share)
        assert (asked.remaining_share, asked.guarantee.asked) == (1, ())


def test_a_derived_column_of_another_domain_is_refused_before_it_is_derived():
    other = Domain([Categorical(f"a{i}", ("x", "y")) for i in range(5)], DOMAIN.label)
    split = next(s for s in BinarySplits(Layout(other, mixed_cuts(other))) if s.attribute == 4)
    column = ScoreColumn(ask_once(other, split), np.zeros(2, dtype=np.int32))
    asked = curator()[0]
    ask(asked, RecordCount())
    with pytest.raises(FormatError):
        asked.derive(column)


def test_every_type_of_the_closed_set_is_answered():
    questions = one_of_each()
    assert {type(q) for q in questions} == {*KERNELS, *VIEWS, *CHOICES}
    for question in questions:
        ask(curator(domain=domain_of(question))[0], question)


@pytest.mark.parametrize("question", one_of_each(), ids=lambda q: type(q).__name__)
def test_a_question_about_the_other_kind_of_label_is_refused(question, tmp_path):
    """A class is no number, and counts of classes have no place for the cells of a number."""
    if isinstance(question, RecordCount):
        return
    other = NUMBER if domain_of(question) is DOMAIN else DOMAIN
    made, ledger = curator(tmp_path, domain=other)
    with pytest.raises(QuestionError, match="another domain"):
        ask(made, question)
    assert (made.remaining_share, ledger.spent) == (1, 0)


def test_counts_of_labels_cannot_be_made_for_a_number(tmp_path):
    made, ledger = curator(tmp_path, domain=NUMBER)
    level, _ = Grower(NUMBER, 1, 4).level([0])
    for question in (
        LeafCounts(single_leaf(), NUMBER),
        level,
        SplitTables(level),
        NodeCounts(level),
    ):
        with pytest.raises(DomainError, match="'weight' is a number"):
            ask(made, question)
    for make in (
        lambda: GradientSums(NUMBERS, COLUMN, 0, 9),
        lambda: CellSums(single_leaf(), COLUMN, NUMBER),
        lambda: LabelGradients(NUMBERS, VECTORS),
    ):
        with pytest.raises(DomainError, match="'weight' is a number"):
            make()
    for make in (
        lambda: TargetCounts(DOMAIN),
        lambda: ResidualSums(LAYOUT, COLUMN, 9),
        lambda: ResidualCells(single_leaf(), COLUMN, DOMAIN, 9),
    ):
        with pytest.raises(DomainError, match="'good' has declared values"):
            make()
    assert (made.remaining_share, ledger.spent) == (1, 0)


@pytest.mark.parametrize("question", one_of_each(), ids=lambda q: type(q).__name__)
def test_a_subclass_is_refused_and_nothing_is_charged(question, tmp_path, monkeypatch):
    """The same fields in a type of one's own, which may add up or claim whatever it likes."""
    made, ledger = curator(tmp_path)
    monkeypatch.setattr(made._engine, "aggregate", lambda kernel: pytest.fail("records were read"))
    own = type("Mine", (type(question),), {"l1": 1, "range_": 1})
    foreign = object.__new__(own)
    vars(foreign).update(vars(question))
    with pytest.raises(QuestionError, match="Mine is none of frith's questions"):
        ask(made, foreign)
    assert (made.remaining_share, ledger.spent, made.guarantee.asked) == (1, 0, ())


def test_a_foreign_kernel_inside_a_list_is_refused(tmp_path):
    class Mine(LeafCounts):
        l1 = 1

    made, ledger = curator(tmp_path)
    with pytest.raises(QuestionError, match="LabelChoice.kernel is a Mine"):
        ask(made, LabelChoice(Mine(single_leaf(), DOMAIN)))
    assert (made.remaining_share, ledger.spent) == (1, 0)


def test_a_duck_is_refused(tmp_path):
    class Duck:
        kernel, range_, l1, l2_squared, shape = RecordCount(), 1, 1, 1, (1,)
        attributes = derived = ()
        seen = None

        def __len__(self):
            return 2

        def scores(self, sums, scale=None):
            self.seen = sums
            return np.array([0, 10**6])

        def add(self, batch, out):
            out[0] += 10**9 * len(batch)

    made, ledger = curator(tmp_path)
    for answer in (made.choose, made.noisy_counts, made.choose_splits, made.choose_signs):
        with pytest.raises(QuestionError, match="Duck"):
            answer(Duck(), Fraction(1, 2), "it")
    assert Duck.seen is None
    assert (made.remaining_share, ledger.spent) == (1, 0)


def test_a_criterion_of_ones_own_is_refused():
    class Cheap(GiniMass):
        range_ = 1

    level, allowed = Grower(DOMAIN, 1, 4).level([0])
    for by in (Cheap(), object()):
        with pytest.raises(FormatError, match="no criterion"):
            NodeSplits(level, np.array([0]), allowed, by)
    for cap in (0, 1, 2**20 + 1, 3.5, True):
        with pytest.raises(FormatError, match="cap"):
            EntropyMass(cap)


def test_a_question_about_another_domain_is_refused():
    other = small_domain(records=3)
    assert other != DOMAIN
    ask(curator()[0], LeafCounts(single_leaf(), other))  # the codes are the same
    wider = dataclasses.replace(DOMAIN, attributes=DOMAIN.attributes[:2])
    made, _ = curator()
    with pytest.raises(QuestionError, match="another domain"):
        ask(made, LeafCounts(single_leaf(), wider))
    assert made.remaining_share == 1


def test_a_forest_whose_domain_only_says_that_it_has_the_tables_codes_is_refused():
    """Its groups are fewer than the records' codes: counting them would raise, or not, by one record."""

    class Liar(Domain):
        def same_codes(self, other):
            return True

    fewer = Liar((Categorical("color", ("red",)),), DOMAIN.label)
    number = Liar(fewer.attributes, NUMBER.label)
    forest = Forest(fewer, single_leaf(), np.ones((1, 2)), Guarantee(Fraction(1)), np.zeros(1))
    sums = Forest(
        number, single_leaf(), np.ones((1, 1)), Guarantee(Fraction(1)), np.zeros(1), "sum"
    )
    for question in (
        ScoreCounts(forest, 1, np.array([0.5]), 0), ConfusionCounts(forest), StrangeCounts(forest),
        StrangeQuantile(StrangeCounts(forest), 900), RightCounts((forest,)),
        ForestChoice(RightCounts((forest, forest))), DistanceCounts(sums), ErrorSums(sums, 0.5),
    ):  # fmt: skip
        made, _ = curator(
            domain=NUMBER if isinstance(question, DistanceCounts | ErrorSums) else DOMAIN
        )
        with pytest.raises(QuestionError, match="the forest's domain"):
            ask(made, question)
        assert (made.remaining_share, made.guarantee.asked) == (1, ())


def arrays_of(part, seen=()):
    for field in dataclasses.fields(part):
        value = getattr(part, field.name)
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, tuple):
            yield from (v for v in value if isinstance(v, np.ndarray))
        elif dataclasses.is_dataclass(value) and not isinstance(value, Forest):
            yield from arrays_of(value)


@pytest.mark.parametrize("question", one_of_each(), ids=lambda q: type(q).__name__)
def test_no_array_of_a_question_can_be_written_to(question):
    copies = [question, deepcopy(question), pickle.loads(pickle.dumps(question))]
    for copy in copies:
        for array in arrays_of(copy):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0
    for array in arrays_of(question):
        if array.size:
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.setflags(write=True)


def test_what_is_changed_after_it_was_asked_changes_nothing():
    asks = np.zeros((1, 3), dtype=bool)
    level = SplitCounts(single_leaf(), LAYOUT, np.array([0]), asks)
    assert level.most_asked == 0
    asks[:] = True
    assert level.most_asked == 0


def test_the_noise_source_is_of_a_type_that_is_known():
    class Nothing:
        states = None

        def perturb(self, sums, noise, threads):
            return sums

    table = open_table(small_table(), DOMAIN)
    with pytest.raises(TypeError, match="NoiseSource"):
        Curator(table, Budget.of(1), source=Nothing())
    assert Curator(table, Budget.of(1), source=OpenDPSource()).guarantee.holds


@pytest.mark.parametrize("share", [1, 0.5, Fraction(0), Fraction(-1, 2), None, "1"])
def test_a_share_is_a_positive_fraction(share):
    made, _ = curator()
    with pytest.raises(QuestionError, match="positive Fraction"):
        made.noisy_counts(RecordCount(), share, "it")
    assert made.remaining_share == 1


def test_a_question_outside_the_window_is_refused_and_nothing_is_charged(tmp_path):
    for domain in (DOMAIN, NUMBER):
        (tmp_path / domain.label.name).mkdir()
        made, ledger = curator(tmp_path / domain.label.name, domain=domain)
        for question in one_of_each():
            if domain_of(question) is domain and not isinstance(question, SignsChoice):
                with pytest.raises(OutsideWindow, match="nothing was charged"):
                    ask(made, question, Fraction(1, 10**13))  # signs have words of their own
        assert (made.remaining_share, ledger.spent) == (1, 0)


# -- structures ------------------------------------------------------------------------------------


def trees_of(**change):
    """A root that asks for the color, and its three leaves."""
    whole = {"roots": [0], "attribute": [0, -1, -1, -1], "cut": [-1] * 4, "sets": []}
    whole["first_child"] = [1, -1, -1, -1]
    return whole | change


def test_the_structure_itself_is_legal():
    trees = Trees.from_json(trees_of(), DOMAIN)
    assert trees.n_trees == 1
    assert trees.widths(DOMAIN).tolist() == [3, 0, 0, 0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"attribute": [0, -2, -1, -1]}, "leaf with a split"),
        ({"first_child": [1, 2, -1, -1]}, "leaf with children"),
        ({"first_child": [1, 2_000_000_000, -1, -1]}, "leaf with children"),
        ({"cut": [-1, 0, -1, -1]}, "leaf with a split"),
        ({"cut": [-1, -2, -1, -1]}, "leaf with a split"),
        ({"attribute": [7, -1, -1, -1]}, "does not have"),
        ({"cut": [3, -1, -1, -1]}, "categorical"),
        ({"cut": [-2, -1, -1, -1]}, "set that it does not have"),
        ({"cut": [-(2**31), -1, -1, -1]}, "set that it does not have"),
        ({"first_child": [0, -1, -1, -1]}, "out of place"),
        ({"first_child": [2, -1, -1, -1]}, "out of place"),
        ({"first_child": [2**31 - 1, -1, -1, -1]}, "out of place"),
        ({"roots": [0, 0]}, "two paths"),
        ({"roots": [0, 1]}, "two paths"),
        ({"roots": [1]}, "two paths"),
        (
            {"attribute": [0] + [-1] * 4, "cut": [-1] * 5, "first_child": [1] + [-1] * 4},
            "no path",
        ),
        ({"roots": []}, "no tree"),
        ({"roots": [4]}, "without a root"),
        ({"roots": [-1]}, "without a root"),
        ({"roots": [0.0]}, "whole numbers"),
        ({"roots": [True]}, "whole numbers"),
        ({"roots": ["0"]}, "whole numbers"),
        ({"roots": [2**40]}, "too large"),
        ({"roots": [[0]]}, "whole numbers"),
        ({"attribute": [0, -1, -1]}, "differ in length"),
        ({"more": []}, "nothing else"),
        ({"sets": [[9]]}, "values that no attribute has"),
        ({"sets": 3}, "list of lists"),
    ],
    ids=str,
)
def test_the_strict_reader_refuses(change, words):
    with pytest.raises(FormatError, match=words):
        Trees.from_json(trees_of(**change), DOMAIN)


def test_cuts_are_those_of_their_attribute():
    number = {"attribute": [2, -1, -1], "first_child": [1, -1, -1]}
    for cut in (0, 1, 17):
        Trees.from_json(trees_of(**number, cut=[cut, -1, -1]), DOMAIN)
    for cut in (18, 2**31 - 1):
        with pytest.raises(FormatError, match="cut that its attribute does not have"):
            Trees.from_json(trees_of(**number, cut=[cut, -1, -1]), DOMAIN)


def test_sets_are_those_that_the_trees_have_and_know_every_code():
    """Colors are three: a set says for each whether it goes left."""
    split = {"attribute": [0, -1, -1], "first_child": [1, -1, -1]}
    for sets, cut in (([[0]], -2), ([[0], [1, 2]], -2), ([[0], [1, 2]], -3)):
        made = Trees.from_json(trees_of(**split, cut=[cut, -1, -1], sets=sets), DOMAIN)
        narrow = dataclasses.replace(made, sets=made.sets[:, :2])
        exact = dataclasses.replace(made, sets=made.sets[:, :3])
        exact.check(DOMAIN)
        with pytest.raises(FormatError, match="set that it does not have"):
            narrow.check(DOMAIN)
    for sets, cut in (([[0]], -3), ([[0], [1, 2]], -4), ([], -2)):
        with pytest.raises(FormatError, match="set that it does not have"):
            Trees.from_json(trees_of(**split, cut=[cut, -1, -1], sets=sets), DOMAIN)


def test_trees_of_another_domain_are_refused_where_a_question_is_made():
    other = Domain([Categorical(f"a{i}", ("x", "y")) for i in range(5)], DOMAIN.label)
    split = next(s for s in BinarySplits(Layout(other, mixed_cuts(other))) if s.attribute == 4)
    trees = ask_once(other, split)
    with pytest.raises(FormatError):
        LeafCounts(trees, DOMAIN)
    with pytest.raises(FormatError):
        SplitCounts(trees, LAYOUT, trees.leaves[:1], np.ones((1, 3)))


@pytest.mark.parametrize("asked", [-1, 3, True])
def test_a_classifier_asks_attributes_of_its_domain(asked):
    scores = np.zeros((LAYOUT.n_bins, 2), dtype=np.int64)
    with pytest.raises(FormatError, match="attributes of the domain"):
        CorrectCounts(LAYOUT, (asked,), np.zeros(2), scores, np.array([1, 2]))


@pytest.mark.parametrize("view", VIEWS)
def test_a_view_of_another_domain_is_refused(view, tmp_path):
    """Its layout has other bins than the table has codes for."""
    domain = dataclasses.replace(DOMAIN, attributes=DOMAIN.attributes[:1])
    level, _ = Grower(domain, 1, 4).level([0])
    made, ledger = curator(tmp_path)
    with pytest.raises(QuestionError, match="another domain"):
        ask(made, view(level))
    assert (made.remaining_share, ledger.spent) == (1, 0)


def test_a_choice_by_the_sums_of_another_kernel_is_refused_before_it_is_charged(tmp_path):
    gradients, vectors = GradientSums(LAYOUT, COLUMN, 0, 9), LabelGradients(LAYOUT, VECTORS)
    lone, _ = Grower(DOMAIN, 1, 4).level([0])
    made, ledger = curator(tmp_path)
    for question in (
        StepChoice(vectors, SPLITS),
        SignsChoice(gradients, SPLITS),
        LabelChoice(lone),
        ResidualChoice(gradients, SPLITS),
    ):
        with pytest.raises(QuestionError, match="is no question about"):
            ask(made, question)
    assert (made.remaining_share, ledger.spent) == (1, 0)


def test_a_question_about_nothing_is_refused_and_nothing_is_charged(tmp_path):
    """Also where it states that a record moves it: there is no cell to move."""
    level = SplitCounts(single_leaf(), LAYOUT, np.zeros(0), np.zeros((0, 3)))
    scores = np.zeros((LAYOUT.n_bins, 2), dtype=np.int64)
    none_of_them = CorrectCounts(LAYOUT, (0,), np.zeros(2), scores, np.zeros(0))
    assert NodeCounts(level).l1 == NodeSizes(level).l1 == 1
    made, ledger = curator(tmp_path)
    for question in (level, *(view(level) for view in VIEWS), none_of_them):
        with pytest.raises(QuestionError, match="nothing in it"):
            ask(made, question)
    assert (made.remaining_share, ledger.spent) == (1, 0)


def test_a_question_that_no_record_is_said_to_move_is_refused(tmp_path, monkeypatch):
    """Its answer would have no noise."""
    monkeypatch.setattr(RecordCount, "l1", 0)
    made, ledger = curator(tmp_path)
    with pytest.raises(QuestionError, match="nothing in it"):
        ask(made, RecordCount())
    assert (made.remaining_share, ledger.spent) == (1, 0)


def test_parts_of_parts_are_of_exact_types_too(tmp_path):
    class Column(ScoreColumn):
        pass

    class Forked(Trees):
        pass

    class Nominal(type(DOMAIN.attributes[0])):
        branches = 1

    class Five(int):
        def __eq__(self, other):
            return other == 0

        def __hash__(self):
            return hash(0)

    tree, values = COLUMN.tree, COLUMN.values
    forked = Forked(tree.roots, tree.attribute, tree.cut, tree.first_child)
    for column in (Column(tree, values), ScoreColumn(forked, values)):
        with pytest.raises(FormatError, match="others like it"):
            GradientSums(LAYOUT, ScoreColumn(tree, values, column), 0, 9)
    first = vars(DOMAIN.attributes[0])
    fields = {f.name: first[f.name] for f in dataclasses.fields(DOMAIN.attributes[0])}
    with pytest.raises(DomainError, match="one of Categorical, Numeric, Date, Ordered"):
        dataclasses.replace(DOMAIN, attributes=(Nominal(**fields), *DOMAIN.attributes[1:]))
    lone, _ = Grower(DOMAIN, 1, 4).level([0])
    with pytest.raises(FormatError, match="some of the domain's"):
        AttributeChoice(lone, (Five(5_000),))
    scores = np.zeros((LAYOUT.n_bins, 2), dtype=np.int64)
    with pytest.raises(FormatError, match="attributes of the domain"):
        CorrectCounts(LAYOUT, (Five(5_000),), np.zeros(2), scores, np.array([1]))
    forest = Forest(DOMAIN, forked, np.ones((1, 2)), Guarantee(Fraction(1)), np.zeros(1))
    made, ledger = curator(tmp_path)
    with pytest.raises(QuestionError, match="the forest's trees"):
        ask(made, ConfusionCounts(forest))
    assert (made.remaining_share, ledger.spent) == (1, 0)


def test_a_share_has_one_price_alone(tmp_path):
    class Cheaper(Fraction):
        pass

    made, ledger = curator(tmp_path)
    with pytest.raises(QuestionError, match="a positive Fraction"):
        ask(made, RecordCount(), Cheaper(1, 2))
    assert (made.remaining_share, ledger.spent) == (1, 0)
