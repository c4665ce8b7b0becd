"""Every known flaw is flagged on the rungs that are said to see it, and its sound twin on none."""

import pytest

from frith import Budget
from frith.audit.known_bad import FLAWS
from frith.audit.ladder import RUNGS, audit_flaw
from frith.audit.sizes import QUICK

CASES = [(flaw, rung) for flaw in FLAWS for rung in flaw.rungs]


@pytest.mark.parametrize(("flaw", "rung"), CASES, ids=[f"{f.name}-{r}" for f, r in CASES])
def test_a_flaw_is_flagged_and_its_sound_twin_is_not(flaw, rung):
    verdict = audit_flaw(flaw, Budget.of(1), QUICK, (rung,))
    assert verdict.flagged_on == (rung,), verdict.bad.outcomes[0].found
    assert verdict.sound.passed, verdict.sound.outcomes[0].found


def test_every_flaw_is_seen_by_a_rung_and_every_rung_sees_a_flaw():
    assert all(flaw.rungs for flaw in FLAWS)
    assert {rung for flaw in FLAWS for rung in flaw.rungs} == set(RUNGS)
    assert len({flaw.name for flaw in FLAWS}) == len(FLAWS) >= 13


@pytest.mark.parametrize("flaw", FLAWS, ids=lambda f: f.name)
def test_what_a_flaw_makes_states_no_guarantee(flaw):
    from frith.audit.pairs import hard_pairs

    pair = hard_pairs()[3]
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
