"""Lists and quotes ask the database as often for a long history as for a short one."""

import contextlib

import pytest
from sqlalchemy import event, text

from tests.server.conftest import said
from tests.server.test_pages import Browser


@contextlib.contextmanager
def counted(house):
    """The transactions and statements of readers meanwhile."""
    seen = []

    def begin(connection):
        seen.append("BEGIN")

    def note(connection, cursor, statement, *rest):
        seen.append(statement)

    heard = {"begin": begin, "before_cursor_execute": note}
    for name, hear in heard.items():
        event.listen(house.database._readers, name, hear)
    yield seen
    for name, hear in heard.items():
        event.remove(house.database._readers, name, hear)


@pytest.mark.parametrize("who", ["analyst", "curator"])
def test_a_list_of_jobs_is_read_by_indexes_in_the_order_of_time(house, who):
    plans = []

    def explain(connection, cursor, statement, parameters, *rest):
        if "FROM job" in statement and not statement.startswith("EXPLAIN"):
            found = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans.append([row[-1] for row in found])

    event.listen(house.database._readers, "before_cursor_execute", explain)
    said(getattr(house, who).get("/v1/jobs"))
    event.remove(house.database._readers, "before_cursor_execute", explain)
    listed = " ".join(plans[0])
    assert "jobs_of_a_member" in listed
    assert ("jobs_of_a_table" in listed) == (who == "curator")
    assert "MULTI-INDEX" not in listed
    assert "SCAN job" not in listed


@pytest.mark.parametrize("path", ["/v1/jobs", "/jobs", "/tables/{}", "/curate/tables/{}"])
def test_a_list_reads_its_receipts_at_once(house, path):
    token = house.curator.token if "curate" in path else house.analyst.token
    person = house.analyst if path.startswith("/v1") else Browser(house, token)
    address, numbers = path.format(house.table), []
    for epsilon in ("0.1", "0.2", "0.3"):
        house.train(epsilon=epsilon)
        with counted(house) as seen:
            person.get(address)
        numbers.append(len(seen))
    assert numbers[0] == numbers[-1] <= 16


def test_a_quote_is_one_transaction_of_two_queries(house):
    with counted(house) as seen:
        said(house.analyst.post(f"/v1/tables/{house.table}/quotes", json={"epsilon": "0.1"}))
    assert seen.count("BEGIN") == 1
    assert len(seen) == 3


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM job WHERE member = 'a' AND created <= 'x' ORDER BY created DESC, id DESC LIMIT 9",
        "SELECT * FROM job ORDER BY created DESC, id DESC LIMIT 9",
        "SELECT * FROM job WHERE forest = 'x'",
        "SELECT * FROM job WHERE round = 'x'",
        "SELECT * FROM entry WHERE request = 'x'",
    ],
)
def test_lists_are_found_in_an_index_and_not_sorted(house, query):
    with house.database.read() as session:
        plan = " ".join(row[-1] for row in session.execute(text(f"EXPLAIN QUERY PLAN {query}")))
    assert "USING INDEX" in plan
    assert "TEMP B-TREE" not in plan
