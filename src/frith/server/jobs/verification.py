"""Verifies the ledger: its chain, what is stored beside it, and requests that frith would refuse today.

Compares accounts, policies, grants, jobs and releases with the entries about them, so a row that was
edited behind the server's back shows. An earlier frith may have charged a request less than its answer
revealed. The request is stored, so it is read again here, by the reader that new requests pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlalchemy import and_, or_, select
from sqlalchemy.orm import Session

from frith.client.kinds import JobKind, JobState
from frith.domain import Domain
from frith.errors import FrithError, OutsideWindow
from frith.kernels import Question
from frith.ledger import Book, Fault, Verification
from frith.ledger.book import account, entry
from frith.ledger.entries import EntryKind, Step
from frith.ledger.walk import Walk
from frith.parties.binding import terms_of
from frith.parties.masks import Round
from frith.parties.questions import question_from_json
from frith.privacy.window import check_budget
from frith.server.budget.checks import doubt_terms
from frith.server.budget.tables import domain_of, get_table
from frith.server.budget.terms import batch_terms, grant_terms, policy_terms
from frith.server.context import Context
from frith.server.jobs.doubts import doubt_job
from frith.server.jobs.history import repeated
from frith.server.jobs.requests import JobRequest
from frith.server.schema import Batch, Grant, Job, RegisteredTable, Release

Rest = Callable[[], object]
_AT_ONCE = 100  # jobs fetched at once; the question of one may have a megabyte


def look(context: Context, rest: Rest = lambda: None) -> Verification:
    """Verify everything; from now on, sales rely on the result."""
    walk = Walk(context.patience)
    with context.database.read() as session:
        found = verify(session, context.book(session), walk, rest)
    beside = tuple(context.watch.compare(whole=True))
    found = replace(found, faults=(*found.faults, *beside))
    context.watch.adopt(walk, found)
    return found


def verify(
    session: Session, book: Book, walk: Walk | None = None, rest: Rest = lambda: None
) -> Verification:
    """What `Book.verify` finds, what differs from the chain, and what frith would refuse today."""
    walk = walk or Walk()
    found = book.verify(walk, rest)
    faults, flagged = list(found.faults), list(found.flagged)
    faults += [*_unbound(session, walk), *_without_job(session), *_unpaid(session)]
    for jobs in _jobs(session):
        steps, made = book.steps([job.id for job in jobs]), repeated(session, jobs)
        for job in jobs:
            about = steps.get(job.id, [])
            try:
                doubt = doubt_job(job, about, made.get(job.id))
                flagged += _flag_request(session, job, about)
            except Exception:  # noqa: BLE001 - an edited row may raise anything, and hides no other
                doubt = f"job {job.id}: it cannot be read"
            faults += [Fault(doubt, job.table)] if doubt is not None else []
        rest()
    return replace(found, faults=tuple(faults), flagged=tuple(flagged))


def _unbound(session: Session, walk: Walk) -> Iterator[Fault]:
    """Policies, batches and grants that differ from the chain."""
    rows = {RegisteredTable: policy_terms, Batch: batch_terms, Grant: grant_terms}
    for kind, terms_of_row in rows.items():
        for row in session.scalars(select(kind)):
            terms = terms_of_row(row)  # type: ignore[operator]
            doubt = doubt_terms(walk, terms)
            if doubt is not None:
                yield Fault(doubt, terms.table)


def _without_job(session: Session) -> Iterator[Fault]:
    """Entries about a job that is gone."""
    query = (
        select(entry.c.id, account.c.table).join(account).outerjoin(Job, Job.id == entry.c.request)
    )
    query = query.where(entry.c.request.is_not(None), Job.id.is_(None)).order_by(entry.c.id)
    for number, table in session.execute(query):
        yield Fault(f"entry {number}: there is no job that it is about", table)


def _unpaid(session: Session) -> Iterator[Fault]:
    """Releases of jobs that are not done, and done jobs without a release.

    Whether a done job was charged is checked with the job.
    """
    is_its_own = and_(Job.release == Release.id, Job.state == JobState.DONE)
    query = select(Release.id, Job.id, Job.table).join(Job, Job.id == Release.job)
    for release, job, table in session.execute(
        query.where(or_(~is_its_own, Job.release.is_(None)))
    ):
        yield Fault(f"release {release}: job {job} is not one that made it", table)
    lost = select(Job.id, Job.table).outerjoin(Release, Release.id == Job.release)
    lost = lost.where(Job.state == JobState.DONE, Release.id.is_(None))
    for job, table in session.execute(lost):
        yield Fault(f"job {job}: what it released is gone", table)


def _jobs(session: Session) -> Iterator[Sequence[Job]]:
    """All jobs, oldest first, some at a time."""
    query = select(Job).order_by(Job.created, Job.id).limit(_AT_ONCE)
    jobs = session.scalars(query).all()
    while jobs:
        yield jobs
        last = jobs[-1]
        is_newer = or_(Job.created > last.created, Job.id > last.id)
        jobs = session.scalars(query.where(Job.created >= last.created, is_newer)).all()


def _flag_request(session: Session, job: Job, steps: Sequence[Step]) -> Iterator[str]:
    """What frith would refuse today. Dry runs and cancelled jobs are left out: they revealed nothing."""
    if job.kind == JobKind.DRY_RUN or job.state == JobState.CANCELLED:
        return
    asked = JobRequest.read(job.body)
    for doubt in (_doubt_budget(asked), _doubt_question(session, job, asked)):
        if doubt is not None:
            yield f"{_where(job, steps)}: {doubt}"


def _doubt_budget(asked: JobRequest) -> str | None:
    try:
        check_budget(asked.budget.epsilon, asked.budget.delta)
        _ = asked.budget.total  # raises if no rho is left
    except OutsideWindow as error:
        return f"its budget is refused today: {error}; its noise may not have hidden what it claims"
    return None


def _doubt_question(session: Session, job: Job, asked: JobRequest) -> str | None:
    if asked.kind != JobKind.COUNT:
        return None
    try:
        domain = domain_of(get_table(session, job.table)).view(asked.details["columns"])
        question = question_from_json(asked.details["question"], domain)
        if asked.details["round"] is not None:
            return _doubt_round(question, domain, asked)
    except (FrithError, ValueError) as error:
        return (
            f"its question is refused today: {error}; it may have been charged too little, so do not "
            "count on the epsilon of its answer"
        )
    return None


def _doubt_round(question: Question, domain: Domain, asked: JobRequest) -> str | None:
    round = Round.from_json(asked.details["round"])
    terms = terms_of(
        question, domain, asked.budget, Fraction(1), keys=round.keys, colluders=round.colluders
    )
    if terms.digest == round.about:
        return None
    return (
        "its round of a secure sum binds less than rounds do today; compare its epsilon and delta with "
        "what the other parties were asked, for its noise may be too small if they differ"
    )


def _where(job: Job, steps: Sequence[Step]) -> str:
    """The job, and the entries of the ledger that charged it."""
    entries = [str(step.id) for step in steps if step.kind is EntryKind.CHARGE]
    charged = f"entries {' and '.join(entries)}" if entries else "not charged yet: cancel it"
    return f"job {job.id}, a {job.kind} on {job.table!r} by {job.member!r} ({charged})"
