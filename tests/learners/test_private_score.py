"""`frith.private_score`: forests and other predictors; charged first, and no record makes it raise."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import frith
from frith import (
    Budget,
    BudgetExceeded,
    Domain,
    ForestClassifier,
    Ledger,
    Numeric,
    Person,
    private_score,
)
from frith.audit.replay import arbitrary_releases, replay
from frith.curator.curator import RECORDS_ARE_PUBLIC
from frith.curator.scoring import OPEN_PREDICTOR, ScoreRequest, even_edges, score_bins
from frith.engines import predicted
from frith.engines.predicted import ROW_WISE, Predicted, predict_all
from tests.tables import person_domain, small_domain, small_table

DOMAIN = small_domain()
NAMES = list(DOMAIN.names)


@pytest.fixture(scope="module")
def model():
    table = small_table()
    return ForestClassifier(DOMAIN, epsilon=5).fit(table[NAMES], table["good"], notices=False)


def by_size(rows):
    """A predictor that anyone can check."""
    return np.asarray(rows["size"], dtype=float) / 10


def test_an_estimator_and_its_forest_have_the_same_scores(model, tmp_path):
    table = small_table(300, seed=1)
    path = tmp_path / "records.parquet"
    table.to_parquet(path)
    exact = {"epsilon": float("inf"), "by": "color"}
    scores = [
        private_score(model, table[NAMES], table["good"], **exact),
        private_score(model.forest_, table, **exact),
        private_score(model.forest_, path, **exact),
        private_score(model, frith.open_table(table, DOMAIN), **exact),
        private_score(lambda rows: model.predict_proba(rows)[:, 1], table, domain=DOMAIN, **exact),
    ]
    assert all(s.counts.tolist() == scores[0].counts.tolist() for s in scores)
    tables = [s.groups[0].counts.tolist() for s in scores]
    assert all(t == tables[0] for t in tables)


def test_any_estimator_can_be_scored():
    table = small_table(400)
    X = table[["size"]].to_numpy()
    model = LogisticRegression().fit(X, table["good"])
    domain = Domain([Numeric("size", 0, 10)], DOMAIN.label)
    score = private_score(model, X, table["good"], epsilon=50, domain=domain)
    truth = roc_auc_score(table["good"] == "yes", model.predict_proba(X)[:, 1])
    assert score.auc.low - 0.01 <= truth <= score.auc.high + 0.01
    assert {ROW_WISE, OPEN_PREDICTOR} <= set(score.guarantee.assumptions)
    first = private_score(model, X, table["good"], epsilon=50, domain=domain, positive="no")
    assert first.auc.value == pytest.approx(score.auc.value, abs=0.05)


@pytest.mark.parametrize("make", [lambda t: t, pa.Table.from_pandas])
def test_a_function_is_scored_on_frames_and_arrow_tables(make):
    table = small_table(200)
    score = private_score(by_size, make(table), epsilon=float("inf"), domain=DOMAIN, by="round")
    chances, truth = table["size"] / 10, table["good"] == "yes"
    assert score.accuracy.value == pytest.approx(np.mean((chances > 0.5) == truth))
    rates = {row["group"]: row["recall"].value for row in score.by("round")}
    for group, part in table.groupby("round"):
        chosen = part[part["good"] == "yes"]
        assert rates[group] == pytest.approx((chosen["size"] > 5).mean())


class Panic(BaseException):
    """As libraries in other languages raise it."""


@pytest.mark.parametrize("kind", [SystemExit, Panic])
def test_no_record_makes_a_predictor_end_the_process(kind):
    def ends(rows):
        if "b" in rows:
            raise kind("there is a record with b")
        return np.full(len(rows), 0.25)

    assert predict_all(ends, ["a", "b", "a"]).tolist() == [0.25, 0.5, 0.25]


def test_whoever_waits_can_stop():
    def stopped(rows):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        predict_all(stopped, ["a"])


def test_a_missing_column_is_refused_and_nothing_is_charged(tmp_path):
    """Else the predictor would fail on every record, which is a number too."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    given = {"epsilon": 1, "domain": DOMAIN, "ledger": tmp_path / "budget.db"}
    with pytest.raises(frith.errors.DataError, match="color"):
        private_score(by_size, small_table().drop(columns="color"), **given)
    assert ledger.remaining == 1


def test_opening_converts_no_record(monkeypatch):
    seen = []
    check = predicted.check_table
    monkeypatch.setattr(
        predicted, "check_table", lambda t, *more: seen.append(t) or check(t, *more)
    )
    edges = even_edges(4)
    table = Predicted(small_table(), DOMAIN, None, (), by_size, edges)
    monkeypatch.setattr(table, "_columns", None)
    assert len(seen) == 1


def test_no_record_makes_a_predictor_raise():
    def picky(rows):
        if (rows["size"] > 9).any():
            raise ValueError("this tells of a record")
        return np.where(rows["size"] < 1, np.nan, rows["size"] / 10)

    table = small_table(200)
    rows = table.iloc[:50]
    expected = np.where((rows["size"] > 9) | (rows["size"] < 1), 0.5, rows["size"] / 10)
    assert predict_all(picky, rows).tolist() == expected.tolist()
    private_score(picky, table, epsilon=1, domain=DOMAIN)


def test_a_predictor_that_never_works_is_not_charged_for(tmp_path):
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    given = {"epsilon": 1, "domain": DOMAIN, "ledger": tmp_path / "budget.db"}
    for broken, error, words in (
        (lambda rows: 1 / 0, ValueError, "made up from the domain"),
        ("accuracy", TypeError, "function of rows"),
        (LogisticRegression().fit([[0], [1]], ["a", "b"]), ValueError, "no class"),
        (ForestClassifier(DOMAIN), ValueError, "not fitted"),
    ):
        with pytest.raises(error, match=words):
            private_score(broken, small_table(), **given)
    with pytest.raises(ValueError, match="pass domain="):
        private_score(by_size, small_table(), epsilon=1)
    with pytest.raises(TypeError, match="read the records"):
        private_score(by_size, tmp_path / "x.parquet", epsilon=1, domain=DOMAIN)
    assert ledger.remaining == 1


def test_it_is_charged_before_the_predictor_sees_a_record(model, tmp_path):
    Ledger.create(tmp_path / "budget.db", epsilon="0.5")
    seen = []

    def watching(rows):
        seen.append(len(rows))
        return by_size(rows)

    given = {"domain": DOMAIN, "ledger": tmp_path / "budget.db"}
    with pytest.raises(BudgetExceeded):
        private_score(watching, small_table(150), epsilon=1, **given)
    assert 150 not in seen
    private_score(watching, small_table(150), epsilon="0.3", **given)
    assert seen[-1] == 150
    private_score(model, small_table(), epsilon="0.2", ledger=tmp_path / "budget.db")
    assert Ledger(tmp_path / "budget.db").remaining == 0
    with frith.budget(epsilon=1) as left:
        private_score(model, small_table(), epsilon="0.25")
    assert left.remaining == 0.75


class Scoring:
    """A learner, to the audit: what it makes of a curator is a score."""

    def learn(self, curator):
        return score_bins(curator, ScoreRequest(by=("color",)).read(DOMAIN), even_edges(6))


@pytest.mark.parametrize("persons", [False, True])
def test_one_unit_costs_what_is_charged(persons):
    domain = person_domain(records=2) if persons else DOMAIN
    table = small_table(60, people=12)
    for row in (0, 7, 31):
        without = table[table["who"] != table["who"][row]] if persons else table.drop(index=row)
        pair = (
            Predicted(t, domain, None, ("color",), by_size, even_edges(6)) for t in (table, without)
        )
        result = replay(Scoring(), *pair, Budget.of("0.3"), arbitrary_releases(row))
        assert result.holds
        assert result.loss > 0


def test_the_column_of_bins_has_a_name_of_its_own():
    table = small_table().rename(columns={"color": "bin", "who": "bin_"})
    domain = frith.Domain(
        [frith.Categorical("bin", ("red", "green", "blue")), *DOMAIN.attributes[1:]],
        DOMAIN.label,
        person=frith.Person("bin_", 3),
    )
    score = private_score(by_size, table, epsilon=1, domain=domain, by="bin")
    assert [row["group"] for row in score.by("bin")] == ["red", "green", "blue"]


def test_a_forest_is_scored_under_the_domain_that_is_given(model, tmp_path):
    """It says who is protected: to pass one and get another's neighbors would be a false promise."""
    table = small_table(60).assign(patient=1)
    persons = replace(DOMAIN, person=Person("patient", 3), records=60)
    persons.save(tmp_path / "domain.toml")
    for domain in (persons, tmp_path / "domain.toml"):
        score = private_score(model, table, epsilon=float("inf"), domain=domain)
        assert score.counts.sum() == 3
        score = private_score(model, table, epsilon=1, domain=domain)
        assert "one person" in score.guarantee.neighbors
        assert RECORDS_ARE_PUBLIC in score.guarantee.assumptions, "its bins follow from them"
    with pytest.raises(ValueError, match="another domain"):
        private_score(model, frith.open_table(table, DOMAIN), epsilon=1, domain=persons)
    fewer = replace(DOMAIN, attributes=DOMAIN.attributes[:2])
    with pytest.raises(ValueError, match="other attributes"):
        private_score(model, table, epsilon=1, domain=fewer)
