"""Tokens end: with what made them, with their member, and no later than the rule says."""

import threading
import time
from pathlib import Path

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import func, insert, select, text
from starlette.testclient import TestClient

from frith.ledger import database as store
from frith.ledger.database import Database
from frith.server.auth import members
from frith.server.auth.members import Credential
from frith.server.context import Context
from frith.server.problems import Problem
from frith.server.schema import Token
from frith.server.settings import Settings
from tests.server.conftest import HOST, Person, refused, said
from tests.server.test_pages import Browser


def mint(person, member=None, **body):
    """A token that this person makes."""
    path = f"/v1/members/{member or person.name}/tokens"
    return said(person.post(path, json=body), 201)


def holder(house, issued):
    return Person(house.app, issued["member"], issued["token"])


def is_in(person):
    return person.get("/v1/me").status_code == 200


def test_a_revoked_token_takes_its_descendants_and_their_browsers_along(house):
    thief = house.add("mallory")
    stolen = thief.token.split("_")[1]
    child = holder(house, mint(thief))
    grandchild = holder(house, mint(child))
    browser = TestClient(house.app, HOST, follow_redirects=False)
    browser.post("/sign-in", data={"token": grandchild.token})
    assert browser.get("/").status_code == 200
    assert all(map(is_in, (thief, child, grandchild)))
    said(house.curator.delete(f"/v1/tokens/{stolen}"), 204)
    assert not any(map(is_in, (thief, child, grandchild)))
    assert browser.get("/").status_code == 303
    assert is_in(house.analyst), "others go on"


def test_a_token_made_on_a_page_descends_from_the_token_that_signed_in(house):
    browser = Browser(house, house.analyst.token)
    browser.post("/account/tokens", 200, note="page")
    with house.database.read() as session:
        made = next(t for t in members.list_tokens(session, "ana") if t.note == "page")
    assert made.parent == house.analyst.token.split("_")[1]
    assert made.minter == "ana"


def test_who_made_a_token_is_listed(house):
    issued = mint(house.analyst, note="script")
    assert issued["parent"] == house.analyst.token.split("_")[1]
    assert issued["minter"] == "ana"
    first, second = said(house.curator.get("/v1/members/ana/tokens"))
    assert (first["parent"], first["minter"]) == (None, None)
    assert second["parent"] == first["id"]


def test_nothing_that_a_curator_made_for_others_outlives_the_curators_token(house):
    """Else a stolen token of a curator invites a friend, and the friend stays."""
    boss = house.add("boss", "operator")
    said(boss.post("/v1/members", json={"name": "eve", "role": "operator"}), 201)
    eve = holder(house, mint(boss, "eve"))
    said(eve.post("/v1/members", json={"name": "eva", "role": "analyst"}), 201)
    eva = holder(house, mint(eve, "eva"))
    assert all(map(is_in, (eve, eva)))
    said(house.curator.put("/v1/members/boss", json={"disabled": True}))
    assert not any(map(is_in, (boss, eve, eva)))


def test_nobody_makes_a_token_in_the_name_of_somebody_who_has_one(house):
    assert "revoke it first" in refused(
        house.curator.post("/v1/members/ana/tokens", json={}), "conflict"
    )
    said(house.curator.delete(f"/v1/tokens/{house.analyst.token.split('_')[1]}"), 204)
    assert is_in(holder(house, mint(house.curator, "ana")))
    refused(house.add("bea").post("/v1/members/carla/tokens", json={}), "forbidden")


def test_a_token_is_valid_no_longer_than_the_rule_and_no_longer_than_its_parent(house):
    with house.database.write() as session:
        long = members.issue_token(house.context, session, "carla", days=3650)
        short = members.issue_token(house.context, session, "carla", days=1)
    boss = Person(house.app, "carla", long.text)
    assert "1 to 90 days" in refused(
        boss.post("/v1/members/carla/tokens", json={"days": 91}), "invalid"
    )
    assert mint(boss, days=90)["expires"] == house.context.now(days=90)
    brief = Person(house.app, "carla", short.text)
    assert mint(brief)["expires"] == short.token.expires
    said(brief.post("/v1/members", json={"name": "nora", "role": "analyst"}), 201)
    assert mint(brief, "nora", days=30)["expires"] == short.token.expires


def test_chains_of_tokens_end_with_the_first(house):
    last = house.analyst
    ends = []
    for _ in range(4):
        house.clock.move(hours=5)
        issued = mint(last)
        ends.append(issued["expires"])
        last = holder(house, issued)
    assert len(set(ends)) == 1
    house.clock.move(hours=5)
    assert not is_in(last)


def test_a_token_that_was_revoked_a_moment_ago_makes_nothing(house):
    """The request was let in before; the transaction looks again."""
    with house.database.write() as session:
        ana = members.get_member(session, "ana")
        token = members.issue_token(house.context, session, "ana").token.id
        members.revoke_token(house.context, session, token, ana)
        with pytest.raises(Problem, match="valid token"):
            members.issue_token(house.context, session, "ana", by=Credential(ana, token))


def test_a_disabled_member_is_out_even_if_a_token_was_missed(house):
    with house.database.write() as session:
        members.get_member(session, "ana").disabled = house.context.now()
    assert not is_in(house.analyst)


def test_revoking_waits_for_what_is_being_made_and_ends_it_too(postgres_database):
    """On PostgreSQL two transactions run side by side; the token's row holds up the second."""
    context = Context(Database(postgres_database), Settings(database=postgres_database))
    context.database.upgrade()
    with context.database.write() as session:
        boss = members.add_member(context, session, "boss", "operator")
        parent = members.issue_token(context, session, "boss").token.id

    def revoke():
        with context.database.write() as session:
            members.revoke_token(context, session, parent, boss)

    revoking = threading.Thread(target=revoke)
    with context.database.write() as session:
        child = members.issue_token(context, session, "boss", by=Credential(boss, parent)).token.id
        revoking.start()
        time.sleep(0.3)
        assert revoking.is_alive()
    revoking.join(120)
    with context.database.read() as session:
        assert session.get_one(Token, child).revoked
    context.database.close()


@pytest.mark.parametrize("tls", [False, True])
def test_browsers_are_told_to_come_back_over_tls_where_there_is_tls(house, tls):
    house.set(secure_cookies=tls)
    for path in ("/health", "/v1/me", "/sign-in", "/nowhere"):
        found = house.stranger().get(path).headers.get("strict-transport-security")
        assert found == ("max-age=31536000" if tls else None)


def upgrade_to(database, version):
    """Bring a database up to an earlier version."""
    config = Config()
    folder = Path(store.__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder))
    config.set_main_option("path_separator", "os")
    with database.write() as session:
        config.attributes["connection"] = session.connection()
        command.upgrade(config, version)


def make_many(house, number, parent):
    rows = [
        {"id": f"{i:06}", "member": "ana", "note": "", "hash": "", "created": "", "revoked": None,
         "expires": "2999", "parent": parent, "minter": "ana"}
        for i in range(number)
    ]  # fmt: skip
    with house.database.write() as session:
        session.execute(insert(Token), rows)


def test_nobody_makes_tokens_without_end(house):
    """Tokens without end would be made by one that was stolen."""
    own = house.analyst.token.split("_")[1]
    make_many(house, 998, own)
    said(house.analyst.post("/v1/members/ana/tokens", json={}), 201)
    refused(house.analyst.post("/v1/members/ana/tokens", json={}), "too_many")
    said(house.curator.delete("/v1/tokens/000000"), 204)
    refused(house.analyst.post("/v1/members/ana/tokens", json={}), "too_many")
    with house.database.write() as session:
        assert members.issue_token(house.context, session, "ana"), "the operator helps"


def test_any_number_of_tokens_ends_with_its_parent(house):
    """Some at a time: PostgreSQL takes 65,535 values in a statement."""
    own = house.analyst.token.split("_")[1]
    make_many(house, 1_300, own)
    said(house.curator.delete(f"/v1/tokens/{own}"), 204)
    with house.database.read() as session:
        left = select(func.count()).where(Token.revoked.is_(None), Token.member == "ana")
        assert session.scalar(left) == 0


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_tokens_of_an_earlier_database_are_kept(request, tmp_path, kind):
    place = (
        str(tmp_path / "old.db")
        if kind == "sqlite"
        else request.getfixturevalue("postgres_database")
    )
    context = Context(Database(place), Settings(database=place))
    upgrade_to(context.database, "0003")
    secret, until = "5e" * 32, context.now(days=3)
    old = {"hash": members.hashed(secret), "until": until, "now": context.now()}
    with context.database.write() as session:
        for line in (
            "INSERT INTO member (name, role, created) VALUES ('carla', 'curator', :now)",
            "INSERT INTO token (id, member, note, hash, created, expires) "
            "VALUES ('abc', 'carla', 'old', :hash, :now, :until)",
            "INSERT INTO browser_session (hash, token, csrf, expires) VALUES ('h', 'abc', 'c', :until)",
        ):
            session.execute(text(line), {n: v for n, v in old.items() if f":{n}" in line})
    context.database.check()
    assert context.database.version == store.HEAD
    with context.database.write() as session:
        token, carla = members.check_token(context, session, f"frith_abc_{secret}")
        assert (token.parent, token.minter, token.expires) == (None, None, until)
        by = Credential(carla, token.id)
        child = members.issue_token(context, session, "carla", by=by)
        assert child.token.expires == until
        members.revoke_token(context, session, "abc", carla)
        assert child.token.revoked
        assert session.execute(text("SELECT count(*) FROM browser_session")).scalar() == 0
    context.database.close()
