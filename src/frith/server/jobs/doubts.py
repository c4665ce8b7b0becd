"""Whether the ledger's entries about a job are the ones that it must have."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from fractions import Fraction

from frith.client.kinds import JobKind, JobState
from frith.errors import OutsideWindow
from frith.ledger.entries import EntryKind, Step
from frith.server.jobs.requests import JobRequest
from frith.server.schema import Job

_HELD = (EntryKind.RESERVE,)
_PAID = (EntryKind.RESERVE, EntryKind.CHARGE)
_FREED = (EntryKind.RESERVE, EntryKind.CANCEL)
_STEPS = {
    JobState.WAITING: (_HELD,),
    JobState.QUEUED: (_HELD,),
    JobState.RUNNING: (_PAID,),
    JobState.DONE: (_PAID,),
    JobState.FAILED: (_PAID, _FREED),
    JobState.CANCELLED: (_PAID, _FREED),
}
"""The entries that each of a job's two accounts must have, by the job's state."""
_ROUNDED = Fraction(1, 10**9)
"""Rho is computed in floats: another machine may differ in the last digits."""


def doubt_job(job: Job, steps: Sequence[Step], earlier: Job | None) -> str | None:
    """What is wrong with a job and the entries about it; None if they agree.

    `earlier` is the job whose release answers this one: such a job pays on its member's account
    alone.
    """
    asked = JobRequest.read(job.body)
    if hashlib.sha256(job.body.encode()).hexdigest() != job.body_hash or asked.kind != job.kind:
        return f"job {job.id}: its request is not the one that was accepted"
    if (job.forest, job.round) != (asked.forest, asked.round):
        return f"job {job.id}: its columns are not those of its request"
    if job.kind == JobKind.DRY_RUN:
        if earlier is not None:
            return f"job {job.id}: its release answers another request"
        return f"job {job.id}: a dry run with entries in the ledger" if steps else None
    is_over = JobState(job.state).is_over
    if not _same(job, earlier) if earlier is not None else job.release and not is_over:
        return f"job {job.id}: its release answers another request"
    whole = [step for step in steps if step.member is None]
    own = [step for step in steps if step.member is not None]
    if any(step.table != job.table or step.member not in (None, job.member) for step in steps):
        return f"job {job.id}: its entries are on other accounts than its table's and its member's"
    for part in (whole, own):
        if tuple(step.kind for step in part) not in _STEPS[JobState(job.state)]:
            done = ", ".join(step.kind.word for step in part) or "nothing"
            return f"job {job.id} is {job.state}, and the ledger says: {done}"
    try:
        cost = asked.budget.cost_in(own[0].unit)
    except OutsideWindow:  # an older frith accepted it; another check flags it
        return None
    except ValueError:
        return f"job {job.id}: its request has no price on its accounts"
    paid = [(step, cost) for step in own]
    paid += [(step, cost if earlier is None else Fraction(0)) for step in whole]
    for step, due in paid:
        if abs(step.amount - due) > (due * _ROUNDED if asked.budget.delta else 0):
            return f"entry {step.id}: another amount than job {job.id} asked for"
    return None


def _same(job: Job, earlier: Job) -> bool:
    """Whether two jobs made the same request on the same version of a table."""
    asked = [(j.table, j.version, j.body_hash) for j in (job, earlier)]
    return asked[0] == asked[1]
