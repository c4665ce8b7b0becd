"""Released forests of a member. Reading them is post-processing, and free."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import select
from sqlalchemy.orm import Session

from frith.client.kinds import JobKind, JobState, ProblemCode
from frith.client.responses import PredictionResponse, Quote
from frith.curator.scoring import ScoreRequest
from frith.errors import FrithError
from frith.forest import Forest
from frith.forest.effects import Effects
from frith.forest.kinds import ValueKind, refuse_number
from frith.forest.origin import Origin
from frith.forest.rules import RuleList
from frith.forest.scores import NO_SCORES
from frith.learners import PrivateForest, learners_for
from frith.ledger import Receipt
from frith.privacy.budget import Budget
from frith.privacy.exact import exact
from frith.server.budget import accounts
from frith.server.budget.member_view import View
from frith.server.budget.tables import domain_of, get_table, see
from frith.server.context import Context, check_name
from frith.server.jobs import history, queue, sizes
from frith.server.jobs.downloads import forest_alone, read_bounded, stored, with_fields
from frith.server.jobs.requests import JobRequest
from frith.server.problems import Problem, conflict, invalid, not_found
from frith.server.schema import Batch, Job, Member

_PARSING = threading.Lock()
"""Forests are parsed one at a time: meanwhile one takes ten times its JSON, and threads are no faster."""


@dataclass(frozen=True)
class About:
    """What is asked about a forest: a score, counts of its rules, or an update with a batch.

    A score is a confusion matrix, with `scoring` one of the probabilities of a label, and for a number
    its errors.
    """

    kind: JobKind
    batch: str = ""
    scoring: ScoreRequest | None = None


@dataclass(frozen=True)
class Released:
    """A forest as one member got it, by the request that grew its trees.

    The release stays in the database until it is needed.
    """

    context: Context
    job: Job
    asked: JobRequest
    kind: type[PrivateForest]
    receipt: Receipt | None

    @property
    def id(self) -> str:
        return self.job.id

    @property
    def learner(self) -> str:
        return str(self.asked.details["learner"])

    @property
    def is_dry(self) -> bool:
        return self.job.kind == JobKind.DRY_RUN

    def packed(self) -> Iterator[bytes]:
        """The released document as it is stored, in pieces."""
        return stored(self.context, self.job.release)

    def forest(self) -> Forest:
        most = self.context.settings.shown_bytes
        with _PARSING:
            forest = Forest.from_json(read_bounded(self.packed(), most)["forest"])
        return replace(forest, origin=self.origin)

    def download(self) -> Iterator[bytes]:
        """The forest as a file, in pieces."""
        return with_fields({"origin": self.origin.to_json()}, forest_alone(self.packed()))

    @property
    def origin(self) -> Origin:
        """Where the forest comes from."""
        made = Origin.of(self.kind.__name__, self.asked.details["parameters"], self.receipt)
        return replace(made, date=self.job.created[:10])

    def effects(self) -> Effects:
        """The effects of a forest of scores; a forest of counts has none."""
        forest = self.forest()
        if forest.kind is not ValueKind.SCORES:
            raise Problem(ProblemCode.NOT_FOUND, NO_SCORES)
        return forest.effects()

    def rules(self) -> RuleList:
        """Its rules: the counted ones, if any were counted."""
        forest = self._of_labels("rules")
        return (forest.measured or forest).rules()

    def _of_labels(self, what: str) -> Forest:
        """The forest, if it predicts labels; refuses one that predicts a number."""
        forest = self.forest()
        try:
            refuse_number(forest.domain, what)
        except FrithError as error:
            raise Problem(ProblemCode.NOT_FOUND, str(error)) from None
        return forest

    def draw(self, tree: int | None) -> str:
        """One tree, or the whole forest, as SVG."""
        forest = self._of_labels("pictures of trees")
        if tree is not None and tree >= forest.trees.n_trees:
            raise Problem(
                ProblemCode.NOT_FOUND,
                f"the forest has {forest.trees.n_trees} trees, counted from 0",
            )
        return str(forest.draw(tree=tree))

    def to_onnx(self) -> bytes:
        try:
            model = self.forest().to_onnx()
        except ImportError:
            raise Problem(
                ProblemCode.NOT_OFFERED,
                "this server does not export to ONNX; take the forest as JSON and call its "
                "to_onnx(), or ask the curator to install frith[onnx]",
            ) from None
        return model.SerializeToString()


def find_forest(context: Context, session: Session, forest: str, member: Member) -> Released:
    """A forest, by the id of the job that made it."""
    job = history.find_job(session, forest, member)
    if not JobKind(job.kind).makes_forest:
        raise not_found("forest")
    history.require_done(context, job)
    asked = sizes.origin(session, JobRequest.read(job.body))
    kind = learners_for(domain_of(get_table(session, job.table)))[asked.details["learner"]]
    return Released(context, job, asked, kind, history.own_receipt(context, session, job))


def list_forests(
    context: Context, session: Session, member: Member, before: str | None, limit: int
) -> list[Job]:
    """At most `limit` of the member's forests that are shown already, the newest first."""
    done = (
        Job.kind.in_([kind for kind in JobKind if kind.makes_forest]),
        Job.state == JobState.DONE,
    )
    found: list[Job] = []
    while len(found) < limit:
        page = history.list_jobs(session, member, *done, before=before, limit=limit)
        found += [job for job in page if not history.is_held_back(context, job)]
        if len(page) < limit:
            break
        before = page[-1].id
    return found[:limit]


def list_scores(context: Context, session: Session, forest: Job) -> list[Job]:
    """The private scores of a forest that its owner may see, oldest first."""
    assert forest.release is not None
    query = (
        select(Job)
        .where(Job.member == forest.member, Job.kind == JobKind.SCORE, Job.state == JobState.DONE)
        .where(Job.forest == forest.release)
        .order_by(Job.created, Job.id)
    )
    return [job for job in session.scalars(query) if not history.is_held_back(context, job)]


def forest_of_score(session: Session, score: Job) -> Job | None:
    """The job that made the forest of a score."""
    query = select(Job).where(Job.member == score.member, Job.release == score.forest)
    query = query.where(Job.kind != JobKind.SCORE).order_by(Job.created.desc())
    return session.scalars(query.limit(1)).first()


def ask(
    context: Context,
    session: Session,
    forest: str,
    member: Member,
    budget: Budget,
    about: About,
    key: str | None = None,
    reason: str = "",
) -> Job:
    """Ask for more about a forest."""
    view, request, own = _request(context, session, forest, member, budget, about)
    return queue.accept(context, session, view, member, request, key, own, reason)


def quote(
    context: Context, session: Session, forest: str, member: Member, budget: Budget, about: About
) -> Quote:
    """What `ask` would cost; refuses what `ask` would refuse, whatever is left of the budget."""
    view, request, own = _request(context, session, forest, member, budget, about)
    found = sizes.estimate(session, request, view.domain)
    sizes.check(context.settings, found)
    price = accounts.quote(context, session, view, member.name, budget, own)
    return price.model_copy(update={"estimate": found})


def _request(
    context: Context, session: Session, forest: str, member: Member, budget: Budget, about: About
) -> tuple[View, JobRequest, str | None]:
    found = find_forest(context, session, forest, member)
    view = see(session, found.job.table, member)
    return view, *ask_about(session, found, view, budget, about)


def ask_about(
    session: Session, found: Released, view: View, budget: Budget, about: About
) -> tuple[JobRequest, str | None]:
    """The request for more about a forest; and the batch, if it has its own accounts.

    The grant must still include the forest's attributes.
    """
    view.check_reach(found.asked.details["columns"])
    if view.domain.has_target and about.kind != JobKind.SCORE:
        raise invalid(
            "updates and counts of rules are not offered for a forest that predicts a number; read its "
            "effects, predict with it, or ask for a score"
        )
    if about.kind == JobKind.UPDATE:
        return _ask_to_update(session, found, view, budget, about.batch)
    if about.kind == JobKind.RULES:
        _check_rules(found)
    view.policy.check(None, budget)
    details = {"forest": found.job.release}
    if about.scoring is not None:
        details |= _scoring(found, view, about.scoring)
    return JobRequest(about.kind, budget, details), None


def _scoring(found: Released, view: View, asked: ScoreRequest) -> dict[str, Any]:
    """What to score, in one canonical form."""
    domain = view.domain.view(found.asked.details["columns"])
    if domain.has_target:
        raise invalid(
            "metrics, by and positive are for labels with values; leave them out to score a forest that "
            "predicts a number"
        )
    try:
        plan = asked.read(domain)
    except ValueError as error:
        raise invalid(str(error)) from None
    return {
        "metrics": list(plan.metrics),
        "by": [domain.names[a] for a in plan.by],
        "positive": domain.label_values[plan.positive],
    }


def _check_rules(found: Released) -> None:
    if found.learner != "forest" or found.is_dry:
        raise invalid("rules are counted for a forest of the learner forest; train one first")
    if found.job.kind == JobKind.RULES or exact(found.asked.details["parameters"]["rules_share"]):
        raise conflict("rules of this forest were counted already")


def _ask_to_update(
    session: Session, found: Released, view: View, budget: Budget, batch: str
) -> tuple[JobRequest, str | None]:
    if found.learner != "random-decision" or found.is_dry:
        raise invalid("only a random-decision forest can be updated; train one first")
    further = session.get(Batch, (view.name, check_name("batch", batch)))
    if further is None:
        raise Problem(ProblemCode.NOT_FOUND, "the table has no such batch")
    if batch in _batches_in(session, found.job):
        raise conflict("this forest has the records of that batch already")
    view.policy.check("random-decision", budget)
    asked = JobRequest(JobKind.UPDATE, budget, {"forest": found.job.release, "batch": batch})
    return asked, batch if further.disjoint else None


def _batches_in(session: Session, job: Job) -> set[str]:
    """The batches that a forest already includes; adding one twice would break `disjoint`."""
    asked, found = JobRequest.read(job.body), set[str]()
    while asked.kind == JobKind.UPDATE:
        found.add(asked.details["batch"])
        asked = JobRequest.read(history.maker(session, asked.details["forest"]).body)
    return found


def predict(forest: Forest, records: list[dict[str, Any]]) -> PredictionResponse:
    """The predictions for an analyst's own records."""
    names = forest.domain.names
    for record in records:
        unknown = [name for name in record if name not in names]
        if unknown:
            raise invalid(f"the forest has no attribute {unknown[0]!r}")
    table = pd.DataFrame({n: pd.Series([r.get(n) for r in records], dtype=object) for n in names})
    codes = forest.encode(table, threads=1)
    if forest.domain.has_target:
        numbers = forest.domain.from_target(forest.numbers_of_codes(codes, threads=1))
        return PredictionResponse(labels=numbers.tolist(), classes=[], probabilities=[])
    values = forest.domain.label_values
    labels = [values[k] for k in forest.labels_of_codes(codes, threads=1)]
    probabilities = np.round(forest.proba_of_codes(codes, threads=1), 6).tolist()
    return PredictionResponse(labels=labels, classes=list(values), probabilities=probabilities)
