"""What was edited past the server is found, stops sales, and is told to curators and operators alone."""

import contextlib
import hashlib
import json
import time
from dataclasses import replace

import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from frith.cli import app
from frith.ledger import Book, Ledger
from frith.ledger.book import utc_now
from frith.ledger.walk import Walk
from frith.server.auth import members
from frith.server.budget import checks, tables
from frith.server.context import Context
from frith.server.jobs import verification
from frith.server.run.watcher import Watcher, keep_time
from frith.server.run.worker import Worker
from frith.server.schema import Job, RegisteredTable
from frith.server.watch import OUT_OF_TIME, UNSOUND, ChainState
from tests.chains import tamper
from tests.server.conftest import CONNECTION, pass_days, refused, said
from tests.server.test_pages import Browser


def cannot_sell(house, table=None, **body):
    """The table sells nothing, and the analyst learns no more than that."""
    body = {"epsilon": "0.3"} | body
    assert refused(house.analyst.ask(table or house.table, **body), "unavailable") == UNSOUND


def problems(house):
    """What a verification finds; the API, the command line and the page say the same."""
    answer = said(house.curator.get("/v1/ledger/verification"))
    result = CliRunner().invoke(app, ["ledger", "verify", str(house.folder / "server.db")])
    words, page = " ".join(result.output.split()), Browser(house, house.curator.token)
    shown = page.get("/curate/ledger").text
    for line in answer["problems"]:
        assert line in words
        assert line.replace("'", "&#39;") in shown
    assert result.exit_code == (1 if answer["problems"] else 0)
    return answer["problems"]


def head(house):
    """The hash of the last entry, events among them."""
    with house.database.read() as session:
        return house.context.book(session).log(1, newest=True)[0][0].hash


def edit(house, statement, **values):
    with house.database.write() as session:
        session.execute(text(statement), values)


# -- what a sale relies on -------------------------------------------------------------------------


def test_an_edited_total_sells_nothing(house, lines):
    """Before, a budget of 40 was sold as 500 until somebody ran `verify`."""
    other = house.register("other")
    house.train()
    edit(house, "UPDATE account SET total = '500', epsilon = '500' WHERE name = :n", n=house.own)
    cannot_sell(house)
    assert house.entries()[-1].kind == "charge", "nothing was reserved"
    assert [line["problem"] for line in lines if line.get("table") == house.table] == [
        f"account '{house.own}': its budget is not the one last written"
    ]
    said(house.analyst.ask(other), 202)
    assert problems(house) == [f"account '{house.own}': its budget is not the one last written"]
    edit(house, "UPDATE account SET total = '40', epsilon = '40' WHERE name = :n", n=house.own)
    cannot_sell(house)
    assert problems(house) == []
    said(house.analyst.ask(house.table, epsilon="0.3"), 202)


@pytest.mark.parametrize(
    "change",
    [
        {"analyst_epsilon": None},
        {"epsilon": "4000"},
        {"least_epsilon": "1e-9"},
        {"renewal_days": 1, "renewal_start": "2020-01-01T00:00:00+00:00"},
    ],
)
def test_an_edited_policy_sells_nothing(house, change):
    with house.database.write() as session:
        table = session.get(RegisteredTable, house.table)
        table.policy = json.dumps(json.loads(table.policy) | change)
    cannot_sell(house)
    assert problems(house) == [f"the policy of {house.table} is not the one last written"]
    policy = {"epsilon": "40", "least_epsilon": "0.01"} | (
        {"renewal_days": 1} if "renewal_days" in change else {}
    )
    said(house.curator.put(f"/v1/tables/{house.table}/policy", json=policy))
    assert problems(house) == [], "a curator has looked at the policy and saved it"
    said(house.analyst.ask(house.table), 202)


def test_an_edited_grant_and_an_edited_batch_sell_nothing(house):
    edit(house, "UPDATE table_grant SET epsilon = '4000'")
    cannot_sell(house)
    assert problems(house) == [f"the grant of {house.table} to ana is not the one last written"]
    edit(house, "UPDATE table_grant SET epsilon = NULL")
    assert problems(house) == []
    batch = {"name": "again", "connection": CONNECTION, "table": "later.parquet", "disjoint": False}
    said(house.curator.post(f"/v1/tables/{house.table}/batches", json=batch), 201)
    forest = house.train()["id"]
    edit(house, "UPDATE batch SET disjoint = :yes WHERE name = 'again'", yes=True)
    update = {"epsilon": "1", "batch": "again"}
    answer = house.analyst.post(f"/v1/forests/{forest}/updates", json=update)
    assert refused(answer, "unavailable") == UNSOUND


@pytest.mark.parametrize("column", ["source", "domain"])
def test_a_table_whose_records_were_exchanged_sells_nothing(house, column):
    """Otherwise one table's budget would buy another's records, or persons would become rows."""
    house.train()
    queued = said(house.analyst.ask(house.table, epsilon="0.2"), 202)["id"]
    edit(house, f"UPDATE registered_table SET {column} = {column} || ' '")
    cannot_sell(house)
    assert house.work() == 1
    assert house.analyst.job(queued)["problem"] == UNSOUND
    assert house.spent(house.own)[1] == 0, "what was reserved is given back"
    assert problems(house) == [f"the policy of {house.table} is not the one last written"]


def test_a_batch_whose_records_were_exchanged_is_not_read(house):
    forest = house.train()["id"]
    update = {"epsilon": "1", "batch": "later"}
    job = said(house.analyst.post(f"/v1/forests/{forest}/updates", json=update), 202)["id"]
    edit(house, "UPDATE batch SET source = (SELECT source FROM registered_table)")
    house.work()
    assert house.analyst.job(job)["problem"] == UNSOUND


def test_a_table_and_a_grant_that_nobody_wrote_down_sell_nothing(house):
    """A row that was put in past the server has no terms in the chain."""
    house.add("bea")
    columns = "version, signed, title, source, domain, policy, created"
    edit(house, f"INSERT INTO registered_table (name, {columns}) SELECT 'twin', {columns} "
                "FROM registered_table")  # fmt: skip
    edit(house, "INSERT INTO table_grant VALUES ('twin', 'ana', NULL, NULL, '')")
    cannot_sell(house, "twin")
    assert "the policy of twin is not the one last written" in problems(house)


def test_an_edited_entry_stops_every_sale(house):
    other = house.register("other")
    house.train()
    tamper(house.database, "UPDATE entry SET amount = '0', spent = '0' WHERE kind = 'charge'")
    cannot_sell(house)
    assert any("is not what was written" in line for line in problems(house))
    cannot_sell(house, other)
    assert house.context.watch.state is ChainState.BROKEN


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM entry WHERE id = (SELECT max(id) FROM entry WHERE kind = 'reserve')",
        "UPDATE ledger_head SET entry = entry - 1",
        "UPDATE entry SET spent = '0' WHERE id = (SELECT max(id) FROM entry WHERE kind = 'reserve')",
        "UPDATE entry SET held = '0' WHERE id = (SELECT max(id) FROM entry WHERE kind = 'reserve')",
    ],
)
def test_a_sale_sees_that_the_end_of_the_chain_was_edited(house, statement):
    """It reads only what is new, and what it relies on."""
    house.train()
    said(house.analyst.ask(house.table, epsilon="0.2"), 202)
    house.context.watch.follow()
    tamper(house.database, statement)
    cannot_sell(house)


def test_a_sale_reads_only_the_entries_that_are_new(house, monkeypatch):
    house.train()
    house.context.watch.follow()
    seen, step = [], Walk.step
    monkeypatch.setattr(
        Walk, "step", lambda self, e, salt: seen.append(e.id) or step(self, e, salt)
    )
    with house.database.read() as session:
        before = house.context.book(session).log(1, newest=True)[0][0].id
    for epsilon in ("0.2", "0.3"):
        said(house.analyst.ask(house.table, epsilon=epsilon), 202)
    assert seen == [before + 1, before + 2, before + 3], "two reservations and the event"


def test_terms_that_change_meanwhile_are_a_conflict_and_no_alarm(house):
    """On PostgreSQL a table can be looked at before the ledger is locked."""
    with house.database.read() as session:
        view = tables.see(session, house.table, members.get_member(session, "ana"))
    said(house.curator.put(f"/v1/tables/{house.table}/policy", json={"epsilon": "30"}))
    with house.database.write() as session, pytest.raises(Exception, match="just changed"):
        checks.check_sale(house.context, session, view, "ana")
    said(house.analyst.ask(house.table), 202)


# -- jobs and releases -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE job SET kind = 'dry-run'",
        "UPDATE job SET body = replace(body, '0.1', '10.0')",
        "UPDATE job SET body = replace(body, 'train', 'dry-run')",
        "UPDATE job SET id = 'another'",
        "UPDATE job SET release = 'none'",
        "UPDATE job SET \"table\" = 'other'",
    ],
)
def test_a_job_that_was_edited_delivers_nothing(house, statement):
    """Before, a job whose accounts were edited away was trained and delivered without a charge."""
    house.register("other")
    said(house.analyst.ask(house.table), 202)
    edit(house, statement)
    with contextlib.suppress(AssertionError):  # a worker fails where it looks for what is not there
        house.work()
    with house.database.read() as session:
        assert session.execute(text("SELECT count(*) FROM release")).scalar() == 0
    assert not [e for e in house.entries() if e.kind == "charge"]
    assert house.context.watch.state is ChainState.BROKEN


def test_a_job_that_was_set_to_running_is_not_taken_for_a_charged_one(house):
    """Before, a dry run that was made a request and set to running was trained for nothing."""
    job = said(house.analyst.ask(house.table, kind="dry-runs"), 202)["id"]
    with house.database.read() as session:
        body = session.get(Job, job).body.replace("dry-run", "train")
    hashed = hashlib.sha256(body.encode()).hexdigest()
    house.change_job(job, kind="train", body=body, body_hash=hashed, state="running")
    queued = said(house.analyst.ask(house.table, epsilon="0.2"), 202)["id"]
    house.change_job(queued, state="running")
    house.work()
    for edited in (job, queued):
        assert house.analyst.job(edited)["problem"] == UNSOUND
    with house.database.read() as session:
        assert session.execute(text("SELECT count(*) FROM release")).scalar() == 0


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM ledger_head", "the head of the chain is not the last entry"),
        ("UPDATE entry SET amount = 'much' WHERE id = 3", "entry 3 cannot be read"),
        ("UPDATE entry SET spent = '1/0' WHERE id = 3", "entry 3 cannot be read"),
        ("UPDATE entry SET at = 'yesterday' WHERE id = 3", "entry 3 cannot be read"),
        ("UPDATE account SET total = 'much'", "account 'nursery' cannot be read"),
        ("UPDATE job SET body = '{}'", "it cannot be read"),
        ("UPDATE job SET body = 'x'", "it cannot be read"),
        ("UPDATE job SET state = 'well'", "it cannot be read"),
    ],
)
def test_a_row_that_cannot_be_read_is_found_and_hides_nothing(house, statement, found):
    """Before, it ended every verification, so that no other edit was found any more."""
    house.train()
    tamper(house.database, statement, "UPDATE table_grant SET epsilon = '4000'")
    with Watcher(house.context):
        wait_for(lambda: house.context.watch.last is not None)
    assert said(house.stranger().get("/ready"), 503)["checks"]["ledger"] is False
    lines = said(house.curator.get("/v1/ledger/verification"))["problems"]
    assert any(found in line for line in lines)
    assert f"the grant of {house.table} to ana is not the one last written" in lines
    cannot_sell(house)


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("DELETE FROM release", "what it released is gone"),
        ("UPDATE job SET kind = 'dry-run'", "its request is not the one that was accepted"),
        ("UPDATE job SET body = replace(body, '0.1', '0.9')", "not the one that was accepted"),
        ("UPDATE job SET member = 'carla'", "its entries are on other accounts"),
        ("UPDATE job SET state = 'queued'", "its release answers another request"),
        ("UPDATE job SET state = 'cancelled', release = NULL", "is not one that made it"),
        ("UPDATE job SET state = 'failed'", "is not one that made it"),
        ("UPDATE job SET release = NULL", "is not one that made it"),
        ("UPDATE job SET forest = 'x'", "its columns are not those of its request"),
        ("UPDATE account SET member = NULL WHERE member = 'ana'", "its columns are not those of"),
    ],
)
def test_a_finished_job_that_was_edited_is_found(house, statement, found):
    house.train()
    assert problems(house) == []
    edit(house, statement)
    assert any(found in line for line in problems(house))
    cannot_sell(house)


def test_a_release_without_a_charge_is_found(house):
    job = house.train()["id"]
    with house.database.write() as session:
        row = {c.name: getattr(session.get(Job, job), c.name) for c in Job.__table__.columns}
        session.add(Job(**row | {"id": "forged", "release": "forged"}))
        session.flush()
        session.execute(text("INSERT INTO release SELECT 'forged', 'forged', document, hash, created "
                             "FROM release"))  # fmt: skip
    assert problems(house) == ["job forged is done, and the ledger says: nothing"]
    cannot_sell(house)


def test_a_repeat_must_answer_the_same_request(house):
    bea = house.add("bea", to=house.table)
    house.train(epsilon="0.1")
    repeat = house.train(bea, epsilon="0.1")["id"]
    house.train(epsilon="0.2")
    assert problems(house) == []
    others = "SELECT id FROM release WHERE id <> job.release"
    edit(house, f"UPDATE job SET release = ({others}) WHERE id = :j", j=repeat)
    assert problems(house) == [f"job {repeat}: its release answers another request"]


def test_a_dry_run_that_shows_a_charged_forest_is_found(house):
    """It is free, so nothing would have been charged to whoever reads that forest by it."""
    bea = house.add("bea", to=house.table)
    dry = said(bea.ask(house.table, kind="dry-runs"), 202)["id"]
    house.work()
    house.train()
    assert problems(house) == []
    real = "SELECT release FROM job WHERE kind = 'train'"
    edit(house, "DELETE FROM release WHERE job = :j", j=dry)
    edit(house, f"UPDATE job SET release = ({real}) WHERE id = :j", j=dry)
    assert problems(house) == [f"job {dry}: its release answers another request"]


def test_a_deleted_job_leaves_entries_that_tell(house):
    job = said(house.analyst.ask(house.table), 202)["id"]
    edit(house, "DELETE FROM job WHERE id = :j", j=job)
    assert len(problems(house)) == 2
    assert all("there is no job that it is about" in line for line in problems(house))


def test_everything_that_can_happen_to_a_job_is_in_order(house):
    bea = house.add("bea", to=house.table)
    forest = house.train()["id"]
    house.train(bea)
    said(house.analyst.post(f"/v1/forests/{forest}/scores", json={"epsilon": "1"}), 202)
    said(house.analyst.post(f"/v1/forests/{forest}/updates",
                            json={"epsilon": "1", "batch": "later"}), 202)  # fmt: skip
    house.work()
    house.analyst.ask(house.table, kind="dry-runs")
    cancelled = said(house.analyst.ask(house.table, epsilon="0.7"), 202)["id"]
    said(house.analyst.post(f"/v1/jobs/{cancelled}/cancel"))
    (house.folder / "records.parquet").unlink()
    house.train(epsilon="0.8")
    said(house.analyst.ask(house.table, epsilon="0.9"), 202)
    gauss = house.register("gauss", house.folder / "later.parquet", delta="1e-6")
    house.train(table=gauss, epsilon="0.5", delta="1e-6")
    house.train(table=gauss, epsilon="0.5")
    said(house.curator.delete(f"/v1/tables/{house.table}/grants/bea"), 204)
    assert problems(house) == []


# -- at the start, and on a schedule ---------------------------------------------------------------


def test_a_server_verifies_when_it_starts_and_says_so(house, lines):
    house.train()
    edit(house, "UPDATE job SET kind = 'dry-run'")
    assert house.context.watch.state is not ChainState.BROKEN
    with Watcher(house.context):
        wait_for(lambda: house.context.watch.last is not None)
    assert house.context.watch.state is ChainState.BROKEN
    assert any(line["event"] == "the ledger does not check" for line in lines)
    cannot_sell(house)


def test_the_state_of_the_chain_is_told_in_one_word(house):
    assert house.context.watch.state is ChainState.UNCHECKED
    verification.look(house.context)
    assert house.context.watch.state is ChainState.HOLDS


# -- the clock -------------------------------------------------------------------------------------


@pytest.fixture
def monthly(house):
    """A table whose budget renews; its people have tokens for a year."""
    with house.database.write() as session:
        tokens = {
            name: members.issue_token(house.context, session, name, days=365).text
            for name in ("ana", "carla")
        }
    house.sample = replace(house.sample, curator_token=tokens["carla"], analyst_token=tokens["ana"])
    house.set()
    return house.register("monthly", epsilon="1", renewal_days=30)


def out_of_time(house, table):
    answer = house.analyst.ask(table, epsilon="0.5")
    assert refused(answer, "unavailable") == OUT_OF_TIME


def test_a_clock_set_forward_sells_nothing_early(house, monthly):
    """Before, the next period's budget was sold at once."""
    house.train(table=monthly, epsilon="1")
    house.clock.move(days=31)
    out_of_time(house, monthly)
    budget = said(house.add("bea", to=monthly).get(f"/v1/tables/{monthly}/budget"))
    assert budget["own"]["name"].startswith("monthly@0/"), "no period has begun"


def test_an_entry_of_another_table_does_not_carry_the_wrong_time_in(house, monthly):
    house.clock.move(days=31)
    house.work()
    bea = house.add("bea", to=house.table)
    said(bea.ask(house.table), 202)
    out_of_time_for(bea, house, monthly)
    found = said(house.curator.get("/v1/ledger/verification"))
    assert found["holds"]
    assert any("no budget renews until" in line for line in found["flagged"])
    house.clock.move(days=-31)
    said(house.analyst.ask(monthly, epsilon="1"), 202)
    assert house.spent("monthly@0") == (0, 1)


def out_of_time_for(person, house, table):
    said(house.curator.put(f"/v1/tables/{table}/grants/{person.name}", json={}))
    answer = person.ask(table, epsilon="0.5")
    assert refused(answer, "unavailable") == OUT_OF_TIME


def test_many_small_steps_forward_sell_nothing_early_either(house, monthly):
    for _ in range(6):
        house.clock.move(days=6)
        keep_time(house.context)
    bea = house.add("bea")
    out_of_time_for(bea, house, monthly)


def test_a_clock_set_back_begins_no_earlier_period_again(house, monthly):
    pass_days(house, 31)
    said(house.analyst.ask(monthly, epsilon="0.5"), 202)
    house.clock.move(days=-3)
    bea = house.add("bea", to=monthly)
    said(bea.ask(monthly, epsilon="0.5"), 202)
    assert house.spent("monthly@1")[1] == 1
    house.clock.move(days=-10)
    out_of_time_for(house.add("cleo"), house, monthly)


def test_a_server_that_stood_still_waits_for_its_operator(house, monthly, monkeypatch):
    house.train(table=monthly, epsilon="1")
    house.clock.move(days=40)
    house.set()  # started again
    bea = house.add("bea")
    out_of_time_for(bea, house, monthly)
    monkeypatch.setattr("frith.ledger.ledger.Book", lambda c, **_: Book(c, house.clock))
    result = CliRunner().invoke(app, ["ledger", "accept-clock", str(house.folder / "server.db")])
    assert result.exit_code == 0
    said(bea.ask(monthly, epsilon="0.5"), 202)
    assert house.spent("monthly@1")[1] == 0.5


def test_a_server_that_is_left_alone_writes_the_time_now_and_then(house):
    before = len(house.entries())
    pass_days(house, 20)
    assert 0 < len(house.entries()) - before <= 6
    assert verification.look(house.context).is_clean


def test_a_desk_accepts_its_clock_too(tmp_path):
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    before, accepted = utc_now().isoformat(), ledger.accept_clock().at
    assert before[:10] <= accepted[:10] <= utc_now().isoformat()[:10]
    assert ledger.entries() == []
    assert ledger.verify().is_clean


# -- after it was mended ---------------------------------------------------------------------------


def test_a_worker_works_again_once_the_chain_was_mended(house):
    """Before, it failed every job until somebody started it anew."""
    handed = []

    def cage(worker, job, known, *_):
        handed.append(known.faults)
        return 1

    context = Context(house.database, house.settings, house.clock, steady=house.clock.steady)
    worker, before = Worker(context, cage=cage), head(house)
    said(house.analyst.ask(house.table), 202)
    edit(house, "UPDATE ledger_head SET hash = 'x'")
    worker.work_once()
    edit(house, "UPDATE ledger_head SET hash = :h", h=head(house))
    assert before != head(house)
    house.clock.wait(seconds=61)
    worker.work_once()
    assert [bool(faults) for faults in handed] == [True, False]


def test_a_server_that_found_something_looks_again_by_itself(house, monkeypatch):
    """Another replica, where nobody presses the button."""
    monkeypatch.setattr("frith.server.run.watcher._FOLLOW_SECONDS", 0.05)
    edit(house, "UPDATE table_grant SET epsilon = '4000'")
    with Watcher(house.context):
        wait_for(lambda: house.context.watch.state is ChainState.BROKEN)
        edit(house, "UPDATE table_grant SET epsilon = NULL")
        wait_for(lambda: house.context.watch.state is ChainState.HOLDS)


def wait_for(is_so, seconds=120):
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)
