"""Budgets, guarantees, mechanisms and the ledger: privacy as plain data, knowing nothing of trees."""

from frith.privacy.budget import Budget, Meter
from frith.privacy.exact import Amount, exact
from frith.privacy.guarantee import Guarantee, Question
from frith.privacy.ledger import Ledger, Receipt
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PrivateChoice

__all__ = [
    "Amount",
    "Budget",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "Guarantee",
    "Ledger",
    "Meter",
    "PrivateChoice",
    "Question",
    "Receipt",
    "exact",
]
