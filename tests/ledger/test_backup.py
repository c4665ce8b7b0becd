"""Backups are consistent, and putting one back never sells a budget twice unnoticed."""

import shutil
import sqlite3
import subprocess
import sys

import pytest

from frith import Budget, Ledger
from frith.errors import FormatError, SourceError
from frith.ledger import Book
from frith.ledger.backup import back_up, put_back
from frith.ledger.database import Database
from frith.privacy.neighbors import RECORD

QUARTER = Budget.of("1/4")


@pytest.fixture
def place(tmp_path):
    """A ledger with one charge, which nobody has open."""
    place = tmp_path / "server.db"
    database = Database(place)
    database.upgrade()
    with database.write() as session:
        book = Book(session.connection())
        book.open("table", Budget.of(1), RECORD)
        book.charge("table", QUARTER.total, "first", RECORD)
    database.close()
    return place


@pytest.fixture
def copy(place, tmp_path):
    copy = tmp_path / "copy.db"
    database = Database(place)
    back_up(database, copy)
    database.close()
    return copy


def charge(place, purpose):
    database = Database(place)
    with database.write() as session:
        Book(session.connection()).charge("table", QUARTER.total, purpose, RECORD)
    database.close()


def purposes(place):
    """What was charged, in a chain that holds."""
    database = Database(place)
    with database.read() as session:
        book = Book(session.connection())
        assert book.verify().holds
        found = [entry.purpose for entry in book.entries() if entry.kind == "charge"]
    database.close()
    return found


def test_a_backup_holds_everything(place, copy):
    assert Ledger(copy).all_entries() == Ledger(place).all_entries()
    assert Ledger(copy).verify().holds


def test_a_backup_is_taken_while_someone_writes(place, tmp_path):
    database = Database(place)
    with database.write():
        back_up(Database(place), tmp_path / "copy.db")
    assert purposes(tmp_path / "copy.db") == ["first"]


def test_a_backup_overwrites_nothing(place, tmp_path):
    (tmp_path / "copy.db").write_text("precious")
    with pytest.raises(SourceError, match="exists"):
        back_up(Database(place), tmp_path / "copy.db")


def test_a_database_that_is_not_there_is_not_made_by_looking_for_it(tmp_path):
    missing = tmp_path / "typo.db"
    with pytest.raises(SourceError, match="no database at"):
        back_up(Database(missing), tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_files_are_for_their_owner_alone(place, copy, tmp_path):
    elsewhere = tmp_path / "elsewhere.db"
    put_back(copy, Database(elsewhere))
    database = Database(place)
    with database.write():
        names = sorted(file.name for file in tmp_path.iterdir())
        assert "server.db-wal" in names
        assert "server.db-shm" in names
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    database.close()


def test_a_file_that_was_there_keeps_its_mode(place):
    place.chmod(0o640)
    charge(place, "second")
    assert place.stat().st_mode & 0o777 == 0o640


# -- putting back ----------------------------------------------------------------------------------


@pytest.mark.parametrize("there", [None, b""])
def test_a_lost_database_is_put_back(copy, tmp_path, there):
    target = tmp_path / "elsewhere.db"
    if there is not None:
        target.write_bytes(there)
    put_back(copy, Database(target))
    assert purposes(target) == ["first"]


def test_a_copy_with_all_that_the_database_has_is_put_back(place, copy):
    charge(copy, "more")
    put_back(copy, Database(place))
    assert purposes(place) == purposes(copy) == ["first", "more"]


def test_a_copy_that_lacks_a_charge_is_not_put_back(place, copy):
    charge(place, "since then")
    with pytest.raises(SourceError, match="1 entries of the ledger"):
        put_back(copy, Database(place))
    assert purposes(place) == ["first", "since then"]
    put_back(copy, Database(place), forget=True)
    assert purposes(place) == ["first"]


@pytest.mark.parametrize("further", [[], ["and on"]])
def test_a_copy_that_went_another_way_is_not_put_back(place, copy, further):
    """It has as many entries as the database, or more, and lacks a charge all the same."""
    charge(place, "here")
    for purpose in ["there", *further]:
        charge(copy, purpose)
    with pytest.raises(SourceError, match="another history"):
        put_back(copy, Database(place))
    assert purposes(place) == ["first", "here"]
    put_back(copy, Database(place), forget=True)
    assert purposes(place) == ["first", "there", *further]


def test_a_database_that_a_process_has_open_is_not_replaced(place, copy):
    """An idle connection is enough: what is charged through it later would be lost."""
    code = (
        "import sys; from frith.ledger.database import Database\n"
        "database = Database(sys.argv[1]); database.check()\n"
        "print('open', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, place], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"open\n"
        for forget in (False, True):
            with pytest.raises(SourceError, match="stop the server"):
                put_back(copy, Database(place), forget=forget)
        other.stdin.close()
    put_back(copy, Database(place))


def test_what_a_killed_server_had_written_is_compared_too(place, copy, tmp_path):
    """The charge is in the log beside the file, and in no connection any more."""
    database, crashed = Database(place), tmp_path / "crashed"
    crashed.mkdir()
    with database.write() as session:
        Book(session.connection()).charge("table", QUARTER.total, "since then", RECORD)
    for name in ("server.db", "server.db-wal"):
        shutil.copyfile(tmp_path / name, crashed / name)
    database.close()
    with pytest.raises(SourceError, match="1 entries of the ledger"):
        put_back(copy, Database(crashed / "server.db"))
    assert purposes(crashed / "server.db") == ["first", "since then"]


@pytest.mark.parametrize("forget", [False, True])
def test_what_is_no_ledger_is_not_written_over(copy, tmp_path, forget):
    other, text = tmp_path / "other.db", tmp_path / "notes.txt"
    sqlite3.connect(other).execute("CREATE TABLE precious (x)")
    text.write_text("precious" * 1_000)
    for file in (other, text):
        before = file.read_bytes()
        with pytest.raises(SourceError, match="move it away"):
            put_back(copy, Database(file), forget=forget)
        assert file.read_bytes() == before


def test_what_is_no_copy_is_not_put_back(place, tmp_path):
    with pytest.raises(SourceError, match="no backup"):
        put_back(tmp_path / "typo.db", Database(place))
    with pytest.raises(SourceError, match="itself"):
        put_back(place, Database(place))
    text = tmp_path / "notes.txt"
    text.write_text("nothing" * 1_000)
    with pytest.raises(FormatError):
        put_back(text, Database(place))
    assert purposes(place) == ["first"]
