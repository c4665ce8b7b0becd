"""Draws of the discrete Laplace law: bit by bit like the paper's algorithm, and of its law."""

import os
import random
from fractions import Fraction

import numpy as np
import pytest

from frith.privacy import laplace_draws
from frith.privacy.laplace_draws import LONGEST, draw, fits
from frith.privacy.mechanisms import DiscreteLaplace
from tests.statistics import fits_law

N = 10_000_000 if os.environ.get("FRITH_FULL") == "1" else 50_000
SCALES = (1.0, 0.1, 3.7, 20.0, 0.5, 1000.5, 2.0**40 + 1 / 4096, 1 / 3)


class Twin:
    """Algorithms 1 and 2 of Canonne, Kamath and Steinke, reading bits one by one."""

    def __init__(self, words):
        number = sum(int(word) << 64 * i for i, word in enumerate(words))
        self.bits, self.at = [number >> i & 1 for i in range(64 * len(words))], 0

    def below(self, n):
        count = (n - 1).bit_length()
        while True:
            if self.at + count > len(self.bits):
                raise EOFError
            read = self.bits[self.at : self.at + count]
            self.at += count
            if (number := sum(bit << i for i, bit in enumerate(read))) < n:
                return number

    def draw(self, t, s):
        while True:
            u = self.below(t)
            if not self.exp_coin(u, t):
                continue
            v = 0
            while self.exp_coin(t, t):
                v += 1
            y = (u + t * v) // s
            minus = self.below(2)
            if not (minus and y == 0):
                return -y if minus else y

    def exp_coin(self, u, t):
        k = 1
        while (u == t or self.below(t) < u) and self.below(k) == 0:
            k += 1
        return k % 2 == 1


def twins(words, t, s):
    twin, found = Twin(words), []
    try:
        while True:
            found.append(twin.draw(t, s))
    except EOFError:
        return found


def words_of(rng, n):
    return np.array([rng.getrandbits(64) for _ in range(n)], dtype=np.uint64)


@pytest.mark.parametrize("scale", SCALES)
def test_every_bit_is_read_as_the_algorithm_reads_it(scale, monkeypatch):
    """Bits come in pieces of any size, and run out anywhere."""
    rng = random.Random(str(scale))
    words = words_of(rng, 300)
    t, s = scale.as_integer_ratio()
    expected = twins(words, t, s)
    assert len(expected) > 20
    at = 0

    def some_more(draws):
        nonlocal at
        size = rng.randrange(1, 4)
        at += size
        return words[at - size : at]

    monkeypatch.setattr(laplace_draws, "_fresh_words", some_more)
    found = draw(scale, len(expected) - 5)
    assert found.tolist() == expected[:-5]


@pytest.mark.parametrize("longest", [0, 1, 2])
def test_a_long_draw_goes_on_in_whole_numbers(monkeypatch, longest):
    """As every draw of many is long, the law would show a draw that goes on wrongly."""
    monkeypatch.setattr(laplace_draws, "LONGEST", longest)
    noise = DiscreteLaplace(Fraction(1, 3), 2)
    draws = draw(noise.scale, 3_000)
    assert fits_law(draws, noise.log_law)


@pytest.mark.parametrize(
    ("u", "t", "shift", "v", "size"),
    [
        (5, 6, 0, 3, 23),
        (5, 6, 2, 3, 5),
        (2**52, 2**52 + 1, 0, 2**11, 2**63 - 1),
        (2**52, 2**52 + 1, 1, 2**11, (2**52 + (2**52 + 1) * 2**11) // 2),
    ],
)
def test_a_long_draw_has_its_size_or_the_largest_of_64_bits(monkeypatch, u, t, shift, v, size):
    monkeypatch.setattr(laplace_draws, "_coin", lambda: False)
    monkeypatch.setattr(laplace_draws.secrets, "randbits", lambda bits: 0)
    assert laplace_draws._long_draw(u, t, shift, v) == size
    monkeypatch.setattr(laplace_draws.secrets, "randbits", lambda bits: 1)
    assert laplace_draws._long_draw(u, t, shift, v) == -size
    assert laplace_draws._long_draw(0, t, shift, 0) is None  # minus zero


@pytest.mark.parametrize("scale", [1.0, 0.3, 3.7, 20.0, 1000.5])
def test_samples_follow_the_law_and_not_one_of_another_scale(scale):
    noise = DiscreteLaplace(1 / Fraction(scale), 1)
    draws = draw(noise.scale, N)
    assert fits_law(draws, noise.log_law)
    assert not fits_law(draws, DiscreteLaplace(Fraction(5, 6) / Fraction(scale), 1).log_law)


def test_as_many_bits_are_read_as_the_number_before_has():
    bits_of = laplace_draws._bits_of
    for n in (*range(1, 70), 2**52, 2**52 + 1):
        assert bits_of(n) == getattr(bits_of, "py_func", bits_of)(n) == (n - 1).bit_length()


def test_no_two_runs_draw_the_same():
    assert draw(2.0**45, 50).tolist() != draw(2.0**45, 50).tolist()


def test_nothing_is_drawn_past_64_bits():
    assert fits(2.0**52)
    assert not fits(2.0**53)
    assert not fits(1e-30)
    assert (2**53 - 1) * LONGEST < 2**63
    assert draw(1.0, 0).tolist() == []
