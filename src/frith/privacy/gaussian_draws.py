"""Many draws of the discrete Gaussian law at once: exact, from the operating system's entropy.

Claim    For a scale s, `draw` gives independent integers with P[y] proportional to exp(-y^2 / (2 s^2)).

Proof    Canonne, Kamath and Steinke 2020, Algorithm 3. With t = floor(s) + 1, draw y from the discrete
         Laplace law of scale t, and keep it with chance exp(-g), g = (|y| - s^2 / t)^2 / (2 s^2). The
         product of both laws is proportional to exp(-y^2 / (2 s^2)). Those kept are taken in the
         order in which they were drawn.

         *Keeping.* A uniform number u in [0, 1) is known by its first 64 bits, u = (word + rest) / 2^64.
         y is kept if u < exp(-g). Floats decide that where they see u and exp(-g) further apart than
         `_DOUBT`. Otherwise exp(-g) is enclosed between decimals, for the fraction g that it is,
         more tightly each time, and u gets more bits, until one is below the other.

Assumes  that the operating system's random bytes are uniform, and that floats compute exp(-g) with an
         error below `_DOUBT` / 2, some billion times what they have.

Checked  tests/privacy/test_gaussian_draws.py: what floats decide against what fractions decide, and
         with all doubted; samples against the law, many more in the proof run.
"""

from __future__ import annotations

import os
import secrets
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith.privacy import laplace_draws

_DOUBT = 2.0**-20
_MOST = 2.0**50
_LEAST = 2.0**-500


def fits(scale: float) -> bool:
    """Whether draws at this scale are made here."""
    return _LEAST < scale < _MOST


def draw(scale: float, n: int) -> NDArray[np.int64]:
    """`n` draws; `scale` is taken as the fraction that it is."""
    kept = np.empty(0, dtype=np.int64)
    t = int(scale) + 1
    while len(kept) < n:
        drawn = laplace_draws.draw(float(t), 2 * (n - len(kept)) + 16)
        words = np.frombuffer(os.urandom(8 * len(drawn)), dtype=np.uint64)
        kept = np.concatenate([kept, drawn[_keep(np.abs(drawn), words, scale, t)]])
    return kept[:n]


def _keep(
    sizes: NDArray[np.int64], words: NDArray[np.uint64], scale: float, t: int
) -> NDArray[np.bool_]:
    """For each size whether it is kept; the words are the first bits of the uniform numbers."""
    distance = sizes / scale - scale / t
    gap = np.exp(-distance * distance / 2) - words / 2.0**64
    keep = gap > 0
    for i in np.flatnonzero(np.abs(gap) <= _DOUBT):
        exact = Fraction(scale)
        g = (int(sizes[i]) - exact * exact / t) ** 2 / (2 * exact * exact)
        keep[i] = _is_below(int(words[i]), g)
    return np.asarray(keep)


def _is_below(word: int, g: Fraction) -> bool:
    """Whether a uniform number that begins with these 64 bits is below exp(-g)."""
    bits = 64
    while True:
        low, high = _enclose(g, bits)
        if Fraction(word + 1, 1 << bits) <= low:
            return True
        if Fraction(word, 1 << bits) >= high:
            return False
        word, bits = word << 64 | secrets.randbits(64), bits + 64


def _enclose(g: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Numbers at most and at least exp(-g). Decimals round exp to the nearest, whatever the mode.

    Contexts are our own and signs are copied: an operator would round as the caller's context says.
    """
    if g == 0:
        return Fraction(1), Fraction(1)
    if g > bits:
        return Fraction(0), Fraction(1, 1 << bits)
    down, up = (
        Context(bits, mode, Emin=MIN_EMIN, Emax=MAX_EMAX, traps=[])
        for mode in (ROUND_FLOOR, ROUND_CEILING)
    )
    most, least = (c.divide(Decimal(g.numerator), Decimal(g.denominator)) for c in (up, down))
    low = down.next_minus(down.exp(most.copy_negate()))
    high = up.next_plus(up.exp(least.copy_negate()))
    return max(Fraction(0), Fraction(low)), Fraction(high)
