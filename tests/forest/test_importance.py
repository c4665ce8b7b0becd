"""Importances are those of the textbook, from released counts."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from frith import Categorical, Domain, Forest, Numeric
from frith.forest.importance import _gini, importance_words
from frith.forest.nodes import Nodes
from frith.forest.trees import Trees
from frith.privacy import Guarantee
from tests.forest.test_rules import AGE, age_and_color, forests, tree_of
from tests.learners.conformance import LEARNERS
from tests.strategies import examples
from tests.tables import small_domain, small_table


def gini(counts):
    counts = np.maximum(counts, 0)
    return 1 - float(np.sum((counts / counts.sum()) ** 2)) if counts.sum() else 0.0


def twin_of_scores(forest):
    """Node by node: how far leaves' means lie from the mean above them, squared, each leaf alike."""
    domain, trees = forest.domain, forest.trees
    gain, nodes = dict.fromkeys(domain.names, 0.0), Nodes(forest)

    def leaves(node):
        if trees.attribute[node] < 0:
            return 1
        return sum(map(leaves, trees.children(node, domain)))

    for node in np.flatnonzero(trees.attribute >= 0):
        for child in trees.children(int(node), domain):
            apart = ((forest.values[child] - forest.values[node]) ** 2).sum()
            whole = leaves(trees.roots[nodes.tree[node]])
            gain[domain.names[trees.attribute[node]]] += leaves(child) * apart / whole
    return {name: g / (sum(gain.values()) or 1) for name, g in gain.items()}


def twin(forest):
    """Node by node: size times (impurity, less the children's impurity weighed by their sizes)."""
    domain, trees = forest.domain, forest.trees
    gain = dict.fromkeys(domain.names, 0.0)
    size = [np.maximum(row, 0).sum() for row in forest.values]
    nodes = Nodes(forest)
    for node in range(trees.n_nodes):
        if trees.attribute[node] < 0 or size[node] == 0:
            continue
        children = list(trees.children(node, domain))
        below = sum(size[c] for c in children)
        if below > 0:
            average = sum(size[c] / below * gini(forest.values[c]) for c in children)
            whole = size[trees.roots[nodes.tree[node]]] or 1e-100
            decrease = size[node] * (gini(forest.values[node]) - average)
            gain[domain.names[trees.attribute[node]]] += decrease / whole
    positive = {name: max(0.0, g) for name, g in gain.items()}
    return {name: g / (sum(positive.values()) or 1) for name, g in positive.items()}


@examples(150)
@given(forests())
def test_importances_equal_the_loop(forest):
    found = forest.importances()
    assert list(found.index) == [forest.domain.names[a] for a in forest.trees.asked]
    meant = twin_of_scores(forest) if forest.kind == "scores" else twin(forest)
    assert found.to_dict() == pytest.approx({name: meant[name] for name in found.index}, abs=1e-9)
    assert found.sum() == pytest.approx(1) or not found.any()


def test_importances_by_hand():
    """Gini of 60:40 is 0.48, of 10:40 and 8:2 it is 0.32; the other nodes are pure or empty.

    Age takes 100 (0.48 - 50/100 * 0 - 50/100 * 0.32) = 32 off, color 50 (0.32 - 10/40 * 0.32) = 12.
    """
    assert age_and_color().importances().to_dict() == pytest.approx(
        {"age": 32 / 44, "color": 12 / 44}
    )


def from_scikit_learn(model, domain):
    """The same tree as a forest: thresholds between whole numbers as cuts, level by level."""
    tree, order = model.tree_, [0]
    first = []
    for node in order:
        is_leaf = tree.children_left[node] < 0
        first.append(-1 if is_leaf else len(order))
        order += [] if is_leaf else [tree.children_left[node], tree.children_right[node]]
    attribute = np.where(np.array(first) < 0, -1, tree.feature[order])
    cut = np.where(np.array(first) < 0, -1, np.ceil(tree.threshold[order]))
    arrays = (np.array(a, dtype=np.int32) for a in ([0], attribute, cut, first))
    shares = tree.value[order][:, 0, :]
    counts = shares / shares.sum(axis=1, keepdims=True) * tree.n_node_samples[order][:, None]
    return Forest(domain, Trees(*arrays), counts, Guarantee(Fraction(1)), np.zeros(len(order)))


@pytest.mark.parametrize("seed", range(5))
def test_importances_equal_those_of_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 10, (500, 4))
    y = (X[:, 0] + 2 * X[:, 1] + rng.integers(0, 6, 500)) // 9
    model = DecisionTreeClassifier(max_depth=5, random_state=0).fit(X, y)
    attributes = [Numeric(f"x{j}", 0, 10, cells=10) for j in range(4)]
    domain = Domain(attributes, Categorical("y", tuple(model.classes_.tolist())))
    forest = from_scikit_learn(model, domain)
    assert np.array_equal(forest.predict(X), model.predict(X))
    found = forest.importances().reindex(domain.names, fill_value=0.0)
    assert found.to_numpy() == pytest.approx(model.feature_importances_)


def test_a_forest_without_splits_finds_nothing_important():
    domain = Domain([AGE], Categorical("good", ("no", "yes")))
    leaf = Forest(
        domain, tree_of([-1, -1, -1]), np.ones((1, 2)), Guarantee(Fraction(1)), np.ones(1)
    )
    found = leaf.importances(errors=True)
    assert len(found) == 0
    assert list(found.columns) == ["importance", "standard_error", "is_clear"]


@examples(60)
@given(st.lists(st.integers(20, 400), min_size=2, max_size=4))
def test_the_error_of_an_impurity_is_that_of_its_slope(counts):
    """Against finite differences, for noise of deviation 0.1."""
    label = Categorical("y", tuple(range(len(counts))))
    values = np.array([counts], dtype=float)
    guarantee = Guarantee(Fraction(1))
    forest = Forest(
        Domain([AGE], label), tree_of([-1, -1, -1]), values, guarantee, np.array([0.01])
    )
    slopes = [
        (gini(values[0] + s) - gini(values[0] - s)) / 2e-4 for s in np.eye(len(counts)) * 1e-4
    ]
    _, spread = _gini(Nodes(forest))
    assert np.sqrt(spread[0]) == pytest.approx(0.1 * np.linalg.norm(slopes), rel=1e-3, abs=1e-8)


def test_errors_by_hand():
    """Half of the records lie at each child, so a quarter of each child's variance counts."""

    def spread(variance, *counts):
        n = sum(counts)
        g = sum((c / n) ** 2 for c in counts)
        return 4 * variance * g * (2 * g - 1) / n**2

    age = spread(8, 60, 40) + (spread(2, 50, 0) + spread(6, 10, 40)) / 4
    found = age_and_color().importances(errors=True)["standard_error"]
    assert found["age"] == pytest.approx(100 * np.sqrt(age) / 44)


def test_errors_grow_with_the_noise_and_vanish_without():
    forest = age_and_color()
    quiet, loud = (
        Forest(forest.domain, forest.trees, forest.values, forest.guarantee, forest.variance * v)
        .importances(errors=True)["standard_error"]
        for v in (0, 4)
    )  # fmt: skip
    noisy = forest.importances(errors=True)["standard_error"]
    assert quiet.tolist() == [0, 0]
    assert loud.to_numpy() == pytest.approx(2 * noisy.to_numpy())
    assert (noisy > 0).all()


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
def test_every_learner_s_forest_has_importances(make):
    table = small_table(400)
    X, y = table[["color", "round", "size"]], table["good"]
    found = make(small_domain(records=400), epsilon="inf", random_state=0).fit(X, y).forest_
    series = found.importances()
    assert isinstance(series, pd.Series)
    assert series.get("round", 0) < max(series.get("color", 0), series.get("size", 0))


def test_what_noise_explains_is_not_called_important():
    assert importance_words(0.2, 0.05) == "20% ± 5%"
    assert importance_words(0.2, 0.2) == "this budget cannot tell"
    assert importance_words(0.2, 0) == "20%"
    noisy = replace(age_and_color(), variance=np.full(6, 1e4)).importances(errors=True)
    assert not noisy["is_clear"].any()
