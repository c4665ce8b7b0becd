"""What every learner promises, whatever its algorithm."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from frith import Budget, BudgetExceeded, Forest, Ledger, PrivacyLeakWarning, open_table
from frith.audit.replay import arbitrary_releases, replay
from tests.learners.conformance import FEW_TREES, LEARNERS, NOISE
from tests.strategies import FULL, examples
from tests.tables import person_domain, small_domain, small_table

pytestmark = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
ATTRIBUTES = ["color", "round", "size"]


def split(table):
    return table[ATTRIBUTES], table["good"]


# -- scikit-learn ------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks_pass(make):
    """Without noise; with it, what differs is the same for all, so that two learners show it."""
    name = next(n for n, maker in LEARNERS.items() if maker is make)
    check(make, "inf", FEW_TREES.get(name, {}))
    if FULL or name in ("forest", "random-decision"):
        check(make, 1, NOISE)


def check(make, epsilon, expected):
    results = check_estimator(
        make(epsilon=epsilon, random_state=0), expected_failed_checks=expected, on_fail=None
    )
    failed = [r["check_name"] for r in results if r["status"] == "failed"]
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40


def test_it_works_in_pipelines_that_output_pandas(make):
    X, y = split(small_table())
    step = FunctionTransformer(lambda table: table.assign(size=table["size"] / 2))
    model = make_pipeline(step, make(small_domain(), epsilon="inf", random_state=0))
    assert model.set_output(transform="pandas").fit(X, y).score(X, y) > 0.6
    scaled = make_pipeline(StandardScaler(), make(epsilon="inf")).set_output(transform="pandas")
    with pytest.warns(PrivacyLeakWarning):
        scaled.fit(X[["size"]], y)


def test_permuted_and_missing_columns_raise_at_predict(make):
    X, y = split(small_table())
    model = make(small_domain(), epsilon=1).fit(X, y)
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(X[ATTRIBUTES[::-1]])
    with pytest.raises(ValueError, match="missing"):
        model.predict(X[["color", "size"]])


def test_columns_are_matched_by_name_in_the_forest_itself(make):
    X, y = split(small_table())
    forest = make(small_domain(), epsilon=1).fit(X, y).forest_
    assert np.array_equal(forest.predict(X), forest.predict(X[ATTRIBUTES[::-1]]))


def test_classes_are_sorted_and_probabilities_follow_them(make):
    X, y = split(small_table())
    domain = small_domain()
    model = make(domain, epsilon="inf", random_state=0).fit(X, y)
    upside_down = type(domain)(domain.attributes, type(domain.label)("good", ("yes", "no")))
    other = make(upside_down, epsilon="inf", random_state=0).fit(X, y)
    assert model.classes_.tolist() == other.classes_.tolist() == ["no", "yes"]
    assert model.predict_proba(X) == pytest.approx(other.predict_proba(X))
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    assert np.exp(model.predict_log_proba(X)) == pytest.approx(model.predict_proba(X))


@pytest.mark.parametrize("labels", [[0, 1], [True, False], [1.5, 2.5], ["b", "a"]])
def test_predictions_have_the_type_of_the_labels(make, labels):
    X, y = split(small_table())
    domain = small_domain()
    domain = type(domain)(domain.attributes, type(domain.label)("good", tuple(labels)))
    y = np.where(y == "yes", labels[1], labels[0])
    model = make(domain, epsilon="inf", random_state=0).fit(X, y)
    assert type(model.predict(X)[0].item()) is type(labels[0])
    assert np.mean(model.predict(X) == y) > 0.6


def test_sample_weight_is_refused_with_a_reason(make):
    X, y = split(small_table())
    with pytest.raises(TypeError, match="weighted record would count for more"):
        make(small_domain()).fit(X, y, sample_weight=np.ones(len(X)))


def test_a_missing_domain_warns_and_the_guarantee_says_so(make):
    X, y = split(small_table())
    with pytest.warns(PrivacyLeakWarning, match="learned from the data"):
        model = make(epsilon=1).fit(X, y)
    assert any("domain learned from the data" in a for a in model.forest_.guarantee.assumptions)


# -- privacy -----------------------------------------------------------------------------------


def test_the_guarantee_is_what_was_asked_for(make):
    X, y = split(small_table())
    for delta in (0, 1e-6):
        guarantee = make(small_domain(), epsilon=0.7, delta=delta).fit(X, y).forest_.guarantee
        assert guarantee.epsilon == Fraction(7, 10)
        assert guarantee.delta == Fraction(str(delta))
        assert sum(q.share for q in guarantee.asked) <= 1
        assert any("parameters chosen on exact scores" in a for a in guarantee.assumptions)


def test_noise_is_never_seeded(make):
    X, y = split(small_table(2_000))
    model = make(small_domain(records=2_000), epsilon=0.2, random_state=3)
    first = clone(model).fit(X, y).forest_
    assert any(first != clone(model).fit(X, y).forest_ for _ in range(6))  # one leaf may come twice


neighbors = st.tuples(st.integers(0, 59), st.integers(0, 10**6), st.sampled_from([0, 1e-6]))


@examples(12)
@given(neighbors)
def test_replay_holds_for_records(make, drawn):
    row, seed, delta = drawn
    table = small_table(60, seed=seed)
    for domain in (small_domain(), small_domain(records=60)):
        pair = (open_table(t, domain) for t in (table, table.drop(index=row)))
        model = make(domain, random_state=seed)
        result = replay(model, *pair, Budget.of("0.3", delta), arbitrary_releases(seed))
        assert result.holds, result


@examples(12)
@given(neighbors)
def test_replay_holds_for_persons(make, drawn):
    row, seed, delta = drawn
    table = small_table(60, seed=seed, people=12)
    without = table[table["who"] != table["who"][row]]
    domain = person_domain(records=2)
    pair = (open_table(t, domain) for t in (table, without))
    model = make(domain, random_state=seed)
    result = replay(model, *pair, Budget.of(1, delta), arbitrary_releases(seed))
    assert result.holds, result


# -- ledger ------------------------------------------------------------------------------------


@pytest.mark.xdist_group("processes")
def test_every_fit_of_a_parallel_search_is_charged(make, tmp_path):
    """3 folds x 2 candidates and the refit: seven fits, from two processes, in one ledger."""
    X, y = split(small_table())
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    model = make(small_domain(), epsilon=0.1, ledger=str(ledger.path))
    search = GridSearchCV(model, {"epsilon": [0.1, "1/10"]}, cv=3, n_jobs=2).fit(X, y)
    assert len(ledger.entries()) == 7
    assert ledger.spent == Fraction(7, 10)
    assumptions = search.best_estimator_.forest_.guarantee.assumptions
    assert any("not covered" in a for a in assumptions)


def test_cross_validation_stops_where_the_ledger_does(make, tmp_path):
    X, y = split(small_table())
    ledger = Ledger.create(tmp_path / "budget.db", epsilon="0.35")
    model = make(small_domain(), epsilon=0.1, ledger=str(ledger.path))
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, X, y, cv=5, error_score="raise")
    assert ledger.spent == Fraction(3, 10)


def test_the_exact_limit_cannot_be_charged(make, tmp_path):
    X, y = split(small_table())
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    with pytest.raises(ValueError, match="epsilon=inf"):
        make(small_domain(), epsilon="inf", ledger=ledger.path).fit(X, y)


# -- tables ------------------------------------------------------------------------------------


def write_parquet(table, path):
    pq.write_table(pa.Table.from_pandas(table), path / "t.parquet", row_group_size=37)
    return path / "t.parquet"


def write_csv(table, path):
    pa.csv.write_csv(pa.Table.from_pandas(table), path / "t.csv")
    return path / "t.csv"


def write_feather(table, path):
    pa.feather.write_feather(pa.Table.from_pandas(table), path / "t.feather")
    return path / "t.feather"


@pytest.mark.parametrize("write", [write_parquet, write_csv, write_feather])
@pytest.mark.parametrize("domain", [small_domain(), person_domain()], ids=["records", "persons"])
def test_every_engine_gives_the_same_exact_forest(make, write, domain, tmp_path):
    table = small_table(300)
    table.loc[::11, "size"] = np.nan
    table.loc[::13, "color"] = "mauve"
    table.loc[::17, "good"] = None
    model = make(domain, epsilon="inf", random_state=0)
    here = clone(model).fit(table[[*ATTRIBUTES, "who", "good"]]).forest_
    there = clone(model).fit(open_table(write(table, tmp_path), domain)).forest_
    assert np.array_equal(here.values, there.values)
    assert here.trees == there.trees


def test_labels_may_be_apart_or_in_the_table(make):
    table = small_table()
    X, y = split(table)
    model = make(small_domain(), epsilon="inf", random_state=0)
    apart, inside = clone(model).fit(X, y), clone(model).fit(table[[*ATTRIBUTES, "good"]])
    arrow = clone(model).fit(pa.Table.from_pandas(table[[*ATTRIBUTES, "good"]]))
    array = clone(model).fit(X.to_numpy(), y.to_numpy())
    for other in (inside, arrow, array):
        assert other.forest_ == apart.forest_
    assert np.array_equal(arrow.predict(pa.Table.from_pandas(X)), apart.predict(X))
    assert np.array_equal(array.predict(X.to_numpy()), apart.predict(X))


@pytest.mark.parametrize("epsilon", [1, "inf"])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("kind", ["empty", "one label", "all missing", "unknown labels"])
def test_poor_tables_train_like_any_other(make, kind, delta, epsilon):
    table = small_table(40)
    if kind == "empty":
        table = table[:0]
    elif kind == "one label":
        table["good"] = "yes"
    elif kind == "all missing":
        table = table.assign(color=None, round=None, size=np.nan)
    else:
        table["good"] = "perhaps"
    X, y = split(table)
    model = make(small_domain(), epsilon=epsilon, delta=delta).fit(X, y)
    proba = model.predict_proba(small_table(30)[ATTRIBUTES])
    assert proba.shape == (30, 2)
    assert np.isfinite(proba).all()
    assert model.classes_.tolist() == ["no", "yes"]


def test_persons_are_bounded_before_anything_is_counted(make):
    """A table in which one person has every record counts two of them."""
    table = small_table(100).assign(who="same")
    learner = make(person_domain(records=2), epsilon="inf", random_state=0)
    forest = learner.fit(table).forest_
    if forest.kind == "scores":
        alike = pd.concat([table[:1]] * 100)
        hundred, two, one = (learner.fit(alike[:n]).forest_.values for n in (100, 2, 1))
        assert np.array_equal(hundred, two)
        assert not np.array_equal(two, one)
    else:
        assert (forest.values[forest.trees.roots].sum(axis=1) == 2).all()


# -- the forest --------------------------------------------------------------------------------


def test_a_saved_forest_is_the_same_forest(make, tmp_path):
    X, y = split(small_table())
    forest = make(small_domain(), epsilon="1/3", delta=1e-7).fit(X, y).forest_
    forest.save(tmp_path / "forest.json")
    again = Forest.load(tmp_path / "forest.json")
    assert again == forest
    assert again.guarantee == forest.guarantee
    assert np.array_equal(again.predict_proba(X), forest.predict_proba(X))


def test_the_forest_describes_its_guarantee(make):
    X, y = split(small_table())
    text = make(small_domain(), epsilon=0.5).fit(X, y).forest_.describe()
    assert "epsilon=0.5 differential privacy" in text
    assert "one record added or removed" in text
    assert "of the budget" in text


def test_labels_are_the_most_probable_ones(make):
    X, y = split(small_table(500))
    for epsilon in ("0.01", 1, "inf"):
        model = make(small_domain(), epsilon=epsilon).fit(X, y)
        best = model.classes_[np.argmax(model.predict_proba(X), axis=1)]
        assert np.array_equal(model.predict(X), best)
        assert np.array_equal(model.forest_.predict(X), best)


def test_predictions_do_not_depend_on_threads_or_batches(make):
    X, y = split(small_table(400))
    model = make(small_domain(), epsilon=1).fit(X, y)
    big = pd.concat([X] * 500, ignore_index=True)
    whole = model.forest_.predict_proba(big, threads=2)
    parts = np.concatenate([model.forest_.predict_proba(X, threads=1)] * 500)
    assert np.array_equal(whole, parts)


def test_an_open_table_of_another_domain_is_refused(make):
    engine = open_table(small_table(), small_domain())
    with pytest.raises(ValueError, match="another domain"):
        make(small_domain(records=7)).fit(engine)
    with pytest.raises(ValueError, match="own labels"):
        make().fit(engine, ["no"] * 200)


def test_importances_follow_the_columns_of_the_table(make):
    X, y = split(small_table(500))
    model = make(small_domain(), epsilon="inf", random_state=0).fit(X.assign(noise=1.0), y)
    importances = model.feature_importances_
    assert importances.shape == (4,)
    assert importances[3] == 0
    assert importances.sum() == pytest.approx(1)
    assert importances[[0, 2]].sum() > importances[1]  # color and size make the label


def test_one_record_of_a_list_does_not_change_how_others_are_read(make):
    """A text cell beside numbers must not turn their missing values into text."""
    rows = [["red", "no", float("nan")], ["blue", "yes", 4.0]] * 20
    labels = ["no", "yes"] * 20
    alone = make(small_domain(records=40), epsilon="inf", random_state=0).fit(rows, labels)
    frame = make(small_domain(records=40), epsilon="inf", random_state=0).fit(
        small_table(40)[ATTRIBUTES].assign(
            color=[r[0] for r in rows], round=[r[1] for r in rows], size=[r[2] for r in rows]
        ),
        labels,
    )
    assert np.array_equal(alone.forest_.values, frame.forest_.values)
