"""`PrivateSearchCV`: one charge, a guarantee that covers the choice, and nothing told of what lost."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import cross_val_score

import frith
from frith import (
    BudgetExceeded,
    ForestClassifier,
    ForestRegressor,
    ID3Classifier,
    Ledger,
    PrivateSearchCV,
    RandomDecisionForestClassifier,
)
from frith.engines.part import Part
from frith.errors import DataError
from frith.learners import search as searching
from frith.learners.base import NOT_COVERED
from frith.learners.search import PUBLIC_CANDIDATES, SECRET_TIME
from tests.tables import person_domain, small_domain, small_table

DOMAIN = small_domain(records=400)
GRID = {"max_depth": [1, 2], "n_trees": [1, 3]}
TREES = RandomDecisionForestClassifier(DOMAIN, random_state=0)


def data(n=400):
    table = small_table(n)
    return table[list(DOMAIN.names)], table["good"]


@pytest.mark.parametrize("method", ["stopping", "each"])
def test_it_has_the_shape_of_a_grid_search(method):
    X, y = data()
    search = PrivateSearchCV(TREES, GRID, epsilon=4, method=method, runs=3).fit(X, y)
    assert search.best_params_ == search.candidates_[search.best_index_][1]
    assert len(search.candidates_) == 4
    assert isinstance(search.best_estimator_, RandomDecisionForestClassifier)
    assert search.best_estimator_.get_params()["n_trees"] == search.best_params_["n_trees"]
    assert search.predict_proba(X).shape == (400, 2)
    assert search.score(X, y) == search.best_estimator_.score(X, y)
    assert list(search.classes_) == ["no", "yes"]
    assert clone(search).get_params()["epsilon"] == 4
    assert search.forest_.domain == DOMAIN
    assert not hasattr(search, "cv_results_")


@pytest.mark.parametrize("method", ["stopping", "each"])
def test_the_guarantee_covers_the_choice(method):
    X, y = data()
    claim = PrivateSearchCV(TREES, GRID, epsilon="0.7", method=method, runs=2).fit(X, y)
    claim = claim.forest_.guarantee
    assert claim.epsilon == Fraction(7, 10)
    assert claim.delta == 0
    assert PUBLIC_CANDIDATES in claim.assumptions
    assert NOT_COVERED not in claim.assumptions
    assert (SECRET_TIME in claim.assumptions) == (method == "stopping")
    assert len(claim.asked) == 1


@pytest.mark.parametrize("method", ["stopping", "each"])
def test_a_ledger_is_charged_once_what_the_guarantee_says(method, tmp_path):
    X, y = data()
    path = tmp_path / "budget.db"
    Ledger.create(path, epsilon=1)
    search = PrivateSearchCV(TREES, GRID, epsilon="0.4", method=method, runs=6, ledger=path)
    search.fit(X, y)
    assert Ledger(path).remaining == Fraction(3, 5)
    assert Ledger(path).spent == search.forest_.guarantee.epsilon
    search.fit(X, y)
    with pytest.raises(BudgetExceeded):
        search.fit(X, y)
    assert Ledger(path).remaining == Fraction(1, 5)
    purposes = {entry.purpose for entry in Ledger(path).entries() if entry.purpose}
    assert "search for a model" in purposes
    with frith.budget(epsilon=2) as left:
        cross_val_score(PrivateSearchCV(TREES, GRID, epsilon="0.5", method=method), X, y, cv=3)
    assert left.remaining == Fraction(1, 2)


def test_a_worker_charges_the_budget_of_the_block_it_was_sent_from():
    """As joblib does: pickled inside the block, fitted where no block is open."""
    with frith.budget(epsilon=1) as left:
        sent = pickle.dumps(PrivateSearchCV([TREES, ID3Classifier(DOMAIN)], epsilon="0.25", runs=2))
    pickle.loads(sent).fit(*data())
    assert left.remaining == Fraction(3, 4)


def test_it_is_charged_before_a_record_is_read(tmp_path, monkeypatch):
    Ledger.create(tmp_path / "budget.db", epsilon="0.1")
    monkeypatch.setattr(Part, "tasks", lambda self, attributes: 1 / 0)
    with pytest.raises(BudgetExceeded):
        PrivateSearchCV(TREES, GRID, epsilon=1, ledger=tmp_path / "budget.db").fit(*data())


def test_every_run_has_its_part_of_the_budget(monkeypatch):
    """A third for a geometric number of runs, half where eta is 0; a quarter for each of four."""
    seen = []

    class Watching(searching.Curator):
        def __init__(self, engine, budget, **more):
            seen.append(budget.epsilon)
            super().__init__(engine, budget, **more)

    monkeypatch.setattr(searching, "Curator", Watching)
    expected = {
        ("stopping", 1): {Fraction(1), Fraction(1, 3)},
        ("stopping", 0): {Fraction(1), Fraction(1, 2)},
        ("each", 1): {Fraction(1), Fraction(1, 4)},
    }
    for (method, eta), amounts in expected.items():
        seen.clear()
        PrivateSearchCV(TREES, GRID, epsilon=1, method=method, eta=eta, runs=2).fit(*data())
        assert set(seen) == amounts


def test_nothing_tells_of_other_runs():
    """Attributes and what is saved are the same in number and size, however many runs there were."""
    sizes = set()
    for runs in (2, 40):
        search = PrivateSearchCV(TREES, {"max_depth": [1]}, epsilon=1, runs=runs).fit(*data())
        public = sorted(name for name in vars(search) if name.endswith("_"))
        assert public == [
            "best_estimator_", "best_index_", "best_params_", "candidates_", "classes_", "forest_",
            "receipt_",
        ]  # fmt: skip
        saved = search.forest_.to_json()
        sizes.add(json.dumps(saved["guarantee"]))
        assert "runs" not in json.dumps(saved.get("origin"))
    assert len(sizes) == 1


def test_without_noise_the_best_candidate_is_chosen():
    X, y = data()
    none = ForestClassifier(DOMAIN)
    shallow = RandomDecisionForestClassifier(DOMAIN, n_trees=1, max_depth=1, random_state=0)
    search = PrivateSearchCV([shallow, none], epsilon=float("inf"), method="each").fit(X, y)
    assert search.best_index_ == 1
    assert not search.forest_.guarantee.holds


def test_parts_hold_every_record_once_and_declare_their_share():
    X, y = data()
    table = frith.open_table(X.assign(good=y), DOMAIN)
    parts = [Part(table, Fraction(1, 4), rest=rest, declared=share)
             for rest, share in ((True, Fraction(3, 4)), (False, Fraction(1, 4)))]  # fmt: skip
    assert [part.domain.records for part in parts] == [300, 100]
    from frith.kernels import LeafCounts

    model = TREES.fit(X, y, notices=False)
    sums = [p.aggregate(LeafCounts(model.forest_.trees, DOMAIN)) for p in (*parts, table)]
    assert np.array_equal(sums[0] + sums[1], sums[2])
    assert min(sums[0].sum(), sums[1].sum()) > 0


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"estimator": RandomForestClassifier()}, TypeError, "classifiers"),
        ({"estimator": ForestRegressor()}, TypeError, "classifiers"),
        ({"param_grid": {"depth": [1]}}, ValueError, "no parameter"),
        ({"param_grid": {"max_depth": [1, 0]}}, ValueError, "max_depth"),
        ({"method": "grid"}, ValueError, "method is"),
        ({"runs": 1}, ValueError, "from 2 to"),
        ({"eta": 2}, ValueError, "eta"),
        ({"estimator": ID3Classifier(DOMAIN), "param_grid": {"max_depth": [1]}, "epsilon": -1},
         ValueError, "epsilon"),
        ({"estimator": frith.C45Classifier(DOMAIN, as_published=True), "param_grid": None},
         ValueError, "as_published"),
    ],
)  # fmt: skip
def test_what_cannot_be_searched_is_refused_first(given, error, words, tmp_path):
    Ledger.create(tmp_path / "budget.db", epsilon=1)
    asked = {"estimator": TREES, "param_grid": GRID, "ledger": tmp_path / "budget.db"} | given
    with pytest.raises(error, match=words):
        PrivateSearchCV(**asked).fit(*data())
    assert Ledger(tmp_path / "budget.db").remaining == 1


def test_persons_with_several_records_are_refused():
    domain = person_domain(records=2)
    with pytest.raises(DataError, match="both parts"):
        PrivateSearchCV(RandomDecisionForestClassifier(domain), GRID).fit(small_table())


@pytest.mark.parametrize("given", ["numpy's own", "a generator"])
def test_no_generator_that_others_can_repeat_tells_of_runs(given, monkeypatch):
    """Trees of the j-th run of a known sequence say that there were j runs, and where it stands how many."""
    X, y = data()
    shapes, left = [], set()
    for runs in (1, 9):
        monkeypatch.setattr(searching.RandomStopping, "draw", lambda self, runs=runs: runs)
        np.random.seed(3)  # noqa: NPY002 - scikit-learn's, where no state is given
        seeds = np.random.RandomState(3)  # what scikit-learn knows as a generator
        model = RandomDecisionForestClassifier(
            DOMAIN, n_trees=3, max_depth=3, random_state=None if given == "numpy's own" else seeds
        )
        search = PrivateSearchCV(model, {}, epsilon=4).fit(X, y)
        shapes.append(search.forest_.trees)
        inside = search.best_estimator_.random_state
        now = np.random.randint(2**30)  # noqa: NPY002
        left.add((now, inside and inside.randint(2**30)))
    assert shapes[0] != shapes[1]
    assert len(left) == 1


@pytest.mark.parametrize("name", ["epsilon", "delta", "ledger", "domain"])
def test_a_grid_over_what_the_search_sets_itself_is_refused(name):
    search = PrivateSearchCV(ForestClassifier(DOMAIN), {name: [1, 2]}, epsilon=1)
    with pytest.raises(ValueError, match=f"sets {name} itself"):
        search.fit(*data())
