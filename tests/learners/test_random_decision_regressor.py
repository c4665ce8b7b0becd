"""Random trees with noisy sums: against a loop, and what noise does to their leaves."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from frith import Budget, ForestRegressor, RandomDecisionForestRegressor, open_table
from frith.curator import Curator, Release
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_label
from frith.errors import FormatError
from frith.forest.trees import find_leaf
from frith.growing.oblivious import ask_once
from frith.kernels.gradients import UNIT
from frith.kernels.splits import BinarySplit
from frith.learners import random_decision_regressor as learner
from frith.parties import PartyRelease, Structure, make_structure, merge, release
from frith.parties.joint import OpenSum, train_together
from frith.parties.merging import MergeError
from tests.learners.test_regressor import NAMES, domain_of, fitted, table_of


def make(domain, **kwargs):
    return RandomDecisionForestRegressor(domain, random_state=0, **kwargs)


def test_a_leaf_predicts_the_mean_of_its_targets_pulled_to_that_of_all():
    """Without noise, by a loop: a leaf of n records keeps n / (n + within / between) of its own."""
    table, domain = table_of(120), domain_of()
    forest = fitted(table, domain, make, epsilon="inf", n_trees=2, max_depth=2).forest_
    target, trees = domain.target, forest.trees
    cells = encode_label(columns_of(table)[0]("price"), target)
    truth = target.low + (cells + 0.5) * (target.high - target.low) / target.cells
    codes = forest.encode(table[NAMES], threads=1)
    for root in trees.roots:
        leaf_of = [find_leaf(codes, i, root, trees.nodes, trees.sets) for i in range(len(codes))]
        for leaf in set(leaf_of):
            own = truth[np.array(leaf_of) == leaf]
            kept = len(own) / (len(own) + learner._WITHIN / learner._BETWEEN)
            expected = (kept * own.mean() + (1 - kept) * truth.mean()) / 2
            assert forest.values[trees.leaves[leaf], 0] == pytest.approx(expected, abs=2e-3)


def test_without_noise_it_finds_what_there_is():
    table = table_of(2_000)
    model = fitted(table, domain_of(2_000), make, epsilon="inf", n_trees=20)
    assert model.score(table[NAMES], table["price"]) > 0.7


def test_trees_share_what_is_left_of_the_budget_evenly():
    for domain, size in ((domain_of(200), 0), (domain_of(), Fraction(1, 20))):
        asked = fitted(table_of(200), domain, make, epsilon=1, n_trees=4).forest_.guarantee.asked
        trees = [q.share for q in asked if q.purpose.startswith("sums in tree")]
        assert trees == [(1 - size) / 4] * 4
        assert sum(q.share for q in asked) == 1


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_the_depth_follows_from_records_over_noise(unit):
    """The noise it is planned with is that of the mechanism."""
    budget = Budget.of(1, 0 if unit == "epsilon" else 1e-6)
    curator = Curator(open_table(table_of(50), domain_of(10**6, person=2)), budget)
    forest = make(None, n_trees=4).learn(curator)
    scale = forest.guarantee.asked[0].scale / 2**14  # of a sum, in records
    noise = learner._noise(budget, 4, 2)
    assert noise == pytest.approx(scale * (2**0.5 if unit == "epsilon" else 1), rel=1e-3)
    shallow = make(None, n_trees=4).learn(
        Curator(open_table(table_of(50), domain_of(20, person=2)), budget)
    )
    assert shallow.max_depth < forest.max_depth


def test_a_leaf_that_is_mostly_noise_predicts_the_mean_of_all():
    """Two leaves of 40 records, at a tenth and nine tenths of the range: noise pulls them together."""
    tree = ask_once(domain_of(), BinarySplit(1, cut=512))
    values = np.array([[4, 36], [36, 4]]) * UNIT
    apart = []
    for noise in (0.0, 10.0, 1_000.0):
        (part,) = learner._parts(domain_of().target, [tree], [Release(values, (noise * UNIT) ** 2)])
        assert part.scores.mean() == pytest.approx(4)
        apart.append(float(np.ptp(part.scores)))
    assert apart[0] > 6
    assert apart[0] > apart[1] > 1 > 0.01 > apart[2]


def test_noise_pulls_the_mean_of_all_to_the_middle():
    """Targets at a tenth of the range; the more noise there is, the less of that is believed."""
    said = [
        learner._mean([Release(np.array([[4, 36]]) * UNIT, (s * UNIT) ** 2)]) for s in (0, 10, 1e6)
    ]
    assert said[0] == pytest.approx(0.1)
    assert 0.1 < said[1] < said[2] < 0.51
    assert said[2] > 0.45


# -- updates ---------------------------------------------------------------------------------------


def batches(n=400):
    table = table_of(n)
    return table[: n // 2], table[n // 2 :]


def test_an_update_adds_a_batch_to_the_same_trees():
    """Without noise: two batches give the forest of all records."""
    first, second = batches()
    model = fitted(first, domain_of(), make, epsilon="inf", n_trees=3, max_depth=2)
    model.update(second[NAMES], second["price"])
    whole = fitted(table_of(400), domain_of(), make, epsilon="inf", n_trees=3, max_depth=2)
    assert model.forest_.trees == whole.forest_.trees
    assert model.forest_.values == pytest.approx(whole.forest_.values)


@pytest.mark.parametrize(("disjoint", "epsilon"), [(False, "3/2"), (True, "1")])
def test_epsilons_of_updates_add_unless_batches_are_disjoint(disjoint, epsilon):
    first, second = batches()
    model = fitted(first, domain_of(200), make, epsilon=1, n_trees=3)
    model.update(second[NAMES], second["price"], epsilon="0.5", disjoint=disjoint)
    guarantee = model.forest_.guarantee
    assert str(guarantee.epsilon) == epsilon
    assert len(guarantee.asked) == 6
    assert any("disjoint" in a for a in guarantee.assumptions) == disjoint


def test_noise_of_batches_adds_up():
    first, second = batches()
    model = fitted(first, domain_of(200), make, epsilon=1, n_trees=3)
    before = model._summed[1].variance
    model.update(second[NAMES], second["price"], epsilon=1)
    assert model._summed[1].variance == pytest.approx(2 * before)


def test_partial_fit_is_a_fit_and_then_updates():
    first, second = batches()
    model = make(domain_of(), epsilon="inf", n_trees=2, max_depth=2)
    for batch in (first, second):
        model.partial_fit(batch[NAMES], batch["price"])
    whole = fitted(table_of(400), domain_of(), make, epsilon="inf", n_trees=2, max_depth=2)
    assert model.forest_.values == pytest.approx(whole.forest_.values)


def test_what_holds_no_sums_cannot_be_updated():
    first, second = batches()
    with pytest.raises(ValueError, match="no sums to add to"):
        make(domain_of(), epsilon=1).update(second[NAMES], second["price"])
    model = fitted(first, domain_of(200), make, epsilon=1)
    elsewhere = RandomDecisionForestRegressor.from_forest(model.forest_)
    with pytest.raises(ValueError, match="no sums to add to"):
        elsewhere.update(second[NAMES], second["price"])


# -- parties ---------------------------------------------------------------------------------------


def test_releases_of_parties_add_up_to_the_forest_of_all_records():
    """Horizontally, by files that anyone can add up; without noise it is one curator's forest."""
    structure = make_structure(domain_of(), n_trees=3, max_depth=2, random_state=0)
    again = Structure.from_json(json.loads(json.dumps(structure.to_json())))
    parts = [
        release(again, batch, party=name, epsilon="inf")
        for name, batch in zip("ab", batches(), strict=True)
    ]
    whole = fitted(table_of(400), domain_of(), make, epsilon="inf", n_trees=3, max_depth=2)
    for order in (parts, parts[::-1]):
        assert merge(structure, order).values == pytest.approx(whole.forest_.values)


@pytest.mark.parametrize(("disjoint", "epsilon"), [(False, "2"), (True, "1")])
def test_epsilons_of_parties_add_unless_people_are_disjoint(disjoint, epsilon):
    structure = make_structure(domain_of(400), n_trees=2, random_state=0)
    parts = [
        PartyRelease.from_json(
            json.loads(json.dumps(release(structure, b, party=n, epsilon=1).to_json()))
        )
        for n, b in zip("ab", batches(), strict=True)
    ]
    forest = merge(structure, parts, disjoint=disjoint)
    assert str(forest.guarantee.epsilon) == epsilon
    assert [p.party for p in forest.guarantee.parties] == ["a", "b"]
    assert np.isfinite(forest.predict(table_of(5)[NAMES])).all()
    short = replace(parts[0], values=parts[0].values[:-1])
    with pytest.raises(MergeError, match="lacks a number for some leaf"):
        merge(structure, [short])


def test_a_structure_for_a_number_is_for_random_trees():
    with pytest.raises(FormatError, match="is for random-decision, not 'signal'"):
        make_structure(domain_of(400), "signal")


@pytest.mark.parametrize("kind", [RandomDecisionForestRegressor, ForestRegressor])
def test_parties_train_a_regressor_together(kind):
    """Every question is a sum, or a choice by sums: those of the parties add up."""
    first, second = batches(4_000)
    domain = domain_of(4_000)
    panel = OpenSum(
        {
            name: Curator(open_table(batch, domain), Budget.of(4))
            for name, batch in (("a", first), ("b", second))
        },
        disjoint=True,
    )
    model = train_together(kind(domain), panel)
    assert model.forest_.guarantee.epsilon == 4
    fresh = table_of(500, seed=5)
    assert model.score(fresh[NAMES], fresh["price"]) > 0.2
