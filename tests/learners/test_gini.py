"""DPDF by hand: what its equations give on small tables, through the learner."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Budget, Categorical, Domain, GiniForestClassifier, open_table
from frith.audit.frozen import FrozenSource
from frith.curator import Curator
from frith.growing import grower
from frith.kernels.criteria import SCALE
from frith.learners.published.curator import _FIXED_POINT, PublishedCurator

LABELS = ("x", "y", "z")
DOMAIN = Domain(
    [Categorical(name, ("0", "1")) for name in "abcd"], Categorical("label", LABELS), records=8
)
ROWS = ["00", "00", "01", "01", "10", "10", "11", "11"]
TABLE = pd.DataFrame(
    {"a": [r[0] for r in ROWS], "b": [r[1] for r in ROWS], "c": "0", "d": "0",
     "label": list("xxxyyyyy")}
)  # fmt: skip
"""By a: (3, 1) and (0, 4). By b: (2, 2) and (1, 3). c and d part nothing: (3, 5)."""


def asked(learner, releases, *, epsilon=1, as_published=False):
    """The exchanges of a fit whose noisy label counts are `releases`, and the forest."""

    def invent(i, shape):
        if len(shape) == 1:
            return np.zeros(shape, dtype=np.int64)  # the first candidate
        return np.broadcast_to(np.array(releases), shape).astype(np.int64)

    source, engine = FrozenSource(invent), open_table(TABLE, DOMAIN)
    kind = PublishedCurator if as_published else Curator
    used = kind(engine, Budget.of(epsilon), source=source)
    forest = learner.learn(used)
    counted = [e for e in source.exchanges if hasattr(e.mechanism, "epsilon")]
    chosen = [e for e in source.exchanges if not hasattr(e.mechanism, "epsilon")]
    return counted, chosen, forest


# -- equations 4, 8 and 11: the choice ---------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "sensitivity"),
    [
        ((60, 40, 0), 200 / 10201),  # the paper's own example: |D| = 100 gives 0.0196
        ((3, 2, 0), 1 - 25 / 36 - 1 / 36),
        ((1, 1, -1), 0.5),  # the largest there is, at one record: the paper's global bound
        ((-3, 2, -5), 0.5),  # ours: a noisy size under 1 is taken for 1
    ],
)
def test_the_published_choice_has_the_weights_of_theorem_1(labels, sensitivity):
    """exp(epsilon G / (2 Delta)), Delta = 1 - (n / (n+1))^2 - (1 / (n+1))^2 at the noisy size n."""
    learner = GiniForestClassifier(max_depth=1, as_published=True)
    learner._may_split = lambda counts, allowed: allowed.any()  # stops have a test of their own
    _, chosen, _ = asked(learner, labels, as_published=True)
    epsilon = 1 / 3  # 2 levels pay for 3 questions
    assert chosen[0].mechanism.scale / _FIXED_POINT == pytest.approx(2 * sensitivity / epsilon)


def test_the_published_choice_is_by_the_gini_index_of_equation_4():
    """By a: -(4/8)(1 - (9 + 1)/16) - 0; by b: -(4/8)(1/2) - (4/8)(6/16); by c and d: -(1 - 34/64)."""
    learner = GiniForestClassifier(max_depth=1, min_support=0, as_published=True)
    _, chosen, _ = asked(learner, (60, 40, 0), as_published=True)
    found = chosen[0].exact.astype(float) / _FIXED_POINT
    assert found == pytest.approx([-0.1875, -0.4375, -0.46875, -0.46875], abs=1e-5)


def test_the_sound_choice_is_by_the_same_index_times_the_records():
    """The order of equation 4, with a sensitivity that holds at every size."""
    _, chosen, _ = asked(GiniForestClassifier(max_depth=1, min_support=0), (60, 40, 0))
    found = chosen[0].exact.astype(float) / SCALE
    assert found == pytest.approx([-1.5, -3.5, -3.75, -3.75], abs=1e-5)


# -- equations 7, 9 and 10: what each question costs -------------------------------------------


@pytest.mark.parametrize("as_published", [False, True])
@pytest.mark.parametrize(
    ("trees", "shares"),
    [
        (1, ["0.011", "0.028", "0.056", "0.111", "0.222"]),
        (4, ["0.003", "0.007", "0.014", "0.028", "0.056"]),
    ],
)
def test_the_epsilon_of_a_query_is_that_of_table_1(trees, shares, as_published):
    """beta / (tau (2 delta - 1)) for delta = 5 levels, as the paper tabulates it."""
    learner = GiniForestClassifier(
        n_trees=trees, max_depth=4, min_support=0, as_published=as_published
    )
    for beta, share in zip(("0.1", "0.25", "0.5", "1", "2"), shares, strict=True):
        counted, chosen, _ = asked(learner, (60, 40, 0), epsilon=beta, as_published=as_published)
        epsilon = float(Fraction(beta)) / (9 * trees)
        assert f"{epsilon:.3f}" == share
        assert [e.mechanism.scale for e in counted] == pytest.approx([1 / epsilon] * len(counted))
        if not as_published:
            assert {e.mechanism.amount for e in chosen} == {Fraction(beta) / (9 * trees)}


def test_a_path_of_the_sound_form_asks_what_it_pays_for():
    """5 levels of counts and 4 of choices in each tree: 2 delta - 1."""
    _, chosen, forest = asked(GiniForestClassifier(max_depth=4, min_support=0), (60, 40, 0))
    purposes = [q.purpose for q in forest.guarantee.asked]
    assert [p.split()[0] for p in purposes] == ["labels", "splits"] * 4 + ["labels"]
    assert sum(q.share for q in forest.guarantee.asked) == 1
    assert len(chosen) == 1 + 2 + 4 + 8


# -- Algorithm 1, line 16: when a node is split ------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "split"),
    [
        ((60, 40, 0), True),
        ((60, 39, 0), False),  # 99 records
        ((100, 0, 0), False),  # one label
        ((100, 5, -5), False),  # f / |D| = 1 on noisy counts
        ((100, 5, -4), True),
    ],
)
@pytest.mark.parametrize("as_published", [False, True])
def test_a_node_is_split_where_it_is_large_and_mixed(labels, split, as_published):
    learner = GiniForestClassifier(max_depth=1, as_published=as_published)
    _, chosen, _ = asked(learner, labels, as_published=as_published)
    assert bool(chosen) == split


def test_no_path_asks_an_attribute_twice():
    """Line 19: the first candidate is chosen everywhere, so level i asks attribute i."""
    learner = GiniForestClassifier(max_depth=4, min_support=0)
    _, chosen, _ = asked(learner, (60, 40, 0))
    assert [len(e.exact) for e in chosen] == [4] + [3] * 2 + [2] * 4 + [1] * 8


def test_the_roots_of_later_trees_choose_from_what_is_left():
    """Line 29: each root takes its attribute out of the others' choice."""
    for as_published in (False, True):
        learner = GiniForestClassifier(
            n_trees=3, max_depth=1, min_support=0, as_published=as_published
        )
        _, chosen, _ = asked(learner, (60, 40, 0), as_published=as_published)
        assert [len(e.exact) for e in chosen[:3]] == [4, 3, 2]


# -- equation 27: pruning ----------------------------------------------------------------------


@pytest.mark.parametrize("as_published", [False, True])
def test_splits_whose_children_are_no_purer_are_cut(as_published):
    """Every node has the same counts, so each split leaves what it found."""
    learner = GiniForestClassifier(max_depth=2, min_support=0, as_published=as_published)
    _, chosen, forest = asked(learner, (60, 40, 0), as_published=as_published)
    assert chosen
    assert forest.max_depth == 0


# -- section 3: the vote -----------------------------------------------------------------------


@pytest.mark.parametrize("as_published", [False, True])
@pytest.mark.parametrize(
    ("trees", "label"),
    [
        # x by 0.9; y by 0.5 and 0.39: most trees say y, the weights 0.9 to 0.89 say x
        ([(90, 10, 0), (30, 50, 20), (31, 39, 30)], "x"),
        ([(88, 12, 0), (30, 50, 20), (31, 39, 30)], "y"),
        # x by 0.6, z by 0.55: all shares together would say y, by 0.4 and 0.45
        ([(60, 40, 0), (0, 45, 55)], "x"),
    ],
)
def test_each_trees_label_is_weighted_by_its_confidence(trees, label, as_published):
    learner = GiniForestClassifier(
        n_trees=len(trees), max_depth=0, min_support=10**9, as_published=as_published
    )
    _, _, forest = asked(learner, trees, as_published=as_published)
    assert forest.trees.n_trees == len(trees)
    assert forest.predict(TABLE[:1]).tolist() == [label]


@pytest.mark.parametrize("as_published", [False, True])
@pytest.mark.parametrize(("sizes", "trees"), [((2, 1, 2), 2), ((1, 1), 1), ((2, 2, 2), 3)])
def test_there_are_no_more_trees_than_attributes_that_part_anything(sizes, trees, as_published):
    """Algorithm 1: roots are distinct, and an attribute of one value is no root."""
    attributes = [Categorical(f"a{i}", ("0", "1")[:size]) for i, size in enumerate(sizes)]
    domain = Domain(attributes, Categorical("label", LABELS), records=8)
    table = pd.DataFrame({a.name: ["0"] for a in attributes} | {"label": ["x"]})
    source = FrozenSource(lambda i, shape: np.full(shape, 50 if len(shape) > 1 else 0))
    kind = PublishedCurator if as_published else Curator
    used = kind(open_table(table, domain), Budget.of(1), source=source)
    learner = GiniForestClassifier(n_trees=5, max_depth=1, as_published=as_published)
    assert learner.learn(used).trees.n_trees == trees


@pytest.mark.parametrize(("most", "levels"), [(47, 1), (48, 3)])
def test_a_tree_of_many_values_stops_growing_instead_of_failing_after_its_charge(
    monkeypatch, most, levels
):
    """Two children with 8 bins and 3 labels have 48 cells."""
    monkeypatch.setattr(grower, "MAX_CELLS", most)
    learner = GiniForestClassifier(DOMAIN, epsilon="inf", min_support=0, max_depth=2)
    told = learner.fit(TABLE, notices=False).forest_.guarantee.asked
    assert sum(q.purpose.startswith("labels at level") for q in told) == levels
