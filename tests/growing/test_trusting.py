"""A public prior: its trees, the price of trusting it, and what the choice leaves of both models."""

from fractions import Fraction

import numpy as np
import pytest

from frith import Budget, ForestClassifier, RandomDecisionForestClassifier
from frith.audit.frozen import FrozenSource
from frith.curator import Curator
from frith.engines import open_table
from frith.growing.parts import forest_of_parts
from frith.growing.trusting import TRUSTS, parts_of, share_of_trust, trusted
from tests.tables import small_domain, small_table


def a_forest(epsilon, records=400):
    table = small_table(records)
    return ForestClassifier(small_domain(records=records), epsilon=epsilon).fit(table).forest_


def test_parts_of_a_forest_add_up_to_it():
    forest, table = a_forest(float("inf")), small_table(50)
    curator = Curator(open_table(table, forest.domain), Budget.of(1))
    parts = parts_of(forest)
    assert len(parts) == forest.trees.n_trees
    assert all(part.tree.n_trees == 1 for part in parts)
    again = forest_of_parts(curator, parts)
    assert np.allclose(again.predict_proba(table), forest.predict_proba(table))


def test_a_forest_of_counts_is_no_prior():
    model = RandomDecisionForestClassifier(small_domain(records=400), epsilon=1, random_state=0)
    forest = model.fit(small_table(400)).forest_
    with pytest.raises(ValueError, match="trees multiply"):
        parts_of(forest)


def test_the_share_of_trust_follows_from_public_facts():
    shares = [share_of_trust(s) for s in (0.0, 1.0, 25.0, 250.0, 1e4, 1e9, float("inf"))]
    assert shares == sorted(shares, reverse=True)
    assert all(Fraction(1, 100) <= s < Fraction(1, 2) for s in shares)


@pytest.mark.parametrize("pick", range(len(TRUSTS)))
def test_what_is_kept_is_what_was_scored(pick):
    """Whatever is chosen, the forest's labels are those of own + weight x prior."""
    table = small_table(300)
    own, prior = a_forest(1), a_forest(float("inf"))
    source = FrozenSource(lambda i, shape: np.full(shape, pick))
    curator = Curator(open_table(table, own.domain), Budget.of(1), source=source)
    kept = trusted(curator, parts_of(own), parts_of(prior), Fraction(1))
    scores = [np.log(f.predict_proba(table)) for f in (own, prior)]
    wanted = scores[0] + TRUSTS[pick] / 10 * scores[1]
    found = forest_of_parts(curator, kept).predict_proba(table)
    clear = np.abs(np.diff(np.sort(wanted, axis=1)[:, -2:])[:, 0]) > 1e-3
    assert clear.any()
    assert np.array_equal(found.argmax(axis=1)[clear], wanted.argmax(axis=1)[clear])


def test_the_choice_goes_by_records_that_are_right():
    """Without noise: a prior that is right is trusted, one that misleads is not."""
    table = small_table(400)
    domain = small_domain(records=400)
    engine = open_table(table, domain)
    good = parts_of(a_forest(float("inf")))
    bad = [type(p)(p.tree, -p.scores, p.variance) for p in good]
    nothing = [type(p)(p.tree, 0.01 * p.scores, p.variance) for p in good[:1]]
    for prior, is_trusted in ((good, True), (bad, False)):
        curator = Curator(engine, Budget.of(float("inf")))
        kept = trusted(curator, nothing, prior, Fraction(1))
        assert (len(kept) > len(nothing)) is is_trusted
