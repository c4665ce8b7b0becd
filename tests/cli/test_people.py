"""`frith member`, `frith token`, `frith backup` and `frith restore`, on the machine with the database."""

import json

import pytest

from frith import Ledger


def test_the_first_member_makes_the_database(run, tmp_path):
    place = tmp_path / "server.db"
    run("member", "add", "carla", "--role", "curator", "--database", place)
    token = run("token", "create", "carla", "--database", place).stdout.strip()
    assert token.startswith("frith_")
    rows = json.loads(run("member", "list", "--database", place, "--json").stdout)
    assert [(row["name"], row["role"]) for row in rows] == [("carla", "curator")]
    (row,) = json.loads(run("token", "list", "--database", place, "--json").stdout)
    run("token", "revoke", row["id"], "--database", place)
    assert json.loads(run("token", "list", "--database", place, "--json").stdout)[0]["revoked"]


def test_somebody_is_disabled_and_enabled(run, tmp_path):
    place = tmp_path / "server.db"
    run("member", "add", "ana", "--database", place)
    run("token", "create", "ana", "--database", place)
    run("member", "disable", "ana", "--database", place)
    assert "enable them first" in run("token", "create", "ana", "--database", place, code=2).stderr
    [ana] = json.loads(run("member", "list", "--database", place, "--json").stdout)
    [token] = json.loads(run("token", "list", "--database", place, "--json").stdout)
    assert ana["disabled"]
    assert token["revoked"]
    run("member", "enable", "ana", "--database", place)
    assert run("token", "create", "ana", "--database", place).stdout.startswith("frith_")


@pytest.mark.parametrize(
    "command",
    [
        ["member", "list"], ["token", "list"], ["token", "create", "carla"], ["token", "revoke", "t"],
        ["worker"], ["backup", "copy.db"],
    ],
)  # fmt: skip
def test_a_typo_makes_no_database(run, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    said = run(*command, "--database", "typo.db", code=2).stderr
    assert "there is no database at typo.db" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["show", "verify", "export"])
def test_a_typo_makes_no_ledger(run, tmp_path, command):
    assert "no ledger at" in run("ledger", command, tmp_path / "typo.db", code=2).stderr
    assert list(tmp_path.iterdir()) == []


def test_a_backup_is_put_back(run, tmp_path):
    place, copy = tmp_path / "server.db", tmp_path / "copy.db"
    run("member", "add", "carla", "--role", "curator", "--database", place)
    run("backup", copy, "--database", place)
    place.unlink()
    run("restore", copy, "--database", place)
    assert "carla" in run("member", "list", "--database", place).stdout


def test_a_database_in_use_is_not_put_back(run, tmp_path):
    ledger = Ledger.create(tmp_path / "server.db", epsilon=1)  # keeps its connections
    run("backup", tmp_path / "copy.db", "--database", ledger.path)
    said = run("restore", tmp_path / "copy.db", "--database", ledger.path, code=2).stderr
    assert "stop the server" in said
