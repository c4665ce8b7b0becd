"""Two servers whose tables differ in one record say the same, byte for byte, on every route.

Clock, ids and secrets are fixed, and releases are frozen: what could still differ is what a record
does outside the mechanisms. A session is recorded on one server and replayed on the other.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import logging
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import prometheus_client
import pytest
import structlog
from starlette.responses import Response
from starlette.testclient import TestClient

from frith.audit.replay import FrozenSource, arbitrary_releases
from frith.curator.drafting import DraftingCurator
from frith.engines.files import FileEngine
from frith.learners import BY_NAME
from frith.ledger.database import Database
from frith.server.app import make_app
from frith.server.auth import members
from frith.server.budget import tables
from frith.server.context import Context
from frith.server.jobs.lifecycle import MAX_ATTEMPTS
from frith.server.jobs.work import Work
from frith.server.run.logs import set_up_logs
from frith.server.run.sample import with_sample
from frith.server.run.worker import Worker, open_curator
from frith.server.schema import Job
from frith.server.settings import Settings
from tests.server.conftest import HOST, HandClock, shared_app
from tests.server.routes import Route, routes_of
from tests.tables import small_domain, small_table

START = datetime(2030, 1, 1, 12, tzinfo=UTC)


def frozen_curator(engine, budget, journal, progress):
    """A curator whose releases are a function of the question's number and shape alone."""
    journal._source = FrozenSource(arbitrary_releases(7))
    return open_curator(engine, budget, journal, progress)


def frozen_draft(table, epsilon, delta):
    """The same for a domain that is paid for."""
    return DraftingCurator(table, epsilon, delta, source=FrozenSource(arbitrary_releases(7)))


class Server:
    """One server in a folder that holds its records; names of files are relative to it."""

    def __init__(self, folder, frozen=True, app_for=shared_app):
        self.folder, self.clock, numbers = folder, HandClock(START), itertools.count()

        def secret(size):
            return hashlib.sha256(str(next(numbers)).encode()).hexdigest()[: 2 * size]

        settings = with_sample(Settings(requests_per_second=10**6, lease_seconds=3600), folder)
        database = Database(folder / "server.db")
        database.upgrade()
        self.context = Context(database, settings, self.clock, secret)
        self.app = app_for(self.context)
        self.worker = Worker(self.context, frozen_curator if frozen else open_curator)
        self.clients, self.tokens = {}, {}
        with database.write() as session:
            for name, role in (("carla", "operator"), ("ana", "analyst")):
                members.add_member(self.context, session, name, role)
                self.tokens[name] = members.issue_token(self.context, session, name).text

    def client(self, who):
        """`ana` and `carla` have tokens, `ana's browser` a cookie, once she has signed in."""
        if who not in self.clients:
            client = TestClient(self.app, HOST, raise_server_exceptions=False)
            if who in self.tokens:
                client.headers["authorization"] = f"Bearer {self.tokens[who]}"
            self.clients[who] = client
        return self.clients[who]

    def do(self, step):
        """One step of a session; what is said to it."""
        kind, *rest = step
        if kind == "work":
            return self.work()
        if kind == "wait":
            return self.clock.move(**rest[0])
        if kind == "lose":
            return Path(rest[0]).unlink()
        who, method, path, more = rest
        answer = self.client(who).request(method, path, follow_redirects=False, **more)
        headers = [(k, re.sub(rb"expires=[^;]+", b"", v)) for k, v in answer.headers.raw]  # now
        return {"status": answer.status_code, "headers": headers, "body": answer.content}

    def work(self):
        done = 0
        while self.worker.work_once():
            done += 1
        return done


class Session:
    """A session as it happens on a server: every step is done and written down."""

    def __init__(self, server):
        self.server, self.steps, self.said = server, [], []

    def do(self, *step):
        self.steps.append(step)
        self.said.append(self.server.do(step))
        return self.said[-1]

    def call(self, who, method, path, **more):
        answer = self.do("call", who, method, path, more)
        text = answer["body"].decode("utf-8", "replace")
        return json.loads(text) if text[:1] in "[{" and text else text

    def form(self, who, path, **fields):
        page = self.call(who, "GET", "/account")
        csrf = re.search(r'name="csrf" value="(\w+)"', page)[1]
        return self.call(who, "POST", path, data={"csrf": csrf, **fields})

    def wait(self, **by):
        self.do("wait", by)

    def work(self):
        self.do("work")


# -- the session: every route, every learner -------------------------------------------------------


def whole_session(server, suffix):
    s = Session(server)
    s.call("nobody", "GET", "/health")
    s.call("nobody", "GET", "/ready")
    s.call("nobody", "GET", "/v1/tables")
    curate(s, suffix)
    buy_domains(s, suffix)
    forest = train_all(s)
    read(s, forest)
    score_and_update(s, forest)
    fail(s, suffix)
    look_around(s, forest)
    browse(s, forest, suffix)
    s.call("carla", "GET", "/metrics")
    return s


def buy_domains(s, suffix):
    """One that is drawn, one whose budget turns out too small, one that is refused for free."""
    table = {
        "name": "bought",
        "connection": "sample",
        "table": f"records.{suffix}",
        "label": "good",
        "columns": {"size": "number", "color": ["blue", "green", "red"], "good": ["no", "yes"]},
        "epsilon": "50",
        "records": 60,
        "policy": {"epsilon": "100"},
    }
    drawn, small, free = (
        s.call("carla", "POST", "/v1/paid-domains", json=table | changes)
        for changes in ({}, {"name": "small-price", "epsilon": "0.01"}, {"table": "nothing.csv"})
    )
    assert drawn["name"] == "bought"
    assert "stays charged" in small["message"]
    assert "charged" not in free["message"]


def curate(s, suffix):
    s.call("carla", "GET", "/v1/openapi.json")
    s.call("carla", "GET", "/v1/connections")
    table = {
        "name": "small",
        "connection": "sample",
        "table": f"records.{suffix}",
        "domain": json.dumps(small_domain().to_json()),
        "policy": {"epsilon": "100", "delta": "1e-6"},
    }
    s.call("carla", "POST", "/v1/tables", json=table)
    s.call("carla", "POST", "/v1/tables", json=table)
    s.call("carla", "POST", "/v1/tables", json=table | {"name": "x", "table": "nothing.csv"})
    batch = {"name": "more", "connection": "sample", "table": f"more.{suffix}", "disjoint": True}
    s.call("carla", "POST", "/v1/tables/small/batches", json=batch)
    s.call("carla", "POST", "/v1/members", json={"name": "bea"})
    s.call("carla", "GET", "/v1/members")
    for who in ("ana", "bea"):
        s.call("carla", "PUT", f"/v1/tables/small/grants/{who}", json={"epsilon": "90"})
    s.call("carla", "GET", "/v1/tables/small/grants")
    s.call("carla", "DELETE", "/v1/tables/small/grants/bea")
    s.call("carla", "PUT", "/v1/tables/small/policy", json={"epsilon": "99", "delta": "1e-6"})
    s.call("carla", "POST", "/v1/tables/small/version")
    issued = s.call("carla", "POST", "/v1/members/bea/tokens", json={})
    s.call("carla", "GET", "/v1/members/bea/tokens")
    s.call("carla", "DELETE", f"/v1/tokens/{issued['id']}")


def train_all(s, deltas=("0", "1e-6")):
    """Every learner, pure and with a delta; the id of a random decision forest."""
    forests = {}
    for path in ("", "/small", "/small/budget"):
        s.call("ana", "GET", f"/v1/tables{path}")
    for learner in BY_NAME:
        for delta in deltas:
            asked = {"epsilon": "1", "delta": delta, "learner": learner}
            s.call("ana", "POST", "/v1/tables/small/quotes", json=asked)
            forests[learner] = s.call("ana", "POST", "/v1/tables/small/forests", json=asked)["id"]
            s.wait(seconds=1)
            s.work()
            s.call("ana", "GET", f"/v1/jobs/{forests[learner]}")
            s.call("ana", "GET", f"/v1/forests/{forests[learner]}")
    s.call("ana", "GET", f"/v1/forests/{forests['forest']}/effects")
    s.call("ana", "POST", "/v1/tables/small/forests", json=asked, headers={"idempotency-key": "k"})
    s.call("ana", "POST", "/v1/tables/small/dry-runs", json=asked)
    s.work()
    queued = s.call("ana", "POST", "/v1/tables/small/forests", json={"epsilon": "2"})["id"]
    s.call("ana", "POST", f"/v1/jobs/{queued}/cancel")
    s.call("ana", "POST", "/v1/tables/small/forests", json={"epsilon": "2000"})
    bad = {"epsilon": "1", "learner": "gini", "parameters": {"n_trees": 0}}
    s.call("ana", "POST", "/v1/tables/small/forests", json=bad)
    s.work()
    s.call("ana", "POST", f"/v1/forests/{forests['forest']}/rules", json={"epsilon": "1"})
    s.work()
    return forests["random-decision"]


def read(s, forest):
    for part in (
        "rules",
        "importances",
        "effects",
        "picture.svg",
        "picture.svg?tree=0",
        "model.onnx",
    ):
        s.call("ana", "GET", f"/v1/forests/{forest}/{part}")
    records = {"records": [{"color": "red"}, {"size": 3}, {}]}
    s.call("ana", "POST", f"/v1/forests/{forest}/predictions", json=records)


def score_and_update(s, forest):
    for more in ({}, {"batch": "more"}, {"batch": "none"}):
        s.call("ana", "POST", f"/v1/forests/{forest}/quotes", json={"epsilon": "1", **more})
    score = s.call("ana", "POST", f"/v1/forests/{forest}/scores", json={"epsilon": "1"})["id"]
    asked = {"epsilon": "1", "batch": "more"}
    updated = s.call("ana", "POST", f"/v1/forests/{forest}/updates", json=asked)["id"]
    s.work()
    s.call("ana", "GET", f"/v1/scores/{score}")
    question = {"question": {"kind": "records"}, "domain": small_domain().fingerprint}
    job = s.call("ana", "POST", "/v1/tables/small/counts", json={"epsilon": "1", **question})["id"]
    s.work()
    s.call("ana", "GET", f"/v1/counts/{job}")
    s.call("ana", "GET", "/v1/party")
    s.call("ana", "GET", f"/v1/forests/{updated}")


def fail(s, suffix):
    """The records cannot be read any more; a copy of them takes their place afterwards."""
    lost = {"name": "lost", "connection": "sample", "table": f"copy.{suffix}"}
    lost["policy"] = {"epsilon": "9"}
    lost["domain"] = json.dumps(small_domain().to_json())
    s.call("carla", "POST", "/v1/tables", json=lost)
    job = s.call("carla", "POST", "/v1/tables/lost/forests", json={"epsilon": "1"})["id"]
    s.do("lose", f"copy.{suffix}")
    for _ in range(MAX_ATTEMPTS):
        s.work()
        s.do("wait", {"seconds": 61})
    s.call("carla", "GET", f"/v1/jobs/{job}")


def look_around(s, forest):
    for path in ("me", "learners", "forests", "jobs", "jobs?table=small", "ledger", "ledger.csv",
                 "ledger/verification", "tables/small/budget", "nothing", f"jobs/{forest}"):  # fmt: skip
        for who in ("ana", "carla"):
            s.call(who, "GET", f"/v1/{path}")


def browse(s, forest, suffix):
    """The same in browsers, as an analyst and as a curator."""
    s.call("nobody", "GET", "/sign-in")
    s.call("nobody", "GET", "/jobs")
    browsers = {"ana": "ana's browser", "carla": "carla's browser"}
    for who, browser in browsers.items():
        s.call(browser, "POST", "/sign-in", data={"token": s.server.tokens[who]})
        for page in ("/", "/jobs", f"/jobs/{forest}", f"/jobs/{forest}/state", "/tables/small",
                     "/tables/small/quote?epsilon=1", f"/forests/{forest}", "/account",
                     f"/forests/{forest}/picture.svg", f"/forests/{forest}/forest.json",
                     f"/forests/{forest}/model.onnx", f"/forests/{forest}/rules.csv",
                     f"/forests/{forest}/effects.svg", f"/forests/{forest}/effects.csv",
                     f"/forests/{forest}/report.html", f"/forests/{forest}/certificate.html",
                     f"/forests/{forest}/card.md",
                     f"/forests/{forest}/quote?epsilon=1", "/curate", "/curate/jobs",
                     "/curate/register", "/curate/tables/small", "/curate/members",
                     "/curate/ledger", "/curate/ledger.csv", "/curate/ledger.json", "/nothing",
                     "/static/nothing"):  # fmt: skip
            s.call(browser, "GET", page)
    ana, carla = browsers.values()
    for sure in ({}, {"confirmed": "0.5"}):
        asked = {"epsilon": "0.5", "learner": "id3", "kind": "train"}
        s.form(ana, "/tables/small/forests", **asked, **sure)
        s.form(ana, f"/forests/{forest}/scores", epsilon="0.5", **sure)
        s.form(ana, f"/forests/{forest}/updates", epsilon="0.5", batch="more", **sure)
        s.form(ana, f"/forests/{forest}/rules", epsilon="0.5", **sure)
    job = s.call("ana", "POST", "/v1/tables/small/forests", json={"epsilon": "3"})["id"]
    s.form(ana, f"/jobs/{job}/cancel")
    s.work()
    s.form(ana, "/account/tokens", note="n")
    token = s.call("ana", "GET", "/v1/members/ana/tokens")[-1]["id"]
    s.form(ana, f"/account/tokens/{token}/revoke")
    s.form(carla, "/curate/register", name="web", connection="sample", table=f"records.{suffix}", epsilon="1",
           learners="id3", domain=json.dumps(small_domain().to_json()))  # fmt: skip
    s.form(carla, "/curate/tables/web/policy", epsilon="0.5", learners="id3")
    s.form(carla, "/curate/tables/web/policy", epsilon="2", learners="id3", reason="more")
    s.call(carla, "GET", "/curate/proposals")
    made = s.call("carla", "GET", "/v1/proposals")[0]["id"]
    s.call("carla", "POST", f"/v1/proposals/{made}/approve")
    s.form(carla, f"/curate/proposals/{made}/approve")
    s.form(carla, f"/curate/proposals/{made}/reject")
    asked = {"policy": {"epsilon": "2", "learners": ["id3"]}, "reason": "more"}
    made = s.call("carla", "POST", "/v1/tables/web/proposals", json=asked)["id"]
    s.call("carla", "POST", f"/v1/proposals/{made}/reject")
    for path in ("/sign-in/oidc", "/sign-in/oidc/callback"):
        s.call("nobody", "GET", path)
    s.call("nobody", "POST", "/sign-in/oidc/logout")
    s.form(carla, "/curate/tables/web/version")
    s.form(
        carla, "/curate/tables/web/batches", name="b", connection="sample", table=f"more.{suffix}"
    )
    s.form(carla, "/curate/tables/web/grants", member="bea", columns="size")
    s.form(carla, "/curate/tables/web/grants/bea/withdraw")
    s.form(carla, "/curate/members", name="bob", role="analyst")
    s.form(carla, "/curate/members/bob/tokens", note="n")
    token = s.call("carla", "GET", "/v1/members/bob/tokens")[-1]["id"]
    s.form(carla, f"/curate/members/tokens/{token}/revoke")
    s.form(carla, "/curate/members", name="cora", role="curator")
    s.form(carla, "/curate/members/cora/curates", table="web")
    s.call("carla", "GET", "/v1/tables/web/curators")
    s.form(carla, "/curate/members/cora/curates/web/end")
    s.call("carla", "PUT", "/v1/tables/web/curators/cora")
    s.call("carla", "DELETE", "/v1/tables/web/curators/cora")
    s.form(carla, "/curate/members/bob/disable")
    s.form(carla, "/curate/members/bob/enable")
    s.call("carla", "PUT", "/v1/members/bob", json={"disabled": True})
    s.call("carla", "GET", "/v1/log")
    s.do("call", "carla", "GET", "/v1/log.jsonl", {})
    for page in ("/curate/log", "/curate/log.jsonl", "/curate/tables/web/log"):
        s.do("call", carla, "GET", page, {})
    for browser in browsers.values():
        s.form(browser, "/sign-out")


# -- comparing -------------------------------------------------------------------------------------


class Bench:
    """Runs servers one after the other, each in its folder, and keeps all that they say."""

    def __init__(self, tmp_path, monkeypatch, caplog):
        self.tmp_path, self.monkeypatch, self.caplog = tmp_path, monkeypatch, caplog
        monkeypatch.setattr("frith.learners.private_domain.DraftingCurator", frozen_draft)
        monkeypatch.setattr("frith.server.app.time", type("time", (), {"monotonic": lambda: 0.0}))

    def run(self, tables_, act, prepare=None, frozen=True):
        """What `act` says on a new server with these tables, and the lines of its log."""
        folder = self.tmp_path / f"server{len(list(self.tmp_path.iterdir()))}"
        folder.mkdir()
        for name, table in tables_.items():
            save(table, folder / name)
        log = io.StringIO()
        set_up_logs(log)
        self.caplog.clear()
        self.monkeypatch.chdir(folder)
        server = Server(folder, frozen, make_app if prepare else shared_app)
        if prepare is not None:
            prepare(server)
        with self.caplog.at_level(logging.INFO):
            said = act(server)
        server.context.database.close()
        lines = re.sub(r'"at": "[^"]*"', '"at": ""', log.getvalue()).splitlines()
        return said, lines + [r.getMessage() for r in self.caplog.records]


def save(table, path):
    table.to_csv(path, index=False) if path.suffix == ".csv" else table.to_parquet(path)


@pytest.fixture
def bench(tmp_path, monkeypatch, caplog):
    config = structlog.get_config()
    prometheus_client.disable_created_metrics()
    yield Bench(tmp_path, monkeypatch, caplog)
    prometheus_client.enable_created_metrics()
    structlog.configure(**config)


def named(records, more, suffix):
    return {f"records.{suffix}": records, f"copy.{suffix}": records, f"more.{suffix}": more}


TABLE = small_table(60).drop(columns="who")
ODD = pd.DataFrame({"color": ["purple"], "round": [None], "size": [float("nan")], "good": ["yes"]})
NONE = TABLE.head(0)
NEIGHBORS = {
    "one record less": (TABLE, TABLE.iloc[:-1], NONE, NONE),
    "nobody, or one": (NONE, TABLE.head(1), NONE, NONE),
    "one odd record more": (TABLE, pd.concat([TABLE, ODD]), TABLE, TABLE),
    "one record in a batch": (TABLE, TABLE, NONE, TABLE.head(1)),
    "the only record of a label": (
        pd.concat([TABLE[TABLE.good == "no"], ODD]), TABLE[TABLE.good == "no"], NONE, NONE,
    ),
}  # fmt: skip


def differences(bench, pair, suffix, prepare=None, session=whole_session, frozen=True):
    """What two servers said differently, and the steps; recorded on one, replayed on the other."""
    one, other, more, other_more = pair
    recorded = []

    def record(server):
        recorded.append(session(server, suffix))
        return recorded[0].said

    def replay(server):
        return [server.do(step) for step in recorded[0].steps]

    first, lines = bench.run(named(one, more, suffix), record, prepare, frozen)
    second, other_lines = bench.run(named(other, other_more, suffix), replay, prepare, frozen)
    steps = recorded[0].steps
    found = [s for s, a, b in zip(steps, first, second, strict=True) if a != b]
    found += [(a, b) for a, b in itertools.zip_longest(lines, other_lines) if a != b]
    return found, recorded[0], lines


def test_servers_one_record_apart_say_the_same_on_every_route(bench):
    found, session, lines = differences(bench, NEIGHBORS["one record less"], "csv")
    assert found == []
    statuses = {a["status"] for a in session.said if isinstance(a, dict)}
    assert statuses >= {200, 201, 202, 204, 303, 401, 403, 404, 409, 422}
    assert 500 not in statuses
    logged = [json.loads(line) for line in lines if line.startswith("{")]
    asked = {
        Route(line["method"], line["route"])
        for line in logged
        if line.get("route", "none") != "none"
    }
    document = Route("GET", "/v1/openapi.json")  # it is no route of ours: its log line names none
    assert asked | {document} == set(routes_of(session.server.app)), "every route is in the session"
    reasons = [line["why"] for line in logged if line["event"] == "source not opened"]
    assert (
        reasons
        == [
            "the connection has no Parquet, CSV, JSON lines or Feather files of one format by that name"
        ]
        * MAX_ATTEMPTS
    )


def training_session(server, suffix):
    """What reads records: every learner, a score and an update."""
    s = Session(server)
    curate(s, suffix)
    score_and_update(s, train_all(s, deltas=("0",)))
    return s


@pytest.mark.parametrize(("pair", "suffix"), [
    ("one record less", "parquet"),
    ("nobody, or one", "csv"),
    ("one odd record more", "parquet"),
    ("one record in a batch", "csv"),
    ("the only record of a label", "parquet"),
])  # fmt: skip
def test_every_learner_says_the_same_of_neighbors(bench, pair, suffix):
    session = whole_session if os.environ.get("FRITH_FULL") == "1" else training_session
    found, recorded, _ = differences(bench, NEIGHBORS[pair], suffix, session=session)
    assert found == []
    states = [json.loads(a["body"])["state"] for step, a in zip(recorded.steps, recorded.said, strict=False)
              if step[0] == "call" and step[3].startswith("/v1/jobs/") and step[2] == "GET"]  # fmt: skip
    assert states.count("done") >= len(BY_NAME)


def short_session(server, suffix):
    """One forest, in the API and on the page, and one that fails."""
    s = Session(server)
    curate(s, suffix)
    asked = {"epsilon": "1", "learner": "gini"}
    forest = s.call("ana", "POST", "/v1/tables/small/forests", json=asked)["id"]
    s.work()
    s.call("ana", "GET", f"/v1/jobs/{forest}")
    s.call("ana", "GET", f"/v1/forests/{forest}")
    s.call("ana", "GET", "/v1/leak")
    fail(s, suffix)
    return s


def leak_by_route(server, patch):
    def count():
        return {"records": len(pd.read_csv("records.csv"))}

    server.app.add_api_route("/v1/leak", count)


def leak_by_size(server, patch):
    """A header whose length tells, though its letters do not."""

    def pad():
        return Response(headers={"x-padding": "." * len(pd.read_csv("records.csv"))})

    server.app.add_api_route("/v1/leak", pad)


def leak_by_log(server, patch):
    aggregate = FileEngine.aggregate

    def told(self, kernel):
        sums = aggregate(self, kernel)
        structlog.get_logger().info("counted", cells=int(sums.sum()))
        return sums

    patch.setattr(FileEngine, "aggregate", told)


def leak_by_progress(server, patch):
    aggregate = FileEngine.aggregate

    def told(self, kernel):
        sums = aggregate(self, kernel)
        with server.context.database.write() as session:
            for job in session.query(Job).where(Job.state == "running"):
                job.passes += int(sums.sum())
        return sums

    patch.setattr(FileEngine, "aggregate", told)


def leak_by_error(server, patch):
    """A refusal whose message tells what opening has seen."""
    opened = Work._open

    def told(self):
        if "copy" in self.source and not Path("copy.csv").exists():
            raise tables.Problem("invalid", f"after {len(pd.read_csv('records.csv'))} records")
        return opened(self)

    patch.setattr(Work, "_open", told)


def leak_by_refusal(server, patch):
    """Training that stops on an empty node: the state of the job tells."""
    aggregate = FileEngine.aggregate

    def raising(self, kernel):
        if len(pd.read_csv("records.csv")) < 60:
            raise ValueError("too few records")
        return aggregate(self, kernel)

    patch.setattr(FileEngine, "aggregate", raising)


LEAKS = [leak_by_route, leak_by_size, leak_by_log, leak_by_progress, leak_by_error, leak_by_refusal]
FULL = os.environ.get("FRITH_FULL") == "1"


@pytest.mark.parametrize("leak", LEAKS if FULL else LEAKS[::2], ids=lambda leak: leak.__name__)
def test_a_leak_is_found(bench, leak):
    def prepare(server):
        bench.monkeypatch.undo()
        bench.monkeypatch.chdir(server.folder)
        leak(server, bench.monkeypatch)

    found, *_ = differences(bench, NEIGHBORS["one record less"], "csv", prepare, short_session)
    assert found


def test_without_a_leak_the_short_session_says_the_same(bench):
    found, *_ = differences(bench, NEIGHBORS["one record less"], "csv", None, short_session)
    assert found == []


def test_without_frozen_releases_even_the_same_table_says_different_things(bench):
    """So the comparison does look at releases; and noise is all that makes them differ."""
    pair = (TABLE, TABLE, NONE, NONE)
    found, *_ = differences(bench, pair, "csv", None, short_session, frozen=False)
    assert found
    assert {step[3].rsplit("/", 1)[0] for step in found} == {"/v1/forests"}
