"""What is stored, for how long, and whether the server is alive and ready to work."""

import subprocess
import sys
import threading

import pytest
from sqlalchemy import event, text

from frith.ledger.database import Database, StoreError
from frith.server.context import Context
from frith.server.jobs import ready, upkeep
from frith.server.jobs.sizes import LEAST_STORED
from frith.server.jobs.work import Work
from frith.server.run.health import is_alive
from frith.server.run.worker import Worker
from frith.server.schema import BrowserSession, Job, Journal, Member, Release, RequestKey
from frith.server.settings import Settings
from tests.hosting import listening, self_signed, silence
from tests.server.conftest import ANALYST, refused, said
from tests.server.test_pages import Browser


def stored(house, member=ANALYST):
    with house.database.read() as session:
        return session.get(Member, member).stored


def count(house, kind):
    with house.database.read() as session:
        return session.query(kind).count()


# -- quotas ----------------------------------------------------------------------------------------


def test_what_a_member_stores_is_limited_and_dry_runs_count(house):
    said(house.analyst.ask(house.table, kind="dry-runs"), 202)
    one = stored(house)
    assert one > 0
    house.set(stored_per_member=2 * one)
    said(house.analyst.ask(house.table), 202)
    before, two = house.entries(), stored(house)
    for kind in ("dry-runs", "forests"):
        message = refused(house.analyst.ask(house.table, kind=kind, epsilon="0.2"), "too_many")
        assert f"you may have {2 * one:,}" in message
    assert house.entries() == before, "nothing was reserved"
    said(house.add("bea", to=house.table).ask(house.table), 202)
    house.work()
    assert stored(house) == two, "what jobs became changes nothing"


def test_repeats_are_counted_for_they_are_written_down(house):
    job = said(house.analyst.ask(house.table, key="a"), 202)["id"]
    one = stored(house)
    for key in ("a", "b", None):
        assert said(house.analyst.ask(house.table, key=key), 202)["id"] == job
    assert stored(house) == one + 3_000
    house.set(stored_per_member=one + 4_000)
    said(house.analyst.ask(house.table, key="c"), 202)
    for key in ("d", "a"):
        refused(house.analyst.ask(house.table, key=key), "too_many")
    assert count(house, RequestKey) == 3


@pytest.fixture
def failing(monkeypatch):
    """Every job fails as if a disk did."""

    def fail(*_):
        raise OSError

    monkeypatch.setattr(Work, "run", fail)


def test_a_cancelled_job_and_a_failed_one_store_their_requests_alone(house, failing):
    job = said(house.analyst.ask(house.table), 202)["id"]
    whole = stored(house)
    said(house.analyst.post(f"/v1/jobs/{job}/cancel"))
    least = stored(house)
    assert LEAST_STORED < least < whole
    assert house.train(epsilon="0.3")["state"] == "failed"
    assert stored(house) == least + whole
    for _ in range(2):
        upkeep.sweep(house.context)
        assert stored(house) == 2 * least


def test_on_a_schedule_room_comes_back_when_the_failure_is_shown(house, failing):
    house.set(deliver_every=3600)
    said(house.analyst.ask(house.table), 202)
    house.clock.move(seconds=1)
    house.work()
    upkeep.sweep(house.context)
    whole = stored(house)
    house.clock.move(seconds=3600)
    upkeep.sweep(house.context)
    assert stored(house) < whole


def test_on_a_schedule_a_repeat_does_not_tell_that_a_job_has_failed(house, failing):
    """Before, the same request was a new job as soon as the first had failed."""
    house.set(deliver_every=3600)
    job = said(house.analyst.ask(house.table), 202)["id"]
    house.clock.wait(seconds=1)
    house.work()
    assert said(house.analyst.ask(house.table), 202)["id"] == job
    house.clock.wait(seconds=3600)
    assert house.analyst.job(job)["state"] == "failed"
    assert said(house.analyst.ask(house.table), 202)["id"] != job


# -- retention -------------------------------------------------------------------------------------


def test_dry_runs_are_forgotten_and_what_was_charged_stays(house):
    bea = house.add("bea", to=house.table)
    real = house.train(bea, key="real")["id"]
    dry = house.train(bea, kind="dry-runs", key="dry")["id"]
    kept = stored(house, "bea")
    house.clock.move(days=29)
    upkeep.sweep(house.context)
    assert said(bea.get(f"/v1/forests/{dry}"))["id"] == dry
    house.clock.move(days=2)
    upkeep.sweep(house.context)
    refused(bea.get(f"/v1/forests/{dry}"), "not_found")
    assert (count(house, Job), count(house, Release)) == (1, 1)
    assert 0 < stored(house, "bea") < kept
    assert said(bea.get(f"/v1/forests/{real}"))["id"] == real
    again = said(bea.ask(house.table, kind="dry-runs", key="dry"), 202)
    assert again["id"] != dry, "its key is forgotten with it"
    with house.database.read() as session:
        assert house.context.book(session).verify().holds


def test_a_dry_run_stays_while_a_score_of_it_may_need_it(house):
    bea = house.add("bea", to=house.table)
    dry = house.train(bea, kind="dry-runs")["id"]
    house.clock.move(days=31)
    score = said(bea.post(f"/v1/forests/{dry}/scores", json={"epsilon": "0.1"}), 202)
    upkeep.sweep(house.context)
    house.work()
    assert bea.job(score["id"])["state"] == "done"
    upkeep.sweep(house.context)
    refused(bea.get(f"/v1/forests/{dry}"), "not_found")
    assert bea.job(score["id"])["state"] == "done"
    assert Browser(house, bea.token).get(f"/jobs/{score['id']}").status_code == 200


def test_old_sessions_keys_and_journals_go(house):
    Browser(house, house.analyst.token)
    job = house.train(key="k")["id"]
    with house.database.write() as session:
        session.add(Journal(job=job, number=0, answers=b""))
    upkeep.sweep(house.context)
    assert [count(house, kind) for kind in (BrowserSession, RequestKey, Journal)] == [1, 1, 0]
    house.clock.move(days=91)
    upkeep.sweep(house.context)
    assert [count(house, kind) for kind in (BrowserSession, RequestKey, Job)] == [0, 0, 1]


def test_a_worker_sweeps_when_it_starts(house):
    house.train(kind="dry-runs")
    house.clock.move(days=31)
    stop = threading.Event()
    worker = threading.Thread(target=Worker(house.context).run, args=(stop.is_set, 0.02))
    worker.start()
    try:
        for _ in range(6_000):
            if not count(house, Job):
                break
            stop.wait(0.02)
    finally:
        stop.set()
        worker.join()
    assert count(house, Job) == 0


# -- the migration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_an_older_database_learns_what_its_members_store(house, kind, request, tmp_path):
    database = house.database
    if kind == "postgres":
        from frith.server.run.sample import fill, with_sample

        url = request.getfixturevalue("postgres_database")
        database = Database(url)
        database.upgrade()
        fill(Context(database, with_sample(Settings(database=url), tmp_path)), tmp_path, "40")
    else:
        house.train()
    with database.write() as session:
        for column in ("job", "member"):
            session.execute(text(f"ALTER TABLE {column} DROP COLUMN stored"))
        for table in ("worker", "table_curator", "proposal", "bookmark"):
            session.execute(text(f"DROP TABLE {table}"))
        for column in ("owner", "expires", "assigned_role"):
            session.execute(text(f"ALTER TABLE member DROP COLUMN {column}"))
        for column in ("token DROP COLUMN scopes", "token DROP COLUMN session"):
            session.execute(text(f"ALTER TABLE {column}"))
        session.execute(text("UPDATE frith_version SET version_num = '0006'"))
    database.check()
    assert database.version == "0008"
    with database.read() as session:
        lengths = session.execute(text("SELECT coalesce(sum(length(document)), 0) FROM release"))
        assert session.get(Member, ANALYST).stored == lengths.scalar()
    context = Context(database, Settings())
    upkeep.sweep(context)
    upkeep.mark_seen(context, "w")
    assert all(ready.Readiness().look(context).values())
    database.close()


# -- alive and ready -------------------------------------------------------------------------------


def test_a_server_is_alive_whatever_else_is_wrong_and_ready_if_nothing_is(house, monkeypatch):
    stranger = house.stranger()
    assert said(stranger.get("/ready"), 503)["checks"] == {
        "database": True, "workers": False, "disk": True, "ledger": True,
    }  # fmt: skip
    upkeep.mark_seen(house.context, "w")
    monkeypatch.setattr(ready, "_KEPT_SECONDS", 0)
    assert said(stranger.get("/ready")) == {
        "ready": True,
        "checks": {"database": True, "workers": True, "disk": True, "ledger": True},
    }
    house.clock.move(seconds=31)
    assert not said(stranger.get("/ready"), 503)["checks"]["workers"]
    upkeep.mark_seen(house.context, "w")
    with house.database.write() as session:
        session.execute(text("UPDATE ledger_head SET hash = 'x'"))
    assert not said(stranger.get("/ready"), 503)["checks"]["ledger"]

    def unreachable():
        raise StoreError("gone")

    monkeypatch.setattr(house.database, "read", unreachable)
    answer = stranger.get("/ready")
    assert not said(answer, 503)["checks"]["database"]
    assert answer.headers["retry-after"] == "5"
    assert said(stranger.get("/health")) == {"status": "ok"}


def test_readiness_reads_one_entry_however_long_the_ledger_is(house):
    """Drivers fetch every row that a query does not leave out."""
    asked = []
    event.listen(
        house.database._readers, "before_cursor_execute", lambda *args: asked.append(args[2])
    )
    ready.Readiness().look(house.context)
    (query,) = [query for query in asked if "FROM entry" in query]
    assert "LIMIT" in query


def test_a_disk_without_room_is_not_ready(house):
    upkeep.mark_seen(house.context, "w")
    house.set(least_disk_bytes=2**62)
    assert not said(house.stranger().get("/ready"), 503)["checks"]["disk"]


def test_many_who_ask_at_once_cost_one_look(house, monkeypatch):
    looks = []
    monkeypatch.setattr(ready, "_look", lambda context: looks.append(context) or {"x": True})
    for _ in range(5):
        said(house.stranger().get("/ready"))
    assert len(looks) == 1


def test_head_is_answered_without_a_body(house):
    upkeep.mark_seen(house.context, "w")
    for path in ("/health", "/ready"):
        assert house.stranger().head(path).status_code == 200


def test_the_health_check_of_a_container_speaks_tls(house, tmp_path):
    certificate, key = self_signed(tmp_path)
    with silence(), listening(
        house.context, ssl_certfile=certificate, ssl_keyfile=key
    ) as url:  # fmt: skip
        port = int(url.rpartition(":")[2])
        settings = Settings(host="0.0.0.0", port=port, tls_certificate=certificate)
        assert is_alive(settings)
        assert not is_alive(settings.model_copy(update={"tls_certificate": ""}))
    assert not is_alive(settings)
    command = [sys.executable, "-m", "frith.server.run.health"]
    assert subprocess.run(command, env={"FRITH_PORT": str(port)}).returncode == 1
