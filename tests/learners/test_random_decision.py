"""Private-RDT: Algorithms 2 to 5."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from frith import Categorical, Domain, Ledger, PrivacyLeakWarning
from frith import RandomDecisionForestClassifier as RandomForest
from frith.datasets import load
from frith.engines import MemoryEngine
from frith.kernels import LeafCounts
from tests.statistics import fits_law
from tests.tables import person_domain, small_domain, small_table

ATTRIBUTES = ["color", "round", "size"]


def split(table):
    return table[ATTRIBUTES], table["good"]


def exact_leaves(model, X, y):
    trees = model.forest_.trees
    return MemoryEngine(X, model.domain_, y).aggregate(LeafCounts(trees, model.domain_))


def test_the_exact_forest_equals_counting_by_hand():
    X, y, domain = load("tic_tac_toe")
    model = RandomForest(domain, epsilon="inf", n_trees=3, random_state=0).fit(X, y)
    trees, codes = model._grown.trees, model.forest_.encode(X)
    for tree, root in enumerate(trees.roots):
        counts = {}
        for record, label in zip(codes, y, strict=True):
            node = root
            while trees.attribute[node] >= 0:
                node = trees.first_child[node] + record[trees.attribute[node]]
            counts[node] = counts.get(node, 0) + np.array(
                [label == "positive", label == "negative"]
            )
        for node, expected in counts.items():
            assert model._grown.values[node].tolist() == expected.tolist(), tree


def test_probabilities_are_summed_counts_over_their_total():
    """Algorithm 3 on every record of a small forest."""
    X, y = split(small_table())
    forest = (
        RandomForest(small_domain(), epsilon="inf", n_trees=3, random_state=0).fit(X, y).forest_
    )
    codes = forest.encode(X)
    for record, proba in zip(codes[:50], forest.predict_proba(X), strict=False):
        total = np.zeros(2)
        for root in forest.trees.roots:
            node = root
            while (a := forest.trees.attribute[node]) >= 0:
                cut = forest.trees.cut[node]
                step = record[a] if cut < 0 else int(record[a] >= cut)
                node = forest.trees.first_child[node] + step
            total += forest.values[node]
        assert proba == pytest.approx(total / total.sum())


def test_negative_sums_are_nothing_and_leaves_without_any_count_get_the_label_shares():
    from dataclasses import replace

    X, y = split(small_table())
    forest = RandomForest(small_domain(), epsilon="inf", n_trees=1, max_depth=1).fit(X, y).forest_
    values = forest.values.copy()
    values[:] = [-5, -1]
    values[forest.trees.roots] = [30, 10]
    sunk = replace(forest, values=values)
    assert sunk.predict_proba(X) == pytest.approx(np.tile([0.75, 0.25], (len(X), 1)))
    assert set(sunk.predict(X)) == {"no"}
    values[:] = [-5, 2]
    assert replace(forest, values=values).predict_proba(X)[0].tolist() == [0, 1]


def test_noise_on_leaf_counts_is_discrete_laplace_of_scale_n_trees_over_epsilon():
    """All leaves, empty ones too; and the same test rejects a scale 20% off."""
    attributes = [Categorical(f"a{i}", tuple("abcde")) for i in range(10)]
    domain = Domain(attributes, Categorical("y", ("0", "1")), records=10**6)
    rng = np.random.default_rng(0)
    X, y = rng.choice(list("abcde"), (300, 10)), rng.choice(["0", "1"], 300)
    model = RandomForest(domain, epsilon=2, n_trees=10, max_depth=5).fit(X, y)
    released = model.forest_.values[model.forest_.trees.leaves]
    exact = exact_leaves(model, X, y)
    noise = (released - exact).ravel()
    assert len(noise) == 10 * 5**5 * 2

    def law(scale):
        return lambda k: np.log(np.tanh(0.5 / scale)) - np.abs(k) / scale

    assert fits_law(noise, law(5.0))
    assert not fits_law(noise, law(6.0))
    empty = (released - exact)[exact == 0]
    assert fits_law(empty, law(5.0))
    assert (empty != 0).mean() > 0.8


def test_one_random_state_gives_one_structure_and_two_noises():
    X, y = split(small_table())
    model = RandomForest(small_domain(records=200), epsilon=0.1, random_state=3)
    a, b = (clone(model).fit(X, y).forest_ for _ in range(2))
    assert a.trees == b.trees
    assert not np.array_equal(a.values, b.values)


def test_a_noisy_number_of_records_is_paid_from_its_share():
    X, y = split(small_table())
    model = RandomForest(small_domain(), epsilon=1, size_share="1/4").fit(X, y)
    shares = [q.share for q in model.forest_.guarantee.asked]
    assert shares == [Fraction(1, 4), Fraction(3, 4)]
    given = RandomForest(small_domain(), epsilon=1, max_depth=2).fit(X, y)
    assert [q.share for q in given.forest_.guarantee.asked] == [1]


def test_the_private_form_is_not_pruned():
    X, y = split(small_table(10))
    model = RandomForest(small_domain(records=10), epsilon=1, max_depth=3, random_state=0)
    private = clone(model).fit(X, y)
    exact = model.set_params(epsilon="inf").fit(X, y)
    assert len(exact.forest_.trees.leaves) < len(private.forest_.trees.leaves)
    assert private.forest_.trees == exact._grown.trees


# -- updates -----------------------------------------------------------------------------------


def test_updates_at_infinity_equal_one_fit_on_everything():
    table = small_table(300)
    X, y = split(table)
    model = RandomForest(small_domain(records=300), epsilon="inf", random_state=0)
    at_once = clone(model).fit(X, y)
    in_parts = clone(model).fit(X[:100], y[:100]).update(X[100:250], y[100:250])
    in_parts.update(X[250:], y[250:])
    assert np.array_equal(in_parts.forest_.values, at_once.forest_.values)
    assert in_parts.forest_.trees == at_once.forest_.trees


def test_epsilons_of_updates_add_unless_batches_are_declared_disjoint():
    X, y = split(small_table())
    model = RandomForest(small_domain(), epsilon=0.5, random_state=0).fit(X, y)
    assert model.update(X, y).forest_.guarantee.epsilon == 1
    assert model.update(X, y, epsilon="1/4").forest_.guarantee.epsilon == Fraction(5, 4)
    apart = RandomForest(small_domain(), epsilon=0.5).fit(X, y)
    for _ in range(3):
        apart.update(X, y, disjoint=True)
    assert apart.forest_.guarantee.epsilon == Fraction(1, 2)
    assert any("disjoint in protected units" in a for a in apart.forest_.guarantee.assumptions)
    apart.update(X, y, epsilon=2, disjoint=True)
    assert apart.forest_.guarantee.epsilon == 2


def test_an_update_draws_noise_of_its_own():
    X, y = split(small_table())
    model = RandomForest(small_domain(), epsilon=1, n_trees=50, max_depth=3).fit(X, y)
    before = model.forest_
    after = model.update(X[:0], y[:0]).forest_
    assert after.trees == before.trees
    assert after.variance == pytest.approx(2 * before.variance)
    assert not np.array_equal(after.values, before.values)


def test_updates_are_charged(tmp_path):
    X, y = split(small_table())
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1)
    model = RandomForest(small_domain(), epsilon=0.25, ledger=ledger.path).fit(X, y)
    model.update(X, y).update(X, y, epsilon=0.1)
    assert [e.amount for e in ledger.entries()] == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 10)]
    assert [e.purpose.split()[0] for e in ledger.entries()] == ["fit", "update", "update"]


def test_an_update_before_a_fit_is_an_error():
    X, y = split(small_table())
    with pytest.raises(ValueError, match="call fit first"):
        RandomForest(small_domain()).update(X, y)


def test_partial_fit_fits_then_updates():
    X, y = split(small_table(300))
    whole = RandomForest(small_domain(records=300), epsilon="inf", random_state=0).fit(X, y)
    parts = RandomForest(small_domain(records=300), epsilon="inf", random_state=0)
    for start in range(0, 300, 100):
        parts.partial_fit(X[start : start + 100], y[start : start + 100])
    assert np.array_equal(parts.forest_.values, whole.forest_.values)


def test_partial_fit_learns_labels_that_only_later_batches_hold():
    X, y = split(small_table())
    model = RandomForest(epsilon="inf")
    with pytest.warns(PrivacyLeakWarning):
        model.partial_fit(X[y == "yes"], y[y == "yes"], classes=["no", "yes"])
    model.partial_fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]


def test_persons_and_updates_compose():
    table = small_table()
    model = RandomForest(person_domain(records=3), epsilon=0.5, n_trees=2).fit(table)
    model.update(table)
    assert model.forest_.guarantee.epsilon == 1
    assert [q.sensitivity for q in model.forest_.guarantee.asked] == [3, 6, 6]
