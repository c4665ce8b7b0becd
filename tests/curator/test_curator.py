import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Budget, BudgetExceeded, Categorical, Domain, Ledger, Person, open_table
from frith.curator import Curator, Masking, noise_of, noise_share
from frith.errors import FormatError, QuestionError, TooManyCells
from frith.growing.builder import single_leaf
from frith.growing.grower import Grower
from frith.growing.oblivious import ask_once
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LabelChoice, LeafCounts, NodeSplits, RecordCount, StepChoice
from frith.kernels.criteria import MaxMass
from frith.kernels.gradients import UNIT, GradientSums, ScoreColumn
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplit, BinarySplits
from frith.privacy.mechanisms import PrivateChoice
from frith.privacy.neighbors import RECORD
from frith.privacy.shares import GaussianShare, LaplaceShare
from tests.statistics import fits_law
from tests.tables import person_domain, small_domain, small_table


@pytest.fixture
def engine():
    return open_table(small_table(), small_domain())


def leaf_kernel(engine, n_trees=3):
    rng = np.random.default_rng(0)
    return LeafCounts(grow_random_trees(engine.domain, n_trees, 2, rng), engine.domain)


def test_the_charge_follows_from_the_kernel_and_not_from_the_caller(engine):
    curator = Curator(engine, Budget.of(1))
    curator.noisy_counts(leaf_kernel(engine, 3), Fraction(1, 2), "leaves")
    (asked,) = curator.guarantee.asked
    assert (asked.sensitivity, asked.scale) == (3, 6.0)
    assert curator.remaining_share == Fraction(1, 2)


def test_a_person_may_move_every_record_of_theirs():
    table = open_table(small_table(), person_domain(records=4))
    pure, zcdp = Curator(table, Budget.of(1)), Curator(table, Budget.of(1, 1e-6))
    for curator in (pure, zcdp):
        curator.noisy_counts(leaf_kernel(table, 3), Fraction(1), "leaves")
        assert "one person" in curator.guarantee.neighbors
    assert pure.guarantee.asked[0].sensitivity == 12
    assert zcdp.guarantee.asked[0].sensitivity == 3 * 4**2


def test_shares_past_the_whole_are_refused(engine):
    curator = Curator(engine, Budget.of(1))
    curator.noisy_counts(RecordCount(), Fraction(2, 3), "first")
    with pytest.raises(BudgetExceeded):
        curator.noisy_counts(RecordCount(), Fraction(1, 2), "second")
    assert curator.remaining_share == Fraction(1, 3)
    assert len(curator.guarantee.asked) == 1


def test_the_guarantee_is_what_was_reserved(engine):
    curator = Curator(engine, Budget.of(1))
    curator.noisy_counts(RecordCount(), Fraction(1, 10), "a tenth")
    assert curator.guarantee.epsilon == 1
    assert curator.guarantee.neighbors == RECORD


def test_a_declared_number_of_records_is_free_and_an_assumption():
    curator = Curator(open_table(small_table(50), small_domain(records=1234)), Budget.of(1))
    assert curator.records(Fraction(1, 2)) == 1234
    assert curator.remaining_share == 1
    assert "number of records is public" in str(curator.guarantee)


@pytest.mark.parametrize(("declared", "found"), [(0, 1), (1, 1), (2, 2)])
def test_a_declared_number_of_records_is_at_least_one(declared, found):
    table = open_table(small_table(50), small_domain(records=declared))
    assert Curator(table, Budget.of(1)).records(Fraction(1, 2)) == found


def test_an_undeclared_number_of_records_is_noisy_paid_for_and_at_least_one():
    table = open_table(small_table(0), small_domain())
    numbers = []
    for _ in range(60):
        curator = Curator(table, Budget.of(1))
        numbers.append(curator.records(Fraction(1, 100)))
        assert curator.remaining_share == Fraction(99, 100)
    assert min(numbers) == 1  # an empty table, P[noise > 0 in all 60] < 2^-60
    assert len(set(numbers)) > 1


def test_noise_is_drawn_for_every_cell_also_of_an_empty_table():
    table = open_table(small_table(0), small_domain())
    kernel = leaf_kernel(table, 400)
    curator = Curator(table, Budget.of(40))
    release = curator.noisy_counts(kernel, Fraction(1), "leaves")
    assert release.values.shape == kernel.shape
    noise = noise_of(kernel, table.domain, Fraction(40), "epsilon")
    assert fits_law(release.values.ravel(), noise.log_law)
    assert release.variance == pytest.approx(noise.variance)


def test_too_many_cells_are_refused_before_anything_is_charged(tmp_path, engine, monkeypatch):
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", 10)
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    curator = Curator(engine, Budget.of(1), ledger=ledger)
    with pytest.raises(TooManyCells, match="at most 10"):
        curator.noisy_counts(leaf_kernel(engine), Fraction(1), "leaves")
    assert ledger.spent == 0
    assert curator.remaining_share == 1
    kernel = leaf_kernel(engine)
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", int(np.prod(kernel.shape)))
    curator.noisy_counts(kernel, Fraction(1), "leaves")  # as many as that may be asked


def test_the_ledger_is_charged_once_and_before_a_record_is_read(tmp_path, engine, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    spent_when_read = []
    aggregate = engine.aggregate
    monkeypatch.setattr(
        engine, "aggregate", lambda k: spent_when_read.append(ledger.spent) or aggregate(k)
    )
    curator = Curator(engine, Budget.of("1/2"), ledger=ledger)
    for _ in range(2):
        curator.noisy_counts(RecordCount(), Fraction(1, 4), "n")
    assert spent_when_read == [Fraction(1, 2), Fraction(1, 2)]
    assert len(ledger.entries()) == 1


def test_a_ledger_without_enough_left_stops_the_fit_before_a_record_is_read(
    tmp_path, engine, monkeypatch
):
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon="1/4")
    monkeypatch.setattr(engine, "aggregate", lambda kernel: pytest.fail("records were read"))
    with pytest.raises(BudgetExceeded):
        Curator(engine, Budget.of("1/2"), ledger=ledger).noisy_counts(
            RecordCount(), Fraction(1), "n"
        )
    assert ledger.spent == 0


def test_a_failure_after_the_charge_keeps_the_charge(tmp_path, engine, monkeypatch):
    def fail(kernel):
        raise OSError("disk")

    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    monkeypatch.setattr(engine, "aggregate", fail)
    with pytest.raises(OSError, match="disk"):
        Curator(engine, Budget.of(1), ledger=ledger).noisy_counts(RecordCount(), Fraction(1), "n")
    assert ledger.remaining == 0


def test_the_exact_limit_gives_exact_sums_and_no_guarantee(engine):
    curator = Curator(engine, Budget.of("inf"))
    release = curator.noisy_counts(RecordCount(), Fraction(1), "n")
    assert (release.values[0], release.variance) == (200, 0.0)
    assert not curator.guarantee.holds


def test_what_is_done_to_exact_sums_changes_no_later_answer(engine):
    curator, kernel = Curator(engine, Budget.of("inf")), leaf_kernel(engine)
    first = curator.noisy_counts(kernel, Fraction(1, 2), "leaves").values
    expected, first[:] = first.copy(), -1
    again = curator.noisy_counts(kernel, Fraction(1, 2), "leaves").values
    np.testing.assert_array_equal(again, expected)


def test_progress_names_passes_and_nothing_else(engine):
    heard = []
    curator = Curator(engine, Budget.of(1), progress=heard.append)
    curator.noisy_counts(RecordCount(), Fraction(1), "number of records")
    assert heard == ["number of records"]


def test_a_node_chosen_for_twice_is_refused(engine):
    level, allowed = Grower(engine.domain, 1, 4).level([0])
    with pytest.raises(ValueError, match="once"):
        NodeSplits(level, np.array([0, 0]), allowed[[0, 0]], MaxMass())


def test_trees_that_share_a_node_are_refused_before_anything_is_charged(engine):
    """The squared L2 sensitivity of N trees is N because no leaf is in two of them."""
    trees = grow_random_trees(engine.domain, 1, 1, np.random.default_rng(0))
    shared = replace(trees, roots=trees.roots[[0, 0]])
    curator = Curator(engine, Budget.of(1))
    with pytest.raises(FormatError, match="two paths"):
        curator.noisy_counts(LeafCounts(shared, engine.domain), Fraction(1), "labels")
    assert curator.remaining_share == 1


class Plain(Masking):
    """A mask for tests alone, which hides nothing."""

    honest = 2
    assumption = "nobody tells"

    def check(self, kernel, domain, budget, share):
        pass

    def hide(self, values):
        return values.astype(np.uint64)


def test_a_mask_of_ones_own_hides_nothing_and_is_refused(engine):
    class Mine:
        honest, assumption = 10**6, ""

        def check(self, *args):
            return None

        def hide(self, values):
            return values.astype(np.uint64)

    curator = Curator(engine, Budget.of(1))
    with pytest.raises(QuestionError, match="Mine hides nothing"):
        curator.masked_counts(RecordCount(), Fraction(1), "records", Mine())
    assert curator.remaining_share == 1


def test_masked_sums_of_too_many_cells_or_shared_nodes_are_refused_before_they_are_charged(
    engine, monkeypatch
):
    curator, kernel = Curator(engine, Budget.of(1)), leaf_kernel(engine)
    with pytest.raises(FormatError, match="two paths"):
        replace(kernel, trees=replace(kernel.trees, roots=kernel.trees.roots[[0, 0]]))
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", 10)
    with pytest.raises(TooManyCells, match="at most 10"):
        curator.masked_counts(kernel, Fraction(1), "labels", Plain())
    assert (curator.remaining_share, curator.guarantee.asked) == (1, ())


def test_threads_that_share_a_curator_are_answered_from_their_own_sums(engine):
    """Sums of another question would be hidden by noise of the wrong scale."""
    curator, summed, others = (
        Curator(engine, Budget.of("inf")),
        engine.aggregate,
        leaf_kernel(engine),
    )
    exact = [summed(RecordCount()), summed(others)]
    between = threading.Barrier(2, timeout=120)

    class Slots(Curator):
        @property
        def _last(self):
            return self.__dict__["last"]

        @_last.setter
        def _last(self, value):
            self.__dict__["last"] = value
            if value is not None:
                between.wait()  # both have written before either goes on

    curator.__dict__["last"] = curator.__dict__.pop("_last")
    curator.__class__ = Slots
    with ThreadPoolExecutor(2) as pool:
        asked = [
            pool.submit(curator.noisy_counts, question, Fraction(1, 2), "it")
            for question in (RecordCount(), others)
        ]
        answers = [a.result().values for a in asked]
    for answer, sums in zip(answers, exact, strict=True):
        np.testing.assert_array_equal(answer, sums)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_shares_of_noise_cover_every_record_of_a_person(engine, unit):
    kernel, domain = leaf_kernel(engine, 3), person_domain(records=4)
    share = noise_share(kernel, domain, Fraction(1, 100), unit, honest=2)
    if unit == "rho":
        cells = int(np.prod(kernel.shape))
        assert share == GaussianShare(Fraction(1, 100), 3 * 4**2, 2, cells)
    else:
        assert share == LaplaceShare(Fraction(1, 100), 3 * 4, 2)


def test_a_share_too_wide_to_be_drawn_is_refused_when_it_is_priced(engine):
    kernel, domain = leaf_kernel(engine, 3), person_domain(records=4)
    with pytest.raises(ValueError, match="too wide to be drawn in exact shares"):
        noise_share(kernel, domain, Fraction(1, 10**6), "epsilon", honest=2)


# -- choices from a list ---------------------------------------------------------------------------


def labels_of(counts, people=None):
    """A table of so many records of each label, everyone another person; and the choice of a label."""
    names = [f"l{k}" for k in range(len(counts))]
    person = None if people is None else Person("who", people)
    domain = Domain([Categorical("a", ("x",))], Categorical("label", names), person=person)
    label = np.repeat(names, counts)
    table = pd.DataFrame({"a": "x", "label": label, "who": np.arange(len(label)).astype(str)})
    return open_table(table, domain), LabelChoice(LeafCounts(single_leaf(), domain))


def steps_of(engine):
    layout = Layout(engine.domain, mixed_cuts(engine.domain))
    column = ScoreColumn(ask_once(engine.domain, BinarySplit()), np.zeros(1, dtype=np.int32))
    return StepChoice(GradientSums(layout, column, 0, 3), BinarySplits(layout))


def label_choice(engine):
    return LabelChoice(LeafCounts(single_leaf(), engine.domain))


@pytest.mark.parametrize("budget", [Budget.of("1/2"), Budget.of("1/2", 1e-6)], ids=str)
@pytest.mark.parametrize("records", [1, 4])
def test_a_choice_is_calibrated_to_its_range_for_all_records_of_a_person(budget, records):
    table = open_table(small_table(), person_domain(records))
    curator = Curator(table, budget)
    list_ = steps_of(table)
    assert list_.range_ == 6
    curator.choose(list_, Fraction(1, 3), "a choice")
    (asked,) = curator.guarantee.asked
    choice = PrivateChoice(budget.total / 3, 6 * records, budget.unit)
    assert (asked.purpose, asked.mechanism, asked.share) == (
        "a choice",
        "private choice",
        Fraction(1, 3),
    )
    assert (asked.sensitivity, asked.scale, asked.cells) == (6 * records, choice.scale, len(list_))
    assert curator.remaining_share == Fraction(2, 3)


@pytest.mark.parametrize("budget", [Budget.of(2), Budget.of(2, 1e-3)], ids=str)
def test_choices_follow_the_law_of_the_mechanism(budget):
    count = 2_000
    choice = PrivateChoice(budget.total / count, 2, budget.unit)
    counts = np.round(choice.scale * (np.array([-0.5, 0, 0.7, 0.9]) + 1)).astype(int)
    table, list_ = labels_of(counts, people=2)
    curator, law = Curator(table, budget), choice.law(counts)

    def log_law(places):
        return np.log([law[i] if i >= 0 else 1e-300 for i in places])

    draws = [curator.choose(list_, Fraction(1, count), "a choice") for _ in range(count)]
    assert curator.remaining_share == 0
    assert fits_law(np.array(draws), log_law)


@pytest.mark.parametrize("best", [0, 2, 3])
def test_without_noise_the_choice_is_the_best_one(best):
    counts = [5, 5, 5, 5]
    counts[best] += 1
    table, list_ = labels_of(counts)
    curator = Curator(table, Budget.of("inf"))
    assert curator.choose(list_, Fraction(1), "a choice") == best
    assert [q.mechanism for q in curator.guarantee.asked] == ["exact"]
    assert not curator.guarantee.holds


def test_without_noise_weights_are_nothing():
    """All labels are "yes": the best step is for everybody, and a weight does not hide it."""
    table = small_table(40).assign(good="yes", size=1.0)
    engine = open_table(table, small_domain())
    layout = Layout(engine.domain, mixed_cuts(engine.domain))
    column = ScoreColumn(ask_once(engine.domain, BinarySplit()), np.zeros(1, dtype=np.int32))
    list_ = StepChoice(GradientSums(layout, column, 0, UNIT), BinarySplits(layout), 200.0)
    wins = list_.scores(engine.aggregate(list_.kernel))
    assert np.sum(wins == wins.max()) > 1, "splits that send all records left are as good"
    pick = Curator(engine, Budget.of("inf")).choose(list_, Fraction(1), "a choice")
    assert pick == np.argmax(wins), "the first of them wins"
    noisy = Curator(engine, Budget.of(1)).choose(list_, Fraction(1), "a choice")
    assert list_.chosen(noisy)[0].attribute == -1, "with noise the weight decides"


def test_without_noise_the_chosen_split_parts_the_gradients_best(engine):
    """Labels are color = red XOR size > 5, so one of these splits; found by trying all records."""
    layout = Layout(engine.domain, mixed_cuts(engine.domain))
    column = ScoreColumn(ask_once(engine.domain, BinarySplit()), np.zeros(1, dtype=np.int32))
    kernel = GradientSums(layout, column, 0, UNIT)
    list_ = StepChoice(kernel, BinarySplits(layout))
    pick = Curator(engine, Budget.of("inf")).choose(list_, Fraction(1), "a split")
    scores = list_.scores(engine.aggregate(kernel))
    assert scores[pick] == scores.max() > np.median(scores)
    assert list_.chosen(pick)[0].attribute in (0, 2)


def test_a_choice_is_charged_before_a_record_is_read(tmp_path, engine, monkeypatch):
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    curator = Curator(engine, Budget.of("1/2"), ledger=ledger)
    aggregate, seen = engine.aggregate, []

    def watched(kernel):
        seen.append((ledger.spent, curator.remaining_share, len(curator.guarantee.asked)))
        return aggregate(kernel)

    monkeypatch.setattr(engine, "aggregate", watched)
    curator.choose(label_choice(engine), Fraction(1, 4), "first")
    curator.choose(label_choice(engine), Fraction(1, 2), "second")
    assert seen == [(Fraction(1, 2), Fraction(3, 4), 1), (Fraction(1, 2), Fraction(1, 4), 2)]


def test_a_choice_past_the_whole_or_the_ledger_reads_nothing(tmp_path, engine, monkeypatch):
    monkeypatch.setattr(engine, "aggregate", lambda kernel: pytest.fail("records were read"))
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon="1/4")
    small = Curator(engine, Budget.of("1/8"), ledger=ledger)
    with pytest.raises(BudgetExceeded):
        small.choose(label_choice(engine), Fraction(3, 2), "too much of the budget")
    with pytest.raises(BudgetExceeded):
        Curator(engine, Budget.of("1/2"), ledger=ledger).choose(
            label_choice(engine), Fraction(1), "too much for the ledger"
        )
    assert ledger.spent == 0
    assert small.remaining_share == 1
    assert small.guarantee.asked == ()


def test_a_failure_after_a_choice_was_charged_keeps_the_charge(engine, monkeypatch):
    def fail(kernel):
        raise OSError("disk")

    monkeypatch.setattr(engine, "aggregate", fail)
    curator = Curator(engine, Budget.of(1))
    with pytest.raises(OSError, match="disk"):
        curator.choose(label_choice(engine), Fraction(1, 2), "a choice")
    assert curator.remaining_share == Fraction(1, 2)
    assert len(curator.guarantee.asked) == 1


def test_a_choice_by_too_many_cells_is_refused_before_anything_is_charged(engine, monkeypatch):
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", 10)
    curator = Curator(engine, Budget.of(1))
    with pytest.raises(TooManyCells, match="at most 10"):
        curator.choose(steps_of(engine), Fraction(1), "a choice")
    assert curator.remaining_share == 1


def test_choices_by_the_same_sums_are_paid_each_and_read_once(engine):
    heard, kernel = [], label_choice(engine)
    curator = Curator(engine, Budget.of(1), progress=heard.append)
    for purpose in ("first", "second"):
        curator.choose(kernel, Fraction(1, 4), purpose)
    assert heard == ["first"]
    assert curator.remaining_share == Fraction(1, 2)
    assert [q.purpose for q in curator.guarantee.asked] == ["first", "second"]
