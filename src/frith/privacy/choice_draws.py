"""Choices from a scored list: exact, from the operating system's entropy.

Claim    For integer scores and a scale s = t / 2^shift, let p_i = exp(-gap_i / s), where gap_i is how
         far score i is behind the best one. `permute_and_flip` gives i with the chance that it is the
         first of a random order whose coin of p_i succeeds; `exponential` with a chance proportional
         to p_i.

Proof    In whole numbers, as in `laplace_draws`:

         *A chance of u / t*, u < t. Fresh bits are the binary digits of a uniform number, long
         division gives those of u / t, and the first that differ tell whether the uniform number is
         below u / t. Where nothing of u / t is left, it is not.

         *A coin of exp(-u / t)*, u <= t. Count k = 1, 2, ... for as long as a chance of u / t and one
         of 1 / k succeed. P[k or more counted] is (u / t)^k / k!, so an even number is counted
         with the chance that the series of exp(-u / t) adds up to.

         *A coin of p_i.* gap_i 2^shift = whole t + rest: `whole` coins of exp(-1), up to the first that
         fails, and one of exp(-rest / t). All succeed with chance exp(-whole) exp(-rest / t).

         *Permute and flip.* Coins do not depend on the order, so all may be flipped beforehand, and
         the first in a random order of those that succeed is any one of them with the same chance. The
         best one's gap is 0, so it succeeds.

         *Exponential.* Candidates are drawn evenly, each with a new coin of its own, and the first that
         succeeds is taken: P[i] = p_i / n + (1 - sum p / n) P[i], so P[i] = p_i / sum p. Trials are
         made n at a time, to the end also after a success; only if all n fail are n more made.

         *Bits that run out.* The trial that was begun is begun again with the same bits, and new ones
         behind them, as if they had been there from the start. No trial is thrown away.

         *Overflow.* t < 2^53. A gap below `LONGEST` = 2^10 scales has gap 2^shift < 2^63. Any other
         one has `LONGEST` coins of exp(-1) flipped, and where all succeed (chance e^-1024) the rest of
         them in Python's integers. A gap between 64-bit scores is below 2^64.

Time     n trials, whoever wins; for `exponential` n more with a chance of at most 1/e, as long as no
         coin has succeeded. A coin takes no bits at gap 0 and a few on average at any other, since
         the first coin of exp(-1) that fails ends it. So a duration tells a little of the scores: it is
         the curator's, like every other one.

Assumes  that the operating system's random bytes are uniform.

Checked  tests/privacy/test_choice_draws.py: against a twin that reads the same bits one by one, with
         bits that run out anywhere, long coins included; samples against the law, many more in the
         proof run.
"""

from __future__ import annotations

import os
import secrets

import numpy as np
from numpy.typing import NDArray

from frith._jit import compiled
from frith.privacy import laplace_draws
from frith.privacy.laplace_draws import _below, _bits_of

LONGEST = 1 << 10
_BITS = 32  # that a trial takes, at most times
_OUT = np.int64(-1)  # the bits have run out
_LONG = np.int64(2)  # neither heads nor tails: a coin that goes on in Python's integers


def fits(scale: float) -> bool:
    """Whether choices at this scale are made here."""
    return laplace_draws.fits(scale)


def permute_and_flip(scores: NDArray[np.int64], scale: float) -> int:
    """The place of one candidate; `scale` is taken as the fraction that it is."""
    return _Trials(scores, scale).permute_and_flip()


def exponential(scores: NDArray[np.int64], scale: float) -> int:
    """The place of one candidate; `scale` is taken as the fraction that it is."""
    return _Trials(scores, scale).exponential()


class _Trials:
    """Coins flipped for the candidates of one list."""

    def __init__(self, scores: NDArray[np.int64], scale: float):
        self.gaps = scores.max().astype(np.uint64) - scores.astype(np.uint64)  # modulo 2^64: exact
        self.t, parts = scale.as_integer_ratio()
        self.shift = parts.bit_length() - 1
        self.far = np.uint64(-(-LONGEST * self.t // parts))  # the first gap of `LONGEST` scales
        self.words, self.at = _fresh_words(len(scores)), np.zeros(1, dtype=np.int64)

    def permute_and_flip(self) -> int:
        winners = self._flip(in_turn=True)
        while (pick := _below(self.words, self.at, len(winners), _bits_of(len(winners)))) == _OUT:
            self._prolong()
        return int(winners[pick])

    def exponential(self) -> int:
        while not len(winners := self._flip(in_turn=False)):
            pass
        return int(winners[0])

    def _flip(self, in_turn: bool) -> NDArray[np.int64]:
        """The candidates whose coins succeeded, of all in turn or of as many drawn ones."""
        n, trial, won = len(self.gaps), 0, 0
        winners = np.empty(n, dtype=np.int64)
        while True:
            trial, won, place = _flip(
                self.words, self.at, self.gaps, self.far, self.t, self.shift, LONGEST, in_turn,
                trial, winners, won,
            )  # fmt: skip
            if trial == n:
                return winners[:won]
            if place == _OUT:
                self._prolong(n - trial)
                continue
            if _long_coin(int(self.gaps[place]), self.t, self.shift, LONGEST):
                winners[won] = place
                won += 1
            trial += 1

    def _prolong(self, trials: int = 1) -> None:
        """New bits for so many trials behind those that are left."""
        unread = self.words[self.at[0] // 64 :]
        self.words, self.at[0] = np.concatenate([unread, _fresh_words(trials)]), self.at[0] % 64


def _fresh_words(trials: int) -> NDArray[np.uint64]:
    return np.frombuffer(bytearray(os.urandom(8 * (_BITS * trials // 64 + 4))), dtype=np.uint64)


def _long_coin(gap: int, t: int, shift: int, flipped: int) -> bool:
    """The end of a coin that has had `flipped` successes."""
    whole, rest = divmod(gap << shift, t)
    return all(_exp_coin_of(t, t) for _ in range(whole - flipped)) and _exp_coin_of(rest, t)


def _exp_coin_of(u: int, t: int) -> bool:
    """True with chance exp(-u / t)."""
    k = 1
    while secrets.randbelow(t) < u and secrets.randbelow(k) == 0:
        k += 1
    return k % 2 == 1


@compiled
def _flip(words, at, gaps, far, t, shift, longest, in_turn, trial, winners, won):  # type: ignore[no-untyped-def]
    """Trials until all are made, bits run out, or a coin is long.

    Returns the first trial that is not made, how many have won, and the candidate of a long coin.
    """
    bits = _bits_of(len(gaps))
    while trial < len(gaps):
        begun = at[0]
        place = np.int64(trial) if in_turn else _below(words, at, len(gaps), bits)
        coin = _OUT
        if place >= 0:
            coin = _coin(words, at, gaps[place], far, t, shift, longest)
        if coin == _OUT:
            at[0] = begun
            return trial, won, _OUT
        if coin == _LONG:
            return trial, won, place
        if coin == 1:
            winners[won] = place
            won += 1
        trial += 1
    return trial, won, _OUT


@compiled
def _coin(words, at, gap, far, t, shift, longest):  # type: ignore[no-untyped-def]
    """1 with chance exp(-gap 2^shift / t), else 0; -1 if bits run out, 2 if it is long."""
    whole, rest = np.int64(longest), np.int64(0)
    if gap < far:
        parts = np.int64(gap << np.uint64(shift))
        whole, rest = parts // t, parts % t
    for _ in range(whole):
        coin = _exp_coin(words, at, 1, 1)
        if coin != 1:
            return coin
    return _exp_coin(words, at, rest, t) if gap < far else _LONG


@compiled
def _exp_coin(words, at, u, t):  # type: ignore[no-untyped-def]
    """1 with chance exp(-u / t), else 0; -1 if bits run out. `u` may be `t`."""
    k = np.int64(1)
    while True:
        more = _chance(words, at, u, t)
        if more == 1:
            more = _chance(words, at, 1, k)
        if more == _OUT:
            return _OUT
        if more == 0:
            return k % 2
        k += 1


@compiled
def _chance(words, at, u, t):  # type: ignore[no-untyped-def]
    """1 with chance u / t, else 0; -1 if bits run out. `u` may be `t`."""
    if u == t:
        return np.int64(1)
    while u > 0:
        if at[0] == 64 * len(words):
            return _OUT
        bit = words[at[0] // 64] >> np.uint64(at[0] % 64) & np.uint64(1)
        at[0] += 1
        u = 2 * u
        if u >= t:
            u -= t
            if bit == 0:
                return np.int64(1)
        elif bit == 1:
            return np.int64(0)
    return np.int64(0)
