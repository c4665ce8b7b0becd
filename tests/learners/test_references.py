"""At epsilon=inf every greedy learner equals an independent textbook implementation.

The references are plain recursion over lists of tuples. Ties go to the first attribute in domain
order; sums of entropies are rounded, so that equal ones are equal.
"""

from collections import Counter
from math import log2

import numpy as np
import pytest

from frith import C45Classifier, GiniForestClassifier, ID3Classifier, InfoGainForestClassifier
from frith.datasets import load, names

SETS = ["car", "nursery", "mushroom", "tic_tac_toe"]


def entropy(labels):
    counts = Counter(labels).values()
    return -sum(c / len(labels) * log2(c / len(labels)) for c in counts)


def parts(rows, labels, a, sizes):
    split = [([], []) for _ in range(sizes[a])]
    for row, label in zip(rows, labels, strict=True):
        split[row[a]][0].append(row)
        split[row[a]][1].append(label)
    return split


def gain(labels, split):
    return entropy(labels) - sum(len(y) / len(labels) * entropy(y) for _, y in split if y)


def gain_ratio(labels, split):
    whole = entropy([i for i, (_, y) in enumerate(split) for _ in y])
    return gain(labels, split) / whole if whole > 1e-12 else 0.0


def gini(labels, split):
    miss = [len(y) - sum(c * c for c in Counter(y).values()) / len(y) for _, y in split if y]
    return -sum(miss)


def majority(labels):
    """The first of the most common labels, in domain order: labels are codes."""
    return min(Counter(labels).items(), key=lambda item: (-item[1], item[0]))[0]


def grow(rows, labels, free, sizes, score, depth, least=1, default=None):
    """A nested (label, attribute, children) tree."""
    if not labels:
        return (default, None, None)
    label = majority(labels)
    if len(set(labels)) == 1 or not free or depth == 0 or len(labels) < least:
        return (label, None, None)
    splits = {a: parts(rows, labels, a, sizes) for a in free}
    best = max(free, key=lambda a: (round(score(labels, splits[a]), 9), -a))
    rest = [a for a in free if a != best]
    children = [grow(r, y, rest, sizes, score, depth - 1, least, label) for r, y in splits[best]]
    return (label, best, children)


def follow(tree, row):
    while tree[1] is not None:
        tree = tree[2][row[tree[1]]]
    return tree[0]


def encoded(name):
    if name not in names():
        pytest.skip(f"the table {name!r} is not on this machine: set FRITH_DATA")
    X, y, domain = load(name)
    columns = [X[a.name].fillna(a.missing or "").map(a.codes) for a in domain.attributes]
    rows = list(zip(*(c.tolist() for c in columns), strict=True))
    labels = [domain.label.codes[v] for v in y]
    return X, y, domain, rows, labels


def check(name, model, score, depth=None, least=1):
    X, y, domain, rows, labels = encoded(name)
    sizes = [a.size for a in domain.attributes]
    free = [a for a in range(len(sizes)) if sizes[a] > 1]
    tree = grow(rows, labels, free, sizes, score, len(sizes) if depth is None else depth, least)
    model.set_params(domain=domain, epsilon="inf").fit(X, y)
    expected = [domain.label.values[follow(tree, row)] for row in rows]
    assert np.array_equal(model.predict(X), expected)
    assert root_of(model.forest_) == tree[1]


def root_of(forest):
    attribute = int(forest.trees.attribute[forest.trees.roots[0]])
    return None if attribute < 0 else attribute


@pytest.mark.parametrize("name", SETS)
def test_id3_from_counts_is_id3(name):
    check(name, ID3Classifier(queries="counts", max_depth=None), gain)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("depth", [1, 3])
def test_id3_by_choices_is_id3(name, depth):
    model = ID3Classifier(criterion="entropy", max_depth=depth, prune=False)
    check(name, model, gain, depth)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.parametrize("allocation", ["arithmetic", "geometric"])
def test_c45_is_c45(name, allocation):
    check(name, C45Classifier(max_depth=4, allocation=allocation), gain_ratio, 4)


@pytest.mark.parametrize("name", SETS)
def test_the_information_gain_forest_of_one_tree_is_id3(name):
    check(name, InfoGainForestClassifier(n_trees=1, max_depth=3), gain, 3)


def prune(tree, rows, labels, sizes):
    """Eq. 27 from the leaves up: children that are no purer than their parent are cut off."""
    label, a, children = tree
    if a is None or not labels:
        return (label, None, None)
    split = parts(rows, labels, a, sizes)
    children = [prune(c, r, y, sizes) for c, (r, y) in zip(children, split, strict=True)]
    whole = gini(labels, [(rows, labels)])
    if all(c[1] is None for c in children) and whole >= gini(labels, split) - 1e-9:
        return (label, None, None)
    return (label, a, children)


@pytest.mark.parametrize("name", SETS)
def test_the_gini_forest_of_one_tree_is_a_pruned_multiway_gini_tree(name):
    X, y, domain, rows, labels = encoded(name)
    sizes = [a.size for a in domain.attributes]
    free = [a for a in range(len(sizes)) if sizes[a] > 1]
    tree = prune(grow(rows, labels, free, sizes, gini, 4, least=100), rows, labels, sizes)
    model = GiniForestClassifier(domain, epsilon="inf", max_depth=4, min_support=100).fit(X, y)
    expected = [domain.label.values[follow(tree, row)] for row in rows]
    assert np.array_equal(model.predict(X), expected)
    assert root_of(model.forest_) == tree[1]


def test_roots_of_a_gini_forest_are_distinct():
    X, y, domain, _, _ = encoded("tic_tac_toe")
    for epsilon in ("inf", 1):
        model = GiniForestClassifier(domain, n_trees=9, epsilon=epsilon, min_support=0).fit(X, y)
        trees = model.forest_.trees
        roots = trees.attribute[trees.roots]
        assert len(set(roots[roots >= 0])) == sum(roots >= 0)
