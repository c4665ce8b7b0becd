"""`frith train`."""

import json
import os
import pty
import subprocess
import sys

import pytest

from frith import Forest, Ledger
from tests.tables import person_domain


def train(run, desk, *more, table="table.parquet", code=0):
    return run("train", desk / table, "--domain", desk / "domain.toml", "-o", desk / "forest.json",
               "--force", "--learner", "random-decision", *more, code=code)  # fmt: skip


@pytest.mark.parametrize("table", ["table.parquet", "table.feather", "table.csv"])
def test_training_writes_a_forest_with_its_guarantee(run, desk, table):
    result = train(run, desk, "--epsilon", "0.1", table=table)
    forest = Forest.load(desk / "forest.json")
    assert str(forest.guarantee.epsilon) == "1/10"
    assert "epsilon=0.1 differential privacy" in result.stdout
    assert f"frith show {desk / 'forest.json'}" in result.stdout


def test_json_is_all_there_is_on_stdout(run, desk):
    said = json.loads(train(run, desk, "--epsilon", "1/3", "--json").stdout)
    forest = Forest.load(desk / "forest.json")
    assert said == {
        "path": str(desk / "forest.json"), "guarantee": forest.guarantee.to_json(), "receipt": None,
    }  # fmt: skip
    assert said["guarantee"]["epsilon"] == "1/3"


def test_options_reach_the_learner(run, desk):
    train(run, desk, "--epsilon", 1, "--trees", 3, "--max-depth", 2, "--seed", 7, "--delta", "1e-6")
    forest = Forest.load(desk / "forest.json")
    assert (forest.trees.n_trees, forest.max_depth) == (3, 2)
    assert float(forest.guarantee.delta) == 1e-6
    train(run, desk, "--epsilon", 1, "--trees", 3, "--max-depth", 2, "--seed", 7)
    assert Forest.load(desk / "forest.json").trees == forest.trees


def test_progress_names_passes_on_stderr(run, desk):
    result = train(run, desk, "--epsilon", 1, "--json")
    assert result.stderr == "training, pass 1: labels in the leaves\n"


def test_nothing_said_depends_on_the_records(run, desk):
    """With the public facts the same, a table with other records gives the same words."""
    first = train(run, desk, "--epsilon", 1, "--seed", 0, table="table.csv")
    (desk / "table.csv").write_text("color,round,size,good\n" + "secret,,nan,?\n" * 3)
    other = train(run, desk, "--epsilon", 1, "--seed", 0, table="table.csv")
    assert (other.stdout, other.stderr) == (first.stdout, first.stderr)


def test_a_paid_forest_is_not_overwritten_by_accident(run, desk):
    Ledger.create(desk / "ledger", epsilon=1)
    (desk / "paid.json").write_text("paid for")
    args = ("train", desk / "table.csv", "--domain", desk / "domain.toml", "--epsilon", 1,
            "--ledger", desk / "ledger", "-o", desk / "paid.json")  # fmt: skip
    assert "--force" in run(*args, code=2).stderr
    assert (desk / "paid.json").read_text() == "paid for"
    assert Ledger(desk / "ledger").spent == 0
    run(*args, "--force")
    assert Ledger(desk / "ledger").spent == 1


def test_a_terminal_is_told_what_looks_wrong_and_a_pipe_is_not(desk):
    """The same command twice: somebody reads the terminal, and anybody may read what a pipe keeps."""
    domain = (desk / "domain.toml").read_text().replace('"yes"', '"YES"').replace('"no"', '"NO"')
    (desk / "domain.toml").write_text(domain)
    command = [sys.executable, "-m", "frith", "train", "table.csv", "--domain", "domain.toml",
               "--epsilon", "1", "--force", "--learner", "random-decision", "-o", "f.json"]  # fmt: skip
    ours, theirs = pty.openpty()
    subprocess.run(command, cwd=desk, stderr=theirs, stdout=subprocess.DEVNULL, check=True)
    os.close(theirs)
    seen = b"".join(iter(lambda: _read(ours), b"")).decode()
    assert "none was counted" in " ".join(seen.split())
    piped = subprocess.run(command, cwd=desk, capture_output=True, text=True, check=True)
    assert "counted" not in piped.stderr + piped.stdout
    assert "counted" not in (desk / "f.json").read_text()


def _read(terminal):
    try:
        return os.read(terminal, 65_536)
    except OSError:  # Linux says so at the end of a terminal
        return b""


def test_a_ledger_named_by_a_variable_is_charged(run, desk, monkeypatch):
    run("ledger", "create", desk / "budget.db", "--epsilon", 1)
    monkeypatch.setenv("FRITH_LEDGER", str(desk / "budget.db"))
    asked = ("--domain", desk / "domain.toml", "--epsilon", "0.75", "--learner", "random-decision")
    result = run("train", desk / "table.csv", *asked, "-o", desk / "f.json")
    assert "epsilon 0.75 charged, 0.75 spent in all" in result.stdout
    run("train", desk / "table.csv", *asked, "-o", desk / "g.json", code=3)
    assert not (desk / "g.json").exists()


def test_a_ledger_is_charged_and_the_receipt_shown(run, desk):
    Ledger.create(desk / "ledger", epsilon=1)
    said = train(run, desk, "--epsilon", "0.75", "--ledger", desk / "ledger", "--json").stdout
    receipt = json.loads(said)["receipt"]
    assert (receipt["amount"], receipt["spent"], receipt["unit"]) == ("0.75", "0.75", "epsilon")
    result = train(run, desk, "--epsilon", "0.25", "--ledger", desk / "ledger")
    assert "receipt 3: epsilon 0.25 charged" in result.stdout
    assert Ledger(desk / "ledger").remaining == 0


def test_overspending_exits_with_3_and_writes_nothing(run, desk):
    Ledger.create(desk / "ledger", epsilon="0.5")
    result = train(run, desk, "--epsilon", "0.6", "--ledger", desk / "ledger", code=3)
    assert "has epsilon 0.5 left and this asks for 0.6" in result.stderr
    assert result.stdout == ""
    assert not (desk / "forest.json").exists()
    assert Ledger(desk / "ledger").spent == 0


def test_an_output_that_cannot_be_written_costs_nothing(run, desk):
    Ledger.create(desk / "ledger", epsilon=1)
    for place in (desk, desk / "nowhere" / "forest.json", desk / "table.parquet", desk / "ledger"):
        run("train", desk / "table.parquet", "--domain", desk / "domain.toml", "--epsilon", 1,
            "--ledger", desk / "ledger", "-o", place, code=2)  # fmt: skip
    assert Ledger(desk / "ledger").spent == 0


def test_a_learned_domain_is_noted(run, desk):
    domain = desk / "draft.toml"
    run("domain", "draft", desk / "table.parquet", "--label", "good", "-o", domain)
    result = run("train", desk / "table.parquet", "--domain", domain, "--epsilon", 1,
                 "-o", desk / "forest.json")  # fmt: skip
    assert "learned = true" in result.stderr
    assert "domain learned from the data: not covered" in result.stdout


def test_the_exact_limit_says_it_promises_nothing(run, desk):
    result = train(run, desk, "--epsilon", "inf")
    assert "no privacy guarantee" in result.stdout
    assert "as private as the records themselves" in result.stderr


def test_persons_are_protected_where_the_domain_names_them(run, desk):
    person_domain(3).save(desk / "domain.toml")
    guarantee = json.loads(train(run, desk, "--epsilon", 1, "--json").stdout)["guarantee"]
    assert "all records of one person" in guarantee["neighbors"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--epsilon", "-1"), "epsilon must be positive"),
        (("--epsilon", "many"), "'many' is not an amount"),
        (("--epsilon", "1", "--delta", "2"), "delta must be at least 0 and under 1"),
        (("--epsilon", "1", "--trees", "0"), "n_trees must be a whole number"),
        (("--epsilon", "1", "--ledger", "nowhere.ledger"), "there is no ledger"),
        (("--epsilon", "1", "--learner", "oracle"), "oracle"),
        ((), "--epsilon"),
    ],
)
def test_a_bad_request_is_explained_with_exit_code_2(run, desk, options, words):
    assert words in train(run, desk, *options, code=2).stderr


def test_a_domain_that_is_no_text_is_explained(run, desk):
    table = desk / "table.parquet"
    result = run("train", table, "--domain", table, "--epsilon", 1, "-o", desk / "f.json", code=2)
    assert f"{table} is not valid TOML" in result.stderr


def test_a_public_table_or_forest_is_a_prior(run, desk):
    own = ["--domain", desk / "domain.toml", "--epsilon", 1, "--force"]
    run("train", desk / "table.csv", *own, "-o", desk / "first.json")
    for public in ("table.parquet", "first.json"):
        said = run("train", desk / "table.csv", *own, "--public", desk / public,
                   "--set", 'question_weights={"size": 2}', "-o", desk / "second.json")  # fmt: skip
        assert "trust in the prior" in said.stdout
        assert "prior" in str(Forest.load(desk / "second.json").guarantee)
    run("train", desk / "table.csv", *own, "--public", desk / "first.json", "-o", desk / "first.json",
        code=2)  # fmt: skip
    train(run, desk, "--epsilon", 1, "--public", desk / "first.json", code=2)  # another learner
