"""One list of checks over every store: reservations, charges, the chain of hashes."""

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from fractions import Fraction

import pytest
from sqlalchemy import text

from frith.errors import BudgetExceeded
from frith.ledger import Book, Ledger
from frith.ledger.book import metadata
from frith.ledger.database import Database
from frith.ledger.entries import Receipt, hash_of
from frith.privacy import Budget
from frith.privacy.neighbors import RECORD
from tests.chains import tamper

TENTH = Fraction(1, 10)


@pytest.fixture(params=["sqlite", "postgres"])
def place(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return request.getfixturevalue("postgres_database")


@pytest.fixture
def database(place):
    database = Database(place)
    database.upgrade()
    yield database
    database.close()


@pytest.fixture
def opened(database):
    with write(database) as book:
        book.open("t", Budget.of(1), RECORD)
    return database


@contextmanager
def write(database):
    """A book in a transaction of its own."""
    with database.write() as session:
        yield Book(session.connection())


def state(database):
    with write(database) as book:
        return book.state("t")


def test_a_reservation_holds_and_a_charge_spends(opened):
    with write(opened) as book:
        book.reserve("t", "job", Fraction(1, 3), "fit", RECORD)
    assert (state(opened).held, state(opened).spent) == (Fraction(1, 3), 0)
    with write(opened) as book:
        receipt = book.charge_reserved("t", "job", RECORD)
    assert (receipt.amount, receipt.spent, receipt.held) == (Fraction(1, 3), Fraction(1, 3), 0)
    assert state(opened).remaining == Fraction(2, 3)


def test_a_cancelled_reservation_is_there_again(opened):
    with write(opened) as book:
        book.reserve("t", "job", Fraction(1), "fit", RECORD)
        book.cancel("t", "job")
    assert state(opened).remaining == 1


def charge_it(book):
    book.charge_reserved("t", "job", RECORD)


def cancel_it(book):
    book.cancel("t", "job")


@pytest.mark.parametrize("first", [charge_it, cancel_it])
@pytest.mark.parametrize("second", [charge_it, cancel_it])
def test_a_reservation_ends_once(opened, first, second):
    with write(opened) as book:
        book.reserve("t", "job", TENTH, "fit", RECORD)
        first(book)
    with pytest.raises(ValueError, match="no reservation"), write(opened) as book:
        second(book)


def test_what_is_held_cannot_be_promised_again(opened):
    with write(opened) as book:
        book.reserve("t", "job", Fraction(2, 3), "fit", RECORD)
    for ask in (lambda b: b.reserve("t", "other", Fraction(1, 2), "x", RECORD),
                lambda b: b.charge("t", Fraction(1, 2), "x", RECORD)):  # fmt: skip
        with pytest.raises(BudgetExceeded, match="1/3 left"), write(opened) as book:
            ask(book)
    assert state(opened).held == Fraction(2, 3)


def test_a_transaction_that_fails_leaves_nothing(opened):
    def charge_and_fail():
        with write(opened) as book:
            book.charge("t", TENTH, "fit", RECORD)
            raise RuntimeError

    with pytest.raises(RuntimeError):
        charge_and_fail()
    assert state(opened).spent == 0


def test_32_threads_reserve_a_tenth_and_ten_succeed(opened):
    def ask(number):
        try:
            with write(opened) as book:
                book.reserve("t", f"job {number}", TENTH, "fit", RECORD)
        except BudgetExceeded:
            return False
        return True

    with ThreadPoolExecutor(32) as pool:
        assert sum(pool.map(ask, range(32))) == 10
    with write(opened) as book:
        assert book.verify().holds


def test_a_budget_can_be_raised_and_the_raise_is_an_entry(opened):
    with write(opened) as book:
        book.charge("t", Fraction(1), "all", RECORD)
        book.set_budget("t", 2)
        book.charge("t", Fraction(1), "all again", RECORD)
        assert [e.kind for e in book.entries()] == ["budget", "charge", "budget", "charge"]
        assert book.verify().holds


def test_a_budget_that_is_lowered_leaves_nothing_but_keeps_what_was_promised(opened):
    with write(opened) as book:
        book.reserve("t", "job", Fraction(1, 2), "fit", RECORD)
        book.set_budget("t", "1/4")
        assert book.state("t").remaining == 0
        book.charge_reserved("t", "job", RECORD)
        assert book.verify().holds


def test_entries_are_read_in_pages_from_either_end(opened):
    with write(opened) as book:
        book.open("t/ana", Budget.of(1), RECORD)
        for _ in range(2):
            book.charge("t", Fraction(1, 8), "fit", RECORD)
            book.charge("t/ana", Fraction(1, 8), "fit", RECORD)
        whole, ids = book.entries(), lambda found: [e.id for e in found]
        assert book.page(9) == whole
        assert book.latest(9) == whole[::-1]
        assert ids(book.page(2, after=3)) == [4, 5]
        assert ids(book.latest(2, before=3)) == [2, 1]
        assert ids(book.page(2, 2, ["t/ana"])) == [4, 6]
        assert book.page(9, 6) == book.latest(9, 1) == book.page(9, 0, []) == []


def test_entries_are_neither_edited_nor_deleted(opened):
    for statement in ("DELETE FROM entry", "UPDATE entry SET amount = '0'"):
        with pytest.raises(OSError, match="driver"), opened.write() as session:
            session.execute(text(statement))


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE entry SET amount = '1/100' WHERE id = 3", "entry 3 is not what was written"),
        ("UPDATE entry SET spent = '1/10' WHERE id = 3", "entry 3 is not what was written"),
        ("UPDATE entry SET purpose = 'nothing' WHERE id = 2", "entry 2 is not what was written"),
        ("UPDATE entry SET kind = 'gift' WHERE id = 3", "entry 3 is not what was written"),
        ("DELETE FROM entry WHERE id = 2", "entry 2 is missing"),
        ("DELETE FROM entry WHERE id = 4", "the head of the chain is not the last entry"),
        ("UPDATE account SET total = '100'", "its budget is not the one last written"),
        ("UPDATE account SET delta = '1/10'", "its budget is not the one last written"),
        ("UPDATE account SET epsilon = '2'", "its budget is not the one last written"),
        ("UPDATE entry SET salt = 'x' WHERE id = 3", "entry 3 is not what was written"),
        ("UPDATE ledger_head SET hash = 'x'", "the head of the chain is not the last entry"),
    ],
)
def test_an_edit_shows(opened, statement, found):
    with write(opened) as book:
        for number in range(3):
            book.charge("t", TENTH, f"fit {number}", RECORD)
        assert book.verify().holds
    tamper(opened, statement)
    with write(opened) as book:
        assert any(found in problem for problem in book.verify().problems)


def test_equal_entries_have_hashes_that_tell_nothing_of_each_other(opened):
    """What is not shown cannot be found by trying what would hash to what is."""
    with write(opened) as book:
        first, second = (book.charge("t", TENTH, "fit", RECORD) for _ in range(2))
    fields = tuple(getattr(second, name) for name in Receipt.__slots__[:-1])
    assert second.hash not in (hash_of(first.hash, salt, fields) for salt in ("", first.hash))
    assert "salt" not in second.to_json()
    with opened.read() as session:
        salts = session.execute(text("SELECT salt FROM entry")).scalars().all()
    assert len(set(salts)) == 3
    assert all(len(salt) == 32 for salt in salts)


def test_fractions_too_fine_to_write_down_are_refused_and_leave_the_account_alone(opened):
    finer = Fraction(1, 7**2_400)
    with write(opened) as book:
        book.charge("t", Fraction(1, 7**2_000), "fit", RECORD)
    with pytest.raises(ValueError, match="write a decimal"), write(opened) as book:
        book.charge("t", finer, "fit", RECORD)
    with write(opened) as book:
        book.charge("t", TENTH, "fit", RECORD)
        assert book.verify().holds


def test_readers_do_not_wait_for_a_writer(opened, place):
    with write(opened) as book, ThreadPoolExecutor(1) as pool:
        book.charge("t", TENTH, "fit", RECORD)
        assert pool.submit(lambda: Ledger(place, "t").spent).result(120) == 0


def test_a_reader_sees_one_moment_and_can_write_nothing(opened):
    with opened.read() as session:
        before = Book(session.connection()).state("t")
        with write(opened) as book:
            book.charge("t", TENTH, "fit", RECORD)
        assert Book(session.connection()).state("t") == before
    if not opened.is_sqlite:
        with pytest.raises(OSError, match="driver"), opened.read() as session:
            session.execute(text("UPDATE ledger_head SET entry = 7"))
    assert state(opened).spent == TENTH


def test_a_connection_that_rested_too_long_is_replaced(postgres_database, monkeypatch):
    database, ends = Database(postgres_database), Database(postgres_database)
    database.upgrade()
    others = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )

    def hang_up():
        with ends.write() as session:
            assert session.scalars(others).all()

    hang_up()  # a connection that was in use a moment ago is taken as it is
    with pytest.raises(OSError, match="nothing was changed"), database.write() as session:
        session.execute(text("SELECT 1"))
    assert database.version is not None
    hang_up()
    monkeypatch.setattr("frith.ledger.database._RESTED_SECONDS", 0)
    assert database.version is not None
    with write(database) as book:
        book.open("t", Budget.of(1), RECORD)
    for each in (database, ends):
        each.close()


def test_the_library_and_the_server_share_one_account(opened, place):
    Ledger(place, "t").charge(Budget.of("1/4"), "at the desk", RECORD)
    with write(opened) as book:
        book.reserve("t", "job", Fraction(3, 4), "on the server", RECORD)
    with pytest.raises(BudgetExceeded):
        Ledger(place, "t").charge(Budget.of("1/100"), "at the desk", RECORD)


def test_migrations_make_what_the_code_expects(database):
    from alembic.autogenerate import compare_metadata
    from alembic.migration import MigrationContext

    import frith.server.schema  # noqa: F401 - its tables belong to the same metadata

    with database.read() as session:
        context = MigrationContext.configure(
            session.connection(), opts={"version_table": "frith_version"}
        )
        assert compare_metadata(context, metadata) == []


def test_many_processes_may_bring_a_database_up_to_date_at_once(place):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: Database(place).upgrade(), range(8)))
    Database(place).check()


def test_a_password_is_not_shown():
    database = Database("postgresql://frith:hunter2@localhost/census")
    assert "hunter2" not in str(database) + repr(database.url)


def test_a_cancellation_is_stored_as_the_first_ledgers_spelled_it(opened):
    """The kind is in the hash of an entry: another spelling would break every older chain."""
    with write(opened) as book:
        book.reserve("t", "job", TENTH, "fit", RECORD)
        kind = book.cancel("t", "job").kind
        assert (kind.word, str(kind), json.dumps(kind)) == ("cancel", "release", '"release"')
        assert [e.kind for e in book.entries(request="job")] == ["reserve", "release"]
        assert book.verify().holds
