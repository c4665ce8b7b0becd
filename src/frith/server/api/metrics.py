"""Prometheus metrics, for a scope of their own: durations depend on the records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from fastapi import APIRouter, Response
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import SummaryMetricFamily
from prometheus_client.registry import Collector
from sqlalchemy import DateTime, cast, extract, func, select
from sqlalchemy.orm import Session

from frith.server.auth.caller import Called, Caller
from frith.server.budget.accounts import account_of
from frith.server.budget.alerts import is_near
from frith.server.budget.member_view import View
from frith.server.budget.tables import domain_of, policy_of
from frith.server.schema import Job, RegisteredTable

router = APIRouter(tags=["operations"])


class Requests:
    """Counts and times of the responses of this process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        names = ["method", "route", "status"]
        self._count = Counter("frith_requests", "Answers", names, registry=self.registry)
        self._seconds = Histogram(
            "frith_request_seconds", "Time to answer", ["method", "route"], registry=self.registry
        )

    def add(self, method: str, route: str, status: int, seconds: float) -> None:
        self._count.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)


@router.get("/metrics", response_class=Response)
def metrics(caller: Called) -> Response:
    """Requests, jobs and budgets in Prometheus' text format. For tokens with the scope metrics."""
    state = _state(caller)
    text = generate_latest(caller.requests.registry) + generate_latest(state)
    return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")


def _state(caller: Caller) -> CollectorRegistry:
    """Jobs and budgets in the database, of all servers and workers."""
    registry = CollectorRegistry()
    jobs = Gauge("frith_jobs", "Jobs", ["kind", "state"], registry=registry)
    budget = Gauge(
        "frith_budget", "Budget of a table", ["table", "unit", "part"], registry=registry
    )
    near = Gauge(
        "frith_budget_near_its_end", "1 where a table's budget is nearly used up", ["table"],
        registry=registry,
    )  # fmt: skip
    with caller.read() as session:
        query = select(Job.kind, Job.state, func.count()).group_by(Job.kind, Job.state)
        for kind, state, count in session.execute(query):
            jobs.labels(kind, state).set(count)
        registry.register(_JobSeconds(session))
        book = caller.context.book(session)
        for table in session.scalars(select(RegisteredTable)):
            place = account_of(caller.context, View(table, domain_of(table), policy_of(table)))
            for account in book.find(place.name).values():
                near.labels(table.name).set(is_near(caller.context, account))
                for part in ("total", "spent", "held"):
                    budget.labels(table.name, account.unit, part).set(getattr(account, part))
    return registry


class _JobSeconds(Collector):
    """Time from start to end of jobs, by kind."""

    def __init__(self, session: Session):
        seconds = _seconds(session)
        query = select(Job.kind, func.count(), func.sum(seconds)).where(seconds.is_not(None))
        self._rows = session.execute(query.group_by(Job.kind)).all()

    def collect(self) -> Iterator[SummaryMetricFamily]:
        found = SummaryMetricFamily("frith_job_seconds", "Time that jobs took", labels=["kind"])
        for kind, count, seconds in self._rows:
            found.add_metric([kind], count, float(seconds))
        yield found


def _seconds(session: Session) -> Any:
    """A job's duration in SQL. Times are stored as text, which databases read in different ways."""
    if session.get_bind().dialect.name == "sqlite":
        return 86_400 * (func.julianday(Job.finished) - func.julianday(Job.started))
    started, finished = (cast(t, DateTime(timezone=True)) for t in (Job.started, Job.finished))
    return extract("epoch", finished - started)
