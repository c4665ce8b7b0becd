"""A server in this process: a database of the test's own, a clock that is moved by hand, a worker."""

from __future__ import annotations

import contextlib
import functools
import json
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import structlog
from fastapi import FastAPI
from starlette.testclient import TestClient

from frith.ledger.book import utc_now
from frith.ledger.database import Database
from frith.server.api.metrics import Requests
from frith.server.app import make_app
from frith.server.auth import members
from frith.server.auth.limits import ConcurrencyLimit
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.context import Context
from frith.server.run.sample import ANALYST, CONNECTION, CURATOR, Sample, fill, with_sample
from frith.server.run.watcher import keep_time
from frith.server.run.worker import Worker
from frith.server.schema import Job
from frith.server.settings import Settings
from frith.server.sources import Source
from tests.tables import small_domain, small_table

HOST = "http://frith.test"
BUDGET = "40"
QUICK = {"learner": "random-decision", "parameters": {"n_trees": 2, "max_depth": 2}}
"""A request that is soon done."""


def at(file: Path | str) -> Source:
    """A file of the house, through its connection."""
    return Source(CONNECTION, Path(file).name)


def declare(house, **connections):
    """The same server with further connections."""
    found = Settings(connections=connections).connections
    house.set(connections={**house.settings.connections, **found})


class HandClock:
    """A time that passes when a test says so."""

    def __init__(self, start: datetime | None = None):
        self.time, self.passed = start or utc_now(), timedelta()

    def __call__(self) -> datetime:
        return self.time

    def steady(self) -> float:
        return self.passed.total_seconds()

    def move(self, **by: float) -> None:
        """Set the clock, as anybody may who runs the machine."""
        self.time += timedelta(**by)

    def wait(self, **by: float) -> None:
        """Let time pass."""
        self.time, self.passed = self.time + timedelta(**by), self.passed + timedelta(**by)


class Person:
    """A member with a token, and their view of the API."""

    def __init__(self, app: Any, name: str, token: str):
        self.name, self.token = name, token
        self.client = TestClient(app, HOST, raise_server_exceptions=False)
        self.client.headers["authorization"] = f"Bearer {token}"

    def __getattr__(self, method: str) -> Any:
        return getattr(self.client, method)

    def ask(self, table: str, *, key: str | None = None, kind: str = "forests", **body: Any) -> Any:
        headers = {} if key is None else {"idempotency-key": key}
        body = {"epsilon": "0.1", **QUICK, **body}
        return self.post(f"/v1/tables/{table}/{kind}", json=body, headers=headers)

    def job(self, job: str) -> dict[str, Any]:
        return said(self.get(f"/v1/jobs/{job}"))


@functools.cache
def made_once() -> FastAPI:
    """An application whose context is set later: its routes take half a second to make."""
    return make_app(Context(Database("nowhere.db"), Settings()))


def shared_app(context: Context) -> FastAPI:
    """The application for this context."""
    app = made_once()
    app.state.context, app.state.requests = context, Requests()
    app.state.concurrency = ConcurrencyLimit(context.settings.heavy_reads)
    now = {"context": context, "settings": context.settings, "requests": app.state.requests}
    for layer in app.user_middleware:
        layer.kwargs |= {name: now[name] for name in layer.kwargs if name in now}
    app.middleware_stack = None
    return app


@dataclass
class House:
    """One server: who is there, what is kept, and somebody who works."""

    folder: Path
    sample: Sample
    settings: Settings
    clock: HandClock = field(default_factory=HandClock)
    app_for: Callable[[Context], FastAPI] = shared_app

    def __post_init__(self) -> None:
        self.database = Database(self.folder / "server.db")
        self.context = Context(self.database, self.settings, self.clock, steady=self.clock.steady)
        self.app = self.app_for(self.context)
        self.table = self.sample.table
        self.curator = Person(self.app, CURATOR, self.sample.curator_token)
        self.analyst = Person(self.app, ANALYST, self.sample.analyst_token)
        self.worker = Worker(self.context)

    def set(self, **settings: Any) -> None:
        """The same server, started with other settings."""
        self.settings = self.settings.model_copy(update=settings)
        self.__post_init__()

    def stranger(self, **headers: str) -> TestClient:
        return TestClient(self.app, HOST, raise_server_exceptions=False, headers=headers)

    def add(
        self, name: str, role: str = "analyst", *, to: str | None = None, **grant: Any
    ) -> Person:
        """A new member, perhaps with a grant."""
        with self.database.write() as session:
            members.add_member(self.context, session, name, role)
            token = members.issue_token(self.context, session, name).text
            if to is not None:
                tables.grant(self.context, session, to, name, **grant)
        return Person(self.app, name, token)

    def register(self, name: str, file: str = "records.parquet", **policy: Any) -> str:
        """Another table with the sample's domain; the analyst has a grant."""
        with self.database.write() as session:
            domain = tables.domain_of(tables.get_table(session, self.table))
            policy = Policy(**{"epsilon": BUDGET} | policy)
            tables.register(self.context, session, name, at(file), domain, policy, curator=CURATOR)
            tables.grant(self.context, session, name, ANALYST)
        return name

    def work(self) -> int:
        """Do every job that waits; the number of them."""
        done = 0
        while self.worker.work_once():
            done += 1
        return done

    def train(self, person: Person | None = None, table: str | None = None, **body: Any) -> Any:
        """A job that was asked for and done."""
        person = person or self.analyst
        job = said(person.ask(table or self.table, **body), 202)
        self.work()
        return person.job(job["id"])

    def change_job(self, job: str, **fields: Any) -> None:
        with self.database.write() as session:
            found = session.get(Job, job)
            for name, value in fields.items():
                setattr(found, name, value)

    def spent(self, account: str) -> tuple[Fraction, Fraction]:
        """What an account has spent and holds; zeros where it was never opened."""
        with self.database.read() as session:
            found = self.context.book(session).find(account).get(account)
        return (Fraction(0), Fraction(0)) if found is None else (found.spent, found.held)

    def entries(self) -> list[Any]:
        with self.database.read() as session:
            return self.context.book(session).entries()

    @property
    def own(self) -> str:
        return f"{self.table}/{ANALYST}"


def pass_days(house: House, days: int) -> None:
    """Let a server run for some days."""
    for _ in range(days):
        house.clock.wait(days=1)
        keep_time(house.context)


def said(answer: Any, status: int = 200) -> Any:
    """The body of an answer that has this status."""
    assert answer.status_code == status, answer.text
    return answer.json() if answer.content else None


def refused(answer: Any, code: str) -> str:
    """The message of a refusal that has this code."""
    assert answer.json()["code"] == code, answer.text
    return answer.json()["message"]


@pytest.fixture(scope="session")
def template(tmp_path_factory):
    """A filled server that every test gets a copy of."""
    folder = tmp_path_factory.mktemp("template")
    settings = with_sample(Settings(database=str(folder / "server.db")), folder)
    database = Database(settings.database)
    database.upgrade()
    sample = fill(Context(database, settings), folder, BUDGET)
    database.close()
    return folder, sample


@pytest.fixture
def house(template, tmp_path):
    folder, sample = template
    shutil.copytree(folder, tmp_path / "house")
    settings = Settings(
        database=str(tmp_path / "house" / "server.db"),
        requests_per_second=100_000,
        lease_seconds=60,
    )
    house = House(tmp_path / "house", sample, with_sample(settings, tmp_path / "house"))
    yield house
    house.database.close()


@pytest.fixture
def records(house):
    """The sample's records."""
    return pd.read_parquet(house.folder / "records.parquet")


def domain_text(domain):
    return json.dumps(domain.to_json())


@pytest.fixture
def small(house):
    """A body that registers a small table."""
    path = house.folder / "small.csv"
    small_table().drop(columns="who").to_csv(path, index=False)
    return {
        "name": "small",
        "connection": CONNECTION,
        "table": path.name,
        "domain": domain_text(small_domain()),
        "policy": {"epsilon": "2"},
    }


@pytest.fixture(autouse=True)
def lines():
    """What is logged meanwhile; nothing reaches the terminal."""
    with structlog.testing.capture_logs() as captured:
        yield captured


def read_all(connection, until):
    """What comes until the other side hangs up."""
    found = b""
    connection.settimeout(max(0.1, until - time.monotonic()))
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(4096):
            found += part
    return found
