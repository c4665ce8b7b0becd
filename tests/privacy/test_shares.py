"""Shares of noise: their laws, that so many of them suffice and no fewer, and the exact sampler."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

import frith.privacy.polya as polya
import frith.privacy.shares as module
from frith.privacy import DiscreteGaussian, DiscreteLaplace
from frith.privacy.shares import LEAST_SCALE, MAX_SCALE, GaussianShare, LaplaceShare
from frith.privacy.sources import OpenDPSource
from tests.statistics import FALSE_FAILURE, fits_law

HALF, TENTH = Fraction(1, 2), Fraction(1, 10)
amounts = st.fractions(min_value=Fraction(1, 1000), max_value=20)


@pytest.mark.parametrize("name", ["LaplaceShare", "GaussianShare"])
def test_every_share_states_claim_proof_assumption_and_check(name):
    text = getattr(module, name).__doc__
    assert all(f"\n    {heading}" in text for heading in ("Claim", "Proof", "Assumes", "Checked"))


# -- the window --------------------------------------------------------------------------------


def test_noise_wider_than_the_largest_scale_is_refused_with_advice():
    """Also where no float could say how wide it would be."""
    widest = int(MAX_SCALE)
    assert LaplaceShare(Fraction(1, widest), 1, 1).scale == MAX_SCALE
    assert GaussianShare(Fraction(1, 2 * widest**2), 1, 1, 1).scale == MAX_SCALE
    beyond = Fraction(widest**2, widest**2 + 1)
    for factor in (beyond, Fraction(1, 10**400)):
        with pytest.raises(ValueError, match="wider than a scale of 2.50; ask for a larger eps"):
            LaplaceShare(factor / widest, 1, 1)
        with pytest.raises(ValueError, match="wider than a scale of 2.50; ask for a larger eps"):
            GaussianShare(factor / (2 * widest**2), 1, 1, 1)


@pytest.mark.parametrize("make", [LaplaceShare, lambda *given: GaussianShare(*given, cells=1)])
@pytest.mark.parametrize(("given_", "reason"), [
    ((HALF, 0, 2), "sensitivity of at least 1"), ((HALF, -1, 2), "sensitivity of at least 1"),
    ((Fraction(0), 1, 2), "positive amount"), ((-HALF, 1, 2), "positive amount"),
    ((HALF, 1, 0), "at least 1 party"),
])  # fmt: skip
def test_a_share_without_a_meaning_is_refused(make, given_, reason):
    with pytest.raises(ValueError, match=reason):
        make(*given_)


# -- laws, by convolution ----------------------------------------------------------------------


def reach_of(share):
    """A grid on which nothing that matters is cut off."""
    return int(50 * share.scale) + 50


def law_of(share):
    """P[share = k] for k from -reach to reach: the law of A - B from that of A."""
    counts = np.exp(share.log_law(np.arange(reach_of(share) + 1)))
    return np.convolve(counts, counts[::-1])


def convolved(law, times):
    """The law of a sum, on a grid that grows with it."""
    total = np.ones(1)
    for _ in range(times):
        total = np.convolve(total, law)
    return total


def middle(law, reach):
    centre = len(law) // 2
    return law[centre - reach : centre + reach + 1]


@pytest.mark.parametrize("epsilon", [TENTH, Fraction(1), Fraction(3)], ids=str)
@pytest.mark.parametrize("honest", [1, 2, 3, 7])
def test_so_many_shares_sum_to_the_central_law_and_one_fewer_does_not(epsilon, honest):
    share, central = LaplaceShare(epsilon, 1, honest), DiscreteLaplace(epsilon, 1)
    grid = np.arange(-20, 21)
    expected = np.exp(central.log_law(grid))
    found = middle(convolved(law_of(share), honest), 20)
    assert found == pytest.approx(expected, rel=1e-6, abs=1e-12)
    fewer = middle(convolved(law_of(share), honest - 1), 20) if honest > 1 else grid == 0
    assert np.abs(fewer - expected).max() > 0.001


@pytest.mark.parametrize("honest", [2, 3, 7])
def test_one_share_fewer_would_cost_more_than_epsilon(honest):
    """What m - t shares hide, m - t - 1 do not: the calibration has no slack to give away."""
    share = LaplaceShare(HALF, 1, honest)

    def cost(parties):
        law = np.log(middle(convolved(law_of(share), parties), 60))
        return np.abs(np.diff(law)).max()

    assert cost(honest) == pytest.approx(0.5, abs=1e-6)
    assert cost(honest + 1) <= 0.5 + 1e-6
    assert cost(honest - 1) > 0.51


def test_shares_for_all_parties_would_leave_a_curious_one_too_much():
    """1/m shares at epsilon 0.1, three parties, one of which takes its own share off the sum."""
    law = np.log(middle(convolved(law_of(LaplaceShare(TENTH, 1, 3)), 2), 100))
    assert np.abs(np.diff(law)).max() == pytest.approx(0.34, abs=0.01)


@pytest.mark.parametrize(("parties", "colluders"), [(2, 1), (3, 1), (6, 1), (6, 3), (10, 4)])
def test_all_shares_have_m_over_m_minus_t_times_the_central_variance(parties, colluders):
    honest = parties - colluders
    share, central = LaplaceShare(HALF, 2, honest), DiscreteLaplace(HALF, 2)
    law, grid = law_of(share), np.arange(-reach_of(share), reach_of(share) + 1)
    assert parties * (law * grid**2).sum() == pytest.approx(
        parties / honest * central.variance, rel=1e-6
    )
    assert parties * share.variance == pytest.approx(parties / honest * central.variance)
    gaussian = GaussianShare(TENTH / 100, 5, honest, cells=100)
    assert parties * gaussian.variance == pytest.approx(
        parties / honest * DiscreteGaussian(TENTH / 100, 5).variance, rel=1e-9
    )


def test_a_single_count_is_geometric_for_one_honest_party():
    share = LaplaceShare(HALF, 1, 1)
    q = math.exp(-0.5)
    n = np.arange(40)
    assert np.exp(share.log_law(n)) == pytest.approx((1 - q) * q**n)


@given(amounts, st.integers(1, 100), st.integers(1, 20))
def test_a_laplace_share_never_has_too_small_a_scale(epsilon, sensitivity, honest):
    share = LaplaceShare(epsilon, sensitivity, honest)
    assert sensitivity / Fraction(share.scale) <= epsilon
    assert sensitivity / Fraction(share.scale) > epsilon * (1 - Fraction(1, 10**15))


# -- Gaussian shares ---------------------------------------------------------------------------


@given(st.fractions(Fraction(1, 10**6), TENTH / 10), st.integers(1, 50), st.integers(1, 12),
       st.integers(1, 10**6))  # fmt: skip
def test_a_gaussian_share_never_has_too_small_a_scale(rho, squared, honest, cells):
    try:
        share = GaussianShare(rho, squared, honest, cells)
    except ValueError:
        return  # refused: see below
    assert share.scale >= LEAST_SCALE
    assert within(share.scale, rho, squared, honest, cells)
    assert not within(math.nextafter(share.scale, 0), rho, squared, honest, cells)


def within(scale, rho, squared, honest, cells):
    """Kairouz, Liu and Steinke's bound, with tau from the least scale, in fractions."""
    tau = 10 * (honest - 1) * Fraction(1, 10**17)
    return squared / (2 * honest * Fraction(scale) ** 2) + cells * tau / 4 <= rho


def test_the_bound_on_tau_is_one():
    for honest in range(2, 30):
        terms = [
            math.exp(-2 * (math.pi * LEAST_SCALE) ** 2 * k / (k + 1)) for k in range(1, honest)
        ]
        assert 10 * sum(terms) <= 1e-16 * (honest - 1)


def test_every_cell_is_counted_in_the_distance_from_a_gaussian():
    few, many = (GaussianShare(Fraction(1, 10**6), 1, 3, cells) for cells in (1, 10**9))
    assert many.scale > few.scale
    with pytest.raises(ValueError, match="too small to be shared"):
        GaussianShare(Fraction(1, 10**6), 1, 3, cells=10**11)  # nothing is left of rho
    with pytest.raises(ValueError, match="too small to be shared"):
        GaussianShare(Fraction(2, 10**16) * 1000 / 4, 1, 3, cells=1000)  # to the last bit


def test_a_scale_of_two_is_wide_enough():
    assert GaussianShare(Fraction(1, 8), 1, honest=1, cells=1).scale == LEAST_SCALE


@pytest.mark.parametrize("honest", [1, 2, 5])
def test_a_gaussian_share_narrower_than_two_is_refused_with_advice(honest):
    just = Fraction(1, 8 * honest)  # sensitivity 1: scale 2 exactly, but for the term in tau
    GaussianShare(just * Fraction(999, 1000), 1, honest, cells=1)
    with pytest.raises(ValueError, match="smaller epsilon, or add full noise"):
        GaussianShare(just * Fraction(1001, 1000), 1, honest, cells=1)


@pytest.mark.parametrize(("rho", "squared", "honest"), [
    (Fraction(1, 20), 1, 2), (Fraction(1, 100), 1, 5), (Fraction(1, 200), 4, 3),
])  # fmt: skip
def test_the_sum_of_gaussian_shares_costs_rho_at_every_renyi_order(rho, squared, honest):
    share, shift = GaussianShare(rho, squared, honest, cells=1), math.isqrt(squared)
    reach = int(30 * share.scale)
    single = np.exp(DiscreteGaussian(1 / (2 * Fraction(share.scale) ** 2), 1).log_law(
        np.arange(-reach, reach + 1)))  # fmt: skip
    law = convolved(single, honest)
    p, q = law[shift:], law[:-shift]
    kept = (p > 1e-250) & (q > 1e-250)
    p, q = np.log(p[kept]), np.log(q[kept])
    for order in (1.5, 2, 4, 16):
        terms = order * p + (1 - order) * q
        divergence = (terms.max() + np.log(np.exp(terms - terms.max()).sum())) / (order - 1)
        assert divergence <= order * float(rho) + 1e-9
        assert divergence > order * float(rho) * 0.99  # and no more noise than it takes


# -- the sampler -------------------------------------------------------------------------------

LAWS = [(Fraction(1, 5), 1, 1), (Fraction(1, 5), 1, 4), (Fraction(3), 1, 1), (Fraction(3), 1, 3),
        (HALF, 10, 9), (Fraction(7, 5), 2, 2)]  # fmt: skip


@pytest.mark.parametrize("parameters", LAWS, ids=str)
def test_counts_follow_their_law_and_not_that_of_another_party_count(parameters):
    share = LaplaceShare(*parameters)
    draws = polya.draw_counts(share.scale, share.honest, 50_000)
    assert draws.min() == 0
    assert fits_law(draws, on_counts(share))
    assert not fits_law(draws, on_counts(LaplaceShare(*parameters[:2], 2 * share.honest)))


def on_counts(share):
    """The law of one count, on a grid that also has negative numbers."""
    return lambda k: np.where(k < 0, -np.inf, share.log_law(np.maximum(k, 0)))


@pytest.mark.parametrize("honest", [1, 2, 5])
def test_the_sum_of_honest_draws_is_central_noise_and_one_fewer_is_not(honest):
    share, central = LaplaceShare(HALF, 1, honest), DiscreteLaplace(HALF, 1)
    draws = np.array([polya.draw_shares(share, 50_000) for _ in range(honest)])
    assert fits_law(draws.sum(axis=0), central.log_law)
    if honest > 1:
        assert not fits_law(draws[1:].sum(axis=0), central.log_law)


def test_draws_of_all_parties_have_the_stated_variance():
    """The mean square of n draws lies within t of the variance unless with a chance of 1e-9.

    Chebyshev's inequality would be far too wide; a normal quantile is exact enough for a mean of
    so many squares, whose own variance is taken from the law (fourth moment).
    """
    parties, honest, n = 6, 4, 200_000
    share = LaplaceShare(HALF, 2, honest)
    total = sum(polya.draw_shares(share, n) for _ in range(parties))
    law = convolved(law_of(share), parties)
    grid = np.arange(len(law)) - len(law) // 2
    variance, fourth = (law * grid**2.0).sum(), (law * grid**4.0).sum()
    tolerance = 6.1 * math.sqrt((fourth - variance**2) / n)  # two-sided 1e-9
    assert abs(np.mean(total.astype(float) ** 2) - variance) <= tolerance
    assert variance == pytest.approx(parties / honest * DiscreteLaplace(HALF, 2).variance, rel=1e-6)
    assert tolerance < 0.1 * variance  # 6/4 and 6/5 are further apart


@pytest.mark.parametrize(
    ("kind", "honest"), [(kind, h) for kind in ("Laplace", "Gaussian") for h in (1, 2, 3)]
)
def test_the_source_adds_a_share_to_every_sum_in_its_shape(kind, honest):
    sums = np.arange(20_000, dtype=np.int64).reshape(100, 200) * 1000
    if kind == "Laplace":
        share = LaplaceShare(Fraction(1), 1, honest)
        reach, logs = reach_of(share), np.log(law_of(share))
        law = lambda k: logs[np.asarray(k) + reach]  # noqa: E731
    else:
        share = GaussianShare(Fraction(1, 50), 1, honest, 20_000)
        law = DiscreteGaussian(1 / (2 * Fraction(share.scale) ** 2), 1).log_law
    noisy = OpenDPSource().perturb(sums, share, threads=2)
    assert noisy.shape == sums.shape
    assert noisy.dtype == np.int64
    assert fits_law((noisy - sums).ravel(), law)


def test_noise_that_is_too_wide_to_be_drawn_in_shares_is_refused_with_advice():
    wide = LaplaceShare(Fraction(1), 10_001, 2)
    with pytest.raises(ValueError, match="too wide .*; ask with a delta, or for a larger epsilon"):
        wide.check()
    LaplaceShare(Fraction(1), 10_000, 2).check()
    LaplaceShare(Fraction(1), 10**9, 1).check()  # one share is all of the noise, by OpenDP
    drawn = OpenDPSource().perturb(
        np.zeros(9, dtype=np.int64), LaplaceShare(Fraction(1), 10**9, 1), 1
    )
    assert np.any(drawn != 0)


# -- its parts ---------------------------------------------------------------------------------

COIN = 200_000
TOLERANCE = math.sqrt(math.log(2 / FALSE_FAILURE) / (2 * COIN))  # Hoeffding, two-sided


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1, 3), HALF, Fraction(999, 1000), Fraction(1)])
def test_an_event_happens_as_often_as_its_probability_says(p):
    happened = polya.happens(p, COIN).mean()
    assert abs(happened - float(p)) <= TOLERANCE
    assert p not in (0, 1) or happened == p


@pytest.mark.parametrize("g", [Fraction(1, 50), HALF, Fraction(1), Fraction(5, 2), Fraction(3)])
def test_an_exponential_event_happens_as_often_as_it_should(g):
    happened = polya.happens_exp(g, COIN).mean()
    assert abs(happened - math.exp(-g)) <= TOLERANCE
    assert abs(happened - (1 - g / 4)) > TOLERANCE  # nor by some other falling function


def test_what_cannot_happen_takes_no_time(monkeypatch):
    """The window lets an epsilon be a billion, and each of its units is a draw of its own."""
    rounds, draw = [], polya._happens_exp_small
    monkeypatch.setattr(polya, "_happens_exp_small", lambda g, n: (rounds.append(n), draw(g, n))[1])
    assert not polya.happens_exp(Fraction(10**9), 5).any()
    assert len(rounds) < 1_000


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 1000])
def test_whole_numbers_below_a_bound_are_drawn_evenly(bound):
    drawn = polya.below(np.full(COIN, bound, dtype=np.uint64)).astype(np.int64)
    counts = np.bincount(drawn, minlength=bound)
    assert len(counts) == bound
    assert bound == 1 or chi2.sf(
        ((counts - COIN / bound) ** 2).sum() / (COIN / bound), bound - 1
    ) > (FALSE_FAILURE)


def words(monkeypatch, *lists):
    """Let the next draws be these."""
    queue = iter(lists)

    def draw(count):
        drawn = np.array(next(queue), dtype=np.uint64)
        assert len(drawn) == count
        return drawn

    monkeypatch.setattr(polya, "_words", draw)


def test_where_all_bits_agree_further_bits_decide(monkeypatch):
    """A third is 0x5555.. followed by a third again, so a tie is as if nothing had been drawn."""
    fives = 0x5555555555555555
    words(monkeypatch, [fives - 1, fives, fives + 1, fives, fives],  # decided, tie, decided, ties
          [fives - 1, fives, fives + 1],  # the three ties: yes, tie again, no
          [0])  # and the last one: yes  # fmt: skip
    assert polya.happens(Fraction(1, 3), 5).tolist() == [True, True, False, True, False]


def test_a_tie_on_a_probability_that_has_no_further_bits_does_not_happen(monkeypatch):
    words(monkeypatch, [2**63, 2**63 - 1], [0], [5])  # a half: its 64 bits are all there is
    assert polya.happens(HALF, 2).tolist() == [False, True]


def test_numbers_that_would_favor_small_remainders_are_drawn_again(monkeypatch):
    """2^64 leaves 1 when divided by 3: the largest word is one too many."""
    words(monkeypatch, [2**64 - 1, 2**64 - 2, 4], [2**64 - 1], [8])
    assert polya.below(np.full(3, 3, dtype=np.uint64)).tolist() == [2, 2, 1]


def test_a_word_is_64_bits_each_of_them_even():
    drawn = polya._words(COIN)
    for bit in (0, 1, 31, 62, 63):
        ones = ((drawn >> np.uint64(bit)) & np.uint64(1)).mean()
        assert abs(ones - 0.5) <= TOLERANCE
