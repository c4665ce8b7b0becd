"""Curators, metrics and a webhook are told before a table's budget is used up."""

import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace

import pytest

from frith.ledger.witness import WitnessError
from frith.server.run import watcher
from frith.server.run.alerting import tell_alerts
from tests.server.conftest import said
from tests.server.test_pages import Browser


@pytest.fixture
def hook():
    """What a webhook got, and its URL; it takes nothing while `is_down`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            if not server.is_down:
                server.got.append(json.loads(body))
            self.send_response(503 if server.is_down else 204)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    server.got, server.is_down = [], False
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_alert_is_shown_measured_and_sent_once(house, hook):
    house.set(alert_webhook=f"http://127.0.0.1:{hook.server_port}/")
    curator, metric = Browser(house, house.sample.curator_token), "frith_budget_near_its_end"
    metric += f'{{table="{house.table}"}}'
    tell_alerts(house.context)
    assert "Nearly used up" not in curator.get("/curate").text
    assert f"{metric} 0.0" in house.curator.get("/metrics").text
    asked = {"learner": "gini", "epsilon": "32"}  # of 40; a reservation counts
    job = said(house.analyst.ask(house.table, **asked), 202)["id"]
    assert f"80% of the budget of {house.table} is spent or reserved" in curator.get("/curate").text
    assert f"{metric} 1.0" in house.curator.get("/metrics").text
    hook.is_down = True
    tell_alerts(house.context)
    hook.is_down = False
    for _ in range(3):
        tell_alerts(house.context)
    message = f"80% of the budget of {house.table} is spent or reserved"
    told = {"alert": "budget", "table": house.table, "account": house.table, "message": message}
    assert hook.got == [told]
    said(house.analyst.post(f"/v1/jobs/{job}/cancel"))
    tell_alerts(house.context)
    said(house.analyst.ask(house.table, **asked), 202)
    tell_alerts(house.context)
    assert len(hook.got) == 2, "it holds again"


def test_no_alert_is_told_where_none_is_wanted(house):
    house.set(alert_percent=0)
    said(house.analyst.ask(house.table, learner="gini", epsilon="40"), 202)
    assert "Nearly used up" not in Browser(house, house.sample.curator_token).get("/curate").text


def test_alerts_are_told_while_the_witness_does_not_answer(house, monkeypatch, lines):
    """One turn of the watcher, in which whatever comes before them fails."""

    def fail(*_):
        raise WitnessError("down")

    told, turns = [], []
    watch = watcher.Watcher(house.context)
    watch._over = SimpleNamespace(is_set=lambda: bool(turns), wait=turns.append)
    monkeypatch.setattr(watcher, "look", fail)
    monkeypatch.setattr(watcher, "keep_time", fail)
    monkeypatch.setattr(watcher, "tell_alerts", told.append)
    watch._watch()
    assert told == [house.context]
    assert [line["error"] for line in lines] == ["WitnessError"] * 2
