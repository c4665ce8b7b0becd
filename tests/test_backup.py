"""Backups are consistent, and putting one back never sells a budget twice unnoticed."""

import pytest

from frith import Budget, Ledger
from frith.errors import SourceError
from frith.store import Database
from frith.store.copies import back_up, put_back


@pytest.fixture
def ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "server.db", epsilon=1)
    ledger.charge(Budget.of("1/4"), "first")
    return ledger


def test_a_backup_holds_everything(ledger, tmp_path):
    back_up(Database(ledger.path), tmp_path / "copy.db")
    assert Ledger(tmp_path / "copy.db").all_entries() == ledger.all_entries()
    assert Ledger(tmp_path / "copy.db").verify().holds


def test_a_backup_is_taken_while_someone_writes(ledger, tmp_path):
    database = Database(ledger.path)
    with database.write():
        back_up(Database(ledger.path), tmp_path / "copy.db")
    assert Ledger(tmp_path / "copy.db").verify().holds


def test_a_lost_database_is_put_back(ledger, tmp_path):
    back_up(Database(ledger.path), tmp_path / "copy.db")
    entries = ledger.all_entries()
    target = tmp_path / "elsewhere.db"
    put_back(tmp_path / "copy.db", Database(target))
    assert Ledger(target).all_entries() == entries


def test_a_copy_that_lacks_a_charge_is_not_put_back(ledger, tmp_path):
    back_up(Database(ledger.path), tmp_path / "copy.db")
    ledger.charge(Budget.of("1/4"), "since then")
    with pytest.raises(SourceError, match="1 entries of the ledger"):
        put_back(tmp_path / "copy.db", Database(ledger.path))
    assert ledger.spent == Budget.of("1/2").total
    put_back(tmp_path / "copy.db", Database(ledger.path), forget=True)
    assert Database(ledger.path).version is not None


def test_a_backup_overwrites_nothing(ledger, tmp_path):
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(SourceError, match="exists"):
        back_up(Database(ledger.path), tmp_path / "copy.db")
