"""Draws of the discrete Gaussian law: what floats decide, fractions decide too."""

import math
import os
from decimal import ROUND_FLOOR, Context, Decimal, Inexact, localcontext
from fractions import Fraction

import numpy as np
import pytest

from frith.privacy import gaussian_draws
from frith.privacy.gaussian_draws import _enclose, _is_below, _keep, draw, fits
from frith.privacy.mechanisms import DiscreteGaussian
from tests.statistics import fits_law

N = 10_000_000 if os.environ.get("FRITH_FULL") == "1" else 50_000


def noise_of(scale):
    return DiscreteGaussian(1 / (2 * Fraction(scale) ** 2), 1)


@pytest.mark.parametrize("scale", [0.4, 1.0, 3.7, 20.0, 1000.5])
def test_samples_follow_the_law_and_not_one_of_another_scale(scale):
    noise = noise_of(scale)
    assert noise.scale == scale
    draws = draw(scale, N)
    assert len(draws) == N
    assert fits_law(draws, noise.log_law)
    assert not fits_law(draws, noise_of(scale * 1.2).log_law)


@pytest.mark.parametrize("scale", [0.05, 1.0, 3.7, 1000.5, 2.0**49 + 0.5])
def test_floats_and_fractions_keep_the_same(scale, monkeypatch):
    rng = np.random.default_rng(0)
    t = int(scale) + 1
    sizes = rng.integers(0, 8 * t, 400)
    words = rng.integers(0, 2**64, 400, dtype=np.uint64)
    usual = _keep(sizes, words, scale, t)
    monkeypatch.setattr(gaussian_draws, "_DOUBT", 2.0)
    assert usual.tolist() == _keep(sizes, words, scale, t).tolist()
    assert 0 < usual.sum() < 400


@pytest.mark.parametrize("size", [0, 2, 5, 9])
def test_what_floats_cannot_tell_apart_fractions_do(size):
    scale, t = 3.7, 4
    exact = Fraction(scale)
    chance = _enclose((size - exact**2 / t) ** 2 / (2 * exact**2), 400)[0]
    edge = math.floor(chance * 2**64)
    words = np.array([edge - 1, edge + 1], dtype=np.uint64)
    assert (words / 2.0**64).tolist() == [edge / 2.0**64] * 2
    assert _keep(np.array([size, size]), words, scale, t).tolist() == [True, False]


def test_the_law_holds_where_all_is_doubted(monkeypatch):
    monkeypatch.setattr(gaussian_draws, "_DOUBT", 2.0)
    assert fits_law(draw(3.7, 3_000), noise_of(3.7).log_law)


@pytest.mark.parametrize(
    "g", [Fraction(0), Fraction(1, 3), Fraction(10**9 + 1, 10**9), Fraction(60)]
)
@pytest.mark.parametrize("bits", [64, 128])
def test_decimals_enclose_the_chance(g, bits):
    low, high = _enclose(g, bits)
    assert low <= high <= low * (1 + Fraction(1, 10 ** (bits - 5)))
    assert float(low) == pytest.approx(math.exp(-g), rel=1e-12)
    tighter = _enclose(g, 2 * bits)
    assert low <= tighter[0] <= tighter[1] <= high


@pytest.mark.parametrize(
    "g", [Fraction(1, 3), Fraction(10**9 + 1, 10**9), Fraction(50), Fraction(61, 7)]
)
def test_the_chance_itself_is_enclosed_whatever_the_caller_rounds_to(g):
    exact = Context(prec=400)
    truth = Fraction(exact.exp(exact.divide(Decimal(-g.numerator), Decimal(g.denominator))))
    for precision in (1, 6, 28):
        with localcontext(prec=precision, rounding=ROUND_FLOOR, traps=[Inexact]):
            for bits in (64, 128):
                low, high = _enclose(g, bits)
                assert low < truth < high
                assert high - low < Fraction(1, 10**60)


def test_what_is_far_beyond_the_bits_is_enclosed_at_once():
    assert _enclose(Fraction(10**9), 64) == (0, Fraction(1, 2**64))
    assert math.exp(-65) < 2**-64


def test_bits_that_tie_are_followed_by_more(monkeypatch):
    """The first 64 bits of exp(-1) say nothing; the next ones do."""
    chance = _enclose(Fraction(1), 400)[0]
    first = math.floor(chance * 2**64)
    second = math.floor(chance * 2**128) - (first << 64)
    for more, is_below in ((second - 1, True), (second + 1, False)):
        monkeypatch.setattr(gaussian_draws.secrets, "randbits", {64: more}.__getitem__)
        assert _is_below(first, Fraction(1)) is is_below
    assert _is_below(first - 1, Fraction(1))
    assert not _is_below(first + 1, Fraction(1))


def test_a_chance_of_one_keeps():
    assert _is_below(2**64 - 1, Fraction(0))


def test_scales_that_are_drawn_here():
    assert fits(1e-100)
    assert fits(2.0**49)
    assert not fits(2.0**50)
    assert not fits(0.0)
