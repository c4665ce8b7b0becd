from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from frith import Budget, BudgetExceeded, Ledger, open_table
from frith.curator import Curator
from frith.errors import FormatError, TooManyCells
from frith.kernels import LeafCounts, RecordCount
from frith.privacy.guarantee import RECORD
from frith.scores import MaxMass
from frith.trees.growing import Grower
from frith.trees.random import grow_random_trees
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
    noise = curator._noise(kernel, Fraction(1))
    assert fits_law(release.values.ravel(), noise.log_law)
    assert release.variance == pytest.approx(noise.variance)


def test_too_many_cells_are_refused_before_anything_is_charged(tmp_path, engine, monkeypatch):
    monkeypatch.setattr("frith.curator.MAX_CELLS", 10)
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    curator = Curator(engine, Budget.of(1), ledger=ledger)
    with pytest.raises(TooManyCells, match="at most 10"):
        curator.noisy_counts(leaf_kernel(engine), Fraction(1), "leaves")
    assert ledger.spent == 0
    assert curator.remaining_share == 1


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


def test_progress_names_passes_and_nothing_else(engine):
    heard = []
    curator = Curator(engine, Budget.of(1), progress=heard.append)
    curator.noisy_counts(RecordCount(), Fraction(1), "number of records")
    assert heard == ["number of records"]


def test_a_node_chosen_for_twice_is_refused(engine):
    level, allowed = Grower(engine.domain, 1, 4).level([0])
    curator = Curator(engine, Budget.of(1))
    with pytest.raises(ValueError, match="once"):
        curator.choose_splits(
            level, np.array([0, 0]), allowed[[0, 0]], MaxMass(), Fraction(1, 2), "a choice"
        )
    assert curator.remaining_share == 1


def test_trees_that_share_a_node_are_refused_before_anything_is_charged(engine):
    """The squared L2 sensitivity of N trees is N because no leaf is in two of them."""
    trees = grow_random_trees(engine.domain, 1, 1, np.random.default_rng(0))
    shared = replace(trees, roots=trees.roots[[0, 0]])
    curator = Curator(engine, Budget.of(1))
    with pytest.raises(FormatError, match="two paths"):
        curator.noisy_counts(LeafCounts(shared, engine.domain), Fraction(1), "labels")
    assert curator.remaining_share == 1
