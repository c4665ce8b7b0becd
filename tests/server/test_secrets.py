"""Secrets: in no log, error, repr, file of the database or file of this repository."""

import dataclasses
import io
import json
import logging
import re
import subprocess
from pathlib import Path

import pytest
import structlog

from frith.client.responses import IssuedToken
from frith.engines.urls import postgres_table
from frith.errors import FrithError
from frith.ledger.database import Database, StoreError
from frith.server.auth import members, sessions
from frith.server.auth.oidc import Issuer
from frith.server.auth.sessions import COOKIE
from frith.server.budget import tables
from frith.server.context import Context
from frith.server.run.logs import set_up_logs
from frith.server.settings import Settings
from tests.server.conftest import said

ROOT = Path(__file__).parents[2]
PASSWORD = "hunter2hunter2"
URL = f"postgresql://frith:{PASSWORD}@127.0.0.1:1/state"


def is_inside(secret, text):
    """Whether a text gives a secret away, whole or the best part of it."""
    return secret in text or secret[:16] in text


@pytest.fixture
def spoken(house):
    """Everything that is logged, as text."""
    config = structlog.get_config()
    out = io.StringIO()
    set_up_logs(out)
    logging.getLogger().setLevel(logging.DEBUG)
    yield out
    structlog.configure(**config)
    logging.basicConfig(level=logging.WARNING, force=True)


def busy_day(house):
    """Tokens right and wrong, a browser, a job, a failure; the secrets of that day."""
    issued = said(house.analyst.post("/v1/members/ana/tokens", json={"note": "x"}), 201)["token"]
    guess = "frith_0123456789ab_" + "5ec4e7" * 10 + "5ec4"
    house.stranger(authorization=f"Bearer {guess}").get("/v1/me")
    browser = house.stranger()
    browser.post("/sign-in", data={"token": issued}, follow_redirects=False)
    cookie = browser.cookies[COOKIE]
    assert browser.get("/account").status_code == 200
    with house.database.read() as session:
        csrf = sessions.check_session(house.context, session, cookie).csrf
    browser.post("/account/tokens", data={"csrf": csrf, "note": "y"})
    house.train()
    (house.folder / "records.parquet").unlink()
    house.train(epsilon="0.2")
    parts = [t.rsplit("_", 1)[1] for t in (issued, guess, house.analyst.token, house.curator.token)]
    return [*parts, cookie]


def test_no_log_line_holds_a_secret(house, spoken, capfd):
    secrets = busy_day(house)
    text = spoken.getvalue() + "".join(capfd.readouterr())
    assert "source quarantined" in text
    for secret in secrets:
        assert not is_inside(secret, text)


def test_the_database_file_holds_no_secret(house):
    secrets = busy_day(house)
    house.database.close()
    kept = b"".join(
        p.read_bytes() for p in house.folder.iterdir() if p.name.startswith("server.db")
    )
    for secret in secrets:
        assert not is_inside(secret.encode(), kept)
    assert members.hashed(secrets[0]).encode() in kept, "its hash is there, so the search works"


def test_a_password_of_a_source_reaches_neither_the_file_nor_an_answer(house, monkeypatch):
    monkeypatch.setenv("DB_PASSWORD", PASSWORD)
    url = "postgresql://frith@127.0.0.1:1/records"
    database = {"kind": "postgresql", "url": url, "password_env": "DB_PASSWORD", "queries": True}
    house.set(connections=Settings(connections={"records": database}).connections)
    domain = json.dumps(house.curator.get(f"/v1/tables/{house.table}").json()["domain"])
    body = {"name": "x", "domain": domain, "policy": {"epsilon": "1"}, "connection": "records"}
    for pick in (
        {"table": "t"},
        {"table": "${DB_PASSWORD}"},
        {"table": "t&password=x"},
        {"query": "SELECT '${DB_PASSWORD}'"},
    ):
        answer = house.curator.post("/v1/tables", json=body | pick)
        assert answer.status_code == 422
        assert PASSWORD not in answer.text
    house.database.close()
    for file in house.folder.iterdir():
        assert PASSWORD.encode() not in file.read_bytes()


def test_errors_of_a_database_show_no_password():
    database = Database(URL)
    with pytest.raises(StoreError) as caught:
        database.check()
    assert PASSWORD not in str(caught.value)
    assert "frith:***@127.0.0.1" in str(caught.value)
    assert caught.value.__suppress_context__, "nor does its traceback"
    for place in (URL.replace("postgresql", "mysql"), "postgresql://a:" + PASSWORD + "@h:port/x"):
        with pytest.raises(FrithError) as wrong:
            Database(place)
        assert PASSWORD not in str(wrong.value)


def test_nothing_shows_a_secret_when_it_is_printed(house):
    settings = Settings(database=URL)
    database = Database(URL)
    context = Context(database, settings)
    with house.database.write() as session:
        issued = members.issue_token(house.context, session, "ana")
        cookie = sessions.sign_in(house.context, session, issued.text)
        signed_in = sessions.check_session(house.context, session, cookie)
        said_ = {
            n: getattr(issued.token, n) for n in ("id", "member", "note", "created", "expires")
        }
        document = IssuedToken(**said_, revoked=None, token=issued.text)
    things = [settings, database, context, issued, issued.token, document, house.sample, signed_in,
              Issuer(settings), database.url, house.context, postgres_table(URL + "?table=t")]  # fmt: skip
    secret = issued.text.rsplit("_", 1)[1]
    for thing in things:
        for text in (repr(thing), f"{thing!r:>1}", str(thing) if thing is not database.url else ""):
            for hidden in (PASSWORD, secret, cookie, house.analyst.token, house.curator.token):
                assert hidden not in text, type(thing)
    assert secret in json.dumps(dataclasses.asdict(issued)["text"])


def test_masked_sources_are_what_curators_see(house):
    with house.database.write() as session:  # as an earlier version may have stored it
        tables.get_table(session, house.table).source = f"{URL}?table=t&password={PASSWORD}"
    for path in (f"/v1/tables/{house.table}", "/v1/tables"):
        text = house.curator.get(path).text
        assert "***" in text
        assert PASSWORD not in text
        assert "postgresql" not in house.analyst.get(path).text


SECRETS = {
    "a token": rb"frith_[0-9a-f]{12}_[0-9a-f]{64}",
    "a private key": rb"-----BEGIN (?:[A-Z]+ )?PRIVATE KEY-----\s+[A-Za-z0-9+/=]{20}",
    "a key of AWS": rb"\bAKIA[0-9A-Z]{16}\b",
    "a token of GitHub": rb"\bgh[pousr]_[A-Za-z0-9]{36}\b",
    "a token of PyPI": rb"\bpypi-[A-Za-z0-9_-]{50,}",
    "a token of Slack": rb"\bxox[abprs]-[A-Za-z0-9-]{10,}",
    "a JSON web token": rb"\beyJ[A-Za-z0-9_-]{20,}\.eyJ[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{20,}",
}


def found_in(data):
    return [name for name, pattern in SECRETS.items() if re.search(pattern, data)]


def test_the_repository_holds_no_secret():
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    files = [ROOT / name for name in listed.stdout.decode().split("\0") if name]
    assert len(files) > 100
    found = {str(f): found_in(f.read_bytes()) for f in files if f.is_file()}
    assert {name: what for name, what in found.items() if what} == {}


def test_the_search_for_secrets_finds_them():
    assert found_in(b"frith_" + b"0a" * 6 + b"_" + b"0a" * 32) == ["a token"]
    assert found_in(b"-----BEGIN " + b"PRIVATE KEY-----\n" + b"A" * 64) == ["a private key"]
    assert found_in(b"x AKIA" + b"A" * 16 + b" ") == ["a key of AWS"]
    assert found_in(b"nothing here") == []
