"""Verifies the ledger: its chain, and stored requests that frith would refuse today.

An earlier frith may have charged a request less than its answer revealed. The request is stored, so
it is read again here, by the reader that new requests pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from sqlalchemy import select
from sqlalchemy.orm import Session

from frith.client.kinds import JobKind, JobState
from frith.domain import Domain
from frith.errors import FrithError, OutsideWindow
from frith.kernels import Question
from frith.ledger import Book, Verification
from frith.ledger.entries import EntryKind
from frith.parties.binding import terms_of
from frith.parties.masks import Round
from frith.parties.questions import question_from_json
from frith.privacy.window import check_budget
from frith.server.budget.tables import domain_of, get_table
from frith.server.jobs.requests import JobRequest
from frith.server.schema import Job

_AT_ONCE = 100  # jobs fetched while they are read


def verify(session: Session, book: Book) -> Verification:
    """What `Book.verify` finds, and every charged request that frith would refuse today."""
    found = book.verify()
    return replace(found, flagged=(*found.flagged, *flag_requests(session, book)))


def flag_requests(session: Session, book: Book) -> Iterator[str]:
    """A line for every stored request that frith would refuse today, oldest first.

    Dry runs and cancelled jobs are left out: they revealed nothing.
    """
    query = select(Job).where(Job.kind != JobKind.DRY_RUN, Job.state != JobState.CANCELLED)
    query = query.order_by(Job.created, Job.id).execution_options(yield_per=_AT_ONCE)
    for job in session.scalars(query):
        asked = JobRequest.read(job.body)
        for doubt in (_doubt_budget(asked), _doubt_question(session, job, asked)):
            if doubt is not None:
                yield f"{_where(book, job)}: {doubt}"


def _doubt_budget(asked: JobRequest) -> str | None:
    try:
        check_budget(asked.budget.epsilon, asked.budget.delta)
        _ = asked.budget.total  # raises where no rho is left
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


def _where(book: Book, job: Job) -> str:
    """The job, and the entries of the ledger that charged it."""
    entries = [str(e.id) for e in book.entries(request=job.id) if e.kind is EntryKind.CHARGE]
    charged = f"entries {' and '.join(entries)}" if entries else "not charged yet: cancel it"
    return f"job {job.id}, a {job.kind} on {job.table!r} by {job.member!r} ({charged})"
