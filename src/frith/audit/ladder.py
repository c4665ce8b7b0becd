"""The ladder: every rung over a learner, or over the known flaws."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from frith.audit.black_box import RUNG as BLACK_BOX
from frith.audit.black_box import audit_black_box
from frith.audit.canaries import RUNG as CANARIES
from frith.audit.canaries import audit_canaries
from frith.audit.edges import RUNG as EDGES
from frith.audit.edges import audit_edges
from frith.audit.known_bad import FLAWS, Flaw
from frith.audit.outcomes import Outcome, Report, timed
from frith.audit.pairs import hard_pairs
from frith.audit.replay_rung import RUNG as REPLAY
from frith.audit.replay_rung import audit_replay
from frith.audit.samplers import RUNG as SAMPLERS
from frith.audit.samplers import audit_samplers, audit_sources
from frith.audit.sizes import QUICK, Size
from frith.audit.small_world import RUNG as SMALL_WORLD
from frith.audit.small_world import audit_small_world
from frith.audit.subjects import PARTS, SOUND, Subject
from frith.privacy.budget import Budget

Rung = Callable[[Subject, Budget, Size], Outcome]
Say = Callable[[str], None]

RUNGS: dict[str, Rung] = {
    SAMPLERS: audit_samplers,
    REPLAY: audit_replay,
    EDGES: audit_edges,
    SMALL_WORLD: audit_small_world,
    BLACK_BOX: audit_black_box,
    CANARIES: audit_canaries,
}
"""The rungs, from the one closest to the noise to what an analyst sees."""


def audit_learner(
    name: str,
    budget: Budget,
    size: Size = QUICK,
    rungs: Sequence[str] = tuple(RUNGS),
    say: Say = lambda text: None,
) -> Report:
    """Audit every form of a learner on every rung. Finding nothing proves nothing."""
    if name not in SOUND:
        raise ValueError(f"there is no learner {name!r}; there are {', '.join(SOUND)}")
    outcomes = []
    for subject, rung in forms_on_rungs(name, rungs):
        say(f"{subject.name}: {rung}")
        outcomes.append(timed(functools.partial(RUNGS[rung], subject, budget, size)))
    return Report(name, budget, size.name, tuple(outcomes))


def audit_noise(size: Size = QUICK) -> Report:
    """Audit every mechanism's sampler, also those that no learner uses alone."""
    return Report("noise", Budget.of(1), size.name, (timed(lambda: audit_sources(size)),))


def forms_on_rungs(name: str, rungs: Sequence[str] = tuple(RUNGS)) -> Iterator[tuple[Subject, str]]:
    """The forms of a learner that an audit checks, with the rung of each."""
    for rung in rungs:
        for subject in SOUND[name]:
            yield subject, rung
        if name == "forest" and rung in (SAMPLERS, SMALL_WORLD):
            yield from ((part, rung) for part in PARTS)


@dataclass(frozen=True)
class Verdict:
    """What the ladder found about a flaw and about its sound twin."""

    flaw: Flaw
    bad: Report
    sound: Report

    @property
    def flagged_on(self) -> tuple[str, ...]:
        return tuple(o.rung for o in self.bad.outcomes if o.failed)


def audit_flaw(
    flaw: Flaw,
    budget: Budget,
    size: Size = QUICK,
    rungs: Sequence[str] = tuple(RUNGS),
    say: Say = lambda text: None,
) -> Verdict:
    """Audit a flaw and its sound twin on the same rungs."""
    say(flaw.name)
    bad, sound = (audit_side(flaw, s, budget, size, rungs) for s in (flaw.bad, flaw.sound))
    return Verdict(flaw, bad, sound)


def audit_side(
    flaw: Flaw, subject: Subject, budget: Budget, size: Size, rungs: Sequence[str]
) -> Report:
    """Audit one of the two with many fits, on the pair that shows the flaw soonest."""
    size = replace(size, fits=max(size.fits, flaw.fits), canaries=max(size.canaries, 2_000))
    hard = [hard_pairs(person, subject.target) for person in (False, True)]
    pairs = [p for many in hard for p in many if p.name == flaw.pair]
    known = RUNGS | {BLACK_BOX: functools.partial(audit_black_box, pairs=pairs)}
    runs = [timed(functools.partial(known[rung], subject, budget, size)) for rung in rungs]
    return Report(subject.name, budget, size.name, tuple(runs))


def all_flaws() -> tuple[Flaw, ...]:
    return FLAWS
