"""What one person proposes and another one approves: raises of a budget, and requests that must wait.

A table's total budget protects people, so nobody raises it alone. Another person approves: neither the
proposer nor the owner of the service account that proposed, but a curator of the table or an operator
of the server.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode, ProposalKind, ProposalState
from frith.client.requests import PolicyRequest
from frith.client.responses import Proposal as ProposalDocument
from frith.server.auth.acting import tell
from frith.server.auth.members import get_member
from frith.server.auth.roles import curated_by, curates
from frith.server.budget.policies import Policy, read_policy
from frith.server.budget.tables import get_table, policy_of, update_policy
from frith.server.context import Context
from frith.server.problems import Problem, conflict, invalid
from frith.server.schema import Job, Member, Proposal

_OPEN = 100  # proposals of one table that may wait at once
_OPEN_OF_ONE = 20  # of these, by one member
_DECIDED = 100  # decided proposals that are listed, the newest

Settle = Callable[[Context, Session, Job, bool], None]
"""Queues a job that was approved, or ends one that was rejected."""


def propose_raise(
    context: Context, session: Session, table: str, by: Member, asked: PolicyRequest, reason: str
) -> Proposal:
    """Propose a policy with a larger total."""
    old, policy = policy_of(get_table(session, table)), read_policy(asked)
    if not old.is_raised_by(policy):
        raise invalid("this raises nothing; set the policy instead")
    tell(session, before=old.to_json(), after=policy.to_json())
    documents = json.dumps({"base": old.to_json(), "policy": asked.to_json()})
    return _add(context, session, ProposalKind.RAISE, table, by, documents, reason)


def propose_job(context: Context, session: Session, job: Job, by: Member, reason: str) -> Proposal:
    """Make a job wait for somebody's approval."""
    documents = json.dumps({} if by.owner is None else {"owner": by.owner})
    return _add(context, session, ProposalKind.REQUEST, job.table, by, documents, reason, job.id)


def _add(
    context: Context,
    session: Session,
    kind: ProposalKind,
    table: str,
    by: Member,
    document: str,
    reason: str,
    job: str | None = None,
) -> Proposal:
    if by.owner is not None and kind is ProposalKind.RAISE:
        raise invalid("a service account proposes nothing; its owner may")
    if not reason.strip():
        raise invalid("say why: somebody else has to approve this")
    _check_room(session, table, by)
    made = Proposal(
        id=context.new_secret(8), kind=kind, table=table, member=by.name, job=job,
        document=document, reason=reason.strip(), created=context.now(), state=ProposalState.OPEN,
    )  # fmt: skip
    session.add(made)
    session.flush()
    more = session.info.get("facts", {}).get("more", {})
    tell(session, more=more | {"proposal": made.id, "reason": made.reason})
    return made


def _check_room(session: Session, table: str, by: Member) -> None:
    """Refuse one more open proposal; no member may take the room of all others."""
    waiting = select(func.count()).where(
        Proposal.table == table, Proposal.state == ProposalState.OPEN
    )
    if (session.scalar(waiting) or 0) >= _OPEN:
        raise Problem(ProblemCode.TOO_MANY, "too much waits for approval on this table already")
    if (session.scalar(waiting.where(Proposal.member == by.name)) or 0) >= _OPEN_OF_ONE:
        raise Problem(
            ProblemCode.TOO_MANY, "too much of yours waits for approval on this table already"
        )


def list_proposals(session: Session, member: Member) -> list[Proposal]:
    """All open proposals that a member may see, then the last decided ones; the newest first."""
    query = select(Proposal).order_by(Proposal.created.desc(), Proposal.id.desc())
    if not member.sees_everything:
        mine = Proposal.table.in_(curated_by(session, member))
        query = query.where(or_(mine, Proposal.member == member.name))
    waiting = query.where(Proposal.state == ProposalState.OPEN)
    decided = query.where(Proposal.state != ProposalState.OPEN).limit(_DECIDED)
    return [*session.scalars(waiting), *session.scalars(decided)]


def take_back(context: Context, session: Session, job: Job, by: Member) -> None:
    """Reject the open proposal of a job that is cancelled."""
    query = select(Proposal).where(Proposal.job == job.id, Proposal.state == ProposalState.OPEN)
    for found in session.scalars(query.with_for_update()):
        found.state = ProposalState.REJECTED
        found.decider, found.decided = by.name, context.now()


def find(session: Session, proposal: str, member: Member) -> Proposal:
    """A proposal that a member may decide on."""
    found = session.get(Proposal, proposal, with_for_update=True)
    may = found is not None and (member.is_operator or curates(session, member, found.table))
    if found is None or not may:
        raise Problem(ProblemCode.NOT_FOUND, "there is no such proposal for you to decide")
    return found


def decide(
    context: Context, session: Session, proposal: str, by: Member, approve: bool, settle: Settle
) -> Proposal:
    """Approve or reject what somebody else proposed, and do what was approved.

    Locks the job before the ledger, as workers do, so that there is no deadlock.
    """
    named = session.scalar(select(Proposal.job).where(Proposal.id == proposal))
    job = None if named is None else session.get_one(Job, named, with_for_update=True)
    context.book(session).lock()
    found = find(session, proposal, by)
    word = "approve" if approve else "reject"
    tell(
        session,
        action=f"{word} {found.kind}",
        target=found.table,
        more={"proposal": found.id, "proposer": found.member, "reason": found.reason},
    )
    if found.state != ProposalState.OPEN:
        raise conflict(f"this was {found.state} already")
    if approve and (by.name in _people(session, found) or by.owner is not None):
        raise Problem(
            ProblemCode.FORBIDDEN, "nobody approves what they proposed; ask another person to"
        )
    if approve and get_member(session, found.member).disabled is not None:
        raise conflict(f"{found.member}, who proposed this, is disabled; propose it anew")
    found.state = ProposalState.APPROVED if approve else ProposalState.REJECTED
    found.decider, found.decided = by.name, context.now()
    if job is not None:
        tell(session, after={"job": job.id})
        settle(context, session, job, approve)
    elif approve:
        _raise(context, session, found)
    session.flush()
    return found


def _people(session: Session, found: Proposal) -> set[str | None]:
    """Who proposed this; for a service account, also its owner then and its owner now."""
    then = json.loads(found.document).get("owner")
    return {found.member, then, get_member(session, found.member).owner}


def _raise(context: Context, session: Session, found: Proposal) -> None:
    stored = json.loads(found.document)
    if policy_of(get_table(session, found.table)) != Policy.from_json(stored["base"]):
        raise conflict("the policy has changed since this was proposed; propose it anew")
    policy = read_policy(PolicyRequest.read(stored["policy"]))
    update_policy(context, session, found.table, policy, by_two=True)


def document(found: Proposal) -> ProposalDocument:
    """A proposal as the API shows it."""
    stored = json.loads(found.document)
    return ProposalDocument(
        id=found.id, kind=ProposalKind(found.kind), table=found.table, member=found.member,
        job=found.job, reason=found.reason, created=found.created,
        state=ProposalState(found.state), decider=found.decider, decided=found.decided,
        before=stored.get("base"), policy=stored.get("policy"),
    )  # fmt: skip
