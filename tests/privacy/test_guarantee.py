"""Guarantees as documents: what comes from outside claims nothing that adds up to less than it costs."""

from dataclasses import replace
from fractions import Fraction

import pytest

from frith.privacy.guarantee import AnsweredQuestion, Guarantee, PartyShare

LINE = AnsweredQuestion("leaves", "discrete Laplace", Fraction(1, 3), 2, 6.0, 64)
CLAIM = Guarantee(
    Fraction(1, 3), Fraction(1, 10**6), assumptions=("n is public",), asked=(LINE,),
    parties=(PartyShare("north", Fraction(1, 3)),),
)  # fmt: skip


def test_a_guarantee_reads_back_equal():
    assert Guarantee.from_json(CLAIM.to_json()) == CLAIM
    exact = replace(CLAIM, epsilon=float("inf"), parties=())
    assert Guarantee.from_json(exact.to_json()) == exact


def test_an_amount_below_zero_would_hide_what_others_cost():
    """Without the check, a crafted claim of -1 and an honest one of 1 would add up to 0."""
    crafted = replace(CLAIM, epsilon=Fraction(-1))
    assert crafted.then(replace(CLAIM, epsilon=Fraction(1))).epsilon == 0
    with pytest.raises(ValueError, match="below 0"):
        Guarantee.from_json(crafted.to_json())


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", "-1"), ("epsilon", "1e999999999"), ("epsilon", None), ("delta", "-1"),
        ("delta", "inf"), ("neighbors", 5), ("assumptions", "abc"), ("assumptions", [None]),
    ],
)  # fmt: skip
def test_crafted_fields_are_refused(field, value):
    with pytest.raises(ValueError):  # noqa: PT011
        Guarantee.from_json(CLAIM.to_json() | {field: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("share", "1/0"), ("share", "1e999999999"), ("share", "-1"), ("scale", float("nan")), ("scale", "x"),
        ("scale", -1.0), ("cells", "many"), ("cells", -1), ("sensitivity", 1.5), ("purpose", None),
        ("mechanism", 5),
    ],
)  # fmt: skip
def test_crafted_lines_of_the_log_are_refused(field, value):
    claim = CLAIM.to_json()
    claim["asked"] = [claim["asked"][0] | {field: value}]
    with pytest.raises(ValueError):  # noqa: PT011
        Guarantee.from_json(claim)


def test_a_partys_share_is_not_below_zero():
    claim = CLAIM.to_json()
    claim["parties"] = [claim["parties"][0] | {"epsilon": "-1/3"}]
    with pytest.raises(ValueError, match="below 0"):
        Guarantee.from_json(claim)
