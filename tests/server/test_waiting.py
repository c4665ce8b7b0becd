"""What has to wait over the API: delivery schedules, full queues, rate limits, what is not there."""

import sys

from frith.ledger.database import StoreError
from frith.server.run.worker import Worker
from tests.server.conftest import refused, said


def test_results_are_delivered_on_their_schedule_and_nothing_tells_of_them_before(house):
    house.set(deliver_every=3600)
    first = said(house.analyst.ask(house.table), 202)["id"]
    house.clock.move(seconds=10)
    second = said(house.analyst.ask(house.table, epsilon="0.2"), 202)["id"]
    assert house.worker.work_once()
    early = house.analyst.job(first)
    assert (early["state"], early["passes"], early["doing"]) == ("running", 0, "")
    assert "running" in refused(house.analyst.get(f"/v1/forests/{first}"), "not_ready")
    assert "running" in refused(house.analyst.post(f"/v1/jobs/{first}/cancel"), "conflict")
    assert said(house.analyst.get("/v1/forests")) == []
    assert not house.worker.work_once(), "the next start would tell that this one has ended"
    assert house.analyst.job(second)["state"] == "queued"
    house.clock.move(seconds=3589)
    assert house.analyst.job(first)["state"] == "running"
    house.clock.move(seconds=1)
    assert house.analyst.job(first)["state"] == "done"
    assert house.worker.work_once()
    assert house.analyst.job(second)["state"] == "running"


def test_on_a_schedule_no_start_tells_that_another_job_has_ended(house):
    """Also with a second worker: the first job is at work until it is shown."""
    house.set(deliver_every=3600, running_per_member=1)
    said(house.analyst.ask(house.table), 202)
    house.clock.move(seconds=1)
    second = said(house.analyst.ask(house.table, epsilon="0.2"), 202)["id"]
    assert house.worker.work_once()
    other = Worker(house.context)
    assert not other.work_once()
    assert house.analyst.job(second)["state"] == "queued"
    house.clock.move(seconds=3599)
    assert other.work_once()


def test_too_many_queued_jobs_of_one_member_are_refused(house):
    house.set(queued_per_member=2)
    for epsilon in ("0.1", "0.2"):
        said(house.analyst.ask(house.table, epsilon=epsilon), 202)
    full = house.analyst.ask(house.table, epsilon="0.3")
    refused(full, "too_many")
    assert full.headers["retry-after"] == "10"
    said(house.curator.ask(house.table, epsilon="0.3"), 202)


def test_who_asks_too_often_is_told_how_long_to_wait(house):
    house.set(requests_per_second=1)
    answers = [house.analyst.get("/v1/me") for _ in range(2)]
    assert [a.headers.get("retry-after") for a in answers] == [None, "1"]
    assert answers[1].status_code == 429
    house.set(failures_per_minute=1)
    wrong = house.stranger(authorization="Bearer frith_a_b")
    answers = [wrong.get("/v1/me") for _ in range(2)]
    assert [(a.status_code, a.headers.get("retry-after")) for a in answers] == [
        (401, None), (429, "60"),
    ]  # fmt: skip


def test_a_database_that_cannot_be_reached_is_to_be_asked_again(house, monkeypatch):
    def locked():
        raise StoreError("/secret/server.db is locked")

    monkeypatch.setattr(house.database, "read", locked)
    answer = house.analyst.get("/v1/me")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "secret" not in refused(answer, "unavailable")


def test_a_server_without_onnx_says_what_to_do_instead(house, monkeypatch):
    forest = house.train()["id"]
    monkeypatch.setitem(sys.modules, "onnx", None)
    answer = house.analyst.get(f"/v1/forests/{forest}/model.onnx")
    assert answer.status_code == 501
    assert "as JSON" in refused(answer, "not_offered")
    assert "retry-after" not in answer.headers
