"""Many clients at once, against a real server process, on both databases."""

import os
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest

from benchmarks.server_process import ServerProcess

pytestmark = pytest.mark.xdist_group("load")
CLIENTS, SHARES = (64, 40) if os.environ.get("FRITH_FULL") == "1" else (12, 8)


@pytest.fixture(params=["sqlite", "postgres"])
def server(request, tmp_path):
    place = request.getfixturevalue("postgres_database") if request.param == "postgres" else None
    with ServerProcess(tmp_path, place, epsilon="1") as server:
        yield server


def test_clients_ask_for_more_shares_than_there_are_and_each_is_sold_once(server):
    """Nobody gets one share too many, nobody's receipt is lost, and every one of them is charged."""
    context = server.context()
    tokens = [server.new_analyst(f"analyst-{i}", context) for i in range(CLIENTS)]

    def ask(number):
        with server.client(tokens[number]) as client:
            body = {"epsilon": f"1/{SHARES}", "learner": "random-decision",
                    "parameters": {"random_state": number, "n_trees": 2}}  # fmt: skip
            answer = client.post(f"/v1/tables/{server.table}/forests", json=body)
            if answer.status_code != 202:
                return answer.json()["code"]
            return client.get_until_done(answer.json()["id"])["state"]

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(ask, range(CLIENTS)))
    assert answers.count("done") == SHARES
    assert answers.count("over_budget") == CLIENTS - SHARES
    with context.database.read() as session:
        book = context.book(session)
        charges = [e for e in book.entries(server.table) if e.kind == "charge"]
        assert len({e.request for e in charges}) == len(charges) == SHARES
        assert book.state(server.table).spent == 1
        assert book.state(server.table).held == 0
        assert book.verify().holds
        assert sum((e.amount for e in charges), Fraction(0)) == 1
    context.database.close()
