"""What a round is bound to: all that a share of noise depends on, worked out by each party itself."""

from dataclasses import dataclass, fields, replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Budget, open_table
from frith.curator import Curator, noise_share
from frith.errors import FormatError
from frith.growing.random_trees import grow_random_trees
from frith.kernels import (
    ConfusionCounts,
    CorrectCounts,
    LeafCounts,
    NodeCounts,
    NodeSizes,
    RecordCount,
    SplitCounts,
    SplitTables,
)
from frith.kernels.gradients import CellSums, GradientSums, ScoreColumn
from frith.kernels.label_gradients import LabelGradients
from frith.kernels.layout import Layout, equal_width_cuts
from frith.learners import RandomDecisionForestClassifier
from frith.parties import LocalParty, MergeError, SecureSum
from frith.parties.binding import Terms, hash_kernel, terms_of
from frith.parties.masks import PairMasks, Round, unmask
from frith.privacy.exact import show
from tests.parties.people import DOMAIN, curators, dealt, keyring
from tests.strategies import examples
from tests.tables import person_domain, small_table

ONE, HALF = Fraction(1), Fraction(1, 2)
KEYS = {name: key.public for name, key in keyring().items()}
PURE, WITH_DELTA = Budget.of("0.5"), Budget.of("0.5", "1e-6")


def grown(seed=0, trees=3):
    return grow_random_trees(DOMAIN, trees, 2, np.random.default_rng(seed))


TREES, LAYOUT = grown(), Layout(DOMAIN, equal_width_cuts(DOMAIN, 4))
LEAVES = LeafCounts(TREES, DOMAIN)


def terms(kernel=LEAVES, domain=DOMAIN, budget=PURE, share=ONE, keys=KEYS, colluders=1):
    return terms_of(kernel, domain, budget, share, keys=keys, colluders=colluders)


# -- every term --------------------------------------------------------------------------------

OTHER = {
    "question": {"kind": "records"}, "domain": "0" * 64, "unit": "rho", "amount": "1/3",
    "epsilon": "1/3", "delta": "1/3", "mechanism": "GaussianShare", "sensitivity": 4,
    "scale": 6.000000000000001, "parties": tuple(sorted(KEYS.items()))[1:], "colluders": 2,
}  # fmt: skip


def test_every_term_is_tried():
    assert list(OTHER) == [f.name for f in fields(Terms)]


@pytest.mark.parametrize("name", OTHER)
def test_a_change_of_any_one_term_changes_the_digest(name):
    before = terms()
    after = replace(before, **{name: OTHER[name]})
    assert getattr(before, name) != OTHER[name]
    assert after.digest != before.digest
    assert replace(after, **{name: getattr(before, name)}).digest == before.digest


def test_terms_are_those_of_the_noise_that_is_drawn():
    """In each unit: the mechanism, sensitivity and scale that `noise_share` gives."""
    for budget in (PURE, WITH_DELTA):
        found = terms(budget=budget, share=HALF)
        noise = noise_share(LEAVES, DOMAIN, HALF * budget.total, budget.unit, honest=2)
        assert (found.mechanism, found.scale) == (type(noise).__name__, noise.scale)
        assert (found.unit, found.amount) == (budget.unit, str(HALF * budget.total))
        assert found.sensitivity == 3
    assert (found.epsilon, found.delta) == ("1/2", "1/1000000")
    assert found.parties == tuple(sorted(KEYS.items()))


def test_whatever_a_share_depends_on_gives_another_digest():
    swapped = dict(zip(KEYS, reversed(KEYS.values()), strict=True))
    asked = [
        terms(),
        terms(budget=WITH_DELTA),
        terms(budget=Budget.of("0.6")),
        terms(budget=Budget.of("0.5", "1e-7")),
        terms(budget=Budget.of("inf")),
        terms(share=HALF),
        terms(kernel=LeafCounts(grown(1), DOMAIN)),
        terms(kernel=RecordCount()),
        terms(kernel=LeafCounts(TREES, person_domain(2)), domain=person_domain(2)),
        terms(kernel=LeafCounts(TREES, person_domain(3)), domain=person_domain(3)),
        terms(keys=swapped),
        terms(keys={n: KEYS[n] for n in list(KEYS)[:2]}),
        terms(colluders=2),
        terms(keys=None, colluders=0),
    ]
    assert len({t.digest for t in asked}) == len(asked)


def test_a_part_of_a_pure_budget_is_a_budget_of_its_own():
    """A server is asked with the part alone, and must find the round's digest."""
    assert terms(budget=Budget.of(1), share=HALF) == terms(budget=PURE)
    assert terms(budget=Budget.of(1, "1e-6"), share=HALF) != terms(budget=WITH_DELTA)


def test_the_order_of_parties_is_no_term():
    assert terms(keys=dict(reversed(KEYS.items()))).digest == terms().digest


@given(st.fractions(Fraction(1, 4), Fraction(1)), st.integers(1, 2))
@examples(8)
def test_amounts_that_differ_in_unit_alone_differ(epsilon, colluders):
    """Whatever the number, epsilon is not rho."""
    rho = Budget.of(epsilon, "1e-6")
    a, b = (terms(RecordCount(), budget=x, colluders=colluders) for x in (Budget(rho.total), rho))
    assert a.amount == b.amount
    assert a.digest != b.digest


# -- the attack --------------------------------------------------------------------------------


def attacked(about):
    """Ada is asked in epsilon and cy in rho, for one number, in one round."""
    rho = Budget.of("0.9", "1e-6")
    pure = Budget.of(show(rho.total))
    assert pure.total == rho.total
    keys = keyring()
    public = {n: k.public for n, k in keys.items()}
    digest = terms_of(RecordCount(), DOMAIN, {"epsilon": pure, "rho": rho}[about], ONE,
                      keys=public, colluders=1).digest  # fmt: skip
    round = Round("s", 1, 1, digest, public, 1)
    budgets = dict(zip(public, (pure, pure, rho), strict=True))
    tables = dealt(3)
    return {
        name: (Curator(open_table(tables[name], DOMAIN), b), PairMasks(keys[name], round))
        for name, b in budgets.items()
    }


@pytest.mark.parametrize(("about", "refuses"), [("epsilon", ["cy"]), ("rho", ["ada", "bo"])])
def test_one_round_is_not_answered_in_two_units(about, refuses):
    for name, (curator, masking) in attacked(about).items():
        if name not in refuses:
            curator.masked_counts(RecordCount(), ONE, "records", masking)
            continue
        with pytest.raises(ValueError, match="another question, budget or mechanism"):
            curator.masked_counts(RecordCount(), ONE, "records", masking)
        assert curator.remaining_share == 1
        assert curator.guarantee.asked == ()


def test_masks_of_two_units_do_not_cancel():
    """Even if each party were told a round that suits it, the sum would be noise."""
    sides = [attacked("epsilon")[n] for n in ("ada", "bo")] + [attacked("rho")["cy"]]
    keys = keyring()
    public = {n: k.public for n, k in keys.items()}
    messages = []
    for name, (curator, _) in zip(keys, sides, strict=True):
        digest = terms_of(
            RecordCount(), DOMAIN, curator.budget, ONE, keys=public, colluders=1
        ).digest
        masking = PairMasks(keys[name], Round("s", 1, 1, digest, public, 1))
        messages.append(curator.masked_counts(RecordCount(), ONE, "records", masking))
    assert abs(float(unmask(messages)[0])) > 2**20  # by chance: 1 in 2^43


def test_a_party_is_not_told_another_question_than_the_others():
    """Of a kernel that cannot be spelled too: the columns that it stands on are bound."""
    tables, keys = dealt(3), keyring()
    made = curators(tables, "0.5", "1e-6")
    kernels = iter([cells(5), cells(5), cells(6)])

    class Told(LocalParty):
        def masked_answer(self, kernel, share, purpose, round):
            return super().masked_answer(next(kernels), share, purpose, round)

    panel = SecureSum({n: Told(c, keys[n]) for n, c in made.items()})
    with pytest.raises(MergeError, match="cy failed: the round is about another question"):
        panel.sum(cells(5), ONE, "cells")
    assert [c.remaining_share for c in made.values()] == [0, 0, 1]


# -- kernels that do not travel ----------------------------------------------------------------


def column(value=1, before=None):
    tree = grown(0, trees=1)
    return ScoreColumn(tree, np.full(len(tree.leaves), value, dtype=np.int32), before)


def vectors(value):
    tree = grown(0, trees=1)
    return ScoreColumn(tree, np.full((len(tree.leaves), 2), value, dtype=np.int32))


def cells(value):
    return CellSums(grown(0, trees=1), column(value), DOMAIN)


def forest(seed):
    learner = RandomDecisionForestClassifier(DOMAIN, epsilon="inf", n_trees=2, random_state=seed)
    return learner.fit(small_table()[list(DOMAIN.names)], small_table()["good"]).forest_


def level(nodes=slice(None), asks=True):
    open_nodes = TREES.leaves[nodes]
    return SplitCounts(TREES, LAYOUT, open_nodes, np.full((len(open_nodes), 3), asks))


def correct(**change):
    zeros = np.zeros(2, dtype=np.int64)
    scores = np.zeros((LAYOUT.n_bins, 2), dtype=np.int64)
    return replace(CorrectCounts(LAYOUT, (0, 1), zeros, scores, np.arange(3)), **change)


def kernels():
    """Each differs from some other in one place."""
    other_cuts = Layout(DOMAIN, equal_width_cuts(DOMAIN, 5))
    return [
        RecordCount(),
        LEAVES,
        LeafCounts(grown(1), DOMAIN),
        LeafCounts(TREES, person_domain(2)),
        level(), level(slice(1, None)), level(asks=False),
        SplitTables(level()), NodeCounts(level()), NodeSizes(level()),
        GradientSums(LAYOUT, column(), 1, 2),
        GradientSums(LAYOUT, column(), 2, 1),
        GradientSums(LAYOUT, column(2), 1, 2),
        GradientSums(LAYOUT, column(1, column(2)), 1, 2),
        GradientSums(LAYOUT, column(2, column(1)), 1, 2),
        GradientSums(other_cuts, column(), 1, 2),
        LabelGradients(LAYOUT, vectors(1)), LabelGradients(LAYOUT, vectors(2)),
        cells(1), cells(2),
        correct(), correct(asked=(0,)), correct(start=np.ones(2, dtype=np.int64)),
        correct(factors=np.arange(4)), correct(factors=np.arange(1, 4)),
        ConfusionCounts(forest(0)), ConfusionCounts(forest(1)),
    ]  # fmt: skip


def test_no_two_kernels_share_a_digest():
    found = [hash_kernel(k) for k in kernels()]
    assert len(set(found)) == len(found)
    assert found == [hash_kernel(k) for k in kernels()], "and it is the same every time"


def test_a_long_row_of_columns_is_walked():
    last = None
    for i in range(3_000):
        last = column(i, last)
    assert hash_kernel(GradientSums(LAYOUT, last, 1, 2))


@dataclass(frozen=True)
class Anything:
    """What holds a field that nothing checks."""

    field: object


def walk(value):
    return hash_kernel(Anything(value))


texts = st.text(max_size=4) | st.sampled_from(["int", "tuple", "\0", '"', "1"])
parts = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | texts | st.binary(max_size=3),
    lambda v: st.lists(v, max_size=3) | st.lists(v, max_size=3).map(tuple),
    max_leaves=6,
)


@given(parts, parts)
@examples(300)
def test_only_what_is_written_alike_has_the_same_digest(a, b):
    """`repr` tells 1 from True and "1", and a tuple from a list."""
    assert (walk(a) == walk(b)) == (repr(a) == repr(b))


def test_arrays_differ_by_type_shape_and_bytes():
    zeros = np.zeros(4, dtype=np.int64)
    found = [
        zeros, zeros.reshape(2, 2), zeros[:3], zeros.astype(np.int32), zeros.astype(bool),
        zeros.astype(">i8"), zeros + 1, np.zeros(4), np.zeros((0, 4)), np.zeros((4, 0)),
        np.array(["a"]), np.array(["b"]), [0, 0, 0, 0], zeros.tobytes(),
        0, np.int64(0), np.int32(0), np.int64(1), zeros[0, ...], {}, {"a": 0}, {"b": 0}, {"a": 1},
    ]  # fmt: skip
    assert len({walk(f) for f in found}) == len(found)
    assert walk(np.arange(6).reshape(2, 3)) == walk(np.asfortranarray(np.arange(6).reshape(2, 3)))


@pytest.mark.parametrize("odd", [
    {1: 1}, {1, 2}, object(), lambda: 0, np.array([object()]), np.zeros(1, dtype="i4,i4"),
    np.ma.masked_array([1]), np.datetime64(1, "s"), pd.Series([1]),
])  # fmt: skip
def test_what_cannot_be_bound_is_refused(odd):
    with pytest.raises(FormatError, match="made of numbers, texts, arrays and dataclasses"):
        walk(odd)
