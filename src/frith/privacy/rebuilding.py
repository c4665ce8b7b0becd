"""What a rebuild would save: the noise of several releases adds up, and one release has its own alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from frith.privacy.guarantee import DISJOINT, AnsweredQuestion, Guarantee
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace

LAPLACE, GAUSSIAN = "discrete Laplace", "discrete Gaussian"


@dataclass(frozen=True, slots=True)
class Rebuild:
    """The variance of noise that `releases` answers to one question have in sum, and one would."""

    releases: int
    variance: float
    after: float

    @property
    def gain(self) -> float:
        """How many times smaller the noise would be, as a standard deviation."""
        return float((self.variance / self.after) ** 0.5)


def rebuild(guarantee: Guarantee) -> Rebuild | None:
    """What one answer to the last question would have, for all that the claim says was spent.

    None where it was asked once, or was answered in more than one way.
    """
    if not guarantee.holds or not guarantee.asked:
        return None
    last = guarantee.asked[-1]
    asked = [q for q in guarantee.asked if (q.purpose, q.cells) == (last.purpose, last.cells)]
    alike = {(q.mechanism, q.sensitivity) for q in asked} == {(last.mechanism, last.sensitivity)}
    if len(asked) < 2 or not alike or last.mechanism not in (LAPLACE, GAUSSIAN):
        return None
    after = _noise(last, _spent(guarantee, asked)).variance
    return Rebuild(len(asked), sum(_noise(q, _amount(q)).variance for q in asked), after)


def _spent(guarantee: Guarantee, asked: list[AnsweredQuestion]) -> Fraction:
    """What all answers have cost together, in the mechanism's own unit."""
    if asked[0].mechanism == LAPLACE:
        assert isinstance(guarantee.epsilon, Fraction)
        return min(q.share for q in asked) * guarantee.epsilon
    amounts = [_amount(q) for q in asked]
    return max(amounts) if DISJOINT in guarantee.assumptions else sum(amounts, Fraction(0))


def _amount(question: AnsweredQuestion) -> Fraction:
    """What one answer has cost, from its scale."""
    scale = Fraction(question.scale)
    if question.mechanism == LAPLACE:
        return question.sensitivity / scale
    return question.sensitivity / (2 * scale**2)


def _noise(question: AnsweredQuestion, amount: Fraction) -> DiscreteLaplace | DiscreteGaussian:
    kind = DiscreteLaplace if question.mechanism == LAPLACE else DiscreteGaussian
    return kind(amount, question.sensitivity)
