"""An exact sampler of negative binomial counts with shape 1 / k, by rejection over geometric draws.

OpenDP has no such sampler. The law is P[n] proportional to w_n q^n with q = exp(-1 / scale) and
w_n = C(n + 1/k - 1, n) = product over i = 1..n of ((i - 1) k + 1) / (i k), which is at most 1.

So: draw n with P[n] proportional to q^n and accept it with probability w_n. Both are done one unit at
a time. The draw goes on from n - 1 to n with probability q; then a coin falls well with probability
((n - 1) k + 1) / (n k), and if it does not, the draw is thrown away and another one is begun. A draw
that ends at n has gone on n times and stopped once, (1 - q) q^n, and all its coins fell well, w_n.

- Coins: a whole number drawn evenly below n k is at most (n - 1) k. Whole numbers are drawn evenly
  by rejection from 64 random bits.
- Going on: an event of probability exp(-g), g = 1 / scale as a fraction, by Canonne, Kamath and
  Steinke 2020, Algorithm 1: of events with probabilities g/1, g/2, g/3, ... the first that does not
  happen has an odd number with probability exp(-g), for g at most 1; a larger g is split.
- An event of probability p, a fraction: 64 random bits against the first 64 of p, and where all of
  them agree, further bits against what is left of p.

Nothing is rounded, all bits are the operating system's, and nothing can be seeded.
"""

from __future__ import annotations

import math
import os
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith.privacy.shares import LaplaceShare


def draw_shares(share: LaplaceShare, count: int) -> NDArray[np.int64]:
    """Independent shares, each the difference of two counts."""
    counts = draw_counts(share.scale, share.honest, 2 * count)
    return counts[:count] - counts[count:]


def draw_counts(scale: float, k: int, count: int) -> NDArray[np.int64]:
    """Independent negative binomial counts of shape 1 / k, with q = exp(-1 / scale)."""
    exponent = 1 / Fraction(scale)
    drawn = np.zeros(count, dtype=np.int64)
    going = np.arange(count)
    while len(going):
        going = going[happens_exp(exponent, len(going))]
        drawn[going] += 1
        bounds = drawn[going].astype(np.uint64) * np.uint64(k)
        fails = below(bounds) > bounds - np.uint64(k)
        drawn[going[fails]] = 0
    return drawn


def happens_exp(exponent: Fraction, count: int) -> NDArray[np.bool_]:
    """Independent events of probability exp(-exponent)."""
    happened = np.ones(count, dtype=bool)
    for _ in range(math.floor(exponent)):
        if not happened.any():  # an exponent may be a billion
            break
        happened[happened] = _happens_exp_small(Fraction(1), int(happened.sum()))
    rest = exponent - math.floor(exponent)
    if rest:
        happened[happened] = _happens_exp_small(rest, int(happened.sum()))
    return happened


def _happens_exp_small(exponent: Fraction, count: int) -> NDArray[np.bool_]:
    """The same for an exponent of at most 1."""
    is_odd = np.ones(count, dtype=bool)
    going, number = np.arange(count), 1
    while len(going := going[happens(exponent / number, len(going))]):
        number += 1
        is_odd[going] = number % 2 == 1
    return is_odd


def happens(probability: Fraction, count: int) -> NDArray[np.bool_]:
    """Independent events of a probability that is a fraction."""
    if probability >= 1:
        return np.ones(count, dtype=bool)
    first = math.floor(probability * 2**64)
    bits = _words(count)
    happened = bits < np.uint64(first)
    ties = np.flatnonzero(bits == np.uint64(first))
    if len(ties):
        happened[ties] = happens(probability * 2**64 - first, len(ties))
    return happened


def below(bounds: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """For each bound a whole number from 0 to bound - 1, drawn evenly."""
    most = np.uint64(2**64 - 1)
    limits = most - (most % bounds + np.uint64(1)) % bounds
    values = _words(len(bounds))
    while len(again := np.flatnonzero(values > limits)):
        values[again] = _words(len(again))
    return values % bounds


def _words(count: int) -> NDArray[np.uint64]:
    return np.frombuffer(os.urandom(8 * count), dtype=np.uint64).copy()
