"""What the audit's tests run over: every form of every learner, by name."""

from __future__ import annotations

from frith import Budget
from frith.audit.subjects import PARTS, SOUND

SUBJECTS = {s.name: s for many in SOUND.values() for s in many}
SMALL = SUBJECTS | {s.name: s for s in PARTS}
BUDGETS = {"pure": Budget.of(1), "zCDP": Budget.of(1, 1e-5)}
