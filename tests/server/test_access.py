"""The table of routes: every route is in it, and every role and scope is held to it."""

import asyncio
import contextlib

import pytest

from frith.client.kinds import Role, Scope
from frith.server.auth import members, roles, sessions
from frith.server.auth.access import ROUTES, SCOPES, match
from frith.server.auth.middleware import AuthMiddleware
from frith.server.auth.sessions import COOKIE
from frith.server.problems import Problem
from tests.server.conftest import Person, refused, said
from tests.server.routes import OUTSIDE, Route, routes_of

CHANGES = {route for route in ROUTES if not route.startswith("GET ")}
ONES_OWN = {
    "POST /v1/members/{member}/tokens",
    "DELETE /v1/tokens/{token}",
    "POST /account/tokens",
    "POST /account/tokens/{token}/revoke",
    "POST /sign-out",
}
FREE = {
    "POST /v1/tables/{table}/quotes",
    "POST /v1/forests/{forest}/quotes",
    "POST /v1/forests/{forest}/predictions",
}


def open_to(scope, *which):
    return {r for r, access in ROUTES.items() if access.scope in (scope, *which)}


def test_every_route_is_in_the_table_and_nothing_else_is(house):
    assert {str(r) for r in routes_of(house.app) if r.path not in OUTSIDE} == set(ROUTES)


def test_what_the_table_says_in_general():
    """What a security officer would ask first."""
    analysts, auditors = (
        {r for r, a in ROUTES.items() if role in a.roles} for role in (Role.ANALYST, Role.AUDITOR)
    )
    assert not any("/curate" in route for route in analysts)
    assert auditors & CHANGES == ONES_OWN, "who audits changes nothing"
    assert open_to(Scope.READ) & CHANGES == ONES_OWN | FREE, "who reads spends nothing"
    assert open_to(Scope.METRICS) == {"GET /metrics"}
    assert not open_to(Scope.AUDIT) & CHANGES
    of_table = {r for r, a in ROUTES.items() if a.of_table}
    assert {r for r in ROUTES if "/curate/tables/{table}" in r} <= of_table
    assert all("{table}" in route for route in of_table)
    for route, access in ROUTES.items():
        assert access.roles, route
        assert all(access.scope in SCOPES[role] for role in access.roles), (route, "can be used")


@pytest.fixture
def people(house):
    """Somebody of every role, with a token of every scope that it has; curators curate `theirs`."""
    house.register("theirs")
    found = {}
    with house.database.write() as session:
        for role in Role:
            name = f"an-{role}"
            members.add_member(house.context, session, name, role)
            if role in (Role.OPERATOR, Role.CURATOR):
                roles.add_curator(house.context, session, "theirs", name)
            for scope in SCOPES[role]:
                token = members.issue_token(house.context, session, name, scopes=[scope]).text
                found[role, scope] = token, sessions.sign_in(house.context, session, token)
    return found


def test_every_route_with_every_role_and_every_scope(house, people):
    """Each of them is let through or refused as the table says, before any of it is done."""
    through = []

    async def inside(scope, receive, send):
        through.append(scope["path"])

    middleware = AuthMiddleware(inside, house.context)

    async def passes(route, path, token, cookie):
        headers = [(b"cookie", f"{COOKIE}={cookie}".encode())]
        if not route.is_page:
            headers = [(b"authorization", f"Bearer {token}".encode())]
        scope = {"type": "http", "method": route.method, "path": path, "headers": headers,
                 "client": ("192.0.2.1", 1), "state": {}}  # fmt: skip
        through.clear()
        with contextlib.suppress(Problem):
            await middleware(scope, None, None)
        return through == [path]

    async def walk():
        names = {"member": "ana", "forest": "f", "job": "j", "token": "t", "proposal": "p"}
        tried = 0
        for text, access in ROUTES.items():
            route = Route(*text.split(" "))
            for (role, scope), held in people.items():
                may = role in access.roles and scope is access.scope
                for table in ("theirs", house.table) if access.of_table else ("theirs",):
                    path = route.at(table=table, **names)
                    expected = may and table == "theirs"
                    assert await passes(route, path, *held) is expected, (text, role, scope, table)
                    tried += 1
        return tried

    assert asyncio.run(walk()) > 1_000


def test_a_path_is_matched_by_its_words_before_its_names():
    assert match("POST", "/curate/members/tokens/x/revoke").names == {"token": "x"}
    assert match("GET", "/v1/tables/x/") is None
    assert match("GET", "/v1/tables/") is None
    assert match("PATCH", "/v1/tables") is None


def test_a_route_that_the_table_lacks_is_not_there(house, monkeypatch):
    assert said(house.analyst.get("/v1/learners"))
    from frith.server.auth import access

    monkeypatch.delitem(ROUTES, "GET /v1/learners")
    access._by_shape.cache_clear()
    try:
        refused(house.analyst.get("/v1/learners"), "not_found")
    finally:
        monkeypatch.undo()
        access._by_shape.cache_clear()


def with_scopes(house, *scopes, member="carla"):
    body = {"scopes": list(scopes)}
    issued = said(house.curator.post(f"/v1/members/{member}/tokens", json=body), 201)
    return Person(house.app, member, issued["token"])


def test_a_token_does_what_its_scopes_say_and_makes_no_token_that_does_more(house):
    reader = with_scopes(house, "read")
    said(reader.get(f"/v1/tables/{house.table}"))
    for answer in (reader.ask(house.table), reader.post("/v1/members", json={"name": "x"})):
        assert "your" in refused(answer, "forbidden")
    child = said(reader.post("/v1/members/carla/tokens", json={}), 201)
    assert child["scopes"] == "read"
    refused(reader.post("/v1/members/carla/tokens", json={"scopes": ["curate"]}), "invalid")
    refused(house.curator.post("/v1/members/carla/tokens", json={"scopes": []}), "invalid")
    scraper = with_scopes(house, "metrics")
    assert "frith_budget" in scraper.get("/metrics").text
    refused(scraper.get("/v1/me"), "forbidden")


def test_a_stolen_token_of_one_scope_makes_no_first_token_of_more(house):
    clerk = with_scopes(house, "curate", "read")
    said(clerk.post("/v1/members", json={"name": "eve", "role": "operator"}), 201)
    made = said(clerk.post("/v1/members/eve/tokens", json={}), 201)
    assert made["scopes"] == "read curate"


def test_a_curator_has_the_tables_that_they_curate_and_no_other(house):
    cora = house.add("cora", "curator")
    mine = house.register("mine")
    assert said(cora.get("/v1/tables")) == []
    for path in (f"/v1/tables/{mine}", f"/v1/tables/{mine}/grants", f"/v1/tables/{mine}/budget"):
        refused(cora.get(path), "not_found")
    refused(cora.put(f"/v1/tables/{mine}/policy", json={"epsilon": "1"}), "not_found")
    job = house.train()["id"]
    refused(cora.get(f"/v1/jobs/{job}"), "not_found")
    said(house.curator.put(f"/v1/tables/{mine}/curators/cora"), 204)
    assert said(cora.get(f"/v1/tables/{mine}/curators")) == ["carla", "cora"]
    assert said(cora.put(f"/v1/tables/{mine}/policy", json={"epsilon": "30"}))["name"] == mine
    assert said(cora.get("/v1/jobs")) == [], "jobs on other tables are not theirs"
    theirs = house.train(table=mine)["id"]
    assert [j["id"] for j in said(cora.get("/v1/jobs"))] == [theirs]
    accounts = {e["account"] for e in said(cora.get("/v1/ledger"))}
    assert accounts == {mine, f"{mine}/ana"}
    refused(cora.put(f"/v1/tables/{house.table}/curators/cora"), "forbidden")
    said(house.curator.delete(f"/v1/tables/{mine}/curators/carla"), 204)
    refused(house.curator.delete(f"/v1/tables/{mine}/curators/cora"), "conflict")
    refused(house.curator.put(f"/v1/tables/{mine}/policy", json={"epsilon": "1"}), "not_found")


def test_who_registers_a_table_curates_it(house, small):
    cora = house.add("cora", "curator")
    said(cora.post("/v1/tables", json=small), 201)
    assert said(cora.get("/v1/tables/small/curators")) == ["cora"]
    refused(house.curator.get("/v1/tables/small"), "not_found")
    house.train(cora, "small", epsilon="0.1")


def test_who_loses_the_role_loses_the_tables(house):
    cora = house.add("cora", "curator")
    said(house.curator.put(f"/v1/tables/{house.table}/curators/cora"), 204)
    assert (
        said(house.curator.put("/v1/members/cora", json={"role": "analyst"}))["role"] == "analyst"
    )
    refused(cora.get(f"/v1/tables/{house.table}"), "not_found")
    said(house.curator.put("/v1/members/cora", json={"role": "curator"}))
    refused(cora.get(f"/v1/tables/{house.table}"), "not_found")
    refused(house.curator.put("/v1/members/carla", json={"role": "analyst"}), "conflict")


def test_an_auditor_reads_what_was_done_and_no_forest(house):
    vera = house.add("vera", "auditor")
    job = house.train()["id"]
    assert {e["account"] for e in said(vera.get("/v1/ledger"))} >= {house.table, house.own}
    assert said(vera.get("/v1/ledger/verification"))["holds"]
    assert said(vera.get(f"/v1/jobs/{job}"))["member"] == "ana"
    assert said(vera.get(f"/v1/tables/{house.table}/budget"))["whole"]
    refused(vera.get(f"/v1/forests/{job}"), "forbidden")
    refused(vera.ask(house.table), "forbidden")
    grant = house.curator.put(f"/v1/tables/{house.table}/grants/vera", json={})
    assert "auditor" in refused(grant, "invalid")


def test_a_service_account_ends_on_its_day_and_with_its_owner(house):
    bea = house.add("bea")
    body = {"name": "robot", "owner": "bea", "days": 30}
    assert said(house.curator.post("/v1/members", json=body), 201)["owner"] == "bea"
    made = said(bea.post("/v1/members/robot/tokens", json={"days": 60, "scopes": ["read"]}), 201)
    assert made["expires"] <= house.context.now(days=30)
    robot = Person(house.app, "robot", made["token"])
    assert said(robot.get("/v1/me"))["expires"]
    answer = house.stranger().post("/sign-in", data={"token": made["token"]})
    assert (answer.status_code, "service account" in answer.text) == (403, True)
    said(house.curator.put("/v1/members/bea", json={"disabled": True}))
    refused(robot.get("/v1/me"), "unauthorized")
    assert "its owner bea" in refused(
        house.curator.put("/v1/members/robot", json={"disabled": False}), "conflict"
    )
    said(house.curator.put("/v1/members/robot", json={"owner": "ana", "disabled": False}))
    again = said(house.analyst.post("/v1/members/robot/tokens", json={}), 201)
    robot = Person(house.app, "robot", again["token"])
    said(robot.get("/v1/me"))
    house.clock.wait(days=31)
    refused(robot.get("/v1/me"), "unauthorized")


@pytest.mark.parametrize(
    "body", [{"owner": "nobody"}, {"owner": "ana", "role": "operator"}, {"days": 3}]
)
def test_no_service_account_without_somebody_to_answer_for_it(house, body):
    answer = house.curator.post("/v1/members", json={"name": "robot", **body})
    assert answer.json()["code"] in ("invalid", "not_found")
