"""What a job does: open its source; once charged, train, score, update or count, through a curator."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from sqlalchemy.orm import Session

from frith.client.kinds import JobKind
from frith.curator import Curator
from frith.curator.confusion import Score, score_confusion
from frith.curator.label_score import LabelScore
from frith.curator.number_score import NumberScore, score_numbers
from frith.curator.scoring import ScoreRequest, score_forest
from frith.domain import Domain
from frith.domain.synthetic import synthetic_table
from frith.engines import Engine, open_table
from frith.errors import FrithError
from frith.forest import Forest
from frith.learners import RandomDecisionForestClassifier
from frith.learners.forest import count_rules
from frith.server.budget.tables import domain_of, get_table
from frith.server.jobs.counting import count
from frith.server.jobs.journal import unpack
from frith.server.jobs.requests import ASSUMED, JobRequest, make_learner
from frith.server.jobs.sizes import SYNTHETIC
from frith.server.problems import invalid
from frith.server.schema import Batch, Job, Release
from frith.server.settings import Settings
from frith.server.sources import open_source

_MADE_UP = "this is a dry run: its records were made up from the domain, and it says nothing about real ones"
R = TypeVar("R", Forest, Score, LabelScore, NumberScore)


class Unopened(Exception):
    """The source could not be opened; the message says why, for operators, without a secret."""


class Work:
    """One job and everything it needs except the records."""

    def __init__(self, session: Session, job: Job, settings: Settings):
        self.asked, self.seed, self._settings = JobRequest.read(job.body), job.seed, settings
        self.is_dry = self.asked.kind == JobKind.DRY_RUN
        table = get_table(session, job.table)
        self.source, self.types, self.disjoint = table.source, table.types, False
        self.earlier = self._earlier(session)
        self.forest = Forest.from_json(self.earlier["forest"]) if self.earlier else None
        if self.asked.kind == JobKind.UPDATE:
            batch = session.get(Batch, (job.table, self.asked.details["batch"]))
            assert batch is not None
            self.source, self.types, self.disjoint = batch.source, batch.types, batch.disjoint
        self.domain = self._domain(domain_of(table))

    def _earlier(self, session: Session) -> dict[str, Any]:
        """The release that the job is about."""
        if not JobKind(self.asked.kind).reads_forest:
            return {}
        release = session.get(Release, self.asked.details["forest"])
        assert release is not None
        document: dict[str, Any] = unpack(release.document)
        return document

    def _domain(self, whole: Domain) -> Domain:
        return self.forest.domain if self.forest else whole.view(self.asked.details["columns"])

    @contextlib.contextmanager
    def opened(self) -> Iterator[Engine]:
        """The source, pinned: opening reads names, types and footers, and no record."""
        engine = self._synthetic(SYNTHETIC, self.seed) if self.is_dry else self._open()
        try:
            yield engine
        finally:
            getattr(engine, "close", lambda: None)()

    def _open(self) -> Engine:
        types = None if self.types is None else json.loads(self.types)
        try:
            return open_source(self._settings, self.source, self.domain, types)
        except Exception as error:  # noqa: BLE001 - of any class: nothing was charged yet
            why = str(error) if isinstance(error, FrithError) else type(error).__name__
            raise Unopened(why) from None

    def _synthetic(self, records: int, seed: int, threads: int | None = None) -> Engine:
        table = synthetic_table(self.domain, records, np.random.default_rng(seed))
        return open_table(table, self.domain, threads=threads)

    def rehearse(self) -> None:
        """Run on a table without records, so that a request that cannot work is not charged.

        Everything used here is public, and the result is thrown away.
        """
        try:
            self.run(Curator(self._synthetic(0, 0, threads=1), self.asked.budget))
        except (ValueError, TypeError) as error:
            raise invalid(f"{error}; nothing was charged") from None

    def run(self, curator: Curator) -> dict[str, Any]:
        """The document to release."""
        if self.asked.kind == JobKind.SCORE:
            assert self.forest is not None
            return {"score": self._score(curator, self.forest)}
        if self.asked.kind == JobKind.COUNT:
            return {"counts": count(self.asked, curator, self._settings)}
        if self.asked.kind == JobKind.UPDATE:
            return self.earlier | {"forest": self._updated(curator).to_json()}
        if self.asked.kind == JobKind.RULES:
            return self.earlier | {"forest": self._with_rules(curator).to_json()}
        forest = self._learner().learn(curator)
        details = {name: self.asked.details[name] for name in ("learner", "parameters")}
        more = (_MADE_UP,) if self.is_dry else ()
        return {"forest": _assuming(forest, *more).to_json(), **details}

    def _score(self, curator: Curator, forest: Forest) -> dict[str, Any]:
        """A confusion matrix, unless metrics are named; for a number, its errors."""
        details = self.asked.details
        if forest.domain.has_target:
            return _assuming(score_numbers(curator, forest)).to_json()
        if "metrics" not in details:
            return _assuming(score_confusion(curator, forest)).to_json()
        asked = ScoreRequest(details["metrics"], details["by"], details["positive"])
        return _assuming(score_forest(curator, forest, asked)).to_json()

    def _updated(self, curator: Curator) -> Forest:
        assert self.forest is not None
        learner = RandomDecisionForestClassifier.from_forest(self.forest)
        assert isinstance(learner, RandomDecisionForestClassifier)
        return self.forest.plus(
            _assuming(learner.count(curator, self.forest.trees)), disjoint=self.disjoint
        )

    def _with_rules(self, curator: Curator) -> Forest:
        assert self.forest is not None
        counted = count_rules(curator, self.forest, Fraction(1))
        guarantee = self.forest.guarantee.then(curator.guarantee)
        return _assuming(replace(counted, guarantee=guarantee))

    def _learner(self) -> Any:
        return make_learner(self.asked, self.domain, self.seed)


def _assuming(release: R, *more: str) -> R:
    """Add to the guarantee what every guarantee from a server assumes, and any other assumptions given."""
    return replace(release, guarantee=release.guarantee.assuming(*ASSUMED, *more))
