"""Accounts of a table are for the neighbors of its domain, and for no others."""

import json
from dataclasses import replace

import pytest

from frith import Ledger
from frith.domain import Person
from frith.ledger.entries import FOR
from frith.privacy.neighbors import RECORD, person_neighbors
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.budget.terms import bind, policy_terms
from frith.server.problems import Problem
from frith.server.run.sample import ANALYST
from tests.chains import rewrite_chain, tamper
from tests.server.conftest import at, refused, said


@pytest.fixture
def visits(house, records):
    """A table for persons with at most 2 records each."""
    source = house.folder / "visits.parquet"
    records.assign(who=[f"p{i // 3}" for i in range(len(records))]).to_parquet(source)
    with house.database.write() as session:
        domain = with_person(tables.domain_of(tables.get_table(session, house.table)), 2)
        tables.register(house.context, session, "visits", at(source), domain, Policy("4"))
        tables.grant(house.context, session, "visits", ANALYST)
    return "visits"


def with_person(domain, records):
    return replace(domain, person=None if records is None else Person("who", records))


def change_domain(house, table, records):
    """As nobody can over the API."""
    with house.database.write() as session:
        found = tables.get_table(session, table)
        found.domain = json.dumps(with_person(tables.domain_of(found), records).to_json())
        bind(house.context, session, policy_terms(found))  # else the chain would tell


def neighbors(house, table):
    account = said(house.analyst.get(f"/v1/tables/{table}/budget"))["own"]
    return account["neighbors"]


def test_an_account_has_the_neighbors_of_its_table(house, visits):
    assert neighbors(house, visits) == person_neighbors(2)
    assert neighbors(house, house.table) == RECORD
    assert house.train(table=visits)["state"] == "done"
    assert neighbors(house, visits) == person_neighbors(2)
    assert said(house.curator.get("/v1/ledger/verification"))["flagged"] == []


@pytest.mark.parametrize("most", [None, 1, 3])
def test_an_account_is_not_used_for_another_domain(house, visits, most):
    said(house.analyst.ask(visits, epsilon="0.5"), 202)
    house.work()
    change_domain(house, visits, most)
    message = refused(house.analyst.ask(visits, epsilon="0.25"), "conflict")
    assert "for persons with at most 2 records each" in message
    assert "register the table under another name" in message
    refused(house.analyst.ask(visits, kind="quotes", epsilon="0.25"), "conflict")
    assert house.spent(visits) == (0.5, 0)


def test_a_job_that_waits_is_not_charged_for_another_domain(house, visits):
    job = said(house.analyst.ask(visits, epsilon="0.5"), 202)["id"]
    change_domain(house, visits, 3)
    house.work()
    failed = house.analyst.job(job)
    assert failed["state"] == "failed"
    assert "their amounts do not add" in failed["problem"]
    assert house.spent(visits) == house.spent(f"visits/{ANALYST}") == (0, 0)


def test_a_desk_account_of_records_is_not_taken_over_by_a_table_of_persons(house, visits):
    Ledger.create(house.folder / "server.db", epsilon=1, account="clinic")
    with house.database.read() as session:
        domain = tables.domain_of(tables.get_table(session, visits))
    source = at("visits.parquet")
    with pytest.raises(Problem, match="for records") as caught, house.database.write() as session:
        tables.register(house.context, session, "clinic", source, domain, Policy("4"))
    assert caught.value.code == "conflict"
    refused(house.curator.get("/v1/tables/clinic"), "not_found")


def test_accounts_from_before_get_the_neighbors_of_their_table(house, visits):
    """A job that was reserved before, too."""
    job = said(house.analyst.ask(visits, epsilon="0.5"), 202)["id"]
    rewrite_chain(house.database, lambda e: replace(e, purpose=e.purpose.partition(FOR)[0]))
    tamper(house.database, "UPDATE account SET neighbors = NULL")
    house.set()
    house.work()
    assert house.analyst.job(job)["state"] == "done"
    assert neighbors(house, visits) == person_neighbors(2)
    assert house.spent(visits) == (0.5, 0)


# -- the least epsilon -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["forests", "quotes", "dry-runs", "counts"])
def test_next_to_nothing_cannot_be_asked_for(house, kind):
    """By default, where the curator has set no least epsilon."""
    table = house.register("plain")
    with house.database.read() as session:
        domain = tables.domain_of(tables.get_table(session, table))
    count = {"domain": domain.fingerprint, "question": {"kind": "records"}}

    def ask(epsilon):
        if kind == "counts":
            return house.analyst.post(
                f"/v1/tables/{table}/counts", json=count | {"epsilon": epsilon}
            )
        return house.analyst.ask(table, kind=kind, epsilon=epsilon)

    assert "from 1e-09 to 1000000000" in refused(ask("1e-99"), "invalid")
    assert "at least epsilon 0.001" in refused(ask("0.0009"), "invalid")
    assert ask("0.001").status_code in (200, 202)


def test_a_curator_may_set_another_least_epsilon(house):
    table = house.register("plain")
    url = f"/v1/tables/{table}/policy"
    lower = said(house.curator.put(url, json={"epsilon": "1", "least_epsilon": "1e-6"}))
    assert lower["policy"]["least_epsilon"] == "1e-06"
    said(house.analyst.ask(table, epsilon="1e-6"), 202)
    usual = said(house.curator.put(url, json={"epsilon": "1"}))
    assert usual["policy"]["least_epsilon"] == "0.001"
    message = refused(house.curator.put(url, json={"epsilon": "0.0001"}), "invalid")
    assert "least_epsilon is 0.001" in message
    refused(house.curator.put(url, json={"epsilon": "1e-99"}), "invalid")


@pytest.mark.parametrize(("epsilon", "least"), [("1", "0.001"), ("0.0001", "0.0001")])
def test_a_policy_that_was_stored_without_a_least_epsilon_gets_one(epsilon, least):
    stored = Policy("1").to_json() | {"epsilon": epsilon, "least_epsilon": None}
    assert Policy.from_json(stored).least_epsilon == least
