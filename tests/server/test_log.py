"""The audit log: every change, sign-in and refusal, in the ledger's chain, or nothing is done."""

import http.server
import json
import shutil
import threading
from urllib.parse import quote

import pytest

from frith.ledger import log as reading
from frith.ledger.database import StoreError
from frith.ledger.log import Line
from frith.ledger.review import FindingKind, Review, who_did_what
from frith.ledger.walk import Walk
from frith.server.auth import members
from frith.server.auth.acting import Actor, Refusals, acting, desk
from frith.server.budget import tables
from frith.server.run.sinks import Sinks
from tests.server.conftest import Person, refused, said
from tests.server.routes import Route, call
from tests.server.test_access import CHANGES, FREE
from tests.server.test_pages import Browser


def all_lines(house):
    with house.database.read() as session:
        return reading.lines(house.context.book(session), limit=10**6)


def events(house):
    return [line for line in all_lines(house) if line.event is not None]


def last(house):
    return events(house)[-1]


def test_a_change_says_who_what_where_and_what_was_before(house):
    said(house.curator.put(f"/v1/tables/{house.table}/policy", json={"epsilon": "30"}))
    line = last(house)
    assert (line.entry.actor, line.what, line.target) == ("carla", "set policy", house.table)
    event = line.event
    assert (event.role, event.address, event.outcome) == ("operator", "testclient", "done")
    assert event.via == house.curator.token.split("_")[1]
    assert len(event.request) == 16
    assert (event.before["epsilon"], event.after["epsilon"]) == ("40", "30.0")
    raised = [line for line in all_lines(house) if line.what == "budget"][-1]
    assert raised.entry.actor == "carla", "entries of the ledger name their actor"


def test_entries_of_a_job_name_who_asked_and_the_server_that_charged(house):
    house.train()
    mine = [line for line in all_lines(house) if line.target == house.own]
    assert [(line.what, line.entry.actor) for line in mine][-2:] == [
        ("reserve", "ana"),
        ("charge", "(server)"),
    ]
    asked = last(house)
    assert (asked.entry.actor, asked.what, asked.event.more["epsilon"]) == ("ana", "ask", "0.1")


def test_the_log_line_of_a_request_has_its_target_address_and_id(house, lines):
    said(house.analyst.get(f"/v1/tables/{house.table}"))
    line = next(e for e in lines if e["event"] == "request")
    assert (line["target"], line["address"]) == (house.table, "testclient")
    assert len(line["request"]) == 16


UNREADABLE = {
    "POST /v1/tables", "POST /v1/tables/{table}/batches", "POST /v1/tables/{table}/counts",
    "POST /v1/members/{member}/tokens", "POST /v1/paid-domains",
}  # fmt: skip
VALUES = {
    "member": "bea",
    "token": "0" * 12,
    "job": "0" * 16,
    "forest": "0" * 16,
    "proposal": "0" * 16,
}


@pytest.mark.parametrize("route", sorted(r for r in CHANGES - FREE if "/v1/" in r))
def test_every_change_over_the_api_is_an_event_whether_it_is_done_or_refused(house, route):
    """Tried by somebody who may: what is not there, or not good, is refused, and that is written too."""
    house.add("bea")
    before = len(events(house))
    method, path = route.split(" ")
    values = VALUES | {"table": house.table}
    answer = call(house.curator, Route(method, path), Route(method, path).at(**values))
    assert answer.status_code not in (401, 403, 405, 500), answer.text
    made = events(house)[before:]
    if answer.status_code == 422 and not made:  # it could not be read, so nothing was tried
        assert route in UNREADABLE, answer.text
        return
    (line,) = made
    assert line.entry.actor == "carla"
    assert (line.outcome == "done") is answer.is_success


def test_refusals_are_written_down(house):
    house.add("bea")
    refused(house.analyst.post("/v1/members", json={"name": "x"}), "forbidden")
    assert last(house).what == "POST /v1/members"
    assert (last(house).outcome, last(house).entry.actor) == ("forbidden", "ana")
    refused(house.analyst.get("/v1/tables/secret"), "not_found")
    assert (last(house).target, last(house).outcome) == ("secret", "not_found")
    refused(house.analyst.ask(house.table, epsilon="41"), "over_budget")
    assert (last(house).what, last(house).outcome) == ("ask", "over_budget")
    head = house.analyst.token.rsplit("_", 1)[0]
    refused(house.stranger(authorization=f"Bearer {head}_wrong").get("/v1/me"), "unauthorized")
    line = last(house)
    assert (line.entry.actor, line.what, line.target) == ("(nobody)", "sign in", head.split("_")[1])
    assert house.analyst.token not in line.to_text()


def test_sign_in_and_out_are_events(house):
    browser = Browser(house, house.analyst.token)
    assert (last(house).what, last(house).entry.actor) == ("sign in", "ana")
    browser.post("/sign-out")
    assert last(house).what == "sign out"
    house.stranger().post("/sign-in", data={"token": "frith_abc_wrong"})
    assert (last(house).what, last(house).outcome) == ("sign in", "unauthorized")


def test_many_refusals_are_counted_and_do_not_fill_the_ledger(house):
    time = [0.0]
    house.context.memory["refusals"] = found = Refusals(lambda: time[0])
    before = len(events(house))
    for _ in range(70):
        refused(house.analyst.get("/v1/tables/secret"), "not_found")
    assert len(events(house)) - before == 60
    assert found._skipped == {"ana": 10}
    time[0] = 60.0
    refused(house.analyst.get("/v1/tables/secret"), "not_found")
    assert last(house).event.more == {"unwritten": 10}


def test_if_an_event_cannot_be_written_nothing_is_done(house, monkeypatch):
    from frith.ledger.book import Book

    def broken(self, event):
        raise StoreError("no")

    monkeypatch.setattr(Book, "note", broken)
    refused(house.curator.post("/v1/members", json={"name": "x"}), "unavailable")
    refused(
        house.curator.put(f"/v1/tables/{house.table}/policy", json={"epsilon": "3"}), "unavailable"
    )
    refused(house.analyst.ask(house.table), "unavailable")
    refused(house.analyst.get("/v1/tables/secret"), "not_found")
    assert house.stranger().post("/sign-in", data={"token": house.analyst.token}).status_code == 503
    monkeypatch.undo()
    assert [m["name"] for m in said(house.curator.get("/v1/members"))] == ["ana", "carla"]
    assert said(house.curator.get(f"/v1/tables/{house.table}"))["policy"]["epsilon"] == "40"
    assert said(house.analyst.get("/v1/jobs")) == []
    assert house.spent(house.own) == (0, 0)


def test_the_chain_with_its_events_holds_and_an_edited_actor_shows(house):
    said(house.curator.post("/v1/members", json={"name": "x"}), 201)
    with house.database.read() as session:
        book = house.context.book(session)
        assert book.verify().holds
        assert "(events)" not in book.accounts()
        assert all(e.account != "(events)" for e in book.entries())
    line = last(house)
    walk = Walk()
    walk.entries, walk.hash = line.entry.id - 1, all_lines(house)[-2].entry.hash
    assert not list(walk.step(line.entry, line.salt))
    walk.entries, walk.hash = line.entry.id - 1, all_lines(house)[-2].entry.hash
    assert list(walk.step(line.entry, line.salt.replace("carla", "ana")))


def test_the_page_and_the_api_filter(house):
    vera = house.add("vera", "auditor")
    house.train()
    said(house.curator.post("/v1/members", json={"name": "x"}), 201)
    found = said(vera.get("/v1/log", params={"actor": "carla", "action": "add member"}))["lines"]
    assert [(line["target"], line["outcome"]) for line in found] == [("x", "done")]
    assert said(vera.get("/v1/log", params={"until": "2000"}))["lines"] == []
    assert said(vera.get("/v1/log", params={"limit": 2}))["before"]
    page = Browser(house, vera.token).get("/curate/log?actor=ana&action=ask").text
    assert "testclient" in page
    assert "add member" not in page
    refused(house.analyst.get("/v1/log"), "forbidden")
    own = Browser(house, house.curator.token).get(f"/curate/tables/{house.table}/log").text
    assert "charge" in own
    assert "add member" not in own


@pytest.mark.parametrize(
    ("action", "target", "table"),
    [("buy domain", "raw", "raw"), ("grant", "nursery/ana", "nursery"), ("add member", "x", None),
     ("GET /v1/tables/{table}", "secret", "secret"),
     ("DELETE /v1/tables/{table}/grants/{member}", "nursery/ana", "nursery"),
     ("POST /curate/members/{member}/curates/{table}/end", "ana/nursery", "nursery"),
     ("POST /curate/members/{member}/curates/{table}/end", "cut", None)],
)  # fmt: skip
def test_an_event_is_about_the_table_that_its_target_names(house, action, target, table):
    with acting(house.context, Actor("carla", "operator"), action, target):
        pass
    assert last(house).table == table


def test_an_event_of_any_text_comes_back_as_it_was(house):
    nasty = {"a": "x: y\n'\"\\ \u2028 é", "b": [": ", None]}
    with acting(house.context, Actor("carla", "operator"), "try: it", "a b: c") as session:
        tables.tell(session, before=nasty)
    line = last(house)
    assert (line.event.action, line.target, line.event.before) == ("try: it", "a b: c", nasty)
    again = Line.from_text(line.to_text())
    assert (again.entry, again.event) == (line.entry, line.event)
    with house.database.read() as session:
        assert house.context.book(session).verify().holds


@pytest.mark.parametrize("letter", ['"', " ", "é"])
def test_no_event_is_long_whatever_its_caller_writes(house, letter):
    """Events are kept for ever, and a thousand are read at once."""
    much = letter * 100_000
    with acting(house.context, Actor("carla", "operator"), much, much) as session:
        tables.tell(session, before=much, after=[much], more={"proposer": "ana", "reason": much})
    event = last(house).event
    assert len(last(house).entry.purpose) <= 20_100
    assert (event.action, event.target) == (letter * 200, letter * 200)
    assert event.more == {"proposer": "ana", "reason": "too long to keep"}
    refused(house.analyst.get("/v1/tables/" + quote(letter) * 5_000), "not_found")
    assert last(house).target == letter * 200
    with house.database.read() as session:
        assert house.context.book(session).verify().holds


def exported(house):
    return house.curator.get("/v1/log.jsonl").text


def test_a_copy_in_a_file_is_complete_and_without_it_nothing_is_changed(
    house, tmp_path, monkeypatch
):
    """Sent by hand: what the thread sends meanwhile would stand there twice."""
    monkeypatch.setattr("frith.server.run.sinks._EVERY_SECONDS", 3_600)
    file = tmp_path / "log.jsonl"
    house.set(audit_file=str(file), audit_lag_seconds=600)
    with Sinks(house.context) as sinks:
        said(house.curator.post("/v1/members", json={"name": "x"}), 201)
        assert sinks.send_all()
        assert file.read_text() == exported(house)
        file.unlink()
        file.mkdir()
        assert not sinks.send_all()
        sinks._good -= 601
        assert "audit log" in refused(
            house.curator.post("/v1/members", json={"name": "y"}), "unavailable"
        )
        file.rmdir()
        assert sinks.send_all()
        sinks._good += 601
        said(house.curator.post("/v1/members", json={"name": "y"}), 201)
    assert file.read_text() == exported(house)


@pytest.mark.parametrize("lines", [1, 2])
def test_a_line_that_broke_off_swallows_none_after_it(house, tmp_path, lines):
    """A full disk takes part of a line; the copy goes on when there is room again."""
    file = tmp_path / "log.jsonl"
    house.set(audit_file=str(file), audit_lag_seconds=60)
    sinks = Sinks(house.context)
    assert sinks.send_all()
    for i in range(lines):
        said(house.curator.post("/v1/members", json={"name": f"m{i}"}), 201)
    with file.open("a") as copy:
        copy.write('{"id": 7, "acc')
    assert sinks.send_all()
    assert sinks.send_all(), "and it still knows how far it is"
    assert set(exported(house).splitlines()) <= set(file.read_text().splitlines())


def test_a_copy_whose_first_line_broke_off_begins_again(house, tmp_path):
    file = tmp_path / "log.jsonl"
    file.write_text('{"id": 1, "acc')
    house.set(audit_file=str(file))
    assert Sinks(house.context).send_all()
    assert file.read_text() == '{"id": 1, "acc\n' + exported(house)


def test_a_copy_whose_last_line_is_long_is_not_written_anew(house, tmp_path, monkeypatch):
    monkeypatch.setattr("frith.server.run.sinks._TAIL", 8)
    file = tmp_path / "log.jsonl"
    house.set(audit_file=str(file))
    sinks = Sinks(house.context)
    for name in ("x", "y"):
        said(house.curator.post("/v1/members", json={"name": name}), 201)
        assert sinks.send_all()
        assert sinks.send_all()
    assert file.read_text() == exported(house)


@pytest.mark.parametrize("text", ["not a line\n", '{"id": 7}\n{"id": 8, "acc'])
def test_a_copy_without_a_line_that_can_be_read_is_not_written_to(house, tmp_path, lines, text):
    """Its end may be missing, or it is another file; to begin again, its operator moves it away."""
    file = tmp_path / "log.jsonl"
    file.write_text(text)
    house.set(audit_file=str(file))
    sinks = Sinks(house.context)
    assert not sinks.send_all()
    assert file.read_text() == text
    assert "cannot be read" in lines[-1]["event"]
    file.unlink()
    assert sinks.send_all()
    assert file.read_text() == exported(house)


def test_a_database_that_lost_what_a_copy_has_changes_nothing(house, tmp_path):
    file = tmp_path / "log.jsonl"
    house.set(audit_file=str(file), audit_lag_seconds=60)
    said(house.curator.post("/v1/members", json={"name": "x"}), 201)
    text = exported(house)
    number = json.loads(text.splitlines()[-1])["id"]
    forged = json.loads(text.splitlines()[-1]) | {"id": number + 1}
    file.write_text(text + json.dumps(forged) + "\n")
    sinks = Sinks(house.context)
    assert not sinks.send_all(), "the copy is ahead"
    file.write_text(text.replace(json.loads(text.splitlines()[-1])["hash"], "0" * 64))
    assert not sinks.send_all(), "the copy has another last line"


def review(text):
    return Review().read(reading.read(text))


def kinds(text):
    return [(f.kind, f.entry) for f in review(text).findings]


def hire(house, name, role="analyst"):
    said(house.curator.post("/v1/members", json={"name": name, "role": role}), 201)
    token = said(house.curator.post(f"/v1/members/{name}/tokens", json={}), 201)["token"]
    return Person(house.app, name, token)


@pytest.fixture
def week(house):
    """A week of work by four people, who did nothing wrong."""
    vera, bea = hire(house, "vera", "auditor"), hire(house, "bea")
    said(house.curator.put(f"/v1/tables/{house.table}/grants/bea", json={"epsilon": "5"}))
    for epsilon in ("0.1", "0.2"):
        house.clock.wait(hours=5)
        house.train(epsilon=epsilon)
        house.train(bea, epsilon=epsilon + "5")
    said(bea.post("/v1/members/bea/tokens", json={"note": "script"}), 201)
    said(house.curator.put(f"/v1/tables/{house.table}/policy", json={"epsilon": "20"}))
    refused(bea.ask(house.table, epsilon="6"), "over_budget")
    said(house.curator.put("/v1/members/bea", json={"disabled": True}))
    assert said(vera.get("/v1/ledger/verification"))["holds"]
    return house


def test_the_log_alone_tells_who_did_what_in_a_week(week):
    text = exported(week)
    assert review(text).findings == []
    found = list(reading.read(text))
    story = [(x.entry.actor, x.what, x.target, x.outcome) for x in found if x.event is not None]
    table = week.table
    assert [each for each in story if not each[0].startswith("desk")] == [
        ("carla", "add member", "vera", "done"),
        ("carla", "create token", "vera", "done"),
        ("carla", "add member", "bea", "done"),
        ("carla", "create token", "bea", "done"),
        ("carla", "grant", f"{table}/bea", "done"),
        *[("ana", "ask", table, "done"), ("bea", "ask", table, "done")] * 2,
        ("bea", "create token", "bea", "done"),
        ("carla", "set policy", table, "done"),
        ("bea", "ask", table, "over_budget"),
        ("carla", "change member", "bea", "done"),
    ]
    spent = {}
    for line in found:
        if line.what == "charge":
            spent[line.target] = spent.get(line.target, 0) + line.entry.amount
    assert {k: float(v) for k, v in spent.items()} == {
        table: 0.7, f"{table}/ana": 0.3, f"{table}/bea": 0.4
    }  # fmt: skip
    assert len(list(who_did_what(found))) == len(found)


def test_a_raise_by_one_is_found(week):
    with week.database.write() as session:
        session.info["actor"] = "carla"
        week.context.book(session).set_budget(week.table, "90")
    ((kind, _),) = kinds(exported(week))
    assert kind is FindingKind.RAISED_BY_ONE


def test_a_raise_by_one_is_found_also_before_an_approval_of_another(week):
    otto = hire(week, "otto", "operator")
    body = {"policy": {"epsilon": "30"}, "reason": "more"}
    made = said(week.curator.post(f"/v1/tables/{week.table}/proposals", json=body), 201)
    with week.database.write() as session:
        session.info["actor"] = "desk:otto"
        week.context.book(session).set_budget(week.table, "25")
    said(otto.post(f"/v1/proposals/{made['id']}/approve"))
    (found,) = review(exported(week)).findings
    assert found.kind is FindingKind.RAISED_BY_ONE
    assert "by desk:otto alone" in found.text


def test_a_token_in_anothers_name_is_found_when_it_is_used(week):
    own = week.analyst.token.split("_")[1]
    said(week.curator.delete(f"/v1/tokens/{own}"), 204)
    token = said(week.curator.post("/v1/members/ana/tokens", json={}), 201)["token"]
    assert kinds(exported(week)) == []
    said(Person(week.app, "ana", token).ask(week.table, epsilon="0.3"), 202)
    (found,) = review(exported(week)).findings
    assert found.kind is FindingKind.ANOTHERS_NAME
    assert "which carla made in the name of ana" in found.text


def test_a_token_that_the_host_made_for_somebody_who_has_one_is_found_when_it_is_used(week):
    with acting(week.context, desk(), "create token", "ana") as session:
        token = members.issue_token(week.context, session, "ana").text
    assert kinds(exported(week)) == []
    said(Person(week.app, "ana", token).ask(week.table, epsilon="0.3"), 202)
    (found,) = review(exported(week)).findings
    assert found.kind is FindingKind.ANOTHERS_NAME
    assert f"which {desk().name} made in the name of ana" in found.text


def test_a_token_that_was_written_past_the_server_is_found_when_it_is_used(week):
    with week.database.write() as session:
        token = members.issue_token(week.context, session, "ana").text
    said(Person(week.app, "ana", token).ask(week.table, epsilon="0.3"), 202)
    assert [kind for kind, _ in kinds(exported(week))] == [FindingKind.UNKNOWN_TOKEN]


def test_an_edited_and_a_deleted_line_are_found(week):
    text = exported(week).splitlines()
    number = next(i for i, line in enumerate(text) if "over_budget" in line)
    edited = [
        line.replace("over_budget", "done") if i == number else line for i, line in enumerate(text)
    ]
    assert kinds("\n".join(edited)) == [(FindingKind.EDITED, number + 1)]
    renamed = [line.replace(" bea", " ana") if i == number else line for i, line in enumerate(text)]
    assert (FindingKind.EDITED, number + 1) in kinds("\n".join(renamed)), "the actor is bound too"
    deleted = text[:number] + text[number + 1 :]
    assert kinds("\n".join(deleted)) == [(FindingKind.MISSING, number + 2)]
    cut = review("\n".join(text[:-1]))
    assert not cut.holds(json.loads(text[-1])["hash"]), (
        "the end is missed by a hash noted elsewhere"
    )
    assert review("\n".join(text)).holds(json.loads(text[-1])["hash"])


def test_a_rolled_back_database_is_found(week):
    """An earlier copy is put back and work goes on: its lines come after those that were sent."""
    file, old = week.folder / "server.db", week.folder / "old.db"
    kept = exported(week)
    week.database.close()  # the last connection writes everything into the file
    shutil.copy(file, old)
    said(week.curator.post("/v1/members", json={"name": "lost"}), 201)
    sent = exported(week)
    assert len(sent) > len(kept)
    week.database.close()
    for name in ("server.db-wal", "server.db-shm"):
        (week.folder / name).unlink(missing_ok=True)
    shutil.copy(old, file)
    said(week.curator.post("/v1/members", json={"name": "other"}), 201)
    after = exported(week)
    new = [line for line in after.splitlines() if line not in set(sent.splitlines())]
    assert [kind for kind, _ in kinds(sent + "\n".join(new))] == [FindingKind.ROLLED_BACK]


@pytest.fixture
def lead_on():
    """A webhook behind a page to sign in at: it leads every POST there, and answers every GET."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(302)
            self.send_header("location", "/sign-in")
            self.end_headers()

        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"please sign in")

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/log"
    server.shutdown()


def test_a_webhook_that_leads_elsewhere_has_taken_nothing(house, lead_on):
    house.set(audit_webhook=lead_on)
    sinks = Sinks(house.context)
    assert not sinks.send_all()
    assert sinks._sinks[0].last() == (0, "")
