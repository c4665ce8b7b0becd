"""What a job does once it is charged: train, score or update, through a curator and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sqlalchemy.orm import Session

from frith.curator import Curator
from frith.domain import Domain
from frith.engines import Engine, open_table
from frith.forest import Forest
from frith.learners import RandomDecisionForestClassifier
from frith.scoring import private_score
from frith.server.journal import unpack
from frith.server.problems import Problem
from frith.server.requests import DRY_RUN, SCORE, TRAIN, UPDATE, Asked, make_learner
from frith.server.schema import Batch, Job, Release
from frith.server.tables import domain_of, get_table, open_source
from frith.synthetic import synthetic_table

OpenCurator = Callable[[Engine, Any], Curator]
_SYNTHETIC = 1_000  # records of a dry run
_ASSUMED = "when a job starts and how long it takes tell nothing about the records"


class Work:
    """One job, with everything about it that is not in the records."""

    def __init__(self, session: Session, job: Job):
        self.asked, self.seed = Asked.read(job.body), job.seed
        self.is_dry = self.asked.kind == DRY_RUN
        table = get_table(session, job.table)
        self.source, self.disjoint = table.source, False
        self.forest = self._forest(session)
        if self.asked.kind == UPDATE:
            batch = session.get(Batch, (job.table, self.asked.details["batch"]))
            assert batch is not None
            self.source, self.disjoint = batch.source, batch.disjoint
        self.domain = self._domain(domain_of(table))

    def _forest(self, session: Session) -> Forest | None:
        if self.asked.kind not in (SCORE, UPDATE):
            return None
        release = session.get(Release, self.asked.details["forest"])
        assert release is not None
        return Forest.from_json(unpack(release.document)["forest"])

    def _domain(self, whole: Domain) -> Domain:
        return self.forest.domain if self.forest else whole.view(self.asked.details["columns"])

    def open_table(self) -> Engine:
        if self.is_dry:
            records = synthetic_table(self.domain, _SYNTHETIC, np.random.default_rng(self.seed))
            return open_table(records, self.domain)
        return open_source(self.source, self.domain)

    def rehearse(self) -> None:
        """Learn from a table without records, so that a request that cannot work is not charged.

        Everything that is used here is public.
        """
        if self.asked.kind != TRAIN:
            return
        nobody = open_table(
            synthetic_table(self.domain, 0, np.random.default_rng(0)), self.domain, threads=1
        )
        try:
            self._learner().learn(Curator(nobody, self.asked.budget))
        except (ValueError, TypeError) as error:
            raise Problem("invalid", f"{error}; nothing was charged") from None

    def run(self, open_curator: OpenCurator) -> dict[str, Any]:
        """The document to release."""
        engine = self.open_table()
        try:
            curator = open_curator(engine, self.asked.budget)
            return self._document(curator)
        finally:
            getattr(engine, "close", lambda: None)()

    def _document(self, curator: Curator) -> dict[str, Any]:
        if self.asked.kind == SCORE:
            assert self.forest is not None
            return {"score": private_score(curator, self.forest).to_json()}
        if self.asked.kind == UPDATE:
            return {"forest": self._updated(curator).to_json(), "learner": "random-decision"}
        forest = self._learner().learn(curator)
        return {"forest": _assuming(forest).to_json(), "learner": self.asked.details["learner"]}

    def _updated(self, curator: Curator) -> Forest:
        assert self.forest is not None
        learner = RandomDecisionForestClassifier.from_forest(self.forest)
        assert isinstance(learner, RandomDecisionForestClassifier)
        return self.forest.plus(
            _assuming(learner.count(curator, self.forest.trees)), disjoint=self.disjoint
        )

    def _learner(self) -> Any:
        return make_learner(self.asked, self.domain, self.seed)


def _assuming(forest: Forest) -> Forest:
    from dataclasses import replace

    return replace(forest, guarantee=forest.guarantee.assuming(_ASSUMED))
