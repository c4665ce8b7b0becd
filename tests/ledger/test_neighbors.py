"""An account is for one kind of neighbors: amounts of others are refused, and nothing is charged."""

import importlib
import shlex
import sqlite3
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest
from sqlalchemy import text
from typer.testing import CliRunner

from frith import Categorical, Domain, ForestClassifier, Ledger, Person
from frith.cli import app
from frith.errors import OtherNeighbors
from frith.ledger import Book
from frith.ledger.database import Database
from frith.ledger.entries import FOR
from frith.privacy import Budget
from frith.privacy.neighbors import RECORD, neighbors_of, person_neighbors, records_per_person
from tests.chains import rewrite_chain

TENTH = Budget.of("0.1")
PERSONS = person_neighbors(3)
MANY = [RECORD, person_neighbors(1), PERSONS, person_neighbors(30)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


@pytest.mark.parametrize("neighbors", MANY)
def test_neighbors_are_read_back_from_their_words(neighbors):
    assert neighbors_of(records_per_person(neighbors)) == neighbors


@pytest.mark.parametrize("strange", ["", "records", PERSONS + " more", f"x{PERSONS}"])
def test_neighbors_that_nobody_knows_are_refused(path, strange):
    with pytest.raises(ValueError, match="no neighbors that frith knows"):
        records_per_person(strange)
    ledger = Ledger.create(path, epsilon=1)
    with pytest.raises(ValueError, match="no neighbors that frith knows"):
        ledger.charge(TENTH, "fit", strange)
    assert ledger.spent == 0


@pytest.mark.parametrize("of_account", MANY)
@pytest.mark.parametrize("of_fit", MANY)
def test_a_charge_is_for_the_neighbors_of_its_account(path, of_account, of_fit):
    ledger = Ledger.create(path, epsilon=1, records_per_person=records_per_person(of_account))
    assert ledger.neighbors == of_account
    if of_fit == of_account:
        assert ledger.charge(TENTH, "fit", of_fit).spent == Fraction(1, 10)
        return
    with pytest.raises(OtherNeighbors, match="their amounts do not add"):
        ledger.charge(TENTH, "fit", of_fit)
    assert ledger.spent == 0
    assert ledger.entries() == []
    assert ledger.verify().is_clean


@pytest.mark.parametrize("of_fit", [RECORD, person_neighbors(2)])
def test_a_refusal_names_the_command_that_helps(path, of_fit):
    """The command in the error, with its places filled in, makes a ledger that takes the charge."""
    ledger = Ledger.create(path, epsilon=1, records_per_person=3)
    with pytest.raises(OtherNeighbors) as caught:
        ledger.charge(TENTH, "fit", of_fit)
    command = str(caught.value).split("`")[1].removeprefix("frith ")
    other = path.with_name("other.db")
    words = shlex.split(command.replace("LEDGER", str(other)).replace(" E", " 1"))
    assert CliRunner().invoke(app, words).exit_code == 0
    assert Ledger(other).charge(TENTH, "fit", of_fit).spent == Fraction(1, 10)


def test_fits_of_records_and_of_persons_do_not_share_a_ledger(path):
    """The curator says for whom it asks; the refusal comes before a record is read."""
    color, label = Categorical("color", ("red", "blue")), Categorical("y", ("no", "yes"))
    records = Domain([color], label)
    persons = Domain([color], label, person=Person("who", 3))
    table = pd.DataFrame({"color": ["red", "blue"], "who": ["a", "b"]})
    ledger = Ledger.create(path, epsilon=1)
    ForestClassifier(records, epsilon=0.1, ledger=path).fit(table[["color"]], ["no", "yes"])
    with pytest.raises(OtherNeighbors, match="persons with at most 3 records each"):
        ForestClassifier(persons, epsilon=0.1, ledger=path).fit(table, ["no", "yes"])
    assert ledger.spent == Fraction(1, 10)
    for_persons = Ledger.create(path.with_name("p.db"), epsilon=1, records_per_person=3)
    ForestClassifier(persons, epsilon=0.1, ledger=path.with_name("p.db")).fit(table, ["no", "yes"])
    assert for_persons.spent == Fraction(1, 10)


def test_reservations_are_held_to_the_same_neighbors(path):
    Ledger.create(path, epsilon=1, account="t")
    with Database(path).write() as session:
        book = Book(session.connection())
        with pytest.raises(OtherNeighbors):
            book.reserve("t", "job", Fraction(1, 10), "fit", PERSONS)
        book.reserve("t", "job", Fraction(1, 10), "fit", RECORD)
        with pytest.raises(OtherNeighbors):
            book.charge_reserved("t", "job", PERSONS)
        assert (book.state("t").spent, book.state("t").held) == (0, Fraction(1, 10))
        book.charge_reserved("t", "job", RECORD)
        assert book.verify().is_clean


@pytest.mark.parametrize("records", [0, -1])
def test_a_person_has_at_least_one_record(path, records):
    with pytest.raises(ValueError, match="at least 1 record"):
        Ledger.create(path, epsilon=1, records_per_person=records)
    assert not path.exists()


def test_an_edit_of_the_neighbors_shows(path):
    ledger = Ledger.create(path, epsilon=1, records_per_person=3)
    ledger.set_budget(2)
    assert ledger.verify().is_clean
    with Database(path).write() as session:
        session.execute(text("UPDATE account SET neighbors = :n"), {"n": RECORD})
    assert ledger.verify().problems == (
        "account 'table': its neighbors are not those that were written",
    )


# -- accounts from before --------------------------------------------------------------------------


@pytest.fixture
def older(path):
    """A ledger as an earlier frith wrote it, with one charge."""
    ledger = Ledger.create(path, epsilon=1)
    ledger.charge(TENTH, "fit", RECORD)
    forget_neighbors(path)
    return ledger


def forget_neighbors(path):
    """Write the chain anew without a word of neighbors, and take this and later columns away."""
    rewrite_chain(Database(path), lambda e: replace(e, purpose=e.purpose.partition(FOR)[0]))
    with sqlite3.connect(path) as file:
        later = importlib.import_module("frith.ledger.migrations.versions.0004_columns")
        for index in (*later._INDEXES, "tokens_by_parent"):
            file.execute(f"DROP INDEX {index}")
        columns = {
            "account": ("neighbors", "table", "batch", "period", "member"),
            "job": ("forest", "round", "stored"),
            "member": ("stored", "owner", "expires", "assigned_role"),
            "registered_table": ("types",),
            "batch": ("types",),
            "token": ("parent", "minter", "scopes", "session"),
        }
        for table, names in columns.items():
            for name in names:
                file.execute(f'ALTER TABLE {table} DROP COLUMN "{name}"')
        for table in ("worker", "table_curator", "proposal", "bookmark"):
            file.execute(f"DROP TABLE {table}")
        file.execute("ALTER TABLE job ADD COLUMN accounts TEXT")
        file.execute("UPDATE frith_version SET version_num = '0002'")
    file.close()


def test_an_older_ledger_is_flagged_until_somebody_says_what_it_is_for(older):
    found = older.verify()
    assert found.holds
    assert not found.is_clean
    assert "opened before accounts had neighbors" in found.flagged[0]
    with pytest.raises(OtherNeighbors, match="frith ledger declare"):
        older.charge(TENTH, "fit", RECORD)
    older.declare(None)
    older.charge(TENTH, "fit", RECORD)
    assert older.spent == Fraction(1, 5)
    assert older.verify().is_clean


def test_what_was_declared_stays(older):
    older.declare(3)
    for again in (3, 2, None):
        with pytest.raises(OtherNeighbors, match="stays so"):
            older.declare(again)
    assert older.neighbors == PERSONS
    with pytest.raises(OtherNeighbors, match="do not add"):
        older.charge(TENTH, "fit", RECORD)


def test_an_older_ledger_is_declared_with_the_command_in_its_error(older, path):
    with pytest.raises(OtherNeighbors) as caught:
        older.charge(TENTH, "fit", PERSONS)
    command = str(caught.value).split("`")[1].removeprefix("frith ")
    assert CliRunner().invoke(app, shlex.split(command.replace("LEDGER", str(path)))).exit_code == 0
    assert older.charge(TENTH, "fit", PERSONS).spent == Fraction(1, 5)
