"""One budget for a session: every fit inside is charged, wherever it runs, and the sum is exact."""

import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction

import joblib
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV

import frith
from frith import BudgetExceeded, Ledger, RandomDecisionForestClassifier
from frith.errors import OtherNeighbors, SourceError
from frith.learners import spending
from frith.parties import make_structure, release
from tests.tables import small_domain, small_table

X = small_table()
y = X.pop("good")


def learner(epsilon="0.1", **options):
    return RandomDecisionForestClassifier(
        small_domain(), epsilon=epsilon, n_trees=2, max_depth=2, n_jobs=1, **options
    )


def fit(model):
    return model.fit(X, y, notices=False)


def asks_a_tenth(model):
    try:
        return fit(model).receipt_.amount
    except BudgetExceeded:
        return Fraction(0)


def test_every_fit_inside_is_charged_and_none_outside():
    fit(learner())
    with frith.budget(epsilon=1) as left:
        model = fit(learner("0.3"))
        model.update(X, y, epsilon="0.2")
        assert left.remaining == Fraction(1, 2)
        assert model.receipt_.spent == Fraction(1, 2)
        assert "0.2 charged, 0.5 spent in all" in model.describe()
        with pytest.raises(BudgetExceeded, match=r"epsilon 0.5 left and this asks for 0.6"):
            fit(learner("0.6"))
    assert fit(learner()).receipt_ is None
    assert left.spent == Fraction(1, 2)
    assert [e.purpose.split()[0] for e in left.entries()] == ["fit", "update"]


def test_measured_rules_and_a_partys_release_are_charged_too():
    model = frith.ForestClassifier(small_domain(), epsilon=1, n_jobs=1)
    fit(model)
    with frith.budget(epsilon=1) as left:
        model.measure_rules(X, y, epsilon="0.1")
        structure = make_structure(small_domain(), n_trees=2, max_depth=2, random_state=0)
        release(structure, X.assign(good=y), party="north", epsilon="0.2")
    assert left.spent == Fraction(3, 10)


def test_a_nested_budget_draws_from_the_outer():
    with frith.budget(epsilon=1) as outer:
        with frith.budget(epsilon="0.5") as inner:
            fit(learner("0.4"))
            with pytest.raises(BudgetExceeded, match=r"0\.1 left"):
                fit(learner("0.2"))
        assert (outer.spent, inner.spent) == (Fraction(2, 5), Fraction(2, 5))
        with frith.budget(epsilon=5) as wide:  # it may promise more than there is, not spend it
            with pytest.raises(BudgetExceeded, match=r"0\.6 left"):
                fit(learner("0.7"))
            fit(learner("0.6"))
        assert (wide.spent, outer.remaining) == (Fraction(3, 5), 0)
    assert outer.verify().holds


def test_a_refused_charge_changes_no_account():
    with frith.budget(epsilon="0.3") as outer, frith.budget(epsilon=1) as inner:
        with pytest.raises(BudgetExceeded):
            fit(learner("0.4"))
        assert (outer.spent, inner.spent) == (0, 0)


def test_the_variable_names_a_ledger_for_every_fit(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "table.db", epsilon=1)
    monkeypatch.setenv("FRITH_LEDGER", str(ledger.path))
    fit(learner("0.25"))
    assert ledger.spent == Fraction(1, 4)
    with frith.budget(epsilon="0.5") as inner:
        fit(learner("0.25"))
        fit(learner("0.25", ledger=ledger.path))  # the same one, charged once
    assert (inner.remaining, ledger.spent) == (0, Fraction(3, 4))
    monkeypatch.setenv("FRITH_LEDGER", str(tmp_path / "none.db"))
    with pytest.raises(SourceError, match="frith ledger create"):
        fit(learner())


def test_a_learners_own_ledger_is_charged_beside_the_session(tmp_path):
    own = Ledger.create(tmp_path / "own.db", epsilon="0.3")
    with frith.budget(epsilon=1) as left:
        assert fit(learner("0.2", ledger=own.path)).receipt_.account == "table"
        with pytest.raises(BudgetExceeded, match="'table' has epsilon 0.1 left"):
            fit(learner("0.2", ledger=own.path))
    assert (left.spent, own.spent) == (Fraction(1, 5), Fraction(1, 5))


def test_what_has_no_price_is_refused():
    with frith.budget(epsilon=1) as left:
        with pytest.raises(ValueError, match="no price"):
            fit(learner(float("inf")))
        with pytest.raises(ValueError, match=r"outside of frith\.budget"):
            fit(learner(as_published=True))
        with pytest.raises(ValueError, match="pure epsilon"):
            fit(learner(delta=1e-6))
    assert left.spent == 0


def test_a_budget_with_a_delta_is_kept_in_rho():
    with frith.budget(epsilon=1, delta=1e-6) as left:
        fit(frith.ForestClassifier(small_domain(), epsilon="0.5", delta=1e-6, n_jobs=1))
        fit(learner("0.1"))
    whole = frith.Budget.of("0.5", 1e-6).total
    assert left.spent == whole + Fraction(1, 200)


def test_a_budget_for_persons_refuses_fits_that_protect_records():
    with frith.budget(epsilon=1, records_per_person=3) as left, pytest.raises(OtherNeighbors):
        fit(learner())
    assert left.spent == 0


# -- wherever it runs --------------------------------------------------------------------------


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.xdist_group("processes")
def test_a_grid_search_is_charged_exactly(n_jobs):
    grid = {"n_trees": [1, 2], "max_depth": [1, 2]}
    with frith.budget(epsilon=1) as left:
        search = GridSearchCV(learner("1/20"), grid, cv=3, n_jobs=n_jobs, error_score="raise")
        search.fit(X, y)
    assert left.spent == Fraction(13, 20)  # four candidates on three folds, and the refit
    assert len(left.entries()) == 13


@pytest.mark.xdist_group("processes")
def test_a_search_stops_where_the_budget_ends():
    with frith.budget(epsilon="0.2") as left, pytest.raises(BudgetExceeded):
        GridSearchCV(learner("1/20"), {"n_trees": [1, 2]}, cv=3, n_jobs=2, error_score="raise").fit(
            X, y
        )
    assert left.remaining == 0


@pytest.mark.xdist_group("processes")
def test_a_calibrator_is_charged_for_each_fold_also_inside_a_search():
    with frith.budget(epsilon=1) as left:
        CalibratedClassifierCV(learner(), cv=3, n_jobs=2).fit(X, y)
        assert left.spent == Fraction(3, 10)
        search = GridSearchCV(  # a worker clones the learner that it was sent
            CalibratedClassifierCV(learner(), cv=2), {"method": ["sigmoid"]}, cv=2, n_jobs=2
        )
        search.fit(X, y)
    assert left.spent == Fraction(9, 10)


def test_32_threads_ask_a_tenth_and_ten_succeed():
    with frith.budget(epsilon=1) as left, ThreadPoolExecutor(8) as pool:
        amounts = list(pool.map(asks_a_tenth, [learner() for _ in range(32)]))
    assert sum(amounts) == left.spent == 1


def in_forks(models):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        return pool.map(asks_a_tenth, models)


@pytest.mark.xdist_group("processes")
def test_processes_of_both_kinds_draw_from_one_budget():
    """Forks of a fresh process: libraries whose threads have run do not survive a fork."""
    with frith.budget(epsilon=1) as left:
        models = [learner() for _ in range(8)]
        amounts = joblib.Parallel(n_jobs=2)(joblib.delayed(asks_a_tenth)(m) for m in models)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as fresh:
            amounts += fresh.submit(in_forks, models).result(timeout=300)
    assert sum(amounts) == left.spent == 1


def test_what_was_pickled_in_a_block_stays_in_its_budget():
    with frith.budget(epsilon="0.1") as first:
        sent = pickle.loads(pickle.dumps(learner()))
    fit(clone(sent))
    assert first.remaining == 0
    with pytest.raises(BudgetExceeded):
        fit(sent)
    with frith.budget(epsilon=1) as second:
        fit(sent)
    assert second.spent == Fraction(1, 10)


def dies(model):
    fit(model)
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_a_killed_worker_has_spent_is_spent():
    with frith.budget(epsilon=1) as left:
        spawn = multiprocessing.get_context("spawn")  # a fork of this process may find locks held
        worker = spawn.Process(target=dies, args=(learner("0.3"),))
        worker.start()
        worker.join()
        assert worker.exitcode == -signal.SIGKILL
        fit(learner("0.5"))
        with pytest.raises(BudgetExceeded, match=r"epsilon 0\.2 left"):
            fit(learner("0.3"))
    assert left.spent == Fraction(4, 5)


def test_a_killed_process_leaves_an_exact_ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "table.db", epsilon=1)
    code = (
        "from tests.learners.test_session import dies, fit, learner; import frith\n"
        "with frith.budget(epsilon='0.5'): fit(learner('0.1')); dies(learner('0.2'))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | {"FRITH_LEDGER": str(ledger.path)}
    )
    assert done.returncode == -signal.SIGKILL
    assert ledger.spent == Fraction(3, 10)
    assert ledger.verify().holds


# -- without a ledger --------------------------------------------------------------------------


@pytest.fixture
def fresh_sum(monkeypatch):
    """No fit has been counted yet in this process."""
    monkeypatch.setattr(spending, "_sums", {})


@pytest.mark.usefixtures("fresh_sum")
def test_describe_adds_up_the_fits_of_the_process():
    for rows in (X.index % 2 == 0, X.index % 2 == 1, X.index >= 0):
        model = learner("0.3").fit(X[rows], y[rows], notices=False)
    assert "all 3 fits of this process together: epsilon=0.9" in model.describe()
    assert "all 3 fits" not in model.forest_.describe()  # a forest says nothing of other fits


@pytest.mark.usefixtures("fresh_sum")
def test_fits_that_protect_another_unit_are_named_and_not_added():
    model = fit(learner("0.3"))
    claim = replace(model.forest_.guarantee, neighbors="all records of one person")
    spending.add(frith.Budget.of("0.3"), claim)
    model = fit(learner("0.3"))
    assert "all 2 fits of this process together: epsilon=0.6" in model.describe()
    assert "1 more protect another unit, and do not add" in model.describe()


@pytest.mark.usefixtures("fresh_sum")
def test_fits_that_are_declared_disjoint_do_not_add():
    fit(learner("0.3"))
    fit(learner("0.3"))
    fit(learner(float("inf")))
    model = learner("0.5").fit(X, y, disjoint=True, notices=False)
    assert "all 3 fits of this process together: epsilon=0.6" in model.describe()
    model = learner("0.7").fit(X, y, disjoint=True, notices=False)
    assert "all 4 fits of this process together: epsilon=0.7" in model.describe()


@pytest.mark.usefixtures("fresh_sum")
def test_one_fit_says_nothing_of_others_and_one_with_a_receipt_is_not_added():
    with frith.budget(epsilon=1):
        fit(learner())
    assert "of this process" not in fit(learner()).describe()
