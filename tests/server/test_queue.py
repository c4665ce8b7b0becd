"""Queued requests over the API: cancelling, turns, repeats and idempotency keys."""

from fractions import Fraction

import pytest

from frith.server.jobs import lifecycle
from frith.server.problems import STOPPED
from tests.server.conftest import refused, said

F = Fraction


def test_cancelling_gives_a_reservation_back(house):
    job = said(house.analyst.ask(house.table, epsilon="1"), 202)["id"]
    assert said(house.analyst.post(f"/v1/jobs/{job}/cancel"))["state"] == "cancelled"
    assert house.spent(house.table) == house.spent(house.own) == (0, 0)
    assert house.work() == 0
    refused(house.analyst.get(f"/v1/forests/{job}"), "not_ready")
    again = said(house.analyst.ask(house.table, epsilon="1"), 202)
    assert again["id"] != job, "a request that was cancelled can be asked again"


def test_a_job_that_is_done_cannot_be_cancelled(house):
    done = house.train(epsilon="0.2")["id"]
    assert "done" in refused(house.analyst.post(f"/v1/jobs/{done}/cancel"), "conflict")
    assert house.spent(house.own) == (F("0.2"), 0)


def start_job(house, job):
    with house.database.write() as session:
        taken = lifecycle.take(house.context, session, house.worker.name)
        assert taken.id == job
        lifecycle.start(house.context, session, job, house.worker.name, [])


@pytest.mark.parametrize("by", ["curator", "analyst"])
def test_a_running_job_can_be_stopped_and_its_charge_is_kept(house, by):
    job = said(house.analyst.ask(house.table), 202)["id"]
    start_job(house, job)
    stopped = said(getattr(house, by).post(f"/v1/jobs/{job}/cancel"))
    assert (stopped["state"], stopped["problem"]) == ("failed", STOPPED)
    assert house.spent(house.own) == house.spent(house.table) == (F("0.1"), 0)
    with pytest.raises(lifecycle.Lost), house.database.write() as session:
        lifecycle.finish(house.context, session, job, house.worker.name, b"late")
    refused(house.analyst.get(f"/v1/forests/{job}"), "not_ready")
    again = said(house.analyst.ask(house.table), 202)
    assert again["id"] != job


def test_members_take_turns_and_dry_runs_come_last(house):
    house.set(running_per_member=2)
    bea = house.add("bea", to=house.table)

    def ask(person, **body):
        house.clock.move(seconds=1)
        return said(person.ask(house.table, **body), 202)["id"]

    def take():
        with house.database.write() as session:
            found = lifecycle.take(house.context, session, house.context.new_secret(4))
            return found and found.id

    dry = ask(house.analyst, kind="dry-runs", epsilon="0.01")
    anas = [ask(house.analyst, epsilon=f"0.0{number}") for number in (2, 3, 4)]
    beas = ask(bea, epsilon="0.05")
    assert [take() for _ in range(4)] == [anas[0], beas, anas[1], None]
    for job in (*anas, beas):
        house.change_job(job, state="done", lease=None)
    assert take() == dry


def test_nobody_else_cancels_a_job(house):
    bea = house.add("bea", to=house.table)
    job = said(house.analyst.ask(house.table), 202)["id"]
    refused(bea.post(f"/v1/jobs/{job}/cancel"), "not_found")
    assert said(house.curator.post(f"/v1/jobs/{job}/cancel"))["state"] == "cancelled"


def test_the_same_analyst_repeats_a_request_for_free(house):
    job = house.train()
    spent = house.spent(house.own)
    again = said(house.analyst.ask(house.table), 202)
    assert again == job
    spelled = {"n_trees": 2, "max_depth": 2, "size_share": 0.05}
    assert said(house.analyst.ask(house.table, parameters=spelled, epsilon=0.1), 202) == job
    assert house.spent(house.own) == spent
    assert house.work() == 0


def test_a_raised_version_makes_a_repeat_a_new_request(house):
    job = house.train()
    version = said(house.curator.post(f"/v1/tables/{house.table}/version"))["version"]
    assert version == 2
    again = house.train()
    assert again["id"] != job["id"]
    assert again["version"] == 2
    assert house.spent(house.table) == house.spent(house.own) == (F("0.2"), 0)


def test_another_analysts_repeat_is_charged_to_them_and_not_to_the_table(house):
    first = house.train()
    bea = house.add("bea", to=house.table)
    second = house.train(bea)
    assert second["id"] != first["id"]
    assert house.spent(house.table) == (F("0.1"), 0)
    assert house.spent(f"{house.table}/bea") == (F("0.1"), 0)
    forests = [said(p.get(f"/v1/forests/{j['id']}")) for p, j in
               ((house.analyst, first), (bea, second))]  # fmt: skip
    assert forests[0]["forest"] == forests[1]["forest"]


def test_a_repeat_looks_like_a_new_request(house):
    """In the job's fields and passes, and in how far the numbers of receipts are apart."""
    shapes = []
    for person in (house.analyst, house.add("bea", to=house.table)):
        asked = said(person.ask(house.table, learner="gini", parameters={}, epsilon="1"), 202)
        assert asked["state"] == "queued"
        assert asked["receipt"]["kind"] == "reserve"
        house.work()
        done = person.job(asked["id"])
        shape = {
            "apart": done["receipt"]["id"] - asked["receipt"]["id"],
            "passes": done["passes"],
            "spent": done["receipt"]["spent"],
            "keys": sorted(done),
            "forest": said(person.get(f"/v1/forests/{done['id']}"))["forest"],
        }
        shapes.append(shape)
    first, repeat = shapes
    assert first == repeat


def test_a_repeat_is_refused_like_a_new_request_when_the_table_is_exhausted(house):
    table = house.register("tiny", epsilon="1")
    bea = house.add("bea", to=table)
    said(house.analyst.ask(table, epsilon="0.6"), 202)
    house.work()
    said(house.analyst.ask(table, epsilon="0.4"), 202)
    house.work()
    repeat, fresh = bea.ask(table, epsilon="0.6"), bea.ask(table, epsilon="0.61")
    for answer in (repeat, fresh):
        assert "no budget left" in refused(answer, "over_budget")
    assert repeat.json().keys() == fresh.json().keys()
    assert house.spent("tiny/bea") == (0, 0)
    assert said(house.analyst.ask(table, epsilon="0.6"), 202)["state"] == "done"


def test_two_who_ask_the_same_before_it_is_done_both_pay_for_a_release(house):
    bea = house.add("bea", to=house.table)
    for person in (house.analyst, bea):
        said(person.ask(house.table), 202)
    house.work()
    assert house.spent(house.table) == (F("0.2"), 0)


def test_an_idempotency_key_belongs_to_one_analyst_one_table_and_one_body(house):
    other = house.register("other")
    bea = house.add("bea", to=house.table)
    first = house.analyst.ask(house.table, key="k1")
    again = house.analyst.ask(house.table, key="k1")
    assert first.content == again.content
    assert said(first, 202)
    assert "another request" in refused(
        house.analyst.ask(house.table, key="k1", epsilon="0.2"), "conflict"
    )
    refused(house.analyst.ask(other, key="k1"), "conflict")
    refused(house.analyst.ask(house.table, key="k1", kind="dry-runs"), "conflict")
    theirs = said(bea.ask(house.table, key="k1", epsilon="0.2"), 202)
    assert theirs["member"] == "bea"
    assert house.spent(house.own) == (0, F("0.1"))
    house.work()
    assert said(house.analyst.ask(house.table, key="k1"), 202)["state"] == "done"
    job = said(first, 202)["id"]
    assert said(house.analyst.ask(house.table, key="k2"), 202)["id"] == job, "a repeat"
    refused(house.analyst.ask(house.table, key="k2", epsilon="0.2"), "conflict")
    said(house.curator.post(f"/v1/tables/{house.table}/version"))
    for key in ("k1", "k2"):
        assert said(house.analyst.ask(house.table, key=key), 202)["id"] == job
    assert house.spent(house.own) == (F("0.1"), 0)
    for bad in ("", " ", "é", "a" * 129, "a b"):
        answer = house.analyst.post(
            f"/v1/tables/{house.table}/forests",
            json={"epsilon": "1"},
            headers={"idempotency-key": bad.encode("latin-1")},
        )
        refused(answer, "invalid")


def test_two_new_requests_need_no_key(house):
    ids = {said(house.analyst.ask(house.table, epsilon=e), 202)["id"] for e in ("0.1", "0.2")}
    assert len(ids) == 2
