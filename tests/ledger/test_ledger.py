import pickle
import sqlite3
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from fractions import Fraction

import pytest

from frith.errors import BudgetExceeded, FormatError, SourceError
from frith.ledger import Book, Ledger
from frith.ledger.database import Database
from frith.ledger.events import ACCOUNT
from frith.privacy import Budget
from frith.privacy.neighbors import RECORD


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


def charge_a_tenth(ledger):
    try:
        return ledger.charge(Budget.of(0.1), "a tenth", RECORD).id
    except BudgetExceeded:
        return None


def test_a_charge_is_written_with_its_running_total(path):
    ledger = Ledger.create(path, epsilon=1)
    ledger.charge(Budget.of("1/3"), "first", RECORD)
    receipt = ledger.charge(Budget.of("1/6"), "second", RECORD)
    assert (receipt.amount, receipt.spent) == (Fraction(1, 6), Fraction(1, 2))
    assert ledger.remaining == Fraction(1, 2)
    assert [e.purpose for e in ledger.entries()] == ["first", "second"]
    assert ledger.entries()[-1] == receipt


def test_a_refused_charge_changes_nothing(path):
    ledger = Ledger.create(path, epsilon=1)
    ledger.charge(Budget.of(0.75), "most", RECORD)
    with pytest.raises(BudgetExceeded, match="0.25 left and this asks for 0.5"):
        ledger.charge(Budget.of(0.5), "too much", RECORD)
    assert ledger.spent == Fraction(3, 4)
    assert len(ledger.entries()) == 1


def test_32_threads_ask_a_tenth_and_ten_succeed(path):
    ledger = Ledger.create(path, epsilon=1)
    with ThreadPoolExecutor(32) as pool:
        receipts = list(pool.map(charge_a_tenth, [ledger] * 32))
    assert sum(r is not None for r in receipts) == 10
    assert ledger.remaining == 0


def test_processes_share_one_ledger(path):
    ledger = Ledger.create(path, epsilon=1)
    with ProcessPoolExecutor(4) as pool:
        receipts = list(pool.map(charge_a_tenth, [ledger] * 16))
    assert sum(r is not None for r in receipts) == 10
    assert len({r for r in receipts if r is not None}) == 10


def test_entries_can_be_neither_edited_nor_deleted(path):
    ledger = Ledger.create(path, epsilon=1)
    ledger.charge(Budget.of(1), "all", RECORD)
    with sqlite3.connect(path) as db:
        for statement in ("delete from entry", "update entry set amount = '0'"):
            with pytest.raises(sqlite3.IntegrityError):
                db.execute(statement)
    assert ledger.remaining == 0


def test_accounts_with_a_delta_are_kept_in_rho(path):
    ledger = Ledger.create(path, epsilon=1, delta=1e-6)
    assert ledger.unit == "rho"
    whole = Budget.of(1, 1e-6)
    receipt = ledger.charge(Budget.of(0.1), "pure", RECORD)
    assert receipt.amount == Fraction(1, 200)
    with pytest.raises(BudgetExceeded):
        ledger.charge(whole, "the whole is no longer there", RECORD)
    assert ledger.remaining == whole.total - Fraction(1, 200)


def test_a_pure_account_has_no_price_for_delta(path):
    ledger = Ledger.create(path, epsilon=1)
    with pytest.raises(ValueError, match="pure epsilon"):
        ledger.charge(Budget.of(0.1, 1e-6), "approximate", RECORD)
    assert ledger.spent == 0


def test_the_exact_limit_is_refused(path):
    with pytest.raises(ValueError, match="finite"):
        Ledger.create(path, epsilon="inf")
    assert not path.exists()
    ledger = Ledger.create(path, epsilon=1)
    with pytest.raises(ValueError, match="epsilon=inf"):
        ledger.charge(Budget.of("inf"), "exact", RECORD)


def test_a_budget_is_declared_once(path):
    Ledger.create(path, epsilon=1)
    with pytest.raises(ValueError, match="already an account"):
        Ledger.create(path, epsilon=100)
    assert Ledger(path).budget == Budget.of(1)


def test_accounts_of_one_file_are_apart(path):
    a = Ledger.create(path, epsilon=1, account="a")
    b = Ledger.create(path, epsilon=2, account="b")
    a.charge(Budget.of(1), "all of a", RECORD)
    assert (a.remaining, b.remaining) == (0, 2)


def test_a_missing_ledger_says_how_to_make_one(path):
    with pytest.raises(SourceError, match="frith ledger create"):
        Ledger(path)


def test_another_file_is_not_taken_for_a_ledger(path):
    path.write_text("hello, this is no database at all; it only looks like a file" * 20)
    with pytest.raises(FormatError):
        Ledger(path).charge(Budget.of(1), "x", RECORD)


def test_an_unknown_account_is_an_error(path):
    Ledger.create(path, epsilon=1)
    with pytest.raises(ValueError, match="no account"):
        Ledger(path, "other").charge(Budget.of(1), "x", RECORD)


def test_nothing_is_charged_to_the_account_of_events(path):
    """Lists leave it out, so what was spent there would be seen by nobody."""
    ledger = Ledger.create(path, epsilon=1)
    with pytest.raises(ValueError, match="account of events"):
        Ledger.create(path, epsilon=1, account=ACCOUNT)
    for named in ({"account": ACCOUNT}, {"within": (ACCOUNT,)}):
        with pytest.raises(ValueError, match="account of events"):
            Ledger(path, **named)
    with Database(path).write() as session:
        book = Book(session.connection())
        book.open(ACCOUNT, Budget.of(1), RECORD)
        book.charge(ACCOUNT, Fraction(1, 2), "past the ledger", RECORD)
    assert ledger.entries() == []
    with Database(path).read() as session:
        (problem,) = Book(session.connection()).verify().problems
    assert "spends from the account of events" in problem


def test_a_ledger_survives_pickling(path):
    ledger = Ledger.create(path, epsilon=1)
    pickle.loads(pickle.dumps(ledger)).charge(Budget.of(1), "from a copy", RECORD)
    assert ledger.remaining == 0


def test_the_error_survives_pickling():
    error = BudgetExceeded("x", requested=Fraction(1, 2), remaining=Fraction(1, 3))
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.requested) == (str(error), error.requested)


def test_a_path_means_the_folder_one_is_in(tmp_path, monkeypatch):
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
        monkeypatch.chdir(tmp_path / name)
        Ledger.create("budget.db", epsilon=1)
    Ledger("budget.db").charge(Budget.of(1), "there", RECORD)
    monkeypatch.chdir(tmp_path / "here")
    assert Ledger("budget.db").spent == 0
