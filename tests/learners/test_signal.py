"""DP-RF by hand: every number below follows from the paper's equations on a small table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

from frith import Budget, Categorical, Domain, SignalForestClassifier, open_table
from frith.curator import Curator, Release
from frith.growing.builder import TreeBuilder, join_trees
from frith.growing.random_trees import grow_supported_trees
from frith.learners import signal
from frith.learners.base import structure_rng


def domain_of(*sizes, labels=2, records=100):
    attributes = [Categorical(f"a{i}", tuple(map(str, range(s)))) for i, s in enumerate(sizes)]
    return Domain(attributes, Categorical("label", tuple("xyz"[:labels])), records=records)


def empty(domain):
    return pd.DataFrame({name: pd.Series(dtype=str) for name in (*domain.names, "label")})


def curator(domain, epsilon=1, delta=0):
    return Curator(open_table(empty(domain), domain), Budget.of(epsilon, delta))


def grown(domain, epsilon=1, delta=0):
    """A learner that has chosen its theta, its tau and its trees."""
    model = SignalForestClassifier(domain, epsilon=epsilon, delta=delta, random_state=0)
    return model, model.grow(curator(domain, epsilon, delta))


def finished(domain, trees, leaves, variance=0.0):
    """What the learner makes of these counts of the leaves."""
    release = Release(np.array(leaves), variance)
    return SignalForestClassifier(domain).finish(curator(domain), trees, release)


# -- sections 4.3 and 4.4: theta and tau -------------------------------------------------------


def test_theta_is_labels_times_root_two_over_the_epsilon_of_a_tree():
    """Equations 5 and 8 for 3 labels, a budget of 2 and 2 trees: 3 x 1.41421 x 2 / 2."""
    model, _ = grown(domain_of(2, 2, labels=3, records=10_000), epsilon=2)
    assert model.tau_ == 2
    assert model.theta_ == pytest.approx(4.24264, abs=1e-5)


@pytest.mark.parametrize(
    ("sizes", "records", "tau"),
    [
        ((2, 4, 3, 3), 100, 3),  # 100 / 3^2 = 11.11; theta is 2.83 a tree, so 8.49 fits, 11.31 not
        ((2, 4, 3, 3), 102, 4),  # 11.33: just enough for the fourth
        ((2, 4, 3, 3), 10**6, 4),  # never more than there are attributes
        ((2, 4, 3, 3), 20, 1),  # 2.22 is too little for one: there is one all the same
        ((2, 4, 3, 3, 1), 100, 3),  # an attribute of one value is none, in the mean and in |A|
        ((2, 4, 3, 3, 1), 10**6, 4),
    ],
)
def test_tau_is_the_most_trees_whose_theta_is_under_the_records_over_delta_squared(
    sizes, records, tau
):
    """Equation 9 for 2 labels and a budget of 1: theta(tau) = 2.82843 tau."""
    assert grown(domain_of(*sizes, records=records))[0].tau_ == tau


def test_a_theta_of_exactly_the_limit_is_not_under_it(monkeypatch):
    """Three attributes of two values and 8 records: 8 / 2^2 = 2, and a theta of tau."""
    monkeypatch.setattr(signal, "least_support", lambda curator, tau: float(tau))
    assert signal.number_of_trees(curator(domain_of(2, 2, 2)), 8) == 1
    assert signal.number_of_trees(curator(domain_of(2, 2, 2)), 9) == 2


def test_a_domain_of_attributes_of_one_value_has_one_tree_of_one_leaf():
    model, trees = grown(domain_of(1, 1))
    assert (model.tau_, trees.n_nodes) == (1, 1)


def test_with_delta_the_deviation_of_gaussian_noise_takes_the_place_of_root_two_over_epsilon():
    domain = domain_of(2, 2, labels=3, records=10**6)
    model, _ = grown(domain, 2, "1e-6")
    rho = float(Budget.of(2, "1e-6").total)
    assert model.theta_ == pytest.approx(3 * (2 / (2 * rho)) ** 0.5)


def test_nodes_are_split_while_their_estimated_support_is_over_theta():
    """Section 4.3: the records part evenly at every split; no path asks an attribute twice."""
    domain = domain_of(2, 4, 3, 3)
    model, trees = grown(domain)
    assert len(set(trees.attribute[trees.roots])) == model.tau_  # distinct roots
    for root in trees.roots:
        open_nodes = [(int(root), 100.0, frozenset())]
        while open_nodes:
            node, support, asked = open_nodes.pop()
            attribute = int(trees.attribute[node])
            assert (attribute >= 0) == (support > model.theta_ and len(asked) < 4)
            if attribute >= 0:
                assert attribute not in asked
                children = trees.children(node, domain)
                below = support / len(children)
                open_nodes += [(c, below, asked | {attribute}) for c in children]


@pytest.mark.parametrize("seed", range(5))
def test_every_attribute_of_two_values_or_more_may_be_a_root(seed):
    trees = grow_supported_trees(domain_of(2, 3, 1), 2, 100, 1.0, structure_rng(seed))
    assert sorted(trees.attribute[trees.roots].tolist()) == [0, 1]


def test_no_support_is_split_at_one_record_or_less():
    """Ours: without noise theta is 0, and trees would go on until no attribute is left."""
    trees = grow_supported_trees(domain_of(2, 2, 2), 1, 4, 0.0, structure_rng(0))
    assert len(trees.leaves) == 4  # 4 records, 2, 1: and no further


# -- section 4.5: pruning ----------------------------------------------------------------------


def two_levels():
    """a0 at the root; its first value asks a1, its second is a leaf."""
    builder = TreeBuilder()
    left, _ = builder.split(0, 0)
    builder.split(left, 1)
    return builder.trees()


def leaves_of(first, second, other):
    """The leaves of `two_levels` in the order of their nodes."""
    return [other, first, second]


@pytest.mark.parametrize(
    ("first", "second", "nodes", "inner"),
    [
        # noise 5, 2 labels: a leaf needs 10, a node of two leaves 10 x sqrt 2 = 14.14
        ((4, 3), (4, 3), 3, (0, 0)),  # 7 and 7, 14 together: all three are noise
        ((5, 3), (4, 3), 3, (9, 6)),  # 15 together: the leaves go, their parent stays
        ((6, 3), (6, 3), 3, (12, 6)),  # 9 is over one noise and under |C| noises
        ((6, 4), (0, 0), 3, (0, 0)),  # a leaf under an unreliable node is cut off with it
        ((6, 4), (5, 0), 5, (11, 4)),  # 10 is enough, and 15 above it: both stay
    ],
)
def test_nodes_of_a_signal_under_their_noise_are_pruned(first, second, nodes, inner):
    """Equation 10: SNR = sum of the leaves / (|C| x noise x sqrt(leaves))."""
    domain = domain_of(2, 2)
    forest = finished(domain, two_levels(), leaves_of(first, second, (50, 50)), variance=25.0)
    assert forest.trees.n_nodes == nodes
    assert tuple(forest.values[1]) == inner
    assert tuple(forest.values[2]) == (50, 50)


def test_an_unreliable_leaf_beside_a_reliable_one_is_emptied():
    domain = domain_of(2, 2)
    forest = finished(domain, two_levels(), leaves_of((6, 4), (5, 0), (50, 50)), variance=25.0)
    assert forest.values[3:].tolist() == [[6, 4], [0, 0]]


def test_roots_are_kept_however_small_their_signal_is():
    """Ours: a forest must say something."""
    forest = finished(domain_of(2, 2), two_levels(), leaves_of((1, 0), (1, 0), (0, 1)), 25.0)
    assert forest.values.tolist() == [[2, 1]]


# -- sections 4.6 and 4.7: confidences and votes -----------------------------------------------


def stump(attribute):
    builder = TreeBuilder()
    builder.split(0, attribute)
    return builder.trees()


def predicted(domain, trees, leaves, row):
    forest = finished(domain, trees, leaves)
    return str(forest.predict(pd.DataFrame([row], columns=domain.names))[0])


def test_the_most_confident_node_of_a_path_predicts_not_its_leaf():
    """The leaf says y by 28 of 40, the root x by 92 of 130: 0.700 and 0.708."""
    leaves = [(12, 28), (80, 10)]
    assert predicted(domain_of(2, 2), stump(0), leaves, ["0", "0"]) == "x"
    leaves = [(12, 28), (78, 10)]  # 90 of 128: 0.703 and still over it
    assert predicted(domain_of(2, 2), stump(0), leaves, ["0", "0"]) == "x"
    leaves = [(12, 28), (70, 10)]  # 82 of 120: 0.683
    assert predicted(domain_of(2, 2), stump(0), leaves, ["0", "0"]) == "y"


def votes(*shares):
    """What trees of one leaf, with these counts, decide together."""
    trees = join_trees([TreeBuilder().trees() for _ in shares])
    return predicted(domain_of(2, 2, labels=3), trees, shares, ["0", "0"])


def test_the_label_of_highest_confidence_wins_against_more_trees():
    assert votes((80, 20, 0), (25, 75, 0), (25, 75, 0)) == "x"


def test_equal_confidences_are_told_apart_by_their_sums():
    """x and y both have 0.8; all confidences together give x 0.8 and y 1.0."""
    assert votes((80, 20, 0), (0, 80, 20)) == "y"
    assert votes((80, 0, 20), (20, 80, 0)) == "x"


def test_negative_counts_are_nothing_in_a_confidence():
    """Ours: 60 of 60, where a sum with -20 would make it 60 of 40."""
    domain = domain_of(2, 2)
    trees = join_trees([TreeBuilder().trees()] * 2)
    forest = finished(domain, trees, [(60, -20), (30, 90)])
    assert forest.node_shares.tolist() == [[1.0, 0.0], [0.25, 0.75]]


# -- the accuracy that scikit-learn's checks ask for -------------------------------------------


@pytest.mark.filterwarnings("ignore:no domain was given")
def test_most_seeds_reach_the_accuracy_that_scikit_learn_asks_of_seed_0():
    """The table of check_classifiers_train, rounded as for learners that take categories."""
    X, y = make_blobs(n_samples=300, random_state=0)
    X = StandardScaler().fit_transform(X)
    X = np.round(X - X.min())
    scores = [
        SignalForestClassifier(epsilon="inf", random_state=s).fit(X, y).score(X, y)
        for s in range(12)
    ]
    assert scores[0] == pytest.approx(0.78)
    assert sum(score > 0.83 for score in scores) >= 10
