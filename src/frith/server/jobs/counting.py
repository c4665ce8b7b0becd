"""Counts for several parties: one question's answer, noisy, or masked for a secure sum."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from frith._documents import read_file
from frith.client.kinds import JobKind, ProblemCode
from frith.curator import Curator, noise_of
from frith.domain import Domain
from frith.kernels import Question
from frith.parties.binding import terms_of
from frith.parties.masks import Keys, PairMasks, Round
from frith.parties.questions import question_from_json, question_to_json
from frith.privacy.budget import Budget
from frith.privacy.window import check_question
from frith.server.context import Context
from frith.server.jobs.history import may_answer
from frith.server.jobs.requests import ASSUMED, JobRequest
from frith.server.problems import Problem, conflict, invalid
from frith.server.schema import Job
from frith.server.settings import Settings

MAX_CELLS = 2**20
_PURPOSE = "counts for several parties"
_WHOLE = Fraction(1)  # the question gets the whole budget of its request


def load_keys(settings: Settings) -> Keys | None:
    """The server's own key and its peers' keys, from the file that its curators wrote."""
    if not settings.party_keys:
        return None
    try:
        data = read_file(settings.party_keys)
        return Keys.load(data["party"], data["secret"], data["peers"])
    except (OSError, KeyError, TypeError, ValueError):
        raise Problem(
            ProblemCode.UNAVAILABLE, "the server cannot read its party keys; ask the curator"
        ) from None


def ask_to_count(
    settings: Settings,
    question: Any,
    fingerprint: str,
    round: dict[str, Any] | None,
    budget: Budget,
    domain: Domain,
) -> JobRequest:
    """The request for one question, checked before anything is reserved."""
    if fingerprint != domain.fingerprint:
        raise conflict("this table has another domain than the one asked about")
    try:
        kernel = question_from_json(question, domain, MAX_CELLS)
        plain = question_to_json(kernel)
        if plain != question:
            raise ValueError("the question says more than it asks")
        told = None if round is None else Round.from_json(round).to_json()
        details = {"question": plain, "columns": list(domain.names), "round": told}
        asked = JobRequest(JobKind.COUNT, budget, details)
        noise = noise_of(kernel, domain, budget.total, budget.unit)
        check_question(budget.total, budget.unit, noise.scale, _PURPOSE)
        masking = _masking(asked, settings)
        if masking is not None:
            masking.check(kernel, domain, budget, _WHOLE)
    except ValueError as error:
        raise invalid(str(error)) from None
    return asked


def check_round(context: Context, session: Session, job: Job) -> None:
    """Refuse a second answer to a round, whoever asks and on whatever table and version.

    Both answers would have the same mask, so their difference would show the counts with only a
    share of the noise.
    """
    if job.round is None:
        return
    others = select(Job.release).where(
        Job.round == job.round,
        Job.id != job.id,
        may_answer(context),
    )
    if any(release is None or release != job.release for release in session.scalars(others)):
        raise conflict("this round was asked before; make another attempt")


def count(asked: JobRequest, curator: Curator, settings: Settings) -> dict[str, Any]:
    """The answer, the question it belongs to, and its guarantee."""
    kernel, masking = _kernel(asked, curator.domain), _masking(asked, settings)
    share = curator.remaining_share
    if masking is not None:
        hidden = curator.masked_counts(kernel, share, _PURPOSE, masking)  # held to the round
        said = {"question": masking.round.about, "values": hidden.tolist()}
    else:
        terms = terms_of(kernel, curator.domain, curator.budget, share)
        release = curator.noisy_counts(kernel, share, _PURPOSE)
        said = {"question": terms.digest, "values": release.values.tolist()}
        said["variance"] = release.variance
    return said | {"guarantee": curator.guarantee.assuming(*ASSUMED).to_json()}


def _kernel(asked: JobRequest, domain: Domain) -> Question:
    return question_from_json(asked.details["question"], domain)


def _masking(asked: JobRequest, settings: Settings) -> PairMasks | None:
    """This server's side of a round, checked against what all parties must see the same way."""
    said = asked.details["round"]
    if said is None:
        return None
    keys = load_keys(settings)
    if keys is None:
        raise ValueError(
            "this server has no keys for secure sums; ask its curator to set party_keys"
        )
    round = Round.from_json(said)
    if round.colluders < settings.least_colluders:
        raise ValueError(
            f"this server requires a round that withstands at least {settings.least_colluders} colluders"
        )
    return PairMasks(keys, round)
