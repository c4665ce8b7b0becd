"""The flagship: its schedule from public facts, its shares, and that it learns."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import (
    Budget,
    Categorical,
    Domain,
    Forest,
    ForestClassifier,
    Ledger,
    Numeric,
    open_table,
)
from frith.audit.replay import arbitrary_releases, replay
from frith.growing import boosting
from frith.growing.boosting import LIMIT_STEPS, MAX_STEPS, blocks_of, plan, step_shares
from tests.strategies import examples
from tests.tables import person_domain, small_domain, small_table


@given(st.integers(1, LIMIT_STEPS))
def test_shares_add_up_to_one_and_blocks_to_all_steps(steps):
    shares = step_shares(steps)
    assert sum(shares) == 1
    assert len(shares) == steps
    assert min(shares) > 0
    blocks = blocks_of(steps)
    assert sum(blocks) == steps
    assert all(1 <= block <= 6 for block in blocks)


def test_little_room_buys_few_steps_and_no_cells():
    assert [plan(room)[0] for room in (0, 2, 2.1, 3.7)] == [1, 1, 3, 3]
    for room in np.arange(0, 12.6, 0.1):
        steps, _, has_cells = plan(room)
        assert steps % 2 == 1
        assert not has_cells
    assert plan(13) == (13, 1.2, True)
    assert plan(1e9)[0] == MAX_STEPS
    assert plan(math.inf)[0] == boosting.LIMIT_STEPS


@pytest.mark.parametrize("records", [50, 200, 2_000, 20_000])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("labels", [2, 4])
def test_every_question_is_listed_and_shares_add_up_to_the_whole(records, delta, labels):
    """Public facts alone decide, so a declared number is enough: the table may be small."""
    names = ("a", "b", "c", "d")[:labels]
    domain = Domain(small_domain().attributes, Categorical("good", names), records=records)
    table = small_table(60)
    y = np.resize(names, 60)
    model = ForestClassifier(domain, epsilon=1, delta=delta).fit(table.drop(columns="good"), y)
    asked = model.forest_.guarantee.asked
    assert sum(question.share for question in asked) == 1
    assert all(str(question) in model.forest_.describe() for question in asked)


def test_an_undeclared_number_of_records_is_bought_first():
    model = ForestClassifier(small_domain(), epsilon=1).fit(small_table())
    first, *_ = model.forest_.guarantee.asked
    assert (first.purpose, first.share) == ("number of records", Fraction(1, 50))


def test_a_request_with_a_delta_is_pure_where_that_is_as_good():
    table = small_table(200)
    small = ForestClassifier(small_domain(records=200), epsilon=1, delta=1e-6).fit(table)
    assert small.forest_.guarantee.delta == 0
    assert small.forest_.guarantee.epsilon == 1
    large = ForestClassifier(small_domain(records=10**6), epsilon=1, delta=1e-6).fit(table)
    assert large.forest_.guarantee.delta == Fraction(1, 10**6)
    assert {q.mechanism for q in large.forest_.guarantee.asked} == {
        "private choice", "discrete Gaussian"
    }  # fmt: skip


def test_the_ledger_is_charged_what_was_asked_for(tmp_path):
    """An account in rho would charge a pure epsilon far more than one with a delta."""
    path = tmp_path / "ledger.db"
    before = Ledger.create(path, epsilon=1, delta=1e-6).remaining
    domain = small_domain(records=200)
    model = ForestClassifier(domain, epsilon="1/10", delta=1e-6, ledger=path).fit(small_table())
    assert model.forest_.guarantee.delta == Fraction(1, 10**6)
    assert before - Ledger(path).remaining == Budget.of("1/10", 1e-6).total


def test_with_nothing_to_learn_the_common_label_wins():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 5, (3_000, 6)), columns=[f"a{i}" for i in range(6)])
    y = np.where(rng.random(3_000) < 0.8, "often", "rare")
    domain = Domain(
        [Categorical(f"a{i}", tuple(range(5))) for i in range(6)],
        Categorical("y", ("rare", "often")),
        records=3_000,
    )
    for epsilon in (0.02, 0.1, 1):
        scores = [ForestClassifier(domain, epsilon=epsilon).fit(X, y).score(X, y) for _ in range(5)]
        assert np.mean(scores) > 0.77


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_grouping_a_cut_and_an_interaction_are_found(delta):
    rng = np.random.default_rng(1)
    n = 20_000
    X = pd.DataFrame(
        {"kind": rng.integers(0, 8, n), "size": rng.random(n), "on": rng.integers(0, 2, n)}
    )
    odd = np.isin(X.kind, [1, 4, 6]) ^ (X["size"] > 0.3)
    y = np.where(odd ^ (rng.random(n) < 0.1), "yes", "no")
    domain = Domain(
        [Categorical("kind", tuple(range(8))), Numeric("size", 0, 1), Categorical("on", (0, 1))],
        Categorical("y", ("no", "yes")),
        records=n,
    )  # fmt: skip
    model = ForestClassifier(domain, epsilon=1, delta=delta).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.forest_.importances()["on"] < 0.1
    proba = model.predict_proba(X)[:, 1]
    assert -np.mean(np.log(np.where(y == "yes", proba, 1 - proba))) < 0.6


def test_many_labels_by_tables_with_an_order_and_without(tmp_path):
    rng = np.random.default_rng(2)
    n = 6_000
    label = rng.integers(0, 5, n)
    X = pd.DataFrame(
        {
            "near": label + rng.normal(0, 0.7, n),
            "kind": (label + rng.integers(0, 2, n)) % 5,
            "no": 0,
        }
    )
    domain = Domain(
        [Numeric("near", -3, 8), Categorical("kind", tuple(range(5))), Categorical("no", (0, 1))],
        Categorical("y", tuple("abcde")),
        records=n,
    )
    y = np.array(list("abcde"))[label]
    model = ForestClassifier(domain, epsilon=1).fit(X, y)
    assert model.score(X, y) > 0.6
    model.forest_.save(tmp_path / "forest.json")
    loaded = Forest.load(tmp_path / "forest.json")
    assert np.array_equal(loaded.predict(X), model.predict(X))


def test_persons_widen_the_noise():
    table = small_table(100).assign(who=range(100))
    one, five = (
        ForestClassifier(replace(person_domain(records=m), records=10**5), epsilon=1).fit(table)
        for m in (1, 5)
    )
    assert max(q.sensitivity for q in five.forest_.guarantee.asked) == 5 * max(
        q.sensitivity for q in one.forest_.guarantee.asked
    )


# -- replay, with as many steps as a large budget would make -----------------------------------


@examples(12)
@given(
    st.integers(0, 49),
    st.integers(0, 10**6),
    st.sampled_from([2, 3, 5]),
    st.sampled_from([200, 3_000, 10**5]),
    st.sampled_from([0, 1e-6]),
)
def test_replay_holds_whatever_the_room(row, seed, labels, records, delta):
    names = tuple("abcde"[:labels])
    domain = Domain(small_domain().attributes, Categorical("good", names), records=records)
    table = small_table(50, seed=seed)
    table = table.assign(good=np.random.default_rng(seed).choice(names, len(table)))
    pair = (open_table(t, domain) for t in (table, table.drop(index=row)))
    budget = Budget.of(1, delta)
    result = replay(ForestClassifier(domain), *pair, budget, arbitrary_releases(seed, 10**6))
    assert result.holds, result
    assert result.loss > 0


def test_each_route_is_taken_somewhere():
    """Steps for numbers, tables for values, both where the budget is large."""

    def purposes(domain, epsilon):
        y = np.resize(domain.label.values, 60)
        table = small_table(60).drop(columns="good")[list(domain.names)]
        model = ForestClassifier(domain, epsilon=epsilon).fit(table, y)
        return " ".join(q.purpose for q in model.forest_.guarantee.asked)

    three = Categorical("good", ("a", "b", "c"))
    numbers = Domain(
        [a for a in small_domain().attributes if a.name == "size"], three, records=3_000
    )
    values = Domain(
        [a for a in small_domain().attributes if a.name != "size"], three, records=3_000
    )
    assert "split of step" in purposes(numbers, 1)
    assert "labels by value" not in purposes(numbers, 1)
    assert "split of step" not in purposes(values, 1)
    assert "labels by value" in purposes(values, 1)
    assert "temperature" in purposes(values, 1)
    assert "split of step" in purposes(values, 10)
    assert "labels by value" in purposes(values, 10)


def test_the_exact_limit_is_a_good_learner_of_many_labels():
    rng = np.random.default_rng(0)
    n = 4_000
    X = pd.DataFrame(rng.integers(0, 3, (n, 4)), columns=list("pqrs"))
    y = np.array(["even", "odd", "high"])[np.where(X.p == 2, 2, (X.q + X.r) % 2)]
    domain = Domain(
        [Categorical(c, (0, 1, 2)) for c in "pqrs"], Categorical("y", ("even", "odd", "high"))
    )
    assert ForestClassifier(domain, epsilon="inf").fit(X, y).score(X, y) > 0.95
