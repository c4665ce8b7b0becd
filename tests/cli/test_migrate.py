"""`frith migrate` brings a database up to date, and a password stands in a file."""

import threading

import pytest
from typer.testing import CliRunner

from frith.cli import app
from frith.errors import SourceError
from frith.ledger.database import HEAD, Database
from frith.server.settings import load_settings


def run(*words, **environment):
    return CliRunner().invoke(app, words, env=environment)


def test_a_database_is_made_or_brought_up_to_date(tmp_path):
    for before in (None, "0006", HEAD):
        place = tmp_path / f"{before}.db"
        if before is not None:
            Database(place).upgrade(before)
        done = run("migrate", "--database", str(place))
        assert done.exit_code == 0, done.output
        assert f"version {before or 'none'} before, {HEAD} now" in " ".join(done.output.split())
        assert Database(place).version == HEAD


def test_whoever_waits_changes_nothing_and_goes_on_when_somebody_else_has(tmp_path, monkeypatch):
    place, slept = tmp_path / "server.db", threading.Event()
    Database(place).upgrade("0006")

    def meanwhile(_):
        assert Database(place).version == "0006"
        slept.set()
        Database(place).upgrade()

    monkeypatch.setattr("frith.cli.backup.time.sleep", meanwhile)
    assert run("migrate", "--wait", "--database", str(place)).exit_code == 0
    assert slept.is_set()


def test_a_database_can_be_named_in_a_file(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("postgresql://frith:secret@db/frith\n")
    named = {"FRITH_DATABASE_FILE": str(secret), "FRITH_DATABASE": "/var/lib/frith/server.db"}
    assert load_settings(None, named).database == "postgresql://frith:secret@db/frith"
    assert load_settings(None, named, database="other.db").database == "other.db"
    with pytest.raises(SourceError, match="cannot be read"):
        load_settings(None, {"FRITH_DATABASE_FILE": str(tmp_path / "none")})
