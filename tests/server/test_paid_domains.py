"""Domains that a table pays for: charged once, before a record is read, to the table's own account."""

from fractions import Fraction

import pytest

from frith import Forest
from frith.server.budget import paid_domains
from frith.server.jobs.verification import look
from tests.server.conftest import QUICK, refused, said
from tests.tables import small_table

F = Fraction


@pytest.fixture
def body(house):
    small_table(2_000).to_parquet(house.folder / "raw.parquet")
    return {
        "name": "raw",
        "connection": "sample",
        "table": "raw.parquet",
        "label": "good",
        "columns": {"size": "number", "color": ["blue", "green", "red"], "good": ["no", "yes"]},
        "epsilon": "1.5",
        "policy": {"epsilon": "4"},
    }


def bought(house, body, **changes):
    return house.curator.post("/v1/paid-domains", json=body | changes)


def test_a_domain_is_charged_once_and_every_forest_states_it_with_its_own(house, body):
    found = said(bought(house, body), 201)
    assert found["domain"]["paid"]["epsilon"] == "1.5"
    assert {a["name"] for a in found["domain"]["attributes"]} == {"size", "color"}
    assert house.spent("raw") == (F("1.5"), 0)
    said(house.curator.put("/v1/tables/raw/grants/ana", json={}))
    job = house.train(table="raw", epsilon="0.5")
    forest = Forest.from_json(said(house.analyst.get(f"/v1/forests/{job['id']}"))["forest"])
    assert forest.guarantee.epsilon == F("2")
    assert house.spent("raw") == (F("2"), 0)
    assert house.spent("raw/ana") == (F("0.5"), 0)
    charged = [e.amount for e in house.entries() if e.purpose == "draft a domain"]
    assert charged == [F("1.5")]
    assert not look(house.context).problems


def test_it_is_charged_before_a_record_is_read_and_stays_charged(house, body, monkeypatch):
    spent = []

    def fail(plan, engine):
        spent.append(house.spent("raw"))
        raise ValueError("age of Ada: 36")

    monkeypatch.setattr(paid_domains, "draft_charged", fail)
    message = refused(bought(house, body), "invalid")
    assert spent == [(F("1.5"), 0)]
    assert "stays charged" in message
    assert "Ada" not in message
    refused(house.curator.get("/v1/tables/raw"), "not_found")
    monkeypatch.undo()
    assert not look(house.context).problems
    for path in ("/v1/ledger", "/v1/ledger.csv", "/v1/log", "/metrics", "/v1/tables"):
        assert house.curator.get(path).status_code == 200, path
    said(bought(house, body), 201)  # a second draw
    assert house.spent("raw") == (3, 0)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"epsilon": "5"}, "over_budget"),
        ({"epsilon": "0"}, "invalid"),
        ({"name": "../x"}, "invalid"),
        ({"table": "nowhere.parquet"}, "invalid"),
        ({"label": "color "}, "invalid"),
        ({"columns": {"size": "values", "good": ["no", "yes"]}}, "invalid"),
        ({"columns": {"nothing": "number", "good": ["no", "yes"]}}, "invalid"),
        ({"columns": {"size": "number", "good": "number"}, "policy": QUICK}, "invalid"),
        ({"person": ""}, "invalid"),
    ],
)
def test_what_is_refused_costs_nothing_and_opens_nothing(house, body, changes, code):
    refused(bought(house, body, **changes), code)
    assert house.spent("raw") == (0, 0)
    with house.database.read() as session:
        assert not house.context.book(session).has("raw")


def test_the_charge_is_anchored_before_a_record_is_read(house, body, monkeypatch):
    done = []
    monkeypatch.setattr(type(house.context.watch), "anchor", lambda watch: done.append("anchor"))
    draw = paid_domains.draft_charged
    monkeypatch.setattr(
        paid_domains, "draft_charged", lambda *given: done.append("read") or draw(*given)
    )
    said(bought(house, body), 201)
    assert done == ["anchor", "read"]


def test_a_table_with_a_paid_domain_has_versions_and_batches_like_any_other(house, body):
    said(bought(house, body), 201)
    assert said(house.curator.post("/v1/tables/raw/version"))["version"] == 2
    more = {"name": "more", "connection": "sample", "table": "raw.parquet"}
    said(house.curator.post("/v1/tables/raw/batches", json=more), 201)
    assert house.spent("raw") == (F("1.5"), 0)


def test_a_table_that_is_there_keeps_its_domain(house, body):
    refused(bought(house, body, name=house.table), "conflict")
    assert house.spent(house.table) == (0, 0)
    said(bought(house, body), 201)
    refused(bought(house, body), "conflict")
    assert house.spent("raw") == (F("1.5"), 0)


def test_a_second_try_has_the_budget_of_the_first(house, body, monkeypatch):
    """Raising it needs two people, and a table that was not registered has no policy to raise."""
    monkeypatch.setattr(paid_domains, "draft_charged", lambda plan, engine: 1 / 0)
    bought(house, body)
    monkeypatch.undo()
    refused(bought(house, body, policy={"epsilon": "40"}), "conflict")
    assert house.spent("raw") == (F("1.5"), 0)


def test_an_account_of_persons_is_charged_for_persons(house, body):
    small_table(2_000).assign(who=range(2_000)).to_parquet(house.folder / "raw.parquet")
    found = said(bought(house, body, person="who", records_per_person=2), 201)
    assert found["domain"]["person"] == {"column": "who", "records": 2}
    with house.database.read() as session:
        state = house.context.book(session).state("raw")
    assert "2" in state.neighbors
    assert state.spent == F("1.5")


def test_an_account_with_a_delta_is_charged_in_rho(house, body):
    said(bought(house, body, epsilon="0.5", policy={"epsilon": "4", "delta": "1e-6"}), 201)
    assert house.spent("raw") == (F("0.125"), 0)


def test_the_same_records_are_not_bought_from_a_second_budget(house, body):
    """Not by their curator alone: refused before anything is charged."""
    cora = house.add("cora", "curator")
    said(cora.post("/v1/paid-domains", json=body), 201)
    answer = cora.post("/v1/paid-domains", json=body | {"name": "again"})
    assert "an operator can register it" in refused(answer, "conflict")
    assert [e.account for e in house.entries() if e.purpose == "draft a domain"] == ["raw"]
