"""Attacks on the price of a question, over HTTP, against a running server and its worker."""

import pytest

from benchmarks.server_process import ServerProcess
from frith.domain import Domain

pytestmark = pytest.mark.xdist_group("faults")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with ServerProcess(tmp_path_factory.mktemp("prices"), epsilon="4", workers=1) as running:
        yield running


@pytest.fixture
def client(server):
    with server.client(server.sample.analyst_token) as found:
        yield found


def domain_of(client, table):
    return Domain.from_json(client.get(f"/v1/tables/{table}").json()["domain"])


def spent(client, table):
    return client.get(f"/v1/tables/{table}/budget").json()


def leaves_with_children(count, domain):
    """So many trees of one leaf each, spelled -2, the first half of them with children."""
    half = count // 2
    first = [1 + 2 * i for i in range(half)] + [-1] * (count - half)
    trees = {
        "roots": list(range(count)),
        "attribute": [-2] * half + [-1] * (count - half),
        "cut": [-1] * count,
        "first_child": first,
        "sets": [],
    }
    return level(trees, domain, list(range(count)), [[]] * count)


def level(trees, domain, open_nodes, asks):
    cuts = [[] for _ in domain.attributes]
    asked = {"trees": trees, "cuts": cuts, "open_nodes": open_nodes, "asks": asks}
    return {"kind": "level", "view": "sizes"} | asked


LEAF = {"roots": [0], "attribute": [-1], "cut": [-1], "first_child": [-1], "sets": []}


def count(client, table, question, epsilon="0.5"):
    fingerprint = domain_of(client, table).fingerprint
    body = {"question": question, "domain": fingerprint, "epsilon": epsilon}
    return client.post(f"/v1/tables/{table}/counts", json=body)


def is_invalid(answer, *words):
    assert answer.status_code == 422, answer.text
    assert all(word in answer.text for word in words), answer.text


def test_a_leaf_with_children_names_no_price(server, client):
    before = spent(client, server.table)
    domain = domain_of(client, server.table)
    is_invalid(
        count(client, server.table, leaves_with_children(4_001, domain)), "leaf with a split"
    )
    far = LEAF | {"attribute": [-2], "first_child": [2_000_000_000]}
    is_invalid(count(client, server.table, level(far, domain, [0], [[]])), "leaf with a split")
    assert spent(client, server.table) == before


def test_as_many_honest_trees_cost_as_many(server, client):
    """The same question, spelled as it must be: answered, and its noise is 101 times as wide."""
    domain = domain_of(client, server.table)
    trees = LEAF | {"roots": list(range(101))}
    trees |= {name: [-1] * 101 for name in ("attribute", "cut", "first_child")}
    answer = count(client, server.table, level(trees, domain, list(range(101)), [[]] * 101))
    assert answer.status_code == 202, answer.text
    job = answer.json()["id"]
    assert client.get_until_done(job)["state"] == "done"
    counts = client.get(f"/v1/counts/{job}").json()["counts"]
    (asked,) = counts["guarantee"]["asked"]
    assert (asked["sensitivity"], asked["scale"]) == (101, 202.0)


def test_a_question_with_nothing_in_it_is_refused_and_hangs_nobody(server, client):
    before = spent(client, server.table)
    domain = domain_of(client, server.table)
    is_invalid(count(client, server.table, level(LEAF, domain, [], [])), "nothing in it")
    assert spent(client, server.table) == before
    assert client.get("/health").status_code == 200


@pytest.mark.parametrize("epsilon", ["9.3e-15", "1e-18", "1e-99", "1e-9", "0.0001", "1e10"])
def test_amounts_outside_the_window_are_refused_for_every_kind_of_request(server, client, epsilon):
    before = spent(client, server.table)
    path = f"/v1/tables/{server.table}"
    for kind in ("forests", "dry-runs"):
        answer = client.post(f"{path}/{kind}", json={"epsilon": epsilon, "learner": "forest"})
        assert answer.status_code in (409, 422), answer.text
    answer = count(client, server.table, {"kind": "records"}, epsilon)
    assert answer.status_code in (409, 422), answer.text
    assert spent(client, server.table) == before
