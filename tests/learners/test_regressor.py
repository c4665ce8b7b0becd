"""Forests that predict a number: what every learner promises, and what only the flagship does."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import check_estimator

from frith import (
    Budget,
    BudgetExceeded,
    Categorical,
    Domain,
    Forest,
    ForestRegressor,
    Ledger,
    Numeric,
    Person,
    PrivacyLeakWarning,
    RandomDecisionForestRegressor,
    open_table,
)
from frith.audit.replay import arbitrary_releases, compare, observe
from frith.audit.subjects import Subject
from frith.curator import Curator
from frith.errors import DomainError, FormatError, FrithError
from frith.forest.report import make_card, make_report
from frith.growing.builder import single_leaf
from frith.growing.residual_boosting import Plan, ResidualBoosting
from frith.kernels import IntervalChoice, ResidualCells, residuals
from frith.learners.regressor import signal_of
from frith.privacy.sources import ExactSource
from tests.strategies import examples

NAMES = ["color", "size"]


def domain_of(n=None, person=None, high=8.0):
    attributes = [Categorical("color", ("red", "blue")), Numeric("size", 0, 10, missing=True)]
    who = None if person is None else Person("who", person)
    return Domain(attributes, Numeric("price", 0, high), records=n, person=who)


def table_of(n, seed=0, people=30):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"color": rng.choice(["red", "blue"], n), "size": rng.uniform(0, 10, n)})
    table["who"] = rng.integers(0, people, n).astype(str)
    price = 1 + 2 * (table["color"] == "red") + 0.4 * table["size"] + 0.3 * rng.normal(size=n)
    return table.assign(price=price.clip(0, 8))


def random_decision(domain=None, **kwargs):
    """The other regressor, of few trees whose shapes are the same in every fit."""
    return RandomDecisionForestRegressor(domain, n_trees=3, random_state=0, **kwargs)


every = pytest.mark.parametrize(
    "make", [ForestRegressor, random_decision], ids=["forest", "random-decision"]
)


def fitted(table, domain, make=ForestRegressor, **kwargs):
    return make(domain, **kwargs).fit(table[NAMES], table["price"], notices=False)


# -- scikit-learn ----------------------------------------------------------------------------------

NOISE = {
    "check_regressors_train": "asks for an R2 of 0.5 on 200 records",
    "check_regressor_data_not_an_array": "two fits differ: privacy noise is never seeded",
    "check_regressors_int": "two fits differ: privacy noise is never seeded",
    "check_supervised_y_2d": "two fits differ: privacy noise is never seeded",
    "check_fit_idempotent": "two fits differ: privacy noise is never seeded",
}


@every
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("epsilon", ["inf", 1])
def test_scikit_learn_checks_pass(epsilon, make):
    expected = {} if epsilon == "inf" else NOISE
    model = make(epsilon=epsilon)
    results = check_estimator(model, expected_failed_checks=expected, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 40


@every
def test_a_missing_domain_warns_and_the_guarantee_says_so(make):
    table = table_of(100)
    with pytest.warns(PrivacyLeakWarning, match="learned from the data"):
        model = make(epsilon=1).fit(table[NAMES], table["price"])
    assert any("domain learned" in a for a in model.forest_.guarantee.assumptions)
    assert model.domain_.label.low <= table["price"].min()
    assert model.domain_.label.high >= table["price"].max()


# -- what it learns ----------------------------------------------------------------------------------


def test_without_noise_it_finds_what_there_is():
    table = table_of(3_000)
    model = fitted(table, domain_of(), epsilon="inf")
    assert model.score(table[NAMES], table["price"]) > 0.95


def test_a_budget_that_carries_steps_predicts_better_than_a_mean():
    """A signal of 2,000; a fit that is no better than a mean would be one in many millions."""
    table, fresh = table_of(4_000), table_of(1_000, seed=1)
    scores = [
        fitted(table, domain_of(4_000), epsilon=0.5, delta=delta).score(
            fresh[NAMES], fresh["price"]
        )
        for delta in (0, 1e-6)
    ]
    assert min(scores) > 0.3


def test_loose_bounds_cost_little():
    """An interval is chosen first, so bounds eight times too wide are no eighth of the signal."""
    table, domain = table_of(4_000), domain_of(4_000, high=64.0)
    assert fitted(table, domain, epsilon=1).score(table[NAMES], table["price"]) > 0.3


@pytest.mark.parametrize(("epsilon", "most"), [(0.1, 3), (1, 1)])
def test_targets_at_one_end_of_the_shortest_interval_are_not_taken_to_be_outside(epsilon, most):
    """Bounds two hundred times too wide: a scale from the whole range would drown everything.

    At epsilon 0.1 noise chooses a longer interval in one fit of twenty, which needs no second mean.
    """
    table, domain = table_of(20_000), domain_of(20_000, high=1_600.0)
    model = fitted(table, domain, epsilon=epsilon)
    asked = [q.purpose for q in model.forest_.guarantee.asked]
    assert asked.count("mean of the target") == 2 or epsilon < 1
    assert np.abs(model.predict(table[NAMES]) - table["price"]).mean() < most


@pytest.mark.parametrize(("epsilon", "means"), [("0.001", 1), ("0.0019", 1), ("0.0049", 2)])
def test_a_tiny_budget_is_spent_on_means_alone(epsilon, means):
    forest = fitted(table_of(1_000), domain_of(10_000), epsilon=epsilon).forest_
    assert forest.trees.n_nodes == 1
    assert [q.purpose for q in forest.guarantee.asked] == ["mean of the target"] * means
    assert sum(q.share for q in forest.guarantee.asked) == 1
    assert 0 <= forest.predict(table_of(3))[0] <= 8


@pytest.mark.parametrize("target", [1.0, 7.5])
def test_a_second_mean_around_the_first_is_closer_and_has_less_noise(target, monkeypatch):
    """On sums without noise, of which the learner believes that they have that of a signal of 40."""
    engine = open_table(table_of(400).assign(price=target), domain_of(400))
    found = {}
    for room in (20, 75):
        monkeypatch.setattr("frith.growing.residual_boosting._ROOM_FOR_TWO", room)
        curator = Curator(engine, Budget.of("0.1"), source=ExactSource())
        found[room] = ForestRegressor(engine.domain).learn(curator)
    two, one = found[20], found[75]
    assert two.variance[0] < 0.7 * one.variance[0]
    assert abs(two.values[0, 0] - target) < 0.03
    assert one.variance[0] == pytest.approx(
        2 * (4 / 40) ** 2, rel=0.05
    )  # Laplace, half of the bounds


@pytest.mark.parametrize(("room", "means", "steps"), [(25, 3, 24), (10**9, 2, 0)])
def test_an_interval_without_targets_is_noticed_and_a_mean_is_taken_instead(
    monkeypatch, room, means, steps
):
    """Noise may choose any interval; the mean of 1 - |g| tells that all targets are outside.

    Where there is room, it is first looked for at the end that they are nearer to.
    """
    choose = Curator.choose

    def last_interval(curator, question, share, purpose):
        pick = choose(curator, question, share, purpose)
        return len(question) - 1 if isinstance(question, IntervalChoice) else pick

    monkeypatch.setattr(Curator, "choose", last_interval)
    monkeypatch.setattr("frith.growing.residual_boosting._LEAST_ROOM", room)
    table = table_of(4_000).assign(price=1.0)
    forest = fitted(table, domain_of(4_000), epsilon=10).forest_
    asked = [q.purpose for q in forest.guarantee.asked]
    assert asked[: 1 + means] == ["interval of the target"] + ["mean of the target"] * means
    assert asked.count("split of a step") == steps
    assert sum(q.share for q in forest.guarantee.asked) == 1
    assert forest.predict(table[NAMES]).mean() == pytest.approx(1, abs=0.5)


def test_noise_pulls_a_mean_to_the_middle_of_the_bounds():
    """At a signal of 1/100 the mean says nothing, and the middle of the range is the guess."""
    forest = fitted(table_of(10), domain_of(10), epsilon="0.001").forest_
    assert forest.values[0, 0] == pytest.approx(4, abs=0.01)


def test_shares_add_up_to_the_whole_budget_at_every_signal():
    for signal in (0.01, 19.9):
        assert Plan.of(signal) == Plan()
    for signal in (20, 74.9):
        assert Plan.of(signal).start + Plan.of(signal).second == 1
        assert not Plan.of(signal).steps
    for signal in (75, 76, 150, 1_000, 10**4, 10**9, float("inf")):
        plan = Plan.of(signal)
        assert 0 < plan.interval + plan.start < 1
        assert plan.steps > 0
    for n, epsilon in ((30, 1), (60, 1), (100, 1), (3_000, 1)):
        model = fitted(table_of(n), domain_of(n), epsilon=epsilon)
        assert sum(q.share for q in model.forest_.guarantee.asked) == 1


def test_steps_follow_from_the_signal_of_each_person():
    assert signal_of(1_000, Budget.of("0.5"), 1) == 500
    assert signal_of(1_000, Budget.of("0.5"), 4) == 125
    assert signal_of(10, Budget.of("inf"), 1) == float("inf")
    assert Plan.of(500).steps > Plan.of(125).steps > 0


# -- privacy -----------------------------------------------------------------------------------------


@every
def test_the_guarantee_is_what_was_asked_for(make):
    table = table_of(300)
    for delta in (0, 1e-6):
        guarantee = fitted(table, domain_of(), make, epsilon=0.7, delta=delta).forest_.guarantee
        assert guarantee.epsilon == Fraction(7, 10)
        assert guarantee.delta == Fraction(str(delta))
        assert sum(q.share for q in guarantee.asked) <= 1


def test_a_delta_that_buys_too_little_is_not_used(tmp_path):
    table, domain = table_of(1_000), domain_of(1_000)
    assert fitted(table, domain, epsilon=0.5, delta=1e-6).forest_.guarantee.delta == 0
    assert fitted(table, domain_of(10**6), epsilon=2, delta=1e-6).forest_.guarantee.delta > 0
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=3, delta=1e-5)
    charged = fitted(table, domain, epsilon=0.5, delta=1e-6, ledger=ledger.path)
    assert charged.forest_.guarantee.delta > 0  # the ledger counts in rho


@every
def test_noise_is_never_seeded(make):
    table = table_of(500)
    first = fitted(table, domain_of(500), make, epsilon=1).forest_
    assert any(first != fitted(table, domain_of(500), make, epsilon=1).forest_ for _ in range(4))


def replayed(pair, domain, budget, seed, make=ForestRegressor):
    """Both runs under the same invented releases; neither may fail, or nothing would be compared."""
    subject = Subject("the regressor", lambda: make(domain))
    first, second = (
        observe(subject, open_table(t, domain, threads=1), budget, arbitrary_releases(seed))
        for t in pair
    )
    assert first.public["the error"] == ""
    assert first.exchanges
    return compare(first, second, budget)


@every
@examples(12)
@given(
    st.integers(0, 59),
    st.integers(0, 10**6),
    st.sampled_from([0, 1e-6]),
    st.sampled_from([None, 60, 5_000]),
)
def test_replay_holds_for_records(make, row, seed, delta, declared):
    table = table_of(60, seed)
    table.loc[seed % 60, "price"] = [np.nan, np.inf, -3.0, 99.0][seed % 4]
    pair = table, table.drop(index=row)
    result = replayed(pair, domain_of(declared), Budget.of("0.3", delta), seed, make)
    assert result.holds, result
    if make is ForestRegressor:
        assert (result.questions > 3) == (declared == 5_000)


@every
@examples(8)
@given(st.integers(0, 59), st.integers(0, 10**6), st.sampled_from([0, 1e-6]))
def test_replay_holds_for_persons(make, row, seed, delta):
    table = table_of(60, seed, people=12)
    pair = table, table[table["who"] != table["who"][row]]
    result = replayed(pair, domain_of(2_000, person=2), Budget.of(1, delta), seed, make)
    assert result.holds, result


FAR = table_of(60).assign(price=lambda t: t["price"].where(t.index != 3, 8.0))
"""A table in which one record has the largest target."""


def test_replay_sees_a_residual_that_is_not_clipped(monkeypatch):
    """The audit can fail: with residuals four times as large as the question states."""
    plain = {
        name: getattr(function, "py_func", function)  # as it is where nothing is compiled
        for name, function in vars(residuals).items()
        if name in ("clipped_residual", "_sum_residuals", "_sum_leaves")
    }
    for name, function in plain.items():
        monkeypatch.setattr(residuals, name, function)
    clipped = plain["clipped_residual"]
    monkeypatch.setattr(residuals, "clipped_residual", lambda *a: 4 * clipped(*a))
    pair = FAR, FAR.drop(index=3)
    assert not replayed(pair, domain_of(5_000), Budget.of("0.3"), 1).holds


def test_replay_sees_an_exact_scale_of_residuals(monkeypatch):
    start = ResidualBoosting._start

    def peeking(self, center, half, share):
        mean, inside, _ = start(self, center, half, share)
        sums = self.curator._engine.aggregate(
            ResidualCells(single_leaf(), self.column, self.layout.domain, half)
        )
        return mean, inside, max(1.0, float(abs(sums[0, 0])))  # what no noise hides

    monkeypatch.setattr(ResidualBoosting, "_start", peeking)
    pair = FAR, FAR.drop(index=3)
    assert not replayed(pair, domain_of(5_000), Budget.of("0.3"), 1).holds


def test_replay_sees_bounds_that_come_from_the_records():
    traces = []
    for table in (FAR, FAR.drop(index=3)):
        own = domain_of(5_000, high=float(table["price"].max()))
        subject = Subject("own bounds", lambda own=own: ForestRegressor(own))
        engine = open_table(table, own, threads=1)
        traces.append(observe(subject, engine, Budget.of("0.3"), arbitrary_releases(1)))
    assert not compare(*traces, Budget.of("0.3")).holds


@every
def test_a_ledger_is_charged_before_every_fit_and_stops_it(tmp_path, make):
    table = table_of(100)
    ledger = Ledger.create(tmp_path / "budget.db", epsilon="0.35")
    model = make(domain_of(), epsilon=0.1, ledger=str(ledger.path))
    with pytest.raises(BudgetExceeded):
        cross_val_score(model, table[NAMES], table["price"], cv=5, error_score="raise")
    assert ledger.spent == Fraction(3, 10)


# -- tables ------------------------------------------------------------------------------------------


@every
@pytest.mark.parametrize("person", [None, 2], ids=["records", "persons"])
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
def test_every_engine_gives_the_same_exact_forest(suffix, person, tmp_path, make):
    table, domain = table_of(300), domain_of(person=person)
    table.loc[::11, "size"] = np.nan
    table.loc[::13, "price"] = np.nan
    table.loc[::17, "price"] = 1e9
    path = tmp_path / f"t{suffix}"
    if suffix == ".csv":
        table.to_csv(path, index=False)
    else:
        pq.write_table(pa.Table.from_pandas(table), path, row_group_size=37)
    here = make(domain, epsilon="inf").fit(table).forest_
    there = make(domain, epsilon="inf").fit(open_table(path, domain)).forest_
    assert here.trees == there.trees
    assert np.array_equal(here.values, there.values)


POOR = {
    "empty": lambda t: t[:0],
    "constant": lambda t: t.assign(price=3.0),
    "at a bound": lambda t: t.assign(price=8.0),
    "outside": lambda t: t.assign(price=1e300),
    "infinite": lambda t: t.assign(price=-np.inf),
    "missing": lambda t: t.assign(price=np.nan),
    "text": lambda t: t.assign(price="dear"),
    "attributes missing": lambda t: t.assign(color=None, size=np.nan),
}


@every
@pytest.mark.parametrize("epsilon", [2, "inf"])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("kind", POOR)
def test_poor_tables_train_like_any_other(kind, delta, epsilon, make):
    table = POOR[kind](table_of(100))
    model = fitted(table, domain_of(), make, epsilon=epsilon, delta=delta)
    numbers = model.predict(table_of(30)[NAMES])
    assert numbers.shape == (30,)
    assert ((numbers >= 0) & (numbers <= 8)).all()
    if kind == "constant" and epsilon == "inf":
        assert numbers == pytest.approx(3, abs=0.05)


@every
def test_targets_beyond_a_bound_count_as_the_bound(make):
    table = table_of(400)
    cut = table.assign(price=table["price"].clip(2, 4))
    domain = Domain(domain_of().attributes, Numeric("price", 2, 4))
    a, b = (fitted(t, domain, make, epsilon="inf").forest_ for t in (table, cut))
    assert a == b


@every
def test_persons_are_bounded_before_anything_is_summed(make):
    alike = pd.concat([table_of(1)] * 100).assign(who="same")
    model = make(domain_of(person=2), epsilon="inf")
    hundred, two = (clone(model).fit(alike[:n]).forest_ for n in (100, 2))
    assert hundred == two


def test_sample_weight_is_refused_with_a_reason():
    table = table_of(20)
    with pytest.raises(TypeError, match="weighted record would count for more"):
        ForestRegressor(domain_of()).fit(table[NAMES], table["price"], sample_weight=[1] * 20)


# -- the forest --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def forest():
    return fitted(table_of(2_000), domain_of(2_000), epsilon=2).forest_


def test_a_saved_forest_is_the_same_forest(forest, tmp_path):
    forest.save(tmp_path / "forest.json")
    again = Forest.load(tmp_path / "forest.json")
    assert again == forest
    assert (again.kind, again.vote) == ("scores", "sum")
    assert np.array_equal(again.predict(table_of(50)), forest.predict(table_of(50)))


def test_a_vote_that_does_not_fit_the_label_is_refused(forest):
    for vote in ("counts", "product"):
        with pytest.raises(FormatError, match="such a label is sum"):
            Forest.from_json(forest.to_json() | {"vote": vote})
    classes = replace(forest.domain, label=Categorical("price", ("a",)))
    with pytest.raises(FormatError, match="such a label is counts or"):
        Forest.from_json(forest.to_json() | {"domain": classes.to_json()})


def test_trees_add_up_to_the_prediction_within_the_bounds(forest):
    table = table_of(200, seed=5)
    codes = forest.encode(table)
    by_hand = []
    for row in codes:
        total = 0.0
        for root in forest.trees.roots:
            node = int(root)
            while forest.trees.attribute[node] >= 0:
                branches = forest.trees.children(node, forest.domain)
                node = branches[_branch(forest.trees, node, row)]
            total += forest.values[node, 0]
        by_hand.append(min(max(total, 0), 8))
    assert forest.predict(table) == pytest.approx(by_hand)


def _branch(trees, node, row):
    code, cut = int(row[trees.attribute[node]]), int(trees.cut[node])
    return int(code >= cut) if cut >= 0 else int(not trees.members(node)[code])


def test_explanations_add_up_to_the_prediction_in_its_own_unit(forest):
    table = table_of(300, seed=6)
    model = ForestRegressor.from_forest(forest)
    parts = model.explain(table[NAMES])
    assert list(parts) == ["(base)", *NAMES]
    assert parts.sum(axis=1).clip(0, 8).to_numpy() == pytest.approx(forest.predict(table))
    with pytest.raises(DomainError, match="'price' is a number"):
        forest.explain(table, label="dear")


def test_effects_and_importances_are_in_the_targets_unit():
    exact = fitted(table_of(3_000), domain_of(), epsilon="inf").forest_
    frame = exact.effects().to_frame()
    colors = frame[frame["attribute"] == "color"].set_index("value")["effect"]
    assert colors["red"] - colors["blue"] == pytest.approx(2, abs=0.2)
    assert "price, in its own unit" in str(exact.effects().draw())
    assert exact.importances()["size"] > 0


def test_it_is_described_and_printed(forest):
    text = forest.describe()
    assert "label 'price', a number between 0 and 8" in text
    assert "epsilon=2.0 differential privacy" in text
    assert "interval of the target" in text
    assert "|--- price +" in forest.export_text(0)


@pytest.mark.parametrize(
    "ask",
    [
        lambda f: f.rules(),
        lambda f: f.draw(),
        lambda f: f.draw(tree=None),
        lambda f: f.label_weights,
    ],
)
def test_what_is_made_of_labels_says_that_it_is_not_offered(forest, ask):
    with pytest.raises(FrithError, match="not offered for a forest that predicts a number"):
        ask(forest)
    with pytest.raises(DomainError, match="'price' is a number"):
        forest.predict_proba(table_of(3))


def test_an_onnx_model_predicts_the_same_numbers(forest):
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    table = table_of(200, seed=7)
    table.loc[::5, "size"] = np.nan
    high = replace(forest, values=forest.values + 3)  # some sums leave the bounds
    for model in (forest, high):
        session = runtime.InferenceSession(model.to_onnx().SerializeToString())
        cells = {name: table[[name]].to_numpy() for name in NAMES}
        (said,) = session.run(None, {**cells, "color": cells["color"].astype(str)})
        assert np.array_equal(said, model.predict(table))
    assert (said == 8).any()


def test_a_model_card_says_what_is_predicted_and_how_far_off_it_is(forest):
    card = make_card(forest)
    assert "price: 0 to 8" in card
    assert "What attributes add to price, in its own unit" in card
    assert "Not tested here." in card
    assert re.search(r"R2 is 0\.\d", make_card(forest, table_of(300, seed=9)))


def test_a_report_has_effects_and_no_rules(forest):
    page = make_report(forest)
    for words in ("What it promises", "Where the budget went", "price, in its own unit", "0 to 8"):
        assert words in page
    assert "odds" not in page
    assert "The clearest first" not in page


def test_a_report_on_ones_own_records_tells_how_far_off_it_is(forest):
    table = table_of(500, seed=8)
    truth, said = table["price"], forest.predict(table)
    page = make_report(forest, table)
    assert "as private as the records" in page
    r2, error = (
        float(re.search(rf"{name} (-?[\d.]+\d)", page)[1]) for name in ("R2 is", "absolute error")
    )
    assert r2 == pytest.approx(r2_score(truth, said), abs=0.005)
    assert error == pytest.approx(np.abs(truth - said).mean(), abs=0.01)
    table.loc[:9, "price"] = np.nan
    assert "10 records without a target were left out" in make_report(forest, table)
    for none in (table.assign(price=np.nan), table.assign(price=3.0)):
        assert "no targets that differ" in make_report(forest, none)


@pytest.mark.parametrize(
    "given",
    [{"center": 1e9}, {"loss": "quantile", "quantile": 0.0001}, {"loss": "nonsense"}],
    ids=str,
)
def test_what_is_no_parameter_is_refused_before_records_are_counted(given):
    curator = Curator(open_table(table_of(50), domain_of()), Budget.of(1))
    with pytest.raises(ValueError, match="center|quantile|loss"):
        ForestRegressor(domain_of(), **given).learn(curator)
    assert curator.remaining_share == 1


def test_an_interval_of_an_earlier_fit_is_forgotten():
    model = ForestRegressor(domain_of(), epsilon=1, interval=0.9).fit(table_of(200))
    assert model.interval_ == Fraction(9, 10)
    model.set_params(interval=None).fit(table_of(200))
    assert not hasattr(model, "interval_")
    assert not hasattr(model, "interval_radius_")
