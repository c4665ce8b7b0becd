"""Tokens of an OIDC issuer: a local one with its own keys, and everything that is not its token."""

import base64
import http.server
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from frith.server.auth import login
from frith.server.auth.acting import SINKS
from frith.server.auth.members import add_member, find_subject
from frith.server.auth.oidc import Issuer
from frith.server.problems import Problem
from frith.server.settings import Settings
from tests.server.conftest import refused, said
from tests.server.test_log import events
from tests.server.test_pages import Browser

AUDIENCE = "frith-server"
KINDS = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "PS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
    "EdDSA": ed25519.Ed25519PrivateKey.generate,
}


class LocalIssuer:
    """Discovery and keys over HTTP on this machine; counts how often it is asked."""

    def __init__(self):
        self.keys, self.asked, self.broken = {}, [], False
        self.answers = threading.Event()
        self.answers.set()
        issuer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                issuer.asked.append(self.path)
                issuer.answers.wait(120)
                body = issuer.document(self.path)
                self.send_response(404 if body is None else 200)
                self.end_headers()
                self.wfile.write(b"" if body is None else body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/realm"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def document(self, path):
        if self.broken:
            return b"<html>not JSON"
        if path == "/realm/.well-known/openid-configuration":
            return json.dumps({"jwks_uri": f"{self.url}/keys"}).encode()
        if path == "/realm/keys":
            found = [public_jwk(name, key, alg) for name, (key, alg) in self.keys.items()]
            return json.dumps({"keys": found}).encode()
        return None

    def add(self, name, alg="RS256"):
        self.keys[name] = (KINDS[alg](), alg)

    def token(self, kid="k1", *, key=None, alg=None, header=None, **claims):
        own, own_alg = self.keys.get(kid, (None, None))
        now = datetime.now(UTC)
        default = {"iss": self.url, "aud": AUDIENCE, "sub": "ana@example.org", "iat": now,
                   "exp": now + timedelta(minutes=5)}  # fmt: skip
        claims = {k: v for k, v in (default | claims).items() if v is not None}
        headers = {k: v for k, v in ({"kid": kid} | (header or {})).items() if v is not None}
        signer = own if key is None else key
        return jwt.encode(claims, signer, alg or own_alg, headers=headers)


def public_jwk(name, key, alg):
    algorithm = jwt.get_algorithm_by_name(alg)
    return algorithm.to_jwk(key.public_key(), as_dict=True) | {
        "kid": name,
        "alg": alg,
        "use": "sig",
    }


@pytest.fixture(scope="module")
def issuer_server():
    issuer = LocalIssuer()
    issuer.add("k1")
    yield issuer
    issuer.server.shutdown()


@pytest.fixture
def issuer(issuer_server):
    issuer_server.keys = {"k1": issuer_server.keys["k1"]}
    issuer_server.asked.clear()
    issuer_server.broken = False
    return issuer_server


@pytest.fixture
def joined(house, issuer):
    """A house that trusts the issuer, with a member who is known there."""
    house.set(oidc_issuer=issuer.url, oidc_audience=AUDIENCE, failures_per_minute=10**6)
    with house.database.write() as session:
        add_member(house.context, session, "olga", "analyst", "ana@example.org")
    return house


def me(house, token):
    return house.stranger(authorization=f"Bearer {token}").get("/v1/me")


def test_a_token_of_the_issuer_is_its_subjects_member(joined, issuer):
    assert said(me(joined, issuer.token()))["name"] == "olga"
    assert said(me(joined, joined.sample.analyst_token))["name"] == "ana", "ours go on"
    assert said(me(joined, issuer.token(aud=["other", AUDIENCE])))["name"] == "olga"


def test_who_is_disabled_here_is_shut_out_whatever_the_issuer_says(joined, issuer):
    assert said(joined.curator.put("/v1/members/olga", json={"disabled": True}))["disabled"]
    refused(me(joined, issuer.token()), "unauthorized")
    said(joined.curator.put("/v1/members/olga", json={"disabled": False}))
    assert said(me(joined, issuer.token()))["name"] == "olga"


@pytest.mark.parametrize("alg", KINDS)
def test_keys_of_several_kinds_sign(joined, issuer, alg):
    issuer.add("other", alg)
    assert said(me(joined, issuer.token("other")))["name"] == "olga"


def test_a_short_session_of_the_issuer_makes_no_token_that_outlives_it(joined, issuer):
    with joined.database.write() as session:
        add_member(joined.context, session, "otto", "operator", "otto@example.org")
        add_member(joined.context, session, "eve", "operator")
    soon = datetime.now(UTC) + timedelta(seconds=90)
    for member, sub in (("olga", "ana@example.org"), ("otto", "otto@example.org")):
        client = joined.stranger(authorization=f"Bearer {issuer.token(sub=sub, exp=soon)}")
        for days in (None, 1, 90, 3650):
            answer = client.post(f"/v1/members/{member}/tokens", json={"days": days})
            assert answer.status_code in (403, 422), answer.text
        assert said(client.get(f"/v1/members/{member}/tokens")) == []
    refused(client.post("/v1/members/eve/tokens", json={}), "forbidden")


def test_tokens_from_the_issuers_sessions_last_as_long_as_the_rule_says(joined, issuer):
    joined.set(tokens_from_oidc=2)
    text = issuer.token()
    client = joined.stranger(authorization=f"Bearer {text}")
    made = said(client.post("/v1/members/olga/tokens", json={"days": 30}), 201)
    assert made["expires"] == joined.context.now(days=2)
    assert made["parent"].startswith("oidc-")
    assert made["minter"] == "olga"
    again = joined.stranger(authorization=f"Bearer {made['token']}")
    later = said(again.post("/v1/members/olga/tokens", json={}), 201)
    assert later["expires"] == made["expires"]


def test_what_was_made_for_others_with_the_issuers_session_ends_with_its_maker(joined, issuer):
    joined.set(tokens_from_oidc=30)
    with joined.database.write() as session:
        add_member(joined.context, session, "otto", "operator", "otto@example.org")
        add_member(joined.context, session, "eve", "operator")
    otto = joined.stranger(authorization=f"Bearer {issuer.token(sub='otto@example.org')}")
    eves = said(otto.post("/v1/members/eve/tokens", json={}), 201)["token"]
    eve = joined.stranger(authorization=f"Bearer {eves}")
    further = said(eve.post("/v1/members/eve/tokens", json={}), 201)["token"]
    assert said(joined.curator.put("/v1/members/otto", json={"disabled": True}))["disabled"]
    for token in (eves, further):
        refused(me(joined, token), "unauthorized")


def test_no_operator_acts_in_the_name_of_whom_the_issuer_lets_in(joined, issuer):
    """A raise that one of them proposes and approves would look like two people's."""
    answer = joined.curator.post("/v1/members/olga/tokens", json={})
    assert "signs in by the issuer" in refused(answer, "conflict")
    assert said(joined.curator.get("/v1/members/olga/tokens")) == []


def test_a_token_whose_groups_no_longer_give_the_role_is_none(joined, issuer):
    """Who has lost their groups does not come back to the pages, where they would be disabled."""
    joined.set(oidc_roles={"research": "analyst", "stewards": "curator"})
    for groups, status in (
        (["research"], 200), ("research", 200), (["x", "research"], 200), (None, 200),
        ([], 401), (["x"], 401), (["stewards"], 401), (["research", "stewards"], 401), ({}, 401),
    ):  # fmt: skip
        assert me(joined, issuer.token(groups=groups)).status_code == status, groups


def test_a_login_goes_on_nowhere_else_whatever_its_cookie_says(joined, monkeypatch):
    """The cookie is not signed: a page of a neighboring host could have set it."""
    joined.set(oidc_client="frith", public_url="http://frith.test")
    monkeypatch.setattr(login, "finish", lambda *_: login.Identity("ana@example.org", "o", (), ""))
    for place, goes_to in (
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("/jobs", "/jobs"),
    ):
        cookie = login.Begun("s", "n", "v", place, silent=False).to_cookie()
        visitor = joined.stranger(cookie=f"{login.COOKIE}={cookie}")
        page = visitor.get(f"{login.CALLBACK}?state=s&code=c")
        assert "You are signed in" in page.text
        assert f'content="0;url={goes_to}"' in page.text


def test_only_the_issuers_answer_ends_a_session_here(joined):
    joined.set(oidc_client="frith", public_url="http://frith.test")
    cookie = login.Begun("s", "n", "v", "/jobs", silent=True).to_cookie()
    for state, status in (("s", 303), ("other", 401), ("", 401)):
        visitor = joined.stranger(cookie=f"{login.COOKIE}={cookie}")
        answer = visitor.get(
            f"{login.CALLBACK}?state={state}&error=login_required", follow_redirects=False
        )
        assert answer.status_code == status


def test_a_session_that_ends_with_the_issuers_is_an_event_and_waits_for_the_log(joined):
    joined.set(oidc_client="frith", public_url="http://frith.test")
    cookie = login.Begun("s", "n", "v", "/jobs", silent=True).to_cookie()
    browser = Browser(joined, joined.sample.analyst_token)
    browser.client.cookies.set(login.COOKIE, cookie, path=login.START)
    before, ended = len(events(joined)), f"{login.CALLBACK}?state=s&error=login_required"
    joined.context.memory[SINKS] = SimpleNamespace(is_late=lambda: True)
    browser.get(ended, 503)
    browser.get("/account")
    del joined.context.memory[SINKS]
    for _ in range(2):  # the second time, there is nothing to end
        browser.client.cookies.set(login.COOKIE, cookie, path=login.START)
        browser.get(ended, 303)
    browser.get("/account", 303)
    done = [line for line in events(joined)[before:] if line.outcome == "done"]
    assert [(e.entry.actor, e.what, e.target) for e in done] == [("(issuer)", "sign out", "ana")]


def test_an_address_whose_logins_fail_asks_the_issuer_no_more(joined, monkeypatch):
    """The cookie is not signed, so anybody can make the server wait for the issuer."""
    joined.set(oidc_client="frith", public_url="http://frith.test", failures_per_minute=5)
    stopped = SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr("frith.server.auth.middleware.time", stopped)
    asked, answers = [], iter([login.Identity("ana@example.org", "o", (), "")] * 9)

    def finish(*_):
        asked.append(1)
        who = next(answers, None)
        if who is None:
            raise login._failed()
        return who

    monkeypatch.setattr(login, "finish", finish)
    cookie = login.Begun("s", "n", "v", "/", silent=False).to_cookie()
    visitor = joined.stranger(cookie=f"{login.COOKIE}={cookie}")
    found = [visitor.get(f"{login.CALLBACK}?state=s&code=c").status_code for _ in range(24)]
    assert found == [200] * 9 + [401] * 5 + [429] * 10, "right ones do not count"
    assert len(asked) == 14
    said(me(joined, joined.sample.analyst_token))
    assert joined.stranger().post("/sign-in", data={"token": "frith_x_y"}).status_code == 401


@pytest.mark.parametrize(
    ("named", "ended", "ends"),
    [("s1", ("s1", ""), True), ("s1", ("s2", "ana@example.org"), False),
     ("s1", ("", "ana@example.org"), True), ("", ("s2", "ana@example.org"), True),
     ("", ("s2", "eve@example.org"), False)],
)  # fmt: skip
def test_the_issuer_ends_a_session_that_it_gave_no_name(joined, named, ended, ends):
    who = login.Identity("ana@example.org", "olga", (), named)
    with joined.database.write() as session:
        login.open_session(joined.context, session, find_subject(session, who.subject), who)
        assert login.end_sessions(joined.context, session, *ended) == (["olga"] if ends else [])


def wrong_tokens(issuer):
    public = issuer.keys["k1"][0].public_key()
    pem = public.public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    past = datetime.now(UTC) - timedelta(minutes=5)
    stranger = KINDS["RS256"]()
    good = issuer.token()
    head, claims, signature = good.split(".")
    deep = base64.urlsafe_b64encode(b"[" * 20_000).decode().rstrip("=")
    huge = base64.urlsafe_b64encode(b'{"kid": 1' + b"0" * 5_000 + b"}").decode().rstrip("=")
    return {
        "another audience": issuer.token(aud="other"),
        "no audience": issuer.token(aud=None),
        "another issuer": issuer.token(iss="https://evil.example"),
        "no issuer": issuer.token(iss=None),
        "expired": issuer.token(exp=past),
        "no expiry": issuer.token(exp=None),
        "an endless expiry": issuer.token(exp=1e400),
        "not yet": issuer.token(nbf=datetime.now(UTC) + timedelta(minutes=5)),
        "unsigned": issuer.token(key="", alg="none"),
        "signed with the public key as a secret": hs256(issuer, pem),
        "an unknown key": issuer.token("k9", key=stranger, alg="RS256"),
        "another's signature": issuer.token(key=stranger, alg="RS256"),
        "no key named": issuer.token(key=stranger, alg="RS256", header={"kid": None}),
        "another kind of key": issuer.token(key=KINDS["ES256"](), alg="ES256"),
        "an unknown subject": issuer.token(sub="eve@example.org"),
        "no subject": issuer.token(sub=None),
        "a name of a member as subject": issuer.token(sub="carla"),
        "a subject that is a number": issuer.token(sub=1),
        "a key of its own in the header": issuer.token(
            key=stranger, alg="RS256", header={"jwk": public_jwk("k1", stranger, "RS256")}
        ),
        "no signature": f"{head}.{claims}.",
        "cut off": good[:-2],
        "another's claims": f"{head}.{claims[:-4]}AAAA.{signature}",
        "a nested header": f"{deep}.{claims}.{signature}",
        "a huge number": f"{huge}.{claims}.{signature}",
        "garbage": "a.b.c",
        "nothing": "..",
    }


def hs256(issuer, pem):
    """PyJWT refuses to make one, so it is made by hand."""
    import hashlib
    import hmac

    def part(data):
        return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=")

    claims = {"iss": issuer.url, "aud": AUDIENCE, "sub": "ana@example.org", "exp": time.time() + 99}
    text = part({"alg": "HS256", "kid": "k1", "typ": "JWT"}) + b"." + part(claims)
    signature = hmac.new(pem, text, hashlib.sha256).digest()
    return (text + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def test_every_other_token_gets_the_same_answer(joined, issuer):
    answers = {}
    for name, token in wrong_tokens(issuer).items():
        answer = me(joined, token)
        answers[name] = (answer.status_code, answer.content)
    nothing = joined.stranger().get("/v1/me")
    expected = (401, nothing.content)
    assert {name: a for name, a in answers.items() if a != expected} == {}


def test_guesses_with_the_issuers_tokens_count_as_guesses(joined, issuer):
    joined.set(failures_per_minute=3)
    codes = [me(joined, issuer.token(sub=f"eve{n}")).status_code for n in range(5)]
    assert codes == [401] * 3 + [429] * 2


def test_guesses_do_not_shut_out_the_issuers_right_tokens(joined, issuer):
    joined.set(failures_per_minute=3)
    for number in range(6):
        me(joined, issuer.token(sub=f"eve{number}"))
    assert said(me(joined, issuer.token()))["name"] == "olga"


@pytest.mark.filterwarnings("ignore:The RSA key is 1024")
@pytest.mark.parametrize(
    ("bits", "change", "ok"),
    [
        (2048, {}, True),
        (2048, {"use": None}, True),
        (2048, {"use": "enc"}, False),
        (1024, {}, False),
        (1024, {"use": None}, False),
    ],
)
def test_short_keys_and_keys_for_encryption_sign_nothing(issuer, bits, change, ok):
    issuer.keys["weak"] = (rsa.generate_private_key(65537, bits), "RS256")
    whole = issuer.document("/realm/keys")
    found = json.loads(whole)
    found["keys"][-1] = {
        name: value for name, value in (found["keys"][-1] | change).items() if value is not None
    }
    document, issuer.document = (
        issuer.document,
        lambda path: json.dumps(found).encode() if path == "/realm/keys" else document(path),
    )
    try:
        checker = new_issuer(issuer, [0.0])
        assert is_refused(checker, issuer.token("weak")) != ok
        assert checker.subject(issuer.token()) == "ana@example.org", "its other keys are in use"
    finally:
        issuer.document = document


def new_issuer(issuer, clock):
    settings = Settings(oidc_issuer=issuer.url, oidc_audience=AUDIENCE)
    return Issuer(settings, lambda: clock[0])


def is_refused(checker, token):
    try:
        checker.subject(token)
    except Problem as problem:
        return problem.code == "unauthorized"
    return False


def test_keys_rotate(issuer):
    clock = [0.0]
    checker = new_issuer(issuer, clock)
    old = issuer.token()
    assert checker.subject(old) == "ana@example.org"
    issuer.keys.clear()
    issuer.add("k2", "ES256")
    new = issuer.token("k2")
    assert is_refused(checker, new), "it was asked a moment ago"
    clock[0] = 61
    assert checker.subject(new) == "ana@example.org"
    assert is_refused(checker, old), "its key is gone"
    issuer.add("k1")


def test_a_withdrawn_key_is_trusted_for_ten_minutes_at_most(issuer):
    clock = [0.0]
    checker = new_issuer(issuer, clock)
    token = issuer.token()
    assert checker.subject(token) == "ana@example.org"
    withdrawn = issuer.keys.pop("k1")
    clock[0] = 599
    assert checker.subject(token) == "ana@example.org"
    clock[0] = 600
    assert is_refused(checker, token)
    issuer.keys["k1"] = withdrawn


def test_old_keys_are_not_trusted_while_the_issuer_cannot_be_asked(issuer):
    clock = [0.0]
    checker = new_issuer(issuer, clock)
    token = issuer.token()
    assert checker.subject(token) == "ana@example.org"
    issuer.broken, clock[0] = True, 600
    assert is_refused(checker, token)
    asked = len(issuer.asked)
    issuer.broken = False
    assert is_refused(checker, token), "it was asked a moment ago"
    assert len(issuer.asked) == asked
    clock[0] = 660
    assert checker.subject(token) == "ana@example.org"


def test_a_slow_issuer_holds_up_nobody_whose_key_is_young(issuer):
    clock = [0.0]
    checker = new_issuer(issuer, clock)
    token, unknown = issuer.token(), issuer.token("k9", key=KINDS["RS256"](), alg="RS256")
    assert checker.subject(token) == "ana@example.org"
    asked, clock[0] = len(issuer.asked), 61
    issuer.answers.clear()
    with ThreadPoolExecutor(4) as pool:
        looking = pool.submit(is_refused, checker, unknown)
        while len(issuer.asked) == asked:
            time.sleep(0.01)
        others = [pool.submit(checker.subject, token), pool.submit(is_refused, checker, unknown)]
        try:
            assert [other.result(timeout=60) for other in others] == ["ana@example.org", True]
            assert not looking.done()
        finally:
            issuer.answers.set()
        assert looking.result()


def test_old_keys_are_fetched_once_for_all_who_wait(issuer):
    clock = [0.0]
    checker = new_issuer(issuer, clock)
    token = issuer.token()
    with ThreadPoolExecutor(8) as pool:
        for clock[0] in (0.0, 600.0):
            assert set(pool.map(checker.subject, [token] * 8)) == {"ana@example.org"}
    assert issuer.asked == ["/realm/.well-known/openid-configuration", "/realm/keys"] * 2


def test_unknown_keys_make_no_storm_of_questions(issuer):
    clock = [0.0]
    checker = new_issuer(issuer, clock)
    stranger = KINDS["RS256"]()
    for number in range(50):
        assert is_refused(checker, issuer.token(f"x{number}", key=stranger, alg="RS256"))
    assert issuer.asked == ["/realm/.well-known/openid-configuration", "/realm/keys"]
    clock[0] = 61
    assert is_refused(checker, issuer.token("x", key=stranger, alg="RS256"))
    assert checker.subject(issuer.token()) == "ana@example.org"
    assert len(issuer.asked) == 4


def test_an_issuer_that_breaks_keeps_the_keys_that_are_known(issuer):
    clock = [0.0]
    checker = new_issuer(issuer, clock)
    assert checker.subject(issuer.token()) == "ana@example.org"
    issuer.broken, clock[0] = True, 61
    assert is_refused(checker, issuer.token("k9", key=KINDS["RS256"](), alg="RS256"))
    assert checker.subject(issuer.token()) == "ana@example.org"


class Discovery:
    """An issuer's discovery document in this process, and how often it was fetched."""

    def __init__(self, monkeypatch):
        self.found, self.asked, self.time = None, 0, 0.0
        monkeypatch.setattr("frith.server.auth.oidc._get", self._get)
        self.issuer = Issuer(Settings(oidc_issuer="https://issuer.example"), lambda: self.time)

    def _get(self, url):
        self.asked += 1
        if self.found is None:
            raise OSError
        return {"issuer": "https://issuer.example"} | self.found

    def look(self, name="token_endpoint"):
        try:
            return self.issuer.endpoint(name)
        except Problem as problem:
            return problem.code


def test_an_issuer_that_does_not_answer_is_asked_once_a_minute(monkeypatch):
    discovery = Discovery(monkeypatch)
    assert {discovery.look() for _ in range(9)} == {"unavailable"}
    assert discovery.asked == 1
    discovery.found, discovery.time = {"token_endpoint": "https://issuer.example/token"}, 59.0
    assert discovery.look() == "unavailable"
    discovery.time = 60.0
    assert {discovery.look() for _ in range(9)} == {"https://issuer.example/token"}
    assert {discovery.look("userinfo_endpoint") for _ in range(9)} == {"not_offered"}
    assert discovery.asked == 2, "also for what it does not offer"
    discovery.time += 600
    assert discovery.look() == "https://issuer.example/token"
    assert discovery.asked == 3


def test_one_thread_asks_where_an_issuers_services_are(monkeypatch):
    discovery = Discovery(monkeypatch)
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: discovery.look(), range(32)))
    assert (found, discovery.asked) == ({"unavailable"}, 1)


def test_keys_are_fetched_over_http_alone(issuer, tmp_path):
    path = tmp_path / "keys.json"
    path.write_bytes(issuer.document("/realm/keys"))
    settings = Settings(oidc_issuer=issuer.url, oidc_audience=AUDIENCE, oidc_jwks=path.as_uri())
    assert is_refused(Issuer(settings), issuer.token())


def test_without_an_issuer_its_tokens_are_nothing(house, issuer):
    assert me(house, issuer.token()).status_code == 401
    assert issuer.asked == []
