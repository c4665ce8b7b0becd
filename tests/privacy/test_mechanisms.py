from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import frith.privacy.mechanisms as mechanisms
from frith.privacy import DiscreteGaussian, DiscreteLaplace, PrivateChoice
from frith.privacy.mechanisms import SignChoice
from frith.privacy.sources import BulkSource, ExactSource, OpenDPSource, default_source
from tests.statistics import FALSE_FAILURE, fits_law

shares = st.fractions(min_value=Fraction(1, 1000), max_value=20)


@pytest.mark.parametrize("name", ["DiscreteLaplace", "DiscreteGaussian", "PrivateChoice"])
def test_every_mechanism_states_claim_proof_assumption_and_check(name):
    text = getattr(mechanisms, name).__doc__
    assert all(f"\n    {heading}" in text for heading in ("Claim", "Proof", "Assumes", "Checked"))


# -- laws, in closed form ----------------------------------------------------------------------


@given(shares, st.integers(1, 100))
def test_laplace_scale_never_exceeds_the_share(epsilon, sensitivity):
    noise = DiscreteLaplace(epsilon, sensitivity)
    assert sensitivity / Fraction(noise.scale) <= epsilon
    assert sensitivity / Fraction(noise.scale) > epsilon * (1 - Fraction(1, 10**15))


@given(shares, st.integers(1, 100))
def test_gaussian_scale_never_exceeds_the_share(rho, squared):
    noise = DiscreteGaussian(rho, squared)
    assert rho * (1 - Fraction(1, 10**15)) < squared / (2 * Fraction(noise.scale) ** 2) <= rho


@given(shares, st.integers(1, 100))
def test_permute_and_flip_scale_never_exceeds_the_share(epsilon, range_):
    choice = PrivateChoice(epsilon, range_)
    assert epsilon * (1 - Fraction(1, 10**15)) < range_ / Fraction(choice.scale) <= epsilon


@given(shares, st.integers(1, 100))
def test_sign_choice_scales_leave_a_thousandth_of_the_share_for_rounding(amount, reach):
    wide = Fraction(1001, 1000)
    pure, zcdp = (SignChoice(amount, reach, unit) for unit in ("epsilon", "rho"))
    least = amount * (1 - Fraction(1, 10**15))
    assert least < 2 * reach / Fraction(pure.scale) * wide <= amount
    assert least < (2 * reach / Fraction(zcdp.scale) * wide) ** 2 / 8 <= amount


@given(shares, st.integers(1, 100))
def test_gumbel_scale_never_exceeds_the_share(rho, range_):
    choice = PrivateChoice(rho, range_, "rho")
    assert rho * (1 - Fraction(1, 10**15)) < (range_ / Fraction(choice.scale)) ** 2 / 8 <= rho


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
def test_laplace_law_is_a_distribution_whose_shifts_cost_epsilon(epsilon):
    noise = DiscreteLaplace(Fraction(epsilon), sensitivity=2)
    k = np.arange(-3000, 3001)
    assert np.exp(noise.log_law(k)).sum() == pytest.approx(1)
    ratio = noise.log_law(k) - noise.log_law(k - 2)
    assert np.abs(ratio).max() == pytest.approx(float(Fraction(epsilon)))
    assert (np.exp(noise.log_law(k)) * k**2).sum() == pytest.approx(noise.variance)


@pytest.mark.parametrize("rho", ["0.005", "0.1", "2"])
def test_gaussian_shifts_cost_rho_at_every_renyi_order(rho):
    noise = DiscreteGaussian(Fraction(rho), sensitivity_squared=4)
    k = np.arange(-2000, 2001)
    p, q = noise.log_law(k), noise.log_law(k - 2)  # a shift of squared length 4
    assert np.exp(p).sum() == pytest.approx(1)
    for order in (1.5, 2, 4, 16):
        terms = order * p + (1 - order) * q
        divergence = (terms.max() + np.log(np.exp(terms - terms.max()).sum())) / (order - 1)
        assert divergence <= order * float(Fraction(rho)) + 1e-9


scores = st.lists(st.integers(-20, 20), min_size=2, max_size=6)


def permute_and_flip_by_hand(scores, scale):
    """Algorithm 1 of McKenna and Sheldon, over all orders of the candidates."""
    won = np.zeros(len(scores))
    orders = list(permutations(range(len(scores))))
    for order in orders:
        still = 1.0
        for i in order:
            p = np.exp((scores[i] - max(scores)) / scale)
            won[i] += still * p / len(orders)
            still *= 1 - p
    return won


@given(scores)
def test_the_pure_law_is_permute_and_flip(scores):
    choice = PrivateChoice(Fraction(1, 2), 3)
    assert choice.law(scores) == pytest.approx(permute_and_flip_by_hand(scores, choice.scale))


@given(scores)
def test_the_exponential_law_has_the_weights_of_the_papers(scores):
    choice = PrivateChoice(Fraction(1, 2), 3, exponential=True)
    weights = np.exp(np.array(scores) / (3 / 0.5))
    assert choice.law(scores) == pytest.approx(weights / weights.sum())


@given(scores)
def test_permute_and_flip_is_never_worse_than_the_exponential_mechanism(scores):
    """The expected score of what is chosen, at the same epsilon."""
    better, papers = (PrivateChoice(Fraction(1, 2), 3, exponential=e) for e in (False, True))
    assert better.law(scores) @ scores >= papers.law(scores) @ scores - 1e-9


@pytest.mark.parametrize("exponential", [False, True])
@given(scores, st.data())
def test_a_pure_choice_costs_at_most_epsilon_over_lists_of_its_range(exponential, scores, data):
    """Changes within a window of width `range_`, wherever the window lies, cost epsilon."""
    range_, start = 4, data.draw(st.integers(-9, 9))
    change = data.draw(st.lists(st.integers(0, range_), min_size=len(scores), max_size=len(scores)))
    other = [s + start + c for s, c in zip(scores, change, strict=True)]
    choice = PrivateChoice(Fraction(1), range_, exponential=exponential)
    ratio = np.log(choice.law(scores)) - np.log(choice.law(other))
    assert np.abs(ratio).max() <= 1 + 1e-9


@pytest.mark.parametrize("exponential", [False, True])
def test_a_choice_with_half_the_range_would_leak(exponential):
    choice = PrivateChoice(Fraction(1), 2, exponential=exponential)  # scores move by up to 4
    ratio = np.log(choice.law([0, 9, 3])) - np.log(choice.law([4, 9, 3]))
    assert np.abs(ratio).max() > 1


@given(scores, st.data())
def test_a_zcdp_choice_costs_at_most_rho_at_every_order(scores, data):
    change = data.draw(st.lists(st.integers(0, 4), min_size=len(scores), max_size=len(scores)))
    choice = PrivateChoice(Fraction(1, 10), 4, "rho")
    p = choice.law(scores)
    q = choice.law([s + c for s, c in zip(scores, change, strict=True)])
    for order in (1.5, 2, 8, 32):
        divergence = np.log(np.sum(p**order * q ** (1 - order))) / (order - 1)
        assert divergence <= order / 10 + 1e-9


@pytest.mark.parametrize(
    "noise",
    [DiscreteLaplace(Fraction(1, 3), 2), DiscreteGaussian(Fraction(1, 20), 3)],
    ids=str,
)
def test_the_stated_variance_is_that_of_the_law(noise):
    k = np.arange(-2_000, 2_001)
    assert noise.variance == pytest.approx((k**2 * np.exp(noise.log_law(k))).sum())


# -- samplers, against their laws --------------------------------------------------------------


@pytest.mark.parametrize(
    "noise",
    [
        DiscreteLaplace(Fraction(1, 5), 1),
        DiscreteLaplace(Fraction(2), 1),
        DiscreteGaussian(Fraction(1, 50), 1),
        DiscreteGaussian(Fraction(1), 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("source", [OpenDPSource, BulkSource])
def test_samples_follow_the_law_and_not_one_of_another_scale(noise, source):
    draws = source().perturb(np.zeros((200, 250), dtype=np.int64), noise, threads=2).ravel()
    assert fits_law(draws, noise.log_law)
    off = type(noise)(*(v * f for v, f in zip(_fields(noise), _twenty_percent(noise), strict=True)))
    assert not fits_law(draws, off.log_law)


def _fields(noise):
    return [getattr(noise, f) for f in noise.__dataclass_fields__]


def _twenty_percent(noise):
    """Factors that make the scale 20% larger."""
    return (Fraction(5, 6), 1) if isinstance(noise, DiscreteLaplace) else (Fraction(25, 36), 1)


@pytest.mark.parametrize(
    ("unit", "exponential"), [("epsilon", False), ("epsilon", True), ("rho", False)]
)
@pytest.mark.parametrize("source", [OpenDPSource(), BulkSource()], ids=["opendp", "ours"])
def test_private_choice_follows_its_law_and_not_that_of_half_the_range(source, unit, exponential):
    scores, n = [3, 2, 0], 10_000
    choice, half = (PrivateChoice(Fraction(1), r, unit, exponential) for r in (2, 1))
    won = np.bincount([source.choose(scores, [0.0] * 3, choice) for _ in range(n)], minlength=3) / n
    tolerance = np.sqrt(np.log(2 / FALSE_FAILURE) / (2 * n))  # Hoeffding, two-sided
    assert np.abs(won - choice.law(scores)).max() <= tolerance
    assert np.abs(won - half.law(scores)).max() > tolerance
    if unit == "epsilon":  # nor by that of the other mechanism
        other = PrivateChoice(Fraction(1), 2, unit, not exponential)
        assert np.abs(won - other.law(scores)).max() > tolerance


@pytest.mark.parametrize("source", [OpenDPSource, BulkSource])
def test_noise_is_added_to_the_sums_in_their_shape(source, monkeypatch):
    monkeypatch.setattr("frith.privacy.sources._BULK", 3_000)
    sums = np.arange(20_000, dtype=np.int64).reshape(100, 200) * 1000
    noisy = source().perturb(sums, DiscreteLaplace(Fraction(5), 1), threads=3)
    assert noisy.shape == sums.shape
    assert noisy.dtype == np.int64
    # P[|noise| > 250] < e^-1000: an order lost between threads would show
    assert np.abs(noisy - sums).max() < 250
    assert np.any(noisy != sums)


@pytest.mark.parametrize("source", [OpenDPSource, BulkSource])
def test_sums_saturate_instead_of_wrapping(source):
    ends = np.array([[2**63 - 1, -(2**63)]] * 50, dtype=np.int64)
    noisy = source().perturb(ends, DiscreteLaplace(Fraction(1, 1000), 1), threads=1)
    assert (noisy[:, 0] > 0).all()
    assert (noisy[:, 1] < 0).all()
    assert noisy[:, 0].max() == 2**63 - 1
    assert noisy[:, 1].min() == -(2**63)


@pytest.mark.parametrize("noise", [DiscreteLaplace(Fraction(1, 2**60), 1),
                                   DiscreteGaussian(Fraction(1, 2**110), 1)], ids=str)  # fmt: skip
def test_what_is_too_wide_for_our_draws_is_drawn_by_opendp(noise):
    noisy = BulkSource().perturb(np.zeros(20, dtype=np.int64), noise, threads=1)
    assert np.abs(noisy).max() > 2**45


def test_a_choice_that_is_too_wide_for_our_draws_is_made_by_opendp(monkeypatch):
    choice = PrivateChoice(Fraction(1, 2**60), 1)
    monkeypatch.setattr("frith.privacy.choice_draws.permute_and_flip", None)
    assert BulkSource().choose([0, 2**61, 5], [0.0] * 3, choice) in range(3)


@pytest.mark.parametrize("exponential", [False, True])
def test_our_own_choices_do_without_opendp(exponential, monkeypatch):
    monkeypatch.setattr("frith.privacy.sources._choice_measurement", None)
    choice = PrivateChoice(Fraction(1), 1, exponential=exponential)
    assert BulkSource().choose([0, 500, 5], [0.0] * 3, choice) == 1  # the others: e^-495


def test_a_curator_may_leave_all_noise_to_opendp(monkeypatch):
    assert type(default_source()) is BulkSource
    monkeypatch.setenv("FRITH_NOISE", "opendp")
    assert type(default_source()) is OpenDPSource


def test_the_exact_source_changes_nothing_and_takes_the_first_best():
    sums = np.array([3, -1, 7])
    assert np.array_equal(ExactSource().perturb(sums, DiscreteLaplace(Fraction(1), 1), 1), sums)
    assert ExactSource().choose([2, 5, 5], [9.0, 0.0, 9.0], PrivateChoice(Fraction(1), 1)) == 1


def test_scores_are_cut_off_and_weighed_in_integers():
    choice, limit = PrivateChoice(Fraction(1, 2), 3), 2**61  # its scale is 6
    scores = [5, limit + 1, -limit - 1, limit, -limit]
    assert choice.weighed(scores, [0.0] * 5) == [5, limit, -limit, limit, -limit]
    assert choice.weighed([1, 2], [0.5, -1.0]) == [1 + 3, 2 - 6]
