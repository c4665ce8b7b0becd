"""Every known flaw is flagged on the rungs that are said to see it, and its sound twin on none."""

import os

import pytest

from frith import Budget
from frith.audit.known_bad import FLAWS
from frith.audit.ladder import RUNGS, audit_flaw, audit_side
from frith.audit.sizes import FULL, QUICK

FULL_RUN = os.environ.get("FRITH_FULL") == "1"
SIZE = FULL if FULL_RUN else QUICK
SOON = ("only occupied leaves noised", "domain from the data")
"""Flaws that a few fits show; the others' many fits are for the proof run."""


def some_of(rungs, number):
    """The rungs that see a flaw; but for the proof run one of the quick ones, in turn."""
    quick = [rung for rung in rungs if rung != "black box"]
    return rungs if FULL_RUN or not quick else [quick[number % len(quick)]]


CASES = [
    (flaw, rung)
    for number, flaw in enumerate(FLAWS)
    for rung in (flaw.rungs if flaw.name in SOON else some_of(flaw.rungs, number))
]


@pytest.mark.xdist_group("known-bad")  # in one process each twin is audited once
@pytest.mark.parametrize(("flaw", "rung"), CASES, ids=[f"{f.name}-{r}" for f, r in CASES])
def test_a_flaw_is_flagged_and_its_sound_twin_is_not(flaw, rung):
    (found,) = audit_side(flaw, flaw.bad, Budget.of(1), SIZE, (rung,)).outcomes
    assert found.failed, found.found
    twin = twin_of(flaw.sound.make, rung, flaw.pair if rung == "black box" else "")
    assert not twin.failed, twin.found


_TWINS = {}


def twin_of(make, rung, pair):
    """Many flaws have the same twin, which need not be audited again for each."""
    if (make, rung, pair) not in _TWINS:
        flaw = next(f for f in FLAWS if f.sound.make is make and pair in ("", f.pair))
        (outcome,) = audit_side(flaw, flaw.sound, Budget.of(1), SIZE, (rung,)).outcomes
        _TWINS[make, rung, pair] = outcome
    return _TWINS[make, rung, pair]


def test_every_flaw_is_seen_by_a_rung_and_every_rung_sees_a_flaw():
    assert all(flaw.rungs for flaw in FLAWS)
    assert {rung for flaw in FLAWS for rung in flaw.rungs} == set(RUNGS)
    assert len({flaw.name for flaw in FLAWS}) == len(FLAWS) >= 13


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda f: f.name)
def test_what_a_flaw_makes_states_no_guarantee(flaw):
    from frith.audit.pairs import hard_pairs

    pair = hard_pairs(target=flaw.bad.target)[3]
    engine = flaw.bad.open(pair.table, pair.domain)
    _, forest = flaw.bad.fit(engine, Budget.of(1))
    assert not forest.guarantee.holds


@pytest.mark.parametrize("rung", ["replay", "small world"])
def test_flaws_are_seen_with_a_delta_too(rung):
    wanted = ("several trees charged as one", "only occupied leaves noised")
    for flaw in (f for f in FLAWS if f.name in wanted):
        verdict = audit_flaw(flaw, Budget.of(1, 1e-5), QUICK, (rung,))
        assert verdict.flagged_on == (rung,)
        assert verdict.sound.passed
