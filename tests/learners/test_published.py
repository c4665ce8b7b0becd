"""The papers' own forms: they warn, carry no guarantee, and are what the papers say."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import (
    Budget,
    C45Classifier,
    Categorical,
    Domain,
    Forest,
    GiniForestClassifier,
    RandomDecisionForestClassifier,
    SignalForestClassifier,
    open_table,
)
from frith.audit.replay import FrozenSource, arbitrary_releases
from frith.growing.grower import Grower
from frith.kernels import NodeCounts, SplitTables
from frith.learners.published.curator import ExponentialChoice, PublishedCurator
from frith.privacy import DiscreteLaplace
from tests.tables import small_domain, small_table

LEARNERS = [
    RandomDecisionForestClassifier,
    SignalForestClassifier,
    GiniForestClassifier,
    C45Classifier,
]


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_published_form_warns_and_carries_no_guarantee(learner, tmp_path):
    table = small_table()
    with pytest.warns(UserWarning, match="does not keep its claim"):
        model = learner(small_domain(), epsilon=1, as_published=True).fit(table)
    assert not model.forest_.guarantee.holds
    assert "as published" in str(model.forest_.guarantee)
    model.forest_.save(tmp_path / "forest.json")
    assert not Forest.load(tmp_path / "forest.json").guarantee.holds


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_ledger_sells_no_published_form(learner, tmp_path):
    """It has no finite price, however small its epsilon is."""
    ledger = tmp_path / "ledger.db"
    model = learner(small_domain(), epsilon=1, as_published=True, ledger=ledger)
    with pytest.raises(ValueError, match="no price"):
        model.fit(small_table())
    with pytest.raises(ValueError, match="no delta"):
        learner(small_domain(), epsilon=1, delta=1e-6, as_published=True).fit(small_table())
    assert not ledger.exists()


def curator(table, epsilon=1):
    source = FrozenSource(arbitrary_releases(0))
    return PublishedCurator(open_table(table, small_domain()), Budget.of(epsilon), source=source)


def exchanges(learner, table):
    used = curator(table)
    learner.learn(used)
    return used._source.exchanges


def test_dpdf_asks_two_levels_more_than_it_pays_for():
    """2 levels of nodes pay for 2 x 2 - 1 questions and ask 2 x 2 + 1."""
    learner = GiniForestClassifier(max_depth=1, min_support=0, as_published=True)
    asked = exchanges(learner, small_table())
    counted = [e for e in asked if hasattr(e.mechanism, "sensitivity")]
    assert len(counted) == 3
    assert {e.mechanism.scale for e in counted} == {3.0}


def test_dpdf_leaks_where_the_noisy_size_is_far_over_the_true_one():
    """One record, or two apart under b and together under a; a noisy size of 100 for both.

    The choice has the weights exp(epsilon G / (2 x 0.0196)), and G of a moves by 1/2: 12 epsilon.
    """
    domain = Domain(
        [Categorical("a", ("0", "1")), Categorical("b", ("0", "1"))],
        Categorical("good", ("no", "yes")),
    )
    both = pd.DataFrame({"a": ["0", "0"], "b": ["0", "1"], "good": ["no", "yes"]})

    def chance_of_a(table):
        source = FrozenSource(lambda i, shape: np.full(shape, 50 if len(shape) > 1 else 0))
        used = PublishedCurator(open_table(table, domain), Budget.of(3), source=source)
        GiniForestClassifier(max_depth=1, as_published=True).learn(used)
        choice = source.exchanges[1]
        weights = np.exp(choice.exact.astype(float) / choice.mechanism.scale)
        return weights[0] / weights.sum()

    loss = np.log(chance_of_a(both[:1]) / chance_of_a(both))  # for an epsilon of 1
    assert loss == pytest.approx(12.06, abs=0.1)


def test_exact_counts_of_one_kernel_take_one_pass_and_are_those_of_the_records():
    passes = []
    domain = small_domain()
    for rows in (0, 1):
        used = PublishedCurator(
            open_table(small_table()[:rows], domain), Budget.of(1), progress=passes.append
        )
        assert used.records(Fraction(1)) == 1  # a table without records counts as one of one
    passes.clear()
    level = Grower(domain, 1, 4).level([0])[0]
    for view in (NodeCounts(level), SplitTables(level)):
        used.exact_counts(view)
    assert passes == ["exact"]


def test_c45_counts_a_record_once_for_every_attribute_and_pays_for_one():
    table = small_table()
    learner = C45Classifier(max_depth=1, as_published=True)
    full, less = (exchanges(learner, t)[0] for t in (table, table[1:]))
    moved = np.abs(full.exact - less.exact).sum()
    assert moved == 3
    assert moved / Fraction(full.mechanism.scale) == 3 * Fraction(
        1, 2
    )  # half of epsilon was claimed


@pytest.mark.parametrize(
    ("allocation", "scales"),
    [("arithmetic", [12, 6]), ("geometric", [8, 8]), ([3, 1], [16 / 3, 16])],
)
def test_c45_chooses_for_its_levels_share_of_half_the_budget(allocation, scales):
    """Weights exp(epsilon ratio / (2 Delta)), Delta = 1: level i gets 2 i / (h (h + 1)) of 1/2."""
    learner = C45Classifier(max_depth=2, allocation=allocation, as_published=True)
    asked = exchanges(learner, small_table())
    found = [e.mechanism.scale / 2**30 for e in asked if isinstance(e.mechanism, ExponentialChoice)]
    assert found[:2] == pytest.approx(scales)
    tables = [e.mechanism.scale for e in asked if isinstance(e.mechanism, DiscreteLaplace)]
    assert tables == pytest.approx(
        [s / 2 for s in scales]
    )  # the same share, for a sensitivity of 1


def test_c45_chooses_by_the_gain_ratios_of_its_noisy_tables():
    """Equation 6 of invented tables: color parts good from bad in halves, round not at all."""

    def invent(i, shape):
        made = np.zeros(shape, dtype=np.int64)
        if i == 0:
            made[0, :5] = [[8, 0], [0, 8], [0, 0], [4, 4], [4, 4]]
        return made

    source = FrozenSource(invent)
    used = PublishedCurator(open_table(small_table(), small_domain()), Budget.of(1), source=source)
    C45Classifier(max_depth=1, as_published=True).learn(used)
    ratios = source.exchanges[1].exact.astype(float) / 2**30
    assert ratios.tolist() == [1, 0] + [0] * 16


def test_c45_labels_its_leaves_with_exact_counts():
    table = small_table()
    with pytest.warns(UserWarning, match="as published"):
        forest = C45Classifier(small_domain(), as_published=True, max_depth=1).fit(table).forest_
    assert forest.values[0].tolist() == [sum(table.good == "no"), sum(table.good == "yes")]


@pytest.mark.parametrize(
    ("labels", "least", "depth"),
    [(("no",) * 8, None, 0), (("no",) * 7 + ("yes",), None, 1),
     (("no",) * 7 + ("yes",), 8, 0), (("no",) * 7 + ("yes",), 7, 1)],
)  # fmt: skip
def test_c45_stops_at_one_label_and_under_a_size_by_exact_counts(labels, least, depth):
    """Steps 2 and 3 of section 2.3, whatever the noisy tables say."""
    learner = C45Classifier(max_depth=1, min_support=least, as_published=True)
    forest = learner.learn(curator(small_table(8).assign(good=labels)))
    assert forest.max_depth == depth


@pytest.mark.parametrize("learner", LEARNERS[:2])
def test_random_forests_use_the_exact_number_of_records_uncharged(learner):
    with pytest.warns(UserWarning, match="as published"):
        model = learner(small_domain(), epsilon=1, as_published=True).fit(small_table())
    assert [q.purpose for q in model.forest_.guarantee.asked] == ["labels in the leaves"]
    assert curator(small_table(123)).records(Fraction(1, 2)) == 123


def test_an_exact_guarantee_and_a_published_one_read_differently():
    table = small_table()
    exact = RandomDecisionForestClassifier(small_domain(), epsilon="inf").fit(table).forest_
    assert "exact counts" in str(exact.guarantee)
    assert "exact counts" not in str(replace(exact.guarantee, assumptions=("as published: x",)))
