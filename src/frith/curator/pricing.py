"""What a question costs in noise, from its own sensitivity and from nothing that anybody says."""

from __future__ import annotations

import math
from fractions import Fraction

from frith.curator.protocol import records_per_unit
from frith.domain import Domain
from frith.kernels import Question
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from frith.privacy.shares import GaussianShare, LaplaceShare


def noise_of(
    question: Question, domain: Domain, amount: Fraction, unit: str
) -> DiscreteLaplace | DiscreteGaussian:
    """The noise of a question that spends `amount`; a person moves it by all of their records."""
    per_unit = records_per_unit(domain)
    if unit == "rho":
        return DiscreteGaussian(amount, question.l2_squared * per_unit**2)
    return DiscreteLaplace(amount, question.l1 * per_unit)


def noise_share(
    question: Question, domain: Domain, amount: Fraction, unit: str, honest: int
) -> LaplaceShare | GaussianShare:
    """What each of several parties adds to its sums, of which `honest` shares alone suffice."""
    per_unit = records_per_unit(domain)
    if unit == "rho":
        cells = math.prod(question.shape)
        return GaussianShare(amount, question.l2_squared * per_unit**2, honest, cells)
    share = LaplaceShare(amount, question.l1 * per_unit, honest)
    share.check()
    return share
