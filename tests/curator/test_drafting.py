"""Values that nobody declared: what they cost, which are shown, and when they are refused."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Budget, open_table
from frith.audit.frozen import FrozenSource
from frith.curator.drafting import DraftingCurator
from frith.engines.raw import RawTable
from frith.errors import BudgetExceeded, QuestionError
from frith.learners.private_domain import DraftPlan
from frith.privacy.thresholds import ThresholdedCounts

HALF, DELTA = Fraction(1, 2), Fraction("1e-6")
JOBS = pd.DataFrame({"job": ["cook"] * 3 + ["nurse"] * 2 + ["smith"], "ill": [0] * 6})


def curator(epsilon=1, delta=DELTA, released=()):
    plan = DraftPlan(
        "ill", {"job": "values", "ill": [0, 1]}, Budget.of(20, DELTA), None, None, None
    )
    raw = RawTable(open_table(JOBS, plan.source, threads=1), plan.asked, plan.grids, 1)
    source = FrozenSource(lambda number, shape: np.array(released)) if released else None
    return DraftingCurator(raw, epsilon, delta, source=source)


def test_values_reach_the_threshold_or_are_not_shown():
    least = ThresholdedCounts(HALF, HALF * DELTA, 1).threshold
    asked = curator(released=[least, least - 1, least + 1])
    assert asked.frequent_values("job", HALF, HALF, "jobs") == ["cook", "smith"]


def test_without_noise_every_value_that_occurs_is_shown():
    assert curator("inf").frequent_values("job", HALF, HALF, "jobs") == ["cook", "nurse", "smith"]


def test_values_that_are_counted_but_not_there_are_shown_by_no_limit():
    assert curator("inf", released=[1, 0, 2]).frequent_values("job", HALF, HALF, "jobs") == [
        "cook",
        "smith",
    ]


def test_epsilon_and_delta_are_charged_once_for_each_column():
    asked = curator()
    asked.frequent_values("job", HALF, HALF, "jobs")
    assert asked.remaining_share == HALF
    asked.frequent_values("job", HALF, HALF, "jobs again")
    assert asked.remaining_share == 0
    with pytest.raises(BudgetExceeded):
        asked.frequent_values("job", Fraction(1, 100), Fraction(1, 10**9), "and again")


@pytest.mark.parametrize("first", [Fraction(1), Fraction(3, 4)])
def test_deltas_add_up_to_no_more_than_delta(first):
    asked = curator()
    asked.frequent_values("job", Fraction(1, 4), first, "jobs")
    with pytest.raises(BudgetExceeded, match="delta"):
        asked.frequent_values("job", Fraction(1, 4), 1 - first + Fraction(1, 10**9), "again")
    assert asked.remaining_share == Fraction(3, 4), "what is refused costs nothing"


def test_a_delta_that_is_just_left_is_enough():
    asked = curator()
    asked.frequent_values("job", Fraction(1, 4), Fraction(3, 4), "jobs")
    asked.frequent_values("job", Fraction(1, 4), Fraction(1, 4), "jobs again")
    assert asked.remaining_share == HALF


@pytest.mark.parametrize("share", [0, Fraction(-1, 10**7)])
def test_without_a_delta_no_value_is_shown(share):
    with pytest.raises(BudgetExceeded, match="delta"):
        curator().frequent_values("job", HALF, Fraction(share), "jobs")


def test_an_amount_outside_the_window_is_refused_and_costs_nothing():
    asked = curator(Fraction(1, 10**9))
    with pytest.raises(ValueError, match="jobs"):
        asked.frequent_values("job", Fraction(1, 10**12), HALF, "jobs")
    assert asked.remaining_share == 1


def test_a_column_that_is_not_there_is_named():
    with pytest.raises(QuestionError, match="wage"):
        curator().frequent_values("wage", HALF, HALF, "wages")
