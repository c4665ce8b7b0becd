"""Records without the attributes of some parties: the trees that ask for them do not vote."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import ForestClassifier
from frith.parties import MergeError, join, restrict
from tests.parties.test_merging import same_model, vertical, votes
from tests.strategies import domains, examples, forests
from tests.tables import small_domain, small_table

TABLE = small_table(60)
ADA, BOB = vertical(["color", "round"], seed=0), vertical(["size"], seed=1)
JOINED = join({"ada": ADA, "bob": BOB})


def test_predictions_are_those_of_the_parties_that_are_there():
    for forest in (ADA, BOB):
        names = list(forest.domain.names)
        known = restrict(JOINED, [*names, "not an attribute"])
        assert same_model(known, forest)
        assert known.domain == forest.domain
        assert np.array_equal(known.predict(TABLE[names]), forest.predict(TABLE))


@given(st.data())
@examples(40)
def test_trees_whose_attributes_are_missing_do_not_vote(data):
    """What is left decides as a forest does that never had the other trees."""
    domain = data.draw(domains())
    forest = replace(data.draw(forests(domain)), vote="counts")
    columns = data.draw(st.sets(st.sampled_from(domain.names)))
    places = [i for i, name in enumerate(domain.names) if name in columns]
    values, told = np.zeros_like(forest.values), []
    for root in forest.trees.roots:
        nodes = _nodes(forest, int(root))
        told.append(set(forest.trees.attribute[nodes]) <= {-1, *places})
        if told[-1]:
            values[nodes] = forest.values[nodes]
    if not any(told) or not columns:
        with pytest.raises(MergeError, match="every tree asks for a missing attribute"):
            restrict(forest, columns)
        return
    known = restrict(forest, columns)
    assert set(known.domain.names) == columns
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, a.size, 8) for a in domain.attributes])
    silent = replace(
        forest, values=values
    )  # the same trees, and nothing in those that may not vote
    codes = codes.astype(np.int32)
    assert np.array_equal(known._weights(codes[:, places]), silent._weights(codes))


def _nodes(forest, node):
    """A node and all below it."""
    if forest.trees.attribute[node] < 0:
        return [node]
    children = forest.trees.children(node, forest.domain)
    return [node, *(n for child in children for n in _nodes(forest, child))]


def test_the_guarantee_and_the_width_of_intervals_stay():
    """What was released stays released: every party is still listed, every node still counted."""
    joined = join({"ada": vertical(["color"], epsilon=1), "bob": vertical(["size"], epsilon=2)})
    known = restrict(joined, ["size"])
    assert known.guarantee == joined.guarantee
    assert known.candidates == joined.candidates


def test_with_all_columns_nothing_changes():
    known = restrict(JOINED, JOINED.domain.names)
    assert known.to_json() == JOINED.to_json()
    assert np.array_equal(votes(known, TABLE), votes(JOINED, TABLE))


def test_a_table_without_a_column_is_refused_where_nobody_restricts():
    with pytest.raises(Exception, match="size"):
        JOINED.predict(TABLE[["color", "round"]])


def test_trees_of_scores_are_not_left_out():
    forest = ForestClassifier(small_domain(records=60), epsilon=1).fit(TABLE).forest_
    with pytest.raises(MergeError, match="correct each other"):
        restrict(forest, ["color"])
