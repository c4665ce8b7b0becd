"""Choices of our own: bit by bit like the algorithms as they are written down, and of their laws."""

import os
import random
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from frith.privacy import choice_draws
from frith.privacy.choice_draws import (
    LONGEST,
    _chance,
    _Trials,
    exponential,
    fits,
    permute_and_flip,
)
from frith.privacy.mechanisms import PrivateChoice
from tests.privacy.test_laplace_draws import Twin, words_of
from tests.statistics import FALSE_FAILURE, fits_law
from tests.strategies import examples

N = 2_000_000 if os.environ.get("FRITH_FULL") == "1" else 20_000
BOTH = [permute_and_flip, exponential]
SCALES = (1.0, 0.1, 3.7, 20.0, 1 / 3, 2.0**-40, 2.0**40 + 1 / 4096, 2.0**53 - 1)


class ChoiceTwin(Twin):
    """The algorithms of the docstring, over fractions."""

    def chance(self, of):
        """Bits of a uniform number, until it is known to be below or not."""
        read, digits = 0, 0
        while True:
            if Fraction(read + 1, 2**digits) <= of:
                return True
            if Fraction(read, 2**digits) >= of:
                return False
            read, digits = 2 * read + self.below(2), digits + 1

    def coin_below_one(self, x):
        k = 1
        while self.chance(x) and self.chance(Fraction(1, k)):
            k += 1
        return k % 2 == 1

    def coin(self, x):
        whole = int(x)
        ones = all(self.coin_below_one(Fraction(1)) for _ in range(whole))
        return ones and self.coin_below_one(x - whole)

    def permute_and_flip(self, behind):
        won = [i for i, x in enumerate(behind) if self.coin(x)]
        return won[self.below(len(won))]

    def exponential(self, behind):
        while True:
            tried = (self.below(len(behind)) for _ in behind)
            if won := [i for i in tried if self.coin(behind[i])]:
                return won[0]


ends = st.sampled_from([-(2**63), -(2**62), 0, 2**62, 2**63 - 1])
lists = st.lists(st.integers(-8, 8) | ends, min_size=1, max_size=9)


@pytest.mark.parametrize("choose", BOTH)
@examples(160)
@given(lists, st.sampled_from(SCALES), st.integers(0, 2**32))
@example([0, 2**63 - 1 - 2**10], 2.0**53 - 1, 0)  # the last gap below LONGEST scales
def test_every_bit_is_read_as_the_algorithm_reads_it(choose, scores, scale, seed):
    """Bits come word by word and run out anywhere; as many are read for each trial."""
    words = words_of(random.Random(seed), 60)
    behind = [(max(scores) - s) / Fraction(scale) for s in scores]
    twin = ChoiceTwin(words)
    expected = getattr(twin, choose.__name__)(behind)
    served = iter(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choice_draws, "_fresh_words", lambda _: np.array([next(served)]))
        assert choose(np.array(scores), scale) == expected
    assert len(list(served)) == len(words) - max(1, -(-twin.at // 64))


@pytest.mark.parametrize("in_turn", [True, False])
@pytest.mark.parametrize("most", [1, 2, 9])
@pytest.mark.parametrize("scale", [1.0, 1 / 3, 3.7, 20.0])
def test_bits_of_a_long_list_are_read_once_whatever_pieces_they_come_in(
    in_turn, most, scale, monkeypatch
):
    """Trials end at ends of words too, and begin again there: every one succeeds as the twin's does."""
    rng = random.Random(f"{scale} {most}")
    scores = [rng.randrange(2 + int(3 * scale)) for _ in range(400)]
    words, served = words_of(rng, 400), 0

    def some_more(_):
        nonlocal served
        begun, served = served, served + rng.randint(1, most)
        assert served <= len(words)
        return words[begun:served]

    monkeypatch.setattr(choice_draws, "_fresh_words", some_more)
    trials = _Trials(np.array(scores), scale)
    won = trials._flip(in_turn).tolist()
    twin = ChoiceTwin(words)
    behind = [(max(scores) - s) / Fraction(scale) for s in scores]
    tried = range(400) if in_turn else (twin.below(400) for _ in range(400))
    assert won == [i for i in tried if twin.coin(behind[i])]
    assert 64 * (served - len(trials.words)) + trials.at[0] == twin.at


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_chance_that_is_open_at_the_last_bit_reads_nothing_behind_it(n):
    """The binary digits of 1/3 are 01 again and again: as long as bits are the same, nothing is known."""
    for behind in (0, 2**64 - 1):
        words = np.array([0xAAAAAAAAAAAAAAAA] * n + [behind] * 2, dtype=np.uint64)
        at = np.zeros(1, dtype=np.int64)
        assert _chance(words[:n], at, 1, 3) == -1
        assert at[0] == 64 * n


def test_where_bits_run_out_for_the_last_pick_new_ones_pick(monkeypatch):
    """Candidates that are all the best take no bits before."""
    for pick in range(5):
        pieces = iter([[], [], [pick]])
        monkeypatch.setattr(
            choice_draws, "_fresh_words", lambda _, p=pieces: np.array(next(p), dtype=np.uint64)
        )
        assert permute_and_flip(np.zeros(5, dtype=np.int64), 1.0) == pick


def laws(choose, scores, scale):
    """The chances of all candidates, at this scale and at one 20% wider, and of the other mechanism."""
    is_exponential = choose is exponential
    one = Fraction(1)
    return [
        PrivateChoice(one / Fraction(scale) * part, 1, exponential=kind).law(scores)
        for part, kind in ((1, is_exponential), (Fraction(5, 6), is_exponential), (1, not is_exponential))
    ]  # fmt: skip


def has_law(drawn, chances):
    """Chi-squared, at a chance of 1e-9 to fail a build that is right."""
    logs = np.log(chances)

    def log_law(values):
        inside = (values >= 0) & (values < len(logs))
        return np.where(inside, logs[np.clip(values, 0, len(logs) - 1)], -np.inf)

    return fits_law(np.asarray(drawn), log_law)


LEADER = [3.4, *[0] * 30]
"""The leader and the others together have about the same chance, which the scale moves most."""


@pytest.mark.parametrize("scale", [10.0, 10 / 3, 1000.5, 2.0**40 + 1 / 4096])
@pytest.mark.parametrize("choose", BOTH)
def test_samples_follow_the_law_and_not_one_of_another_scale_or_mechanism(choose, scale):
    """By Hoeffding, a law that is two tolerances off is told with a chance of 1 - 1e-9."""
    scores = [round(s * scale) for s in LEADER]
    law, wider, other = laws(choose, scores, scale)
    listed = np.array(scores)
    drawn = [choose(listed, scale) for _ in range(N)]
    assert has_law(drawn, law)
    tolerance = np.sqrt(np.log(2 / FALSE_FAILURE) / (2 * N))
    for wrong in (wider, other):
        assert abs(law[0] - wrong[0]) > 2 * tolerance
        assert abs(drawn.count(0) / N - wrong[0]) > tolerance


@pytest.mark.parametrize(
    "scores", [[5, 5], [0, 0, 0, -3], [3, 2, 0], [-1, 4, -2, 4, 0, 1, 3]], ids=str
)
@pytest.mark.parametrize("choose", BOTH)
def test_ties_and_short_lists_follow_the_law(choose, scores):
    assert choose(np.array(scores[:1]), 2.0) == 0
    listed = np.array(scores)
    drawn = [choose(listed, 2.0) for _ in range(N)]
    assert has_law(drawn, laws(choose, scores, 2.0)[0])


@pytest.mark.parametrize("longest", [0, 1, 2])
@pytest.mark.parametrize("choose", BOTH)
def test_a_long_coin_goes_on_in_whole_numbers(choose, longest, monkeypatch):
    """As many coins are long, the law would show one that goes on wrongly."""
    monkeypatch.setattr(choice_draws, "LONGEST", longest)
    scores, n = [9, 7, 4, 1, 0], N // 10
    drawn = [choose(np.array(scores), 2.75) for _ in range(n)]
    assert has_law(drawn, laws(choose, scores, 2.75)[0])


@pytest.mark.parametrize("longest", [1, 2, 3])
def test_a_coin_is_long_from_so_many_scales_on(longest, monkeypatch):
    """At scale 5/2 a gap of 5 is two scales. Of 700 coins one is long but for a chance of 0.96^700."""
    asked = set()
    monkeypatch.setattr(choice_draws, "LONGEST", longest)
    monkeypatch.setattr(choice_draws, "_long_coin", lambda *coin: asked.add(coin) or False)
    for _ in range(700):
        permute_and_flip(-np.arange(12), 2.5)
    assert asked == {(gap, 5, 1, longest) for gap in range(12) if 2 * gap >= 5 * longest}


@pytest.mark.parametrize("choose", BOTH)
def test_gaps_past_64_bits_signed_are_gaps(choose):
    """At scales of 2^50 the other one has a chance of e^-16384; wrapped around, it would be ahead."""
    for scores in ([2**63 - 1, -(2**63)], [-(2**63), 2**63 - 1], [-(2**63), 0], [0, 2**62, -1]):
        assert {choose(np.array(scores), 2.0**50) for _ in range(40)} == {int(np.argmax(scores))}


@pytest.mark.parametrize("choose", BOTH)
def test_the_first_gap_of_so_many_scales_is_as_rare_as_it_should_be(choose):
    """A gap of 4 is 2^63 parts of 2^-61: wrapped around, no coin would be flipped for e^-1024."""
    scale = (2.0**53 - 1) * 2.0**-61
    assert fits(scale)
    for scores in ([4, 0], [0, 4]):
        assert {choose(np.array(scores), scale) for _ in range(40)} == {int(np.argmax(scores))}


@pytest.mark.parametrize("choose", BOTH)
def test_no_two_runs_choose_the_same(choose):
    ties = np.zeros(1000, dtype=np.int64)
    assert len({tuple(choose(ties, 1.0) for _ in range(5)) for _ in range(3)}) == 3


def test_scales_that_fit():
    assert fits(2.0**52)
    assert not fits(2.0**53)
    assert not fits(1e-30)
    assert (2**53 - 1) * LONGEST < 2**63
