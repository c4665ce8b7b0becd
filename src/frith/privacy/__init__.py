"""Budgets, guarantees and mechanisms: privacy as plain data, knowing nothing of trees."""

from frith.privacy.budget import Budget, Meter
from frith.privacy.exact import Amount, exact
from frith.privacy.guarantee import AnsweredQuestion, Guarantee
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PrivateChoice

__all__ = [
    "Amount",
    "AnsweredQuestion",
    "Budget",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Guarantee",
    "Meter",
    "PrivateChoice",
    "exact",
]
