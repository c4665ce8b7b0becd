"""`frith ledger`."""

import json

from frith import Budget, Ledger
from frith.ledger.database import Database
from frith.privacy.neighbors import RECORD
from frith.server.schema import RegisteredTable


def test_a_ledger_is_created_with_its_budget(run, tmp_path):
    path = tmp_path / "table.ledger"
    assert "epsilon=1.5 may be spent" in run("ledger", "create", path, "--epsilon", "1.5").stdout
    assert Ledger(path).budget == Budget.of("1.5")


def test_a_budget_is_not_edited(run, tmp_path):
    path = tmp_path / "table.ledger"
    run("ledger", "create", path, "--epsilon", 1)
    assert "already an account" in run("ledger", "create", path, "--epsilon", 9, code=2).stderr
    assert Ledger(path).budget == Budget.of(1)


def test_show_lists_every_charge(run, tmp_path):
    ledger = Ledger.create(tmp_path / "table.ledger", epsilon=1)
    assert "no charges yet" in run("ledger", "show", ledger.path).stdout
    ledger.charge(Budget.of("1/3"), "fit for the report", RECORD)
    ledger.charge(Budget.of("1/6"), "fit for the press", RECORD)
    words = run("ledger", "show", ledger.path).stdout
    for part in ("0.5 spent, 0.5 left", "fit for the report", "fit for the press", "1/3"):
        assert part in words


def test_json_spells_amounts_exactly(run, tmp_path):
    ledger = Ledger.create(tmp_path / "table.ledger", epsilon=1)
    ledger.charge(Budget.of("1/3"), "fit", RECORD)
    said = json.loads(run("ledger", "show", ledger.path, "--json").stdout)
    assert (said["spent"], said["remaining"], said["unit"]) == ("1/3", "2/3", "epsilon")
    assert said["entries"][0]["amount"] == "1/3"
    assert said["entries"][0]["purpose"] == "fit"


def test_a_budget_with_a_delta_is_kept_in_rho(run, tmp_path):
    path = tmp_path / "table.ledger"
    run("ledger", "create", path, "--epsilon", 1, "--delta", "1e-6")
    said = json.loads(run("ledger", "show", path, "--json").stdout)
    assert (said["unit"], said["delta"]) == ("rho", "1e-06")
    assert "rho 0 spent" in run("ledger", "show", path).stdout


def test_a_file_that_is_no_ledger_is_explained(run, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("nothing to see here, and enough of it to fill a header" * 20)
    assert "ledger" in run("ledger", "show", path, code=2).stderr


def test_an_infinite_budget_is_refused(run, tmp_path):
    result = run("ledger", "create", tmp_path / "x", "--epsilon", "inf", code=2)
    assert "finite" in result.stderr
    assert not (tmp_path / "x").exists()


def test_an_account_that_is_not_there_is_answered_with_those_that_are(run, tmp_path):
    path = tmp_path / "server.db"
    for number in range(12):
        Ledger.create(path, epsilon=1, account=f"census/{number:02}")
    for command in (
        ["show"],
        ["raise", "--epsilon", 2],
        ["charge", "--epsilon", 1, "--purpose", "x"],
    ):
        said = run("ledger", command[0], path, *command[1:], code=2).stderr
        assert "no account 'table'; it has 'census/00', 'census/01'" in said
        assert said.strip().endswith("'census/09' and 2 more")
    assert "epsilon=1" in run("ledger", "show", path, "--account", "census/11").stdout


def test_a_ledger_without_accounts_says_so(run, tmp_path):
    Database(tmp_path / "server.db").upgrade()
    said = run("ledger", "show", tmp_path / "server.db", code=2).stderr
    assert said.strip().endswith("no account 'table'; it has none yet")


def test_the_servers_variable_says_where_the_ledger_is(run, tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "server.db", epsilon=1)
    other = Ledger.create(tmp_path / "other.db", epsilon=1)
    assert "LEDGER" in run("ledger", "show", code=2).stderr
    monkeypatch.setenv("FRITH_DATABASE", str(ledger.path))
    run("ledger", "charge", "--epsilon", "1/4", "--purpose", "lost with a backup")
    run("ledger", "raise", "--epsilon", 2)
    assert "lost with a backup" in run("ledger", "show").stdout
    assert "lost with a backup" in run("ledger", "export").stdout
    assert "3 entries" in run("ledger", "verify").stdout
    assert "1 entries" in run("ledger", "verify", other.path).stdout


def test_the_budget_of_a_servers_table_is_not_raised_here(run, tmp_path):
    """One person at the host would raise it alone, and the server would sell it."""
    place = tmp_path / "server.db"
    for account in ("nursery", "nursery+later", "nursery@3/ana", "census"):
        Ledger.create(place, epsilon=1, account=account)
    database = Database(place)
    with database.write() as session:
        columns = {"title": "", "source": "{}", "domain": "{}", "policy": "{}", "created": ""}
        session.add(RegisteredTable(name="nursery", signed=True, version=1, **columns))
    database.close()
    for account in ("nursery", "nursery+later", "nursery@3/ana"):
        said = run("ledger", "raise", place, "--epsilon", 2, "--account", account, code=2).stderr
        assert "needs two people" in said
        assert Ledger(place, account).budget.epsilon == 1
    run("ledger", "raise", place, "--epsilon", 2, "--account", "census")
    assert Ledger(place, "census").budget.epsilon == 2
