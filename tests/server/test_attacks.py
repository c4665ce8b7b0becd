"""Attacks on every route: without a token, with another's, with every letter that breaks things."""

import asyncio
import contextlib
import hmac
import json
import re
import socket
import time
from urllib.parse import unquote

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from benchmarks.server_process import ServerProcess
from frith.client.kinds import Role
from frith.ledger.database import Database
from frith.ledger.events import ACCOUNT as EVENTS
from frith.server.app import SECURITY, make_app
from frith.server.auth import members, middleware, sessions
from frith.server.auth.access import ROUTES
from frith.server.auth.limits import ConcurrencyLimit
from frith.server.auth.sessions import COOKIE
from frith.server.budget import export
from frith.server.budget.apart import used_bytes
from frith.server.context import Context
from frith.server.jobs import upkeep
from frith.server.problems import Problem
from frith.server.run.connections import WAITING
from frith.server.run.sample import fill, with_sample
from frith.server.settings import Settings
from tests.server.conftest import HOST, Person, read_all, refused, said
from tests.server.routes import BODIES, FORM, Route, api_of, call, pages_of, raw, routes_of

CURATORS = {route for route, access in ROUTES.items() if Role.ANALYST not in access.roles}
"""What analysts may not do; the rest they may, as far as their grants go."""
NASTY = [
    "..", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f", "' OR '1'='1",
    "'; DROP TABLE member; --", '" OR 1=1 --', "%00", "nursery%00", "%ff%fe", "é", "%F0%9F%98%80",
    "a" * 5_000, "{table}", "nursery+later", "nursery@0", "NURSERY", "nursery%20", "%20nursery",
    "nursery%0a", "${HOME}", "<script>", "%0d%0aX-Evil:%201", "nursery%2fana", "*", "%25", "_",
    "nursery%C2%A0", "0", "-1", "null", "true", "%E2%80%AEyresrun",
]  # fmt: skip


HEAVY = {
    "GET /v1/log",
    "GET /v1/log.jsonl",
    "GET /curate/log",
    "GET /curate/log.jsonl",
    "GET /curate/tables/{table}/log",
    "GET /v1/ledger.csv",
    "GET /v1/counts/{job}",
    "GET /v1/ledger/verification",
    "GET /v1/forests/{forest}",
    "GET /v1/forests/{forest}/rules",
    "GET /v1/forests/{forest}/importances",
    "GET /v1/forests/{forest}/effects",
    "GET /v1/forests/{forest}/picture.svg",
    "GET /v1/forests/{forest}/model.onnx",
    "POST /v1/forests/{forest}/predictions",
    "GET /curate/ledger",
    "GET /curate/ledger.csv",
    "GET /curate/ledger.json",
    "GET /forests/{forest}",
    "GET /forests/{forest}/forest.json",
    "GET /forests/{forest}/rules.csv",
    "GET /forests/{forest}/effects.svg",
    "GET /forests/{forest}/effects.csv",
    "GET /forests/{forest}/report.html",
    "GET /forests/{forest}/certificate.html",
    "GET /forests/{forest}/card.md",
    "GET /forests/{forest}/picture.svg",
    "GET /forests/{forest}/model.onnx",
}
"""What only so many may read at once."""


def everything(house):
    """What the database holds, but for what merely looking may add, and events: refusals are some."""
    with house.database.read() as session:
        tables = ("member", "token", "registered_table", "batch", "table_grant", "job", "entry")
        connection = session.connection()
        found = {t: connection.exec_driver_sql(f"SELECT * FROM {t}").fetchall() for t in tables}
        return found | {"entry": [row for row in found["entry"] if row.account != EVENTS]}


@pytest.fixture
def values(house):
    """Names that are there: a table, a job with a forest, a member and a token."""
    job = house.train()["id"]
    with house.database.write() as session:
        token = members.issue_token(house.context, session, "carla").token.id
    return {"table": house.table, "member": "ana", "forest": job, "job": job, "token": token,
            "proposal": "0" * 16}  # fmt: skip


# -- who one is ------------------------------------------------------------------------------------


def bad_headers(house):
    """Everything that is no valid token."""
    with house.database.write() as session:
        revoked = members.issue_token(house.context, session, "carla")
        members.revoke_token(house.context, session, revoked.token.id, admin())
        expired = members.issue_token(house.context, session, "carla", days=1)
    house.clock.move(days=1, seconds=-1)
    check = house.stranger(authorization=f"Bearer {expired.text}").get("/v1/me")
    assert check.status_code == 200
    house.clock.move(seconds=1)
    good = house.sample.curator_token
    head, secret = good.rsplit("_", 1)
    return {
        "none": {},
        "empty": {"authorization": ""},
        "no secret": {"authorization": "Bearer "},
        "garbage": {"authorization": "Bearer \x7f\x01garbage"},
        "another scheme": {"authorization": f"Basic {good}"},
        "no scheme": {"authorization": good},
        "another secret": {"authorization": f"Bearer {head}_{'0' * len(secret)}"},
        "a shorter secret": {"authorization": f"Bearer {good[:-1]}"},
        "a longer secret": {"authorization": f"Bearer {good}0"},
        "upper case": {"authorization": f"Bearer {good.upper()}"},
        "an id alone": {"authorization": f"Bearer {head}_"},
        "its hash": {"authorization": f"Bearer {head}_{members.hashed(secret)}"},
        "injection": {"authorization": "Bearer frith_' OR 1=1 --_x"},
        "revoked": {"authorization": f"Bearer {revoked.text}"},
        "expired": {"authorization": f"Bearer {expired.text}"},
        "in a cookie": {"cookie": f"{COOKIE}={good}"},
        "very long": {"authorization": "Bearer frith_" + "a" * 20_000},
    }


def admin():
    return members.Member(name="", role="operator", created="")


def test_nobody_without_a_valid_token_learns_anything_from_any_route(house, values):
    """One answer, byte for byte, for every route that is there and every one that is not."""
    house.set(failures_per_minute=1_000_000)
    answers = set()
    bad = bad_headers(house)
    before = everything(house)
    stranger = house.stranger()
    nowhere = [Route("GET", "/v1"), Route("GET", "/v1/nothing"), Route("POST", "/v1x/tables")]
    for route in [*api_of(house.app), *nowhere]:
        for headers in bad.values():
            headers = {k: v.encode("latin-1") for k, v in headers.items()}
            answer = call(stranger, route, route.at(**values), headers=headers)
            answers.add((answer.status_code, answer.content, str(sorted(answer.headers.items()))))
    assert len(answers) == 1
    ((status, body, headers),) = answers
    assert status == 401
    assert json.loads(body)["code"] == "unauthorized"
    assert "'www-authenticate', 'Bearer'" in headers
    assert everything(house) == before


def test_tokens_in_the_address_or_the_body_count_for_nothing(house):
    token = house.sample.curator_token
    stranger = house.stranger()
    assert stranger.get(f"/v1/me?access_token={token}&token={token}").status_code == 401
    body = {"access_token": token}
    assert stranger.post("/v1/members", json=body).status_code == 401


def test_pages_send_whoever_is_not_signed_in_to_the_sign_in_page(house, values):
    """Whether there is such a page or not, and whatever the cookie says."""
    cookie = signed_in(house, house.sample.curator_token)
    tampered = ["", "x", cookie[:-1], cookie + "0", cookie[:-1] + ("0" if cookie[-1] != "0" else "1"),
                cookie.upper(), members.hashed(cookie), house.sample.curator_token, "é", '"']  # fmt: skip
    pages = [*pages_of(house.app), Route("GET", "/nothing"), Route("GET", "/curate/nothing")]
    before = everything(house)
    for route in pages:
        for text in tampered:
            path = route.at(**values)
            headers = {"cookie": f"{COOKIE}={text}".encode()}
            answer = call(house.stranger(), route, path, headers=headers)
            assert answer.status_code == 303, (route, text)
            expected = path if route.method == "GET" else "/"
            assert answer.headers["location"] == f"/sign-in?next={expected}"
            assert answer.content == b""
    assert everything(house) == before


def signed_in(house, token):
    """The cookie of a browser."""
    with house.database.write() as session:
        return sessions.sign_in(house.context, session, token)


def browser(house, cookie):
    client = house.stranger()
    client.cookies.set(COOKIE, cookie)
    return client


def test_a_browsers_session_ends_with_its_token_and_with_its_hours(house):
    first = browser(house, signed_in(house, house.sample.analyst_token))
    assert first.get("/account", follow_redirects=False).status_code == 200
    house.clock.move(hours=8)
    assert first.get("/account", follow_redirects=False).status_code == 303
    with house.database.write() as session:
        token = members.issue_token(house.context, session, "ana")
    second = browser(house, signed_in(house, token.text))
    assert second.get("/account", follow_redirects=False).status_code == 200
    said(house.analyst.delete(f"/v1/tokens/{token.token.id}"), 204)
    assert second.get("/account", follow_redirects=False).status_code == 303


def test_a_browsers_cookie_does_not_open_the_api(house):
    client = browser(house, signed_in(house, house.sample.curator_token))
    assert client.get("/v1/me").status_code == 401
    assert client.post("/v1/tables/nursery/version").status_code == 401


def test_no_form_is_accepted_without_the_sessions_own_csrf_text(house, values):
    mine = signed_in(house, house.sample.curator_token)
    theirs = signed_in(house, house.sample.curator_token)
    with house.database.read() as session:
        other = sessions.check_session(house.context, session, theirs).csrf
        own = sessions.check_session(house.context, session, mine).csrf
    client, before = browser(house, mine), everything(house)
    posts = [r for r in pages_of(house.app) if r.method != "GET"]
    assert len(posts) > 10
    for route in posts:
        for text in ("", "csrf=", f"csrf={other}", f"csrf={own}0", f"CSRF={own}"):
            answer = call(client, route, route.at(**values), content=text, headers=FORM)
            assert answer.status_code == 403, (route, text)
        foreign = FORM | {"origin": "https://evil.example"}
        answer = call(client, route, route.at(**values), content=f"csrf={own}", headers=foreign)
        assert answer.status_code == 403, route
    assert everything(house) == before


def test_secrets_are_compared_in_constant_time(house, monkeypatch):
    compared = []

    def spy(a, b):
        compared.append((a, b))
        return hmac.compare_digest(a, b)

    for module in (members, sessions):
        fake = type("hmac", (), {"compare_digest": staticmethod(spy)})
        monkeypatch.setattr(module, "hmac", fake)
    head = house.sample.analyst_token.rsplit("_", 1)[0]
    for token in (house.sample.analyst_token, f"{head}_x", "frith_unknown_x", "garbage", "a_b"):
        compared.clear()
        house.stranger(authorization=f"Bearer {token}").get("/v1/me")
        assert len(compared) == 1, token
        assert {len(side) for side in compared[0]} == {64}, "hashes, of one length"
    cookie = signed_in(house, house.sample.analyst_token)
    compared.clear()
    browser(house, cookie).post("/sign-out", content="csrf=x", headers=FORM)
    assert len(compared) == 1


# -- what one may do -------------------------------------------------------------------------------


def test_analysts_are_refused_what_is_for_curators_and_nothing_changes(house, values):
    before = everything(house)
    for route in api_of(house.app):
        if str(route) in CURATORS:
            assert refused(call(house.analyst, route, route.at(**values)), "forbidden")
            unknown = dict.fromkeys(values, "nothing")
            assert refused(call(house.analyst, route, route.at(**unknown)), "forbidden")
    assert everything(house) == before


def test_analysts_are_refused_the_curators_pages(house, values):
    cookie = signed_in(house, house.sample.analyst_token)
    with house.database.read() as session:
        csrf = sessions.check_session(house.context, session, cookie).csrf
    client, before = browser(house, cookie), everything(house)
    pages = [r for r in pages_of(house.app) if r.path.startswith("/curate")]
    assert len(pages) > 10
    for route in pages:
        content = f"csrf={csrf}" if route.method == "POST" else None
        answer = call(client, route, route.at(**values), content=content, headers=FORM)
        assert answer.status_code == 403, route
    assert everything(house) == before


def same(one, other, names):
    """Whether two answers are the same, but for the name that was asked for."""
    texts = []
    for answer, name in zip((one, other), names, strict=True):
        headers = str(sorted(answer.headers.items()))
        texts.append((answer.status_code, answer.text.replace(name, "*"), headers))
    return texts[0] == texts[1]


def test_an_analyst_never_learns_of_a_table_without_a_grant(house):
    """Byte for byte the answer for a table that is not there, with good bodies and with bad ones."""
    hidden = "hidden0"
    house.register(hidden)
    said(house.curator.delete(f"/v1/tables/{hidden}/grants/ana"), 204)
    cookie = signed_in(house, house.sample.analyst_token)
    with house.database.read() as session:
        csrf = sessions.check_session(house.context, session, cookie).csrf
    client = browser(house, cookie)
    for route in routes_of(house.app):
        if "table" not in route.names:
            continue
        bodies = [BODIES.get(str(route)), {}, {"epsilon": "-1"}, {"epsilon": "1", "learner": "?"}]
        for body in bodies:
            more = (
                {"content": f"csrf={csrf}&epsilon=1", "headers": FORM}
                if route.is_page
                else {"json": body}
            )
            if route.method == "GET":
                more = {}
            person = client if route.is_page else house.analyst
            names = (hidden, "absent0")
            answers = [
                call(person, route, route.at(table=name, member="ana"), **more) for name in names
            ]
            assert same(*answers, names), route
            assert 400 <= answers[0].status_code < 500
    assert hidden not in house.analyst.get("/v1/tables").text + client.get("/").text
    assert said(house.analyst.get(f"/v1/jobs?table={hidden}")) == []


def test_an_analyst_never_learns_of_anybody_elses_job_forest_or_token(house):
    bea = house.add("bea", to=house.table)
    theirs = house.train(bea)["id"]
    with house.database.write() as session:
        token = members.issue_token(house.context, session, "bea").token.id
    cookie = signed_in(house, house.sample.analyst_token)
    with house.database.read() as session:
        csrf = sessions.check_session(house.context, session, cookie).csrf
    client = browser(house, cookie)
    for route in routes_of(house.app):
        name = next((n for n in route.names if n in ("job", "forest", "token")), None)
        if name is None or route.path.startswith("/curate"):
            continue
        there, absent = (token, "0" * 12) if name == "token" else (theirs, "0" * 16)
        more = {"content": f"csrf={csrf}&epsilon=1&batch=later", "headers": FORM}
        more = more if route.is_page and route.method == "POST" else {}
        person = client if route.is_page else house.analyst
        answers = [call(person, route, route.at(**{name: n}), **more) for n in (there, absent)]
        assert same(*answers, (there, absent)), route
        assert answers[0].status_code == 404, route
    assert bea.get("/v1/me").status_code == 200
    for other in ("bea", "nobody", "carla"):
        answer = house.analyst.get(f"/v1/members/{other}/tokens")
        assert refused(answer, "forbidden") == "only an operator or an auditor may do this"


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["analyst", "curator"])
def test_no_name_in_a_path_breaks_anything(house, values, who):
    token, before = getattr(house, who).token, everything(house)
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json"}
    refusals = {303, 400, 401, 403, 404, 405, 409, 422}  # 303 and 401: it is no path of the API
    for route in api_of(house.app):
        for name in route.names:
            for nasty in NASTY:
                path = unquote(route.at(**values | {name: nasty}), errors="replace")
                body = json.dumps(BODIES.get(str(route), {})).encode()
                answer = raw(house.app, path, route.method, headers, [body])
                assert answer.status in refusals, (route, nasty)
                assert b"x-evil" not in dict(answer.headers)
                assert len(answer.body) < 1_000
    assert everything(house) == before


def test_no_name_in_a_pages_path_breaks_anything(house, values):
    cookie, before = signed_in(house, house.sample.curator_token), everything(house)
    for route in pages_of(house.app):
        for name in route.names if route.method == "GET" else ():
            for nasty in NASTY:
                path = unquote(route.at(**values | {name: nasty}), errors="replace")
                answer = raw(house.app, path, headers={"cookie": f"{COOKIE}={cookie}"})
                assert answer.status in (403, 404, 405, 422), (route, nasty)
                assert b"<script>" not in answer.body
                assert b"x-evil" not in dict(answer.headers)
    assert everything(house) == before


TEXTS = ["../x", "x' OR '1'='1", "x\0y", "😀", "\ud800", "a" * 100_000, "x\r\nX-Evil: 1",
         "", "${PATH}", "x/y", "nan", 1, True, None, [], {"x": 1}, 10**400]  # fmt: skip


def nasty_bodies(body):
    """A good body with each of its fields replaced by each text, also as a name of a field."""
    for field in body:
        for text in TEXTS:
            yield body | {field: text}
            if isinstance(body[field], dict):
                yield body | {field: {"x": text}}
                if isinstance(text, str):
                    yield body | {field: {text: 1}}
    for text in TEXTS:
        if isinstance(text, str):
            yield body | {text: 1}
        yield text


def full_bodies(house):
    bodies = {k: dict(v) for k, v in BODIES.items()}
    domain = house.curator.get(f"/v1/tables/{house.table}").json()["domain"]
    bodies["POST /v1/tables"] |= {
        "domain": json.dumps(domain), "title": "t", "signed": False,
        "table": "records.parquet",
    }  # fmt: skip
    bodies["POST /v1/members"] |= {"subject": "s", "role": "analyst"}
    bodies["POST /v1/members/{member}/tokens"] = {"note": "n", "days": 3}
    bodies["PUT /v1/tables/{table}/grants/{member}"] = {"columns": ["health"], "epsilon": "1"}
    bodies["POST /v1/tables/{table}/forests"] |= {"learner": "id3", "parameters": {}, "delta": "0"}
    bodies["POST /v1/forests/{forest}/predictions"] = {"records": [{"health": "x"}]}
    return bodies


def test_no_text_in_a_body_breaks_anything(house, values, lines):
    for route, body in full_bodies(house).items():
        method, path = route.split(" ")
        path = Route(method, path).at(**values)
        for nasty in nasty_bodies(body):
            content = json.dumps(nasty).encode()
            headers = {"content-type": "application/json"}
            answer = house.curator.request(method, path, content=content, headers=headers)
            assert answer.status_code < 500, (route, nasty)
            assert "x-evil" not in answer.headers
    names = {row[0] for row in everything(house)["member"]}
    assert names <= {"carla", "ana", "fresh", "nan", "x"}
    logged = json.dumps(lines)
    assert "Evil" not in logged
    assert "unforeseen" not in logged
    assert {key for line in lines for key in line} <= {
        "event", "method", "route", "status", "member", "log_level", "job", "kind",
        "address", "request", "target",
    }  # fmt: skip


def test_values_to_predict_break_nothing(house, values):
    path = f"/v1/forests/{values['forest']}/predictions"
    headers = {"content-type": "application/json"}
    for text in ("NaN", "Infinity", "-1e999", "1" + "0" * 400, "true", '"\\ud800"', '"\\u0000"',
                 "null", '""', "1e-400", "-0"):  # fmt: skip
        answer = house.analyst.post(
            path, content=f'{{"records": [{{"health": {text}}}]}}', headers=headers
        )
        assert answer.status_code in (200, 400, 422), text
    assert said(house.analyst.post(path, json={"records": []}))["labels"] == []


def test_names_that_postgresql_cannot_hold_are_refused_there_too(postgres_database, tmp_path):
    database = Database(postgres_database)
    database.upgrade()
    settings = Settings(database=postgres_database, requests_per_second=100_000)
    context = Context(database, with_sample(settings, tmp_path))
    sample = fill(context, tmp_path, "4")
    curator = Person(make_app(context), "carla", sample.curator_token)
    for path in ("/v1/tables/%00", "/v1/jobs/a%00", "/v1/jobs?table=%00", "/v1/forests/%ff%00"):
        assert 400 <= curator.get(path).status_code < 500
    asked = curator.post("/v1/tables/%00/quotes", json={"epsilon": "1"})
    assert asked.status_code == 404
    for body in ({"name": "x", "subject": "\0"}, {"name": "\0"}):
        assert curator.post("/v1/members", json=body).status_code == 422
    assert curator.post("/v1/members/ana/tokens", json={"note": "\0"}).status_code == 422
    title = {**BODIES["POST /v1/tables"], "title": "\0"}
    assert curator.post("/v1/tables", json=title).status_code == 422
    cookie = {"cookie": f'{COOKIE}="\\000"'}
    assert curator.client.get("/", headers=cookie, follow_redirects=False).status_code == 303
    database.close()


def test_log_lines_hold_nothing_that_a_caller_made_up(house, lines):
    for path in ("/v1/%0a%7b%22event%22", "/v1/tables/%0aevil", "/%0aevil", "/static/%0aevil"):
        house.stranger().get(path, follow_redirects=False)
        house.analyst.get(path, follow_redirects=False)
    assert {line["route"] for line in lines} <= {"none", "/v1/tables/{table}"}
    assert "evil" not in json.dumps(lines)


# -- ways in ---------------------------------------------------------------------------------------


def test_no_spelling_of_a_path_gets_past_the_door(house):
    paths = ["/v1x", "//v1/me", "///v1/me", "/V1/me", "/static/../v1/me", "/static/..%2fv1/me",
             "/v1/../health", "/health/../v1/me", "/health/", "/health/x", "/sign-in/", "/sign-in/..",
             "/sign-in/../v1/me", "/v1;/me", "/./v1/me", "/v1/me/", "/metrics/", "/metricsx", "",
             "v1/me", "/healthx", "/static", "/static/../../app.py", "/static//etc/passwd",
             "/static/%2e%2e/render.py", "/docs", "/redoc", "/openapi.json", "/v1/openapi.json/",
             "http://frith.test/v1/me", "*"]  # fmt: skip
    for path in paths:
        for method in ("GET", "POST", "HEAD", "OPTIONS", "TRACE", "CONNECT", "MADEUP"):
            answer = raw(house.app, path, method)
            assert answer.status in (303, 401, 404, 405), (path, method)
            assert b"carla" not in answer.body
            assert b"import" not in answer.body
            location = dict(answer.headers).get(b"location", b"/")
            assert re.match(rb"/(?!/)", location)


def test_the_same_path_spelled_with_percents_is_the_same_route(house):
    assert house.stranger().get("/%76%31/me").status_code == 401
    assert house.analyst.get("/%76%31/me").status_code == 200


def test_a_redirect_never_names_another_host(house):
    for path in ("/v1/tables/", "/v1/me/", "/", "//evil.example", "/account/"):
        answer = raw(house.app, path, headers={"host": "evil.example"})
        assert b"evil.example" not in dict(answer.headers).get(b"location", b"").split(b"?")[0]
    token = {"authorization": f"Bearer {house.sample.analyst_token}", "host": "evil.example"}
    assert raw(house.app, "/v1/tables/", headers=token).status == 404


def test_other_methods_do_nothing_and_cannot_be_claimed(house, values):
    before = everything(house)
    claims = {
        "x-http-method-override": "DELETE",
        "x-http-method": "DELETE",
        "x-method-override": "PUT",
    }
    for route in api_of(house.app):
        path = route.at(**values)
        methods = {r.method for r in api_of(house.app) if r.path == route.path}
        for method in {"HEAD", "OPTIONS", "PATCH", "TRACE", "PUT", "DELETE", "MADEUP"} - methods:
            if route.path != "/v1/openapi.json":
                answer = house.curator.request(method, path)
                assert answer.status_code == 405, (method, route)
                assert set(answer.headers["allow"].split(", ")) <= methods
    house.curator.get(f"/v1/tables/{house.table}", headers=claims)
    house.analyst.get("/v1/members/ana/tokens?_method=DELETE", headers=claims)
    assert everything(house) == before


def test_web_sockets_are_closed(house):
    for path in ("/v1/jobs", "/health", "/sign-in", "/static/x"):
        with pytest.raises(WebSocketDisconnect), house.stranger().websocket_connect(path):
            pass


def test_every_answer_carries_the_security_headers(house, monkeypatch):
    stranger = house.stranger()
    answers = [
        stranger.get("/health"),
        stranger.get("/v1/me"),
        stranger.get("/sign-in"),
        stranger.get("/", follow_redirects=False),
        stranger.get("/static/nothing"),
        house.analyst.get("/v1/nothing"),
        house.analyst.get("/metrics"),
        house.analyst.patch("/v1/me"),
        house.analyst.post("/v1/tables/x/forests", content=b"x" * 2_000_000),
    ]

    def fail(*args):
        raise KeyError("Mr Smith")

    monkeypatch.setattr("frith.server.budget.tables.list_views", fail)
    answers.append(house.analyst.get("/v1/tables"))
    assert [a.status_code for a in answers] == [200, 401, 200, 303, 404, 404, 403, 405, 413, 500]
    for answer in answers:
        for name in SECURITY:
            assert name in answer.headers, answer.request.url
        assert "server" not in answer.headers
        assert "'none'" in answer.headers["content-security-policy"]


def test_what_nobody_foresaw_is_told_and_logged_without_its_words(
    house, monkeypatch, lines, capsys
):
    def fail(*args):
        raise KeyError("Mr Smith")

    monkeypatch.setattr("frith.server.budget.tables.list_views", fail)
    answer = TestClient(house.app, HOST).get("/v1/tables", headers=house.analyst.headers)
    assert answer.status_code == 500
    assert answer.json() == {"code": "failed", "message": "something went wrong here"}
    assert {"event": "unforeseen", "error": "KeyError", "log_level": "error"} in lines
    assert "Smith" not in json.dumps(lines) + capsys.readouterr().err


# -- too much of it --------------------------------------------------------------------------------


def test_a_body_that_is_too_large_is_refused_however_it_comes(house):
    house.set(body_bytes=1_000)
    for route in api_of(house.app):
        answer = house.curator.request(
            route.method, route.path.replace("{table}", house.table), content=b" " * 1_001
        )
        assert answer.status_code == 413, route
    chunked = house.analyst.post("/v1/tables/x/forests", content=iter([b" " * 600] * 2))
    refused(chunked, "too_large")
    token = {"authorization": f"Bearer {house.sample.analyst_token}"}
    for stated in ("1001", "9" * 5_000, "1" + "0" * 19):
        lied = raw(house.app, "/v1/me", headers=token | {"content-length": stated})
        assert lied.status == 413
    for stated in ("-1", "x", ""):
        lied = raw(house.app, "/v1/me", headers=token | {"content-length": stated})
        assert lied.status == 200
    endless = raw(house.app, "/v1/me", "POST", token, [b" " * 600, b" " * 600, None])
    assert endless.status == 413, "without waiting for the rest"


def test_a_stranger_has_a_short_body_read(house):
    assert raw(house.app, "/sign-in", "POST", {}, [b"a" * 20_000, None]).status == 413
    long = raw(house.app, "/sign-in", "POST", {"content-length": "20000"}, [None])
    assert long.status == 413


def test_a_cookie_is_read_as_it_was_set(house):
    """Python's own parser takes time by the square of some quoted ones."""
    for text, value in (
        ("frith_session=abc", "abc"),
        ("a=b; frith_session=abc; c=d", "abc"),
        ("xfrith_session=abc", ""),
        ("frith_session", ""),
        ('frith_session="' + "\\" * 10 + '"', '"' + "\\" * 10 + '"'),
    ):
        assert middleware.cookie_of({"headers": [(b"cookie", text.encode())]}) == value


def test_a_stranger_has_no_body_read(house):
    """The answer comes though nothing of the body ever does."""
    assert raw(house.app, "/v1/tables", "POST", {}, [None]).status == 401


def test_a_body_that_does_not_come_is_not_waited_for(house):
    house.set(body_seconds=0.05)
    token = {"authorization": f"Bearer {house.sample.analyst_token}"}
    slow = raw(house.app, "/v1/tables/x/forests", "POST", token, [b"{", None])
    assert slow.status == 408
    assert dict(slow.headers)[b"connection"] == b"close"
    assert json.loads(slow.body)["code"] == "slow"


def test_nested_and_broken_json_is_refused(house):
    path = f"/v1/tables/{house.table}/forests"
    headers = {"content-type": "application/json"}
    deep = 100_000
    for text in ("[" * deep, "[" * deep + "]" * deep, '{"a":' * deep, '{"epsilon":' + "[" * deep,
                 '{"parameters": {"a": ' + "[" * 500 + "]" * 500 + "}}", "", "{", "nul", '"', "\xff",
                 '{"epsilon": 1}{}', "{'epsilon': 1}", '{"epsilon": 1,}', "\ufeff{}", "[]", "1",
                 '{"epsilon": "1", "epsilon": "-1"}'):  # fmt: skip
        for encoding in ("utf-8", "utf-16"):
            answer = house.analyst.post(path, content=text.encode(encoding), headers=headers)
            assert answer.status_code in (400, 413, 422), text[:20]
    assert house.spent(house.own) == (0, 0)


def test_json_is_asked_for(house):
    path, body = f"/v1/tables/{house.table}/forests", b'{"epsilon": "0.1"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
                 "application/xml", "text/html", "", "x"):  # fmt: skip
        answer = house.analyst.post(path, content=body, headers={"content-type": kind})
        assert answer.status_code in (400, 422), kind
    said(house.analyst.post(path, json={"epsilon": "0.1"}), 202)


def test_guessing_tokens_is_slowed_down_while_a_token_that_was_right_goes_on(house):
    assert house.analyst.get("/v1/me").status_code == 200
    guesses = [
        house.stranger(authorization=f"Bearer frith_{n:012x}_{n:064x}").get("/v1/me").status_code
        for n in range(30)
    ]
    assert guesses == [401] * 20 + [429] * 10
    assert house.analyst.get("/v1/me").status_code == 200, "known from this address"
    assert house.curator.get("/v1/me").status_code == 200, "right, though others guess from here"
    assert house.stranger().get("/health").status_code == 200
    form = {"token": "frith_0_0"}
    assert house.stranger().post("/sign-in", data=form).status_code == 429
    right = house.stranger().post("/sign-in", data={"token": house.curator.token})
    assert right.history[0].status_code == 303


def test_guessing_at_one_token_stops_that_token_at_that_address_and_no_other(house):
    assert house.analyst.get("/v1/me").status_code == 200
    for person in (house.analyst, house.curator):
        token = person.token.rsplit("_", 1)[0]
        guesses = [
            house.stranger(authorization=f"Bearer {token}_{n:064x}").get("/v1/me").status_code
            for n in range(30)
        ]
        assert guesses[20:] == [429] * 10
    assert house.analyst.get("/v1/me").status_code == 200, "known from this address"
    assert house.curator.get("/v1/me").status_code == 429, "it may be the next guess"
    elsewhere = TestClient(house.app, HOST, client=("198.51.100.7", 1))
    elsewhere.headers["authorization"] = f"Bearer {house.curator.token}"
    assert elsewhere.get("/v1/me").status_code == 200
    assert said(house.add("bea").get("/v1/me"))["name"] == "bea"


def test_guessing_at_the_sign_in_page_counts_as_well(house):
    house.set(failures_per_minute=3)  # few, so that none is forgiven before the end
    codes = [
        house.stranger().post("/sign-in", data={"token": f"frith_{n}_x"}).status_code
        for n in range(5)
    ]
    assert codes == [401] * 3 + [429] * 2


def length(house):
    """Entries of the whole chain, events among them."""
    with house.database.read() as session:
        return session.connection().exec_driver_sql("SELECT count(*) FROM entry").scalar()


def test_nobody_fills_the_ledger_by_signing_in(house, monkeypatch):
    """Each is an event for ever, and the page is outside of a member's limit on requests."""
    monkeypatch.setattr(middleware, "_SIGN_INS", 3)
    house.set()
    token, before = house.sample.analyst_token, length(house)
    codes = [
        house.stranger().post("/sign-in", data={"token": token}, follow_redirects=False).status_code
        for _ in range(5)
    ]
    assert codes == [303] * 3 + [429] * 2
    assert length(house) == before + 3
    other = house.stranger().post("/sign-in", data={"token": house.sample.curator_token},
                                  follow_redirects=False)  # fmt: skip
    assert other.status_code == 303


def test_a_member_has_so_many_requests_a_second(house):
    house.set(requests_per_second=5)
    codes = [house.analyst.get("/v1/me").status_code for _ in range(12)]
    assert codes[:5] == [200] * 5
    assert 429 in codes[5:]
    assert house.curator.get("/v1/me").status_code == 200


def test_only_so_many_may_read_much_at_once(house, values):
    house.app.state.concurrency = ConcurrencyLimit(0, patience=0)
    upkeep.mark_seen(house.context, "w")  # without a worker the server is not ready
    curator, pages = house.curator, browser(house, signed_in(house, house.sample.curator_token))
    refusals = {}
    for route in routes_of(house.app):
        if route.method == "GET" or "predictions" in str(route):
            answer = call(pages if route.is_page else curator, route, route.at(**values))
            if answer.status_code == 503:
                refusals[str(route)] = answer.headers["retry-after"]
    assert refusals == dict.fromkeys(HEAVY, "3")
    refused(curator.get("/v1/ledger.csv"), "unavailable")


def test_who_takes_their_share_of_places_is_told_so_and_others_are_served():
    """Two members who read slowly make no answer to others a 503."""
    limit = ConcurrencyLimit(2, patience=0)

    async def crowd():
        async with limit.place_for("ana"), limit.place_for("ben"):
            with pytest.raises(Problem) as own:
                async with limit.place_for("ana"):
                    pass
            async with limit.place_for("cy"), limit.place_for("dan"):
                with pytest.raises(Problem) as full:
                    async with limit.place_for("eve"):
                        pass
        return own.value.status, full.value.status

    assert asyncio.run(crowd()) == (429, 503)


def test_who_reads_much_has_a_place_until_the_answer_is_sent(house, values, monkeypatch):
    house.set(heavy_reads=1)
    real, inside = export._pages, []

    def pages(caller):
        for page in real(caller):
            yield page
            inside.append(list(house.app.state.concurrency._inside))

    monkeypatch.setattr(export, "_pages", pages)
    monkeypatch.setattr(export, "PAGE", 2)
    for _ in range(2):
        assert house.analyst.get("/v1/ledger.csv").status_code == 200
    assert house.analyst.get("/v1/forests/none/picture.svg").status_code == 404
    assert inside
    assert {tuple(found) for found in inside} == {("ana",)}
    assert house.app.state.concurrency._inside == []


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A real one, which waits for 3 seconds."""
    with ServerProcess(tmp_path_factory.mktemp("real"), workers=0, body_seconds=3) as server:
        yield server


@pytest.mark.xdist_group("slow clients")
def test_500_slow_clients_do_not_keep_the_server_from_answering_and_are_hung_up_on(server):
    """Some never end their headers, some never send the body they announced."""
    token = server.sample.analyst_token
    half = b"GET /v1/me HTTP/1.1\r\nHost: x\r\nX-Slow: "
    announced = (
        f"POST /v1/tables/x/forests HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
    ).encode()
    began = time.monotonic()
    slow = [socket.create_connection(("127.0.0.1", server.port), 120) for _ in range(500)]
    try:
        for number, connection in enumerate(slow):
            with contextlib.suppress(ConnectionError):  # it may have been hung up on by now
                connection.sendall((half, announced, b"")[number % 3])
        with server.client(token) as client:
            for _ in range(20):
                assert client.get("/health").status_code == 200
                assert client.get("/v1/me").status_code == 200
        ends = {read_all(c, began + 300)[:12] for c in slow}
        assert ends == {b"", b"HTTP/1.1 408"}
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.xdist_group("slow clients")
def test_of_very_many_silent_connections_the_oldest_are_hung_up_on(tmp_path):
    """Each may send much before it is complete, and many at once would take the server's memory."""
    head = b"GET /health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 15_000
    with (
        ServerProcess(tmp_path, workers=0, body_seconds=60) as patient,
        contextlib.ExitStack() as all,
    ):
        before, most, opened = used_bytes(patient.process.pid), 0, []
        for _ in range(WAITING + 600):
            connection = socket.create_connection(("127.0.0.1", patient.port), 10)
            opened.append(all.enter_context(connection))
            connection.sendall(head)
            most = max(most, used_bytes(patient.process.pid) - before)
        with patient.client(patient.sample.analyst_token) as client:
            assert client.get("/v1/me").status_code == 200
        with contextlib.suppress(ConnectionResetError):
            assert read_all(opened[0], time.monotonic() + 5) == b""
        assert most < 100_000_000


@pytest.mark.xdist_group("slow clients")
def test_a_client_that_drips_its_headers_is_hung_up_on(server):
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\n")
        began = time.monotonic()
        connection.settimeout(0.2)
        while time.monotonic() - began < 300:
            try:
                connection.sendall(b"X-Drip: 1\r\n")
                if connection.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        else:
            raise AssertionError("it may drip for ever")


@pytest.mark.xdist_group("slow clients")
def test_a_client_that_asks_again_on_its_connection_is_not_hung_up_on(server):
    with server.client(server.sample.analyst_token) as client:
        began = time.monotonic()
        while time.monotonic() - began < 4:
            assert client.get("/v1/me").status_code == 200
        assert len(client._transport._pool.connections) == 1
