"""Many draws of the discrete Laplace law at once: exact, from the operating system's entropy.

Claim    For a scale t / 2^shift, `draw` gives independent integers with P[z] proportional to
         exp(-|z| 2^shift / t).

Proof    Canonne, Kamath and Steinke 2020, Algorithms 1 and 2, in whole numbers:

         *Below n.* As many fresh bits as n - 1 has, drawn again until they are below n: uniform,
         since every number below n has the same chance in each attempt.

         *A coin of exp(-u / t)*, u <= t. Count k = 1, 2, ... for as long as a number below t is below
         u and a number below k is 0, which has chance u / (t k). P[k or more counted] is
         (u / t)^k / k!, so P[an even number] is the sum over even k of (u/t)^k/k! - (u/t)^(k+1)/(k+1)!,
         the series of exp(-u / t).

         *A draw.* u uniform below t, kept by that coin; v the number of coins of exp(-1) until one
         fails. Then x = u + t v has P[x] proportional to exp(-x / t), and y = x >> shift has
         P[y] proportional to exp(-y 2^shift / t). A fair sign, and a new attempt for minus zero, give
         the law.

         *Bits that run out.* The draw that was begun is begun again with the same bits, and new
         ones behind them, as if they had been there from the start. No draw is thrown away.

         *Overflow.* t < 2^53 and v < `LONGEST` = 2^10 keep x below 2^63. A draw that reaches v =
         `LONGEST` goes on in Python's integers: v has no memory. Only noise past 2^63, whose chance is
         below e^-1000 at the scales drawn here, is cut off there.

Assumes  that the operating system's random bytes are uniform.

Checked  tests/privacy/test_laplace_draws.py: against a twin that reads the same bits one by one, with
         bits that run out anywhere, long draws included; samples against the law, many more in the
         proof run.
"""

from __future__ import annotations

import os
import secrets

import numpy as np
from numpy.typing import NDArray

from frith._jit import compiled

LONGEST = 1 << 10
_MOST = 1 << 53
_BITS = 320  # that a draw takes, about
_OUT = np.int64(-1)  # the bits have run out


def fits(scale: float) -> bool:
    """Whether draws at this scale are made here."""
    t, parts = scale.as_integer_ratio()
    return 0 < t < _MOST and parts < 1 << 62


def draw(scale: float, n: int) -> NDArray[np.int64]:
    """`n` draws; `scale` is taken as the fraction that it is."""
    t, parts = scale.as_integer_ratio()
    shift = parts.bit_length() - 1
    drawn = np.empty(n, dtype=np.int64)
    words, at, done = _fresh_words(n), 0, 0
    while True:
        done, at, u = _draw(words, at, t, shift, LONGEST, drawn, done)
        if done == n:
            return drawn
        if u == _OUT:
            words, at = np.concatenate([words[at // 64 :], _fresh_words(n - done)]), at % 64
        elif (long := _long_draw(u, t, shift, LONGEST)) is not None:
            drawn[done] = long
            done += 1


def _fresh_words(draws: int) -> NDArray[np.uint64]:
    return np.frombuffer(os.urandom(8 * (_BITS * (draws + 4) // 64)), dtype=np.uint64)


def _long_draw(u: int, t: int, shift: int, v: int) -> int | None:
    """The end of a draw that has had `v` coins; None for a new attempt."""
    while _coin():
        v += 1
    size = min((int(u) + t * v) >> shift, 2**63 - 1)
    if secrets.randbits(1):
        return -size if size else None
    return size


def _coin() -> bool:
    """True with chance exp(-1)."""
    k = 1
    while secrets.randbelow(k) == 0:
        k += 1
    return k % 2 == 1


@compiled
def _draw(words, first, t, shift, longest, drawn, done):  # type: ignore[no-untyped-def]
    """Draw until all is drawn, bits run out, or a draw is long.

    Returns the number of draws done, the first bit that is not used up, and for a long draw its u.
    """
    at = np.full(1, first, dtype=np.int64)
    bits = _bits_of(t)
    while done < len(drawn):
        begun = at[0]
        u = _below(words, at, t, bits)
        again = _exp_coin(words, at, u, t, bits) if u >= 0 else _OUT
        if again == 0:
            continue
        v = np.int64(0)
        while again == 1:
            if v == longest:
                return done, at[0], u
            again = _exp_coin(words, at, t, t, bits)
            v += again
        sign = _below(words, at, 2, 1) if again == 0 else _OUT
        if sign == _OUT:
            return done, begun, _OUT
        size = (u + t * v) >> shift
        if sign == 1 and size == 0:
            continue
        drawn[done] = -size if sign == 1 else size
        done += 1
    return done, at[0], _OUT


@compiled
def _exp_coin(words, at, u, t, bits):  # type: ignore[no-untyped-def]
    """1 with chance exp(-u / t), else 0; -1 if bits run out. `u` may be `t`."""
    k = np.int64(0)
    while True:
        if u < t:
            number = _below(words, at, t, bits)
            if number == _OUT:
                return _OUT
            if number >= u:
                break
        number = _below(words, at, k + 1, _bits_of(k + 1))
        if number == _OUT:
            return _OUT
        if number > 0:
            break
        k += 1
    return np.int64(1) if k % 2 == 0 else np.int64(0)


@compiled
def _below(words, at, n, bits):  # type: ignore[no-untyped-def]
    """A number below `n`, where n - 1 has `bits` bits; -1 if bits run out."""
    if n == 1:
        return np.int64(0)
    mask = (np.uint64(1) << np.uint64(bits)) - np.uint64(1)
    while at[0] + bits <= 64 * len(words):
        place, skipped = at[0] // 64, np.uint64(at[0] % 64)
        found = words[place] >> skipped
        if skipped + np.uint64(bits) > 64:
            found |= words[place + 1] << (np.uint64(64) - skipped)
        at[0] += bits
        number = np.int64(found & mask)
        if number < n:
            return number
    return _OUT


@compiled
def _bits_of(n):  # type: ignore[no-untyped-def]
    """How many bits n - 1 has."""
    bits = 0
    while (n - 1) >> bits:
        bits += 1
    return bits
