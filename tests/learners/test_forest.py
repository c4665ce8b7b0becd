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
    ForestRegressor,
    Ledger,
    Numeric,
    Person,
    open_table,
)
from frith.audit.replay import arbitrary_releases, replay
from frith.curator import Curator
from frith.errors import TooManyCells
from frith.growing import boosting
from frith.growing.boosting import LIMIT_STEPS, MAX_STEPS, blocks_of, plan, step_shares
from frith.growing.planning import Facts, check_layout
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplits
from frith.parties import OpenSum, train_together
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
    """By the law of its choice, a first step is not for everybody with a chance of 8e-4 at an epsilon of
    0.02, and of 2e-5 at 0.1. Such a forest may be far off; that 4 of 7 are has a chance under 1e-10.
    """
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 5, (3_000, 6)), columns=[f"a{i}" for i in range(6)])
    y = np.where(rng.random(3_000) < 0.8, "often", "rare")
    domain = Domain(
        [Categorical(f"a{i}", tuple(range(5))) for i in range(6)],
        Categorical("y", ("rare", "often")),
        records=3_000,
    )
    for epsilon in (0.02, 0.1, 1):
        scores = [ForestClassifier(domain, epsilon=epsilon).fit(X, y).score(X, y) for _ in range(7)]
        assert np.median(scores) > 0.75


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
    assert model.forest_.importances().get("on", 0) < 0.1
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


def test_predictions_ask_for_no_person():
    table = small_table()
    model = ForestClassifier(person_domain(records=2), epsilon=1).fit(table)
    records = table.drop(columns="good")
    assert "who" in records
    assert "who" not in model.feature_names_in_
    said = model.predict(records)
    assert np.array_equal(said, model.predict(records.drop(columns="who")))


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


NUMBERS = tuple(a for a in small_domain().attributes if a.name == "size")
VALUES = tuple(a for a in small_domain().attributes if a.name != "size")


def purposes(attributes, labels, records, epsilon, **more):
    """What is asked of so many records and labels, in order."""
    names = tuple(f"l{k}" for k in range(labels))
    domain = Domain(attributes, Categorical("good", names), records=records, **more)
    table = small_table(60)[[*domain.names, "who"]].assign(good=np.resize(names, 60))
    model = ForestClassifier(domain, epsilon=epsilon).fit(table)
    assert sum(q.share for q in model.forest_.guarantee.asked) == 1
    return [q.purpose for q in model.forest_.guarantee.asked]


@pytest.mark.parametrize("labels", [3, 8, 20])
@pytest.mark.parametrize("epsilon", ["1e-5", "1e-7", "1e-9"])
@pytest.mark.parametrize("attributes", [NUMBERS, VALUES], ids=["numbers", "values"])
def test_an_epsilon_too_small_for_one_step_still_trains(attributes, labels, epsilon):
    """A step of many labels is proved from some hundred-thousandths on; before, the charged fit failed."""
    asked = purposes(attributes, labels, 10**12, epsilon)
    assert asked
    assert not any(purpose.startswith("split of step") for purpose in asked)


@pytest.mark.parametrize(
    ("attributes", "labels", "room", "first", "last"),
    [
        (NUMBERS, 3, 1, "partition and labels", "partition and labels"),
        (NUMBERS, 3, 19, "partition and labels", "partition and labels"),
        (NUMBERS, 10, 9, "partition and labels", "partition and labels"),
        (NUMBERS, 10, 11, "partition and labels", ("records that are right", "labels in the leaves")),
        (NUMBERS, 3, 21, "partition and labels", ("records that are right", "labels in the leaves")),
        (NUMBERS, 3, 34, "partition and labels", "labels in the leaves"),
        (NUMBERS, 3, 119, "partition and labels", "labels in the leaves"),
        (NUMBERS, 9, 79, "partition and labels", "labels in the leaves"),
        (NUMBERS, 9, 81, "labels", ""),
        (NUMBERS, 3, 121, "partition and labels", "strength"),
        (NUMBERS, 3, 10**9, "partition and labels", "strength"),
        (VALUES, 3, 59, "partition and labels", "labels in the leaves"),
        (VALUES, 3, 61, "labels by value", "labels by value"),
        (VALUES, 3, 81, "labels by value", "temperature"),
        (VALUES, 3, 3_001, "labels by value", "gradients of tree"),
        (NUMBERS, 17, 79, "partition and labels", "labels in the leaves"),
        (NUMBERS, 17, 81, "labels by value", "temperature"),
    ],
)  # fmt: skip
def test_each_route_is_taken_where_public_facts_say(attributes, labels, room, first, last):
    asked = purposes(attributes, labels, room * labels, 1)
    assert asked[0] == first
    assert asked[-1].startswith(last)


@pytest.mark.parametrize(
    ("labels", "room", "share"),
    [(4, 19, 0), (4, 21, 100), (4, 24, 100), (4, 26, 150), (10, 9, 0), (10, 11, 91), (10, 21, 150)],
)
def test_leaves_are_counted_where_each_label_and_all_of_them_have_signal(labels, room, share):
    domain = Domain(
        NUMBERS, Categorical("good", tuple(f"l{k}" for k in range(labels))), records=room * labels
    )
    facts = Facts(Layout(domain, mixed_cuts(domain)), room * labels, Budget.of(1), 1)
    assert facts.levels(Fraction(1)) == (0, Fraction(share, 1_000))
    assert facts.counts_leaves == (share == 150)


@pytest.mark.parametrize(("shares", "last"), [("even", "gradients of tree"), ("odd", "strength")])
def test_a_look_at_many_labels_decides_where_steps_start(shares, last):
    names = tuple("abcdefgh")
    y = np.resize(names, 4_000) if shares == "even" else np.repeat("a", 4_000)
    domain = Domain(NUMBERS, Categorical("good", names), records=4_000)
    X = pd.DataFrame({"size": np.random.default_rng(0).uniform(0, 10, 4_000)})
    asked = ForestClassifier(domain, epsilon=1).fit(X, y).forest_.guarantee.asked
    assert (asked[0].purpose, asked[0].share) == ("labels", Fraction(5, 100))
    assert asked[-1].purpose.startswith(last)
    assert sum(question.share for question in asked) == 1


@pytest.mark.parametrize("kind", ["numbers", "values"])
def test_what_two_attributes_say_together_is_found_by_one_choice(kind):
    """Neither says anything by itself, so no split of one attribute is better than a label for all."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.integers(0, 2, (900, 4)), columns=list("abcd"))
    y = np.where(X["a"] + X["b"] == 1, "odd", np.where(X["a"] == 1, "both", "none"))
    if kind == "numbers":
        X = X * 5.0 + rng.uniform(0, 4, X.shape)
        attributes = [Numeric(name, 0, 10) for name in X]
    else:
        attributes = [Categorical(name, (0, 1)) for name in X]
    domain = Domain(attributes, Categorical("y", ("none", "odd", "both")), records=900)
    model = ForestClassifier(domain, epsilon=0.15).fit(X, y)
    assert model.forest_.guarantee.asked[0].purpose == "partition and labels"
    assert model.score(X, y) > 0.95


def test_a_tiny_budget_names_labels_where_a_partition_is_not_proven():
    assert purposes(NUMBERS, 3, 10**7, "1e-6")[0] == "labels of level 1"


def test_more_labels_than_pairs_can_be_listed_of_are_named_by_one_choice():
    """1,100 labels at 50 cuts are 60 million candidates; of fewer cuts or labels there is a tree."""
    assert purposes(NUMBERS, 1_100, 500, 1) == ["label of everybody", "labels in the leaves"]
    assert purposes(VALUES[1:], 1_100, 500, 1)[0] == "labels of level 1"
    assert purposes(VALUES[1:], 4_200, 500, 1)[0] == "label of everybody"


def test_a_tree_that_names_labels_is_as_high_as_its_last_level_may_be_wide(monkeypatch):
    domain = Domain(VALUES, Categorical("good", tuple("abc")), records=10**9)
    facts = Facts(Layout(domain, mixed_cuts(domain)), 10**9, Budget.of("3e-7"), 1)
    assert facts.levels(Fraction(1))[0] == 3
    one = len(BinarySplits(facts.layout)) * 9
    for most, levels in ((one - 1, None), (one, 1), (2 * one, 2), (4 * one - 1, 2), (4 * one, 3)):
        monkeypatch.setattr("frith.growing.planning.MAX_CELLS", most)
        assert facts.levels(Fraction(1))[0] == levels


@pytest.mark.parametrize(
    ("room", "first"),
    [(79, "labels of level 1"), (81, "labels by value"), (9_000, "labels by value")],
)
def test_splits_that_are_too_many_to_score_give_way_to_tables(room, first, monkeypatch):
    monkeypatch.setattr("frith.kernels.splits.MAX_CELLS", 3 * 10)
    asked = purposes(NUMBERS, 3, 3 * room, 1)
    assert asked[0] == first
    assert not any(purpose.startswith("split of step") for purpose in asked)


def test_two_labels_have_finer_cuts_only_where_one_step_may_choose_from_them(monkeypatch):
    domain = small_domain(records=10**9)
    facts = Facts(Layout(domain, mixed_cuts(domain)), 10**9, Budget.of(1), 1)
    assert facts.layout_of_steps is not facts.layout
    few = 2 * len(BinarySplits(facts.layout_of_steps))
    for cells, is_fine in ((few, True), (few - 1, False)):
        monkeypatch.setattr("frith.kernels.splits.MAX_CELLS", cells)
        assert (facts.layout_of_steps is not facts.layout) == is_fine


@pytest.mark.parametrize("records", [None, 100])
@pytest.mark.parametrize(
    ("label", "most"),
    [
        (Categorical("good", ("no", "yes")), 2 * 21),
        (Categorical("good", ("no", "yes", "maybe")), 3 * 23),
        (Numeric("weight", 0, 1), 2 * 21),
    ],
    ids=["two", "three", "number"],
)
def test_a_domain_that_is_too_large_costs_nothing(label, most, records, tmp_path, monkeypatch):
    """Also where the number of records would be paid for first. There are 22 bins and 21 splits."""
    domain = Domain(small_domain().attributes, label, records=records)
    layout = Layout(domain, mixed_cuts(domain))
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", most)
    check_layout(layout)
    monkeypatch.setattr("frith.kernels.closed.MAX_CELLS", most - 1)
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    kind = ForestRegressor if domain.has_target else ForestClassifier
    model = kind(domain, epsilon=1, ledger=tmp_path / "ledger.db")
    table = small_table().drop(columns="good").assign(**{label.name: 0})
    with pytest.raises(TooManyCells, match="the domain's attributes and labels"):
        model.fit(table)
    assert ledger.spent == 0


@pytest.mark.parametrize(("records", "epsilon"), [(10**6, "0.1"), (10**8, "0.005"), (10**9, "1")])
@pytest.mark.parametrize("attributes", [NUMBERS, VALUES], ids=["numbers", "values"])
def test_many_records_at_a_small_epsilon_make_no_step_too_small(attributes, records, epsilon):
    asked = purposes(attributes, 5, records, epsilon)
    assert sum(purpose.startswith("split of step") for purpose in asked) >= 9


def test_records_of_a_person_count_as_one():
    """With 10 records a person there is a tenth of the room."""
    person = {"person": Person("who", 10)}
    assert "strength" in purposes(NUMBERS, 3, 3_000, 1)
    assert "strength" not in purposes(NUMBERS, 3, 3_000, 1, **person)


def test_a_partition_names_more_labels_than_a_split_has_sides():
    rng = np.random.default_rng(4)
    names, n = tuple("abcdef"), 3_000
    label = rng.integers(0, 6, n)
    X = pd.DataFrame({"place": label + rng.random(n), "no": rng.random(n)})
    domain = Domain(
        [Numeric("place", 0, 6), Numeric("no", 0, 1)], Categorical("y", names), records=n
    )
    y = np.array(names)[label]
    model = ForestClassifier(domain, epsilon="0.05").fit(X, y)  # 25 records a label and epsilon
    assert model.score(X, y) > 0.7  # all but one of six labels at least; 0.886, and 0.011 by noise
    assert len(model.forest_.trees.leaves) >= 6


def test_labels_that_no_part_names_keep_a_share():
    """One label of six for either value, and signal for a partition without any counts."""
    names = tuple("abcdef")
    domain = Domain([Categorical("x", (0, 1))], Categorical("y", names), records=9_000)
    X = np.arange(9_000)[:, None] % 2
    model = ForestClassifier(domain, epsilon="1/160").fit(X, np.array(names)[X[:, 0]])
    proba = model.predict_proba([[0], [1]])
    assert model.predict([[0], [1]]).tolist() == ["a", "b"]
    assert np.all(proba >= 0.09)
    assert np.all(proba.max(axis=1) < 0.5)


def test_labels_that_are_right_are_said_to_be():
    """The same with signal enough to count how many records are right, which is all of them."""
    names = tuple("abcdef")
    domain = Domain([Categorical("x", (0, 1))], Categorical("y", names), records=18_000)
    X = np.arange(18_000)[:, None] % 2
    said = []
    for _ in range(15):  # one of 25 says less: the median of fifteen with a chance below 1e-7
        model = ForestClassifier(domain, epsilon="1/160").fit(X, np.array(names)[X[:, 0]])
        said.append(model.predict_proba([[0], [1]]).max())
    asked = model.forest_.guarantee.asked
    assert [q.purpose for q in asked] == ["partition and labels", "records that are right"]
    assert asked[1].share == Fraction(89, 1000)
    assert model.predict([[0], [1]]).tolist() == ["a", "b"]
    assert np.median(said) > 0.6


def test_a_tree_names_the_labels_of_its_leaves_where_a_partition_is_not_proven(monkeypatch):
    monkeypatch.setattr(Facts, "_can_part", lambda *_: False)
    rng = np.random.default_rng(5)
    n = 4_000
    X = pd.DataFrame(rng.random((n, 4)), columns=list("pqrs"))
    y = np.array(["low", "mid", "high"])[np.where(X.p < 0.5, 0, np.where(X.q < 0.5, 1, 2))]
    domain = Domain([Numeric(c, 0, 1) for c in "pqrs"], Categorical("y", ("low", "mid", "high")),
                    records=n)  # fmt: skip
    model = ForestClassifier(domain, epsilon="0.08").fit(X, y)  # two or three levels
    assert model.score(X, y) > 0.8  # one level has 0.75; to lose 800 of the records: e^-20
    assert model.forest_.guarantee.asked[0].purpose == "labels of level 1"


def test_steps_that_only_add_noise_are_weakened():
    """With nothing to learn but the most common label, nobody is led astray."""
    rng = np.random.default_rng(6)
    n = 3_000
    X = pd.DataFrame(rng.random((n, 6)), columns=list("pqrstu"))
    y = rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2])
    domain = Domain([Numeric(c, 0, 1) for c in "pqrstu"], Categorical("y", ("a", "b", "c")),
                    records=n)  # fmt: skip
    scores = [ForestClassifier(domain, epsilon="1").fit(X, y).score(X, y) for _ in range(4)]
    assert np.mean(scores) > np.mean(y == "a") - 0.03


def test_parties_share_tables_whatever_the_room():
    """They cannot choose privately together: a choice would read noisy tables of everything."""
    rng = np.random.default_rng(7)
    n = 3_000
    X = pd.DataFrame({"p": rng.random(n)})
    X["y"] = np.array(["a", "b", "c"])[(3 * X.p).astype(int)]
    domain = Domain([Numeric("p", 0, 1)], Categorical("y", ("a", "b", "c")), records=n)
    for epsilon in ("0.5", "2"):
        parties = {
            name: Curator(open_table(part, domain), Budget.of(epsilon))
            for name, part in (("one", X[::2]), ("two", X[1::2]))
        }
        model = train_together(ForestClassifier(domain), OpenSum(parties, disjoint=True))
        assert model.score(X[["p"]], X.y) > 0.6
        assert {q.purpose for q in parties["one"].guarantee.asked} == {
            "labels by value", "temperature"
        }  # fmt: skip


def test_the_exact_limit_is_a_good_learner_of_many_labels():
    rng = np.random.default_rng(0)
    n = 4_000
    X = pd.DataFrame(rng.integers(0, 3, (n, 4)), columns=list("pqrs"))
    y = np.array(["even", "odd", "high"])[np.where(X.p == 2, 2, (X.q + X.r) % 2)]
    domain = Domain(
        [Categorical(c, (0, 1, 2)) for c in "pqrs"], Categorical("y", ("even", "odd", "high"))
    )
    assert ForestClassifier(domain, epsilon="inf").fit(X, y).score(X, y) > 0.95
