"""How a split is chosen: by permute-and-flip, or by the exponential mechanism that sources name."""

import numpy as np
import pytest

from frith import (
    Budget,
    GiniForestClassifier,
    ID3Classifier,
    InfoGainForestClassifier,
    Ledger,
    open_table,
)
from frith.audit.frozen import FrozenSource
from frith.curator import Curator
from tests.tables import small_domain, small_table

LEARNERS = {
    "gini": lambda **given: GiniForestClassifier(max_depth=2, min_support=0, **given),
    "id3": lambda **given: ID3Classifier(max_depth=2, **given),
    "info-gain": lambda **given: InfoGainForestClassifier(max_depth=2, n_trees=2, **given),
}
every = pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)


def choices(learner, delta=0):
    source = FrozenSource(lambda i, shape: np.arange(1, np.prod(shape) + 1).reshape(shape) * 500)
    engine = open_table(small_table(), small_domain(records=200))
    learner.learn(Curator(engine, Budget.of(1, delta), source=source))
    return [e.mechanism for e in source.exchanges if hasattr(e.mechanism, "range_")]


@every
@pytest.mark.parametrize(
    ("mechanism", "delta", "gumbel"),
    [
        (None, 0, False),
        ("permute-and-flip", 0, False),
        ("exponential", 0, True),
        (None, "1e-6", True),
        ("exponential", "1e-6", True),
    ],
)
def test_choices_are_by_the_mechanism_that_is_named(make, mechanism, delta, gumbel):
    found = choices(make(mechanism=mechanism), delta)
    assert found
    assert {c.gumbel for c in found} == {gumbel}


@every
def test_the_price_and_the_scale_are_the_same(make):
    better, papers = (choices(make(mechanism=m)) for m in (None, "exponential"))
    assert [(c.amount, c.scale) for c in better] == [(c.amount, c.scale) for c in papers]


@every
def test_permute_and_flip_with_a_delta_is_refused_before_anything_is_charged(make, tmp_path):
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=1, delta="1e-6")
    learner = make(
        mechanism="permute-and-flip", delta="1e-6", domain=small_domain(), ledger=ledger.path
    )
    with pytest.raises(ValueError, match="permute-and-flip.* is for delta=0"):
        learner.fit(small_table())
    assert ledger.state.spent == 0


@every
def test_an_unknown_mechanism_is_named(make):
    with pytest.raises(ValueError, match="mechanism must be one of .* and is 'laplace'"):
        make(mechanism="laplace", domain=small_domain()).fit(small_table())


def test_the_papers_own_form_is_by_the_exponential_mechanism():
    learner = GiniForestClassifier(small_domain(), as_published=True, mechanism="permute-and-flip")
    with (
        pytest.warns(UserWarning, match="as published"),
        pytest.raises(ValueError, match="own form uses the exponential mechanism"),
    ):
        learner.fit(small_table())
