"""Choices at nodes and of signs: what the curator asks of its source, and when it pays."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from frith import Budget, BudgetExceeded, Categorical, Domain, Ledger, open_table
from frith.curator import Curator
from frith.errors import FormatError, OutsideWindow, TooManyCells
from frith.growing.builder import single_leaf
from frith.growing.grids import partition_trees
from frith.growing.grower import Grower
from frith.growing.oblivious import ask_once
from frith.kernels import LeafCounts, NamedSplits, NodeSplits, Partitions, SignsChoice, SplitCounts
from frith.kernels.criteria import MaxMass
from frith.kernels.gradients import ScoreColumn
from frith.kernels.label_gradients import LabelGradients
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplit, BinarySplits
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import PrivateChoice, SignChoice
from frith.privacy.sources import NoiseSource
from tests.tables import COLORS, person_domain, small_domain, small_table

BUDGETS = [Budget.of("1/2"), Budget.of("1/2", 1e-6)]


class Watched(NoiseSource):
    """A source for tests alone: takes the first of every list, and keeps the mechanisms it was given."""

    def __init__(self):
        self.given = []

    def perturb(self, sums, noise, threads):
        raise NotImplementedError

    def choose(self, scores, weights, choice):
        self.given.append(choice)
        return 0

    def choose_signs(self, differences, weights, choice):
        self.given.append(choice)
        return 0, np.zeros(differences.shape[1], dtype=np.int64)

    def choose_labels(self, counts, weights, choice):
        self.given.append(choice)
        return 0, np.zeros(1, dtype=np.int64)


def watched(table, budget, **options):
    source = Watched()
    return Curator(table, budget, source=source, **options), source.given


def ask_splits(curator, grower, nodes, share, places=None):
    level, allowed = grower.level(nodes)
    places = np.arange(len(level.open_nodes)) if places is None else places
    question = NodeSplits(level, places, allowed[places], MaxMass())
    return curator.choose_splits(question, share, "splits")


def ask_signs(curator, share):
    layout = Layout(curator.domain, mixed_cuts(curator.domain))
    start = np.zeros((1, curator.domain.n_labels), dtype=np.int32)
    kernel = LabelGradients(layout, ScoreColumn(ask_once(curator.domain, BinarySplit()), start))
    return curator.choose_signs(SignsChoice(kernel, BinarySplits(layout)), share, "signs"), kernel


def whole_table(domain):
    """One node where everything is asked, and the splits that it may choose from."""
    layout = Layout(domain, mixed_cuts(domain))
    asks = np.ones((1, len(domain.attributes)), dtype=bool)
    return SplitCounts(single_leaf(), layout, np.zeros(1), asks), BinarySplits(layout)


def ask_labels(curator, share):
    layout = Layout(curator.domain, mixed_cuts(curator.domain))
    trees, bins = partition_trees(layout)
    question = Partitions(LeafCounts(trees, curator.domain), BinarySplits(layout), bins)
    return curator.choose_labels(question, share, "labels"), question


def ask(kind, curator, share):
    """One question of a kind."""
    if kind == "splits":
        ask_splits(curator, Grower(curator.domain, 1, 4), [0], share)
    elif kind == "named":
        question = NamedSplits(*whole_table(curator.domain), np.array([-1]))
        curator.choose_splits(question, share, "named")
    elif kind == "labels":
        ask_labels(curator, share)
    else:
        ask_signs(curator, share)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("records", [1, 4])
@pytest.mark.parametrize("n_trees", [1, 3])
def test_every_tree_has_its_part_and_every_record_of_a_person_its_range(budget, records, n_trees):
    table = open_table(small_table(), person_domain(records))
    curator, given = watched(table, budget)
    ask_splits(curator, Grower(table.domain, n_trees, 4), range(n_trees), Fraction(1, 3))
    amount = budget.total / 3 / n_trees
    choice = PrivateChoice(amount, MaxMass().range_ * records, budget.unit)
    assert given == [choice] * n_trees
    assert curator.remaining_share == Fraction(2, 3)
    (asked,) = curator.guarantee.asked
    assert (asked.purpose, asked.mechanism, asked.share) == (
        "splits",
        "private choice",
        Fraction(1, 3),
    )
    assert (asked.sensitivity, asked.scale, asked.cells) == (choice.range_, choice.scale, n_trees)


def test_nodes_of_one_tree_share_a_record_between_them_and_so_the_price():
    table = open_table(small_table(), small_domain())
    curator, given = watched(table, Budget.of(1))
    grower = Grower(table.domain, 2, 4)
    children = [*grower.split(0, 0)]
    ask_splits(curator, grower, children, Fraction(1, 2))
    assert given == [PrivateChoice(Fraction(1, 2), MaxMass().range_)] * len(children)
    ask_splits(curator, grower, [*children, 1], Fraction(1, 2))  # and one of another tree
    assert given[-1] == PrivateChoice(Fraction(1, 4), MaxMass().range_)


def test_only_trees_that_are_chosen_for_are_paid():
    table = open_table(small_table(), small_domain())
    curator, given = watched(table, Budget.of(1))
    ask_splits(curator, Grower(table.domain, 3, 4), range(3), Fraction(1), np.array([1]))
    assert given == [PrivateChoice(Fraction(1), MaxMass().range_)]


def test_a_choice_among_no_nodes_is_paid_and_chooses_nothing():
    curator, given = watched(open_table(small_table(), small_domain()), Budget.of(1))
    grower = Grower(curator.domain, 2, 4)
    picks = ask_splits(curator, grower, range(2), Fraction(1, 2), np.array([], dtype=np.int64))
    assert (len(picks), given, curator.remaining_share) == (0, [], Fraction(1, 2))


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("records", [1, 4])
def test_signs_are_calibrated_to_what_all_records_of_a_person_can_move(budget, records):
    curator, given = watched(open_table(small_table(), person_domain(records)), budget)
    _, kernel = ask_signs(curator, Fraction(1, 3))
    choice = SignChoice(budget.total / 3, kernel.max_gradient * records, budget.unit)
    assert given == [choice]
    assert curator.remaining_share == Fraction(2, 3)
    (asked,) = curator.guarantee.asked
    assert (asked.mechanism, asked.share) == ("private choice", Fraction(1, 3))
    assert (asked.sensitivity, asked.scale) == (2 * kernel.max_gradient * records, choice.scale)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("records", [1, 4])
def test_labels_are_calibrated_to_all_records_of_a_person(budget, records):
    curator, given = watched(open_table(small_table(), person_domain(records)), budget)
    _, question = ask_labels(curator, Fraction(1, 3))
    choice = LabelingChoice(budget.total / 3, records, question.parts, budget.unit)
    assert given == [choice]
    assert curator.remaining_share == Fraction(2, 3)
    (asked,) = curator.guarantee.asked
    assert (asked.mechanism, asked.share) == ("private choice", Fraction(1, 3))
    assert (asked.sensitivity, asked.scale) == (records, choice.scale)
    assert asked.cells == len(question) == len(question.parts)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("records", [1, 4])
def test_named_labels_are_calibrated_to_all_records_of_a_person(budget, records):
    curator, given = watched(open_table(small_table(), person_domain(records)), budget)
    ask("named", curator, Fraction(1, 3))
    assert given == [PrivateChoice(budget.total / 3, records, budget.unit)]
    assert curator.remaining_share == Fraction(2, 3)


@pytest.mark.parametrize("kind", ["splits", "signs", "named", "labels"])
def test_a_choice_is_paid_before_a_record_is_read(kind, tmp_path, monkeypatch):
    table = open_table(small_table(), small_domain())
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    curator, _ = watched(table, Budget.of("1/2"), ledger=ledger)
    aggregate, seen = table.aggregate, []

    def noting(kernel):
        seen.append((ledger.spent, curator.remaining_share, len(curator.guarantee.asked)))
        return aggregate(kernel)

    monkeypatch.setattr(table, "aggregate", noting)
    ask(kind, curator, Fraction(1, 4))
    assert seen == [(Fraction(1, 2), Fraction(3, 4), 1)]


@pytest.mark.parametrize("kind", ["splits", "signs", "named", "labels"])
def test_a_choice_past_the_whole_reads_nothing(kind, monkeypatch):
    table = open_table(small_table(), small_domain())
    monkeypatch.setattr(table, "aggregate", lambda kernel: pytest.fail("records were read"))
    curator, given = watched(table, Budget.of(1))
    with pytest.raises(BudgetExceeded):
        ask(kind, curator, Fraction(3, 2))
    assert (given, curator.remaining_share, curator.guarantee.asked) == ([], 1, ())


@pytest.mark.parametrize("kind", ["splits", "signs", "named", "labels"])
def test_a_choice_by_too_many_cells_is_refused_before_it_is_paid(kind, monkeypatch):
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", 10)
    curator, given = watched(open_table(small_table(), small_domain()), Budget.of(1))
    with pytest.raises(TooManyCells, match="at most 10"):
        ask(kind, curator, Fraction(1))
    assert (given, curator.remaining_share) == ([], 1)


@pytest.mark.parametrize(("kind", "pairs"), [("named", 4), ("signs", 2), ("labels", 2)])
def test_a_choice_scored_by_too_many_numbers_is_refused_before_it_is_paid(kind, pairs, monkeypatch):
    """Of 8 values there are 7 + 8 + 127 splits, and one for everybody: many more than cells."""
    colors = Categorical("color", (*COLORS, *"abcde"))
    table = open_table(small_table(), Domain([colors], small_domain().label))
    curator, given = watched(table, Budget.of(1))
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", 143 * pairs - 1)
    with pytest.raises(TooManyCells, match=f"{143 * pairs} cells"):
        ask(kind, curator, Fraction(1))
    assert (given, curator.remaining_share) == ([], 1)
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", 143 * pairs)
    ask(kind, curator, Fraction(1))
    assert len(given) == 1


def test_a_step_too_small_for_its_proof_is_refused_before_it_is_paid():
    curator, given = watched(open_table(small_table(), small_domain()), Budget.of(1))
    with pytest.raises(ValueError, match="too little"):
        ask_signs(curator, Fraction(1, 10**7))
    assert (given, curator.remaining_share) == ([], 1)


def test_a_partition_too_small_for_its_proof_is_refused_before_it_is_paid():
    curator, given = watched(open_table(small_table(), small_domain()), Budget.of(1))
    with pytest.raises(OutsideWindow, match="too little"):
        ask_labels(curator, Fraction(1, 10**6))
    assert (given, curator.remaining_share) == ([], 1)


def test_a_level_of_trees_that_share_a_node_is_refused_before_it_is_paid():
    level, _ = Grower(small_domain(), 1, 4).level([0])
    trees = replace(level.trees, roots=level.trees.roots[[0, 0]])
    with pytest.raises(FormatError, match="two paths"):
        SplitCounts(trees, level.layout, level.open_nodes, level.asks)
