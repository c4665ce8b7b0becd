"""The same records get a second budget from an operator only, and the log says so."""

import os

import pytest

from frith.ledger import log
from frith.server.budget import tables
from frith.server.budget.overlaps import Overlaps, _overlap
from frith.server.budget.policies import Policy
from frith.server.connections import PostgresDatabase
from frith.server.sources import Source
from tests.server.conftest import refused, said


def test_a_curator_registers_no_second_table_over_the_same_records(house, small):
    cora, dan = house.add("cora", "curator"), house.add("dan", "curator")
    said(cora.post("/v1/tables", json=small), 201)
    os.link(house.folder / "small.csv", house.folder / "other.csv")
    for name in ("small.csv", "other.csv", "sm*.csv"):
        for person in (cora, dan):
            answer = person.post("/v1/tables", json=small | {"name": "again", "table": name})
            assert "an operator can register it" in refused(answer, "conflict")
    again = small | {"name": "again", "table": "other.csv"}
    said(house.curator.post("/v1/tables", json=again), 201)
    with house.database.read() as session:
        found, _ = log.find(house.context.book(session), log.Filter(action="register"), 1)
    assert found[0].event.more == {"same records as": ["small"]}


def test_a_curator_adds_the_same_records_only_where_they_are_charged_to_the_table(house, small):
    cora = house.add("cora", "curator")
    said(cora.post("/v1/tables", json=small), 201)
    batch = {"connection": small["connection"], "table": small["table"]}
    answer = cora.post("/v1/tables/small/batches", json=batch | {"name": "two", "disjoint": True})
    assert "an operator can register it" in refused(answer, "conflict")
    said(cora.post("/v1/tables/small/batches", json=batch | {"name": "same"}), 201)
    text = (house.folder / "small.csv").read_bytes()
    (house.folder / "more.csv").write_bytes(text)
    more = batch | {"table": "more.csv", "name": "more", "disjoint": True}
    said(cora.post("/v1/tables/small/batches", json=more), 201)
    answer = cora.post("/v1/tables/small/batches", json=more | {"name": "once", "disjoint": False})
    assert "an operator can register it" in refused(answer, "conflict"), "it has its own account"


@pytest.mark.parametrize(
    ("first", "second", "signed", "is_same"),
    [
        (("one", "public.people"), ("two", "People"), False, True),
        (("one", "people"), ("two", "visits"), False, False),
        (("one", "people"), ("two", "a_view"), True, True),
    ],
)
def test_another_user_and_a_view_of_a_database_are_seen_through(
    house, small, first, second, signed, is_same
):
    places = {"one": "postgresql://ann@host/clinic", "two": "postgresql://bob@alias/clinic"}
    made = {n: PostgresDatabase(kind="postgresql", url=url) for n, url in places.items()}
    house.set(connections=house.settings.connections | made)
    domain, policy = tables.read_domain(small["domain"]), Policy("1")
    with house.database.write() as session:
        tables.register(house.context, session, "a", Source(*first), domain, policy, types={})
    with house.database.read() as session:
        found = Overlaps(house.context, Source(*second), signed).tables(session)
    assert found == (["a"] if is_same else [])


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({("db", "t")}, {("db", "t")}, True),
        ({("db", "t")}, {("db", "u")}, False),
        ({("db", None)}, {("db", "u")}, True),
        ({("db", "u")}, {("db", None)}, True),
        ({("db", None)}, {("other", "u")}, False),
        (set(), {("db", None)}, False),
    ],
)
def test_a_query_may_read_every_table_of_its_database(one, other, is_same):
    assert _overlap(frozenset(one), frozenset(other)) is is_same
