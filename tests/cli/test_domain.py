"""`frith domain draft`."""

from fractions import Fraction

import pandas as pd
import pytest

from frith import Categorical, Date, Domain, Forest, Ledger, Numeric, Person


@pytest.mark.parametrize("name", ["table.parquet", "table.feather", "table.csv"])
def test_a_draft_is_a_domain_that_says_it_was_learned(run, desk, name):
    result = run("domain", "draft", desk / name, "--label", "good", "--person", "who")
    domain = Domain.from_toml(result.stdout)
    assert domain.learned
    assert domain.person == Person("who", 1)
    assert domain.names == ("color", "round", "size")
    assert domain.attributes[0] == Categorical("color", ("blue", "green", "red"))
    assert isinstance(domain.attributes[2], Numeric)
    assert domain.label.values == ("no", "yes")


def test_a_draft_comes_with_a_note_to_review_it(run, desk):
    result = run("domain", "draft", desk / "table.csv", "--label", "good")
    assert "exact facts about people" in result.stderr
    assert "learned = true" in result.stderr
    assert "PrivacyLeakWarning" not in result.output


def test_a_draft_is_written_with_its_warning_inside(run, desk):
    path = desk / "draft.toml"
    result = run("domain", "draft", desk / "table.parquet", "--label", "good", "-o", path)
    assert result.stdout == ""
    assert path.read_text().startswith("# Drafted from the records")
    assert Domain.load(path).learned


def test_a_draft_can_be_json(run, desk):
    path = desk / "draft.json"
    run("domain", "draft", desk / "table.parquet", "--label", "good", "-o", path)
    assert Domain.load(path).learned


def test_what_is_left_out_is_said_and_written_with_the_hints(run, desk):
    table = pd.read_csv(desk / "table.csv").assign(name=[f"Jo {i}" for i in range(400)])
    table.to_csv(desk / "named.csv", index=False)
    result = run("domain", "draft", desk / "named.csv", "--label", "good", "--leave-out", "who")
    assert Domain.from_toml(result.stdout).names == ("color", "round", "size")
    assert "# Left out: 'who', as asked." in result.stdout
    assert "# Left out: 'name', looks like an identifier" in result.stdout
    assert "# bounds are from the data" in result.stdout
    assert "left out: 'name'" in result.stderr
    assert "Jo 1" not in result.output


def test_a_reviewed_domain_is_not_overwritten_by_accident(run, desk):
    args = ("domain", "draft", desk / "table.csv", "--label", "good", "-o", desk / "domain.toml")
    before = (desk / "domain.toml").read_text()
    assert "--force" in run(*args, code=2).stderr
    assert (desk / "domain.toml").read_text() == before
    run(*args, "--force")
    assert Domain.load(desk / "domain.toml").learned


@pytest.mark.parametrize("role", ["label", "person"])
def test_an_unknown_column_is_named(run, desk, role):
    args = {"label": "good"} | {role: "nose"}
    options = [part for name, value in args.items() for part in (f"--{name}", value)]
    result = run("domain", "draft", desk / "table.csv", *options, code=2)
    assert f"no {role} column 'nose'" in result.stderr


def test_dates_in_csv_are_dates_and_empty_cells_are_missing(run, tmp_path):
    path = tmp_path / "days.csv"
    path.write_text("day,mood,good\n2024-01-01,,yes\n2024-01-02,fine,no\n")
    domain = Domain.from_toml(run("domain", "draft", path, "--label", "good").stdout)
    assert domain.attributes[0] == Date("day", "2024-01-01", "2024-01-31")
    assert domain.attributes[1].missing is not None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"sex;good\nm;yes\n", 'delimiter = ";"'),
        (b"sex\tgood\nm\tyes\n", 'delimiter = "tab"'),
        ("sex,good\nm\xe4nnlich,yes\n".encode("latin-1"), 'encoding = "cp1252"'),
    ],
)
def test_another_encoding_or_separator_is_written_into_the_draft(run, tmp_path, content, said):
    (tmp_path / "odd.csv").write_bytes(content)
    result = run(
        "domain", "draft", tmp_path / "odd.csv", "--label", "good", "-o", tmp_path / "d.toml"
    )
    assert f"[csv]\n{said}\n" in (tmp_path / "d.toml").read_text()
    assert "Traceback" not in result.output
    run("check", tmp_path / "odd.csv", "--domain", tmp_path / "d.toml")


def test_a_database_is_told_to_be_read_first(run):
    result = run("domain", "draft", "duckdb:///t.db?table=t", "--label", "good", code=2)
    assert "read records of it into a DataFrame" in " ".join(result.stderr.split())


def test_utf_16_gets_a_hint(run, tmp_path):
    (tmp_path / "odd.csv").write_bytes("sex,good\nm,yes\n".encode("utf-16"))
    result = run("domain", "draft", tmp_path / "odd.csv", "--label", "good", code=2)
    assert "iconv -f utf-16" in result.stderr


def test_training_on_another_separator_gets_the_same_hint(run, desk):
    text = (desk / "table.csv").read_text().replace(",", ";")
    (desk / "table.csv").write_text(text)
    args = ("--domain", desk / "domain.toml", "--epsilon", 1, "-o", desk / "f.json")
    assert "no comma but ';'" in run("train", desk / "table.csv", *args, code=2).stderr


def test_a_csv_column_of_many_dates_is_drafted_with_rounded_bounds(run, tmp_path):
    table = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=50), "n": 1.5, "good": "yes"})
    table.to_csv(tmp_path / "days.csv", index=False)
    result = run("domain", "draft", tmp_path / "days.csv", "--label", "good")
    assert 'first = "2024-01-01"\nlast = "2024-02-29"' in result.stdout


def test_a_draft_puts_no_cell_of_its_table_outside(run, tmp_path):
    table = pd.DataFrame({
        "whole": [1, 2, None, 4], "flag": [True, False, False, True],
        "text": ["NA", "", "b", "007"],
        "day": ["2024-01-01", "", "2024-01-03", "2024-01-04"], "good": [0, 1, 0, 1],
    })  # fmt: skip
    table.to_csv(tmp_path / "mixed.csv", index=False)
    table.to_parquet(tmp_path / "mixed.parquet")
    for path in tmp_path.glob("mixed.*"):
        run("domain", "draft", path, "--label", "good", "--force", "-o", tmp_path / "domain.toml")
        run("check", path, "--domain", tmp_path / "domain.toml")


# -- drafts that are paid for --------------------------------------------------------------------

KINDS = ("--column", "color=red,green,blue", "--column", "size=number", "--column", "good=no,yes")


def test_a_private_draft_carries_its_price(run, desk):
    path = desk / "paid.toml"
    args = ("--private", "--epsilon", 50, *KINDS, "--records", 400, "-o", path)
    said = run("domain", "draft", desk / "table.csv", "--label", "good", *args)
    domain = Domain.load(path)
    assert domain.paid.epsilon == 50
    assert not domain.learned
    assert [a.name for a in domain.attributes] == ["color", "size"]
    assert domain.label == Categorical("good", ("no", "yes"))
    assert domain.records == 400
    assert "private releases" in path.read_text()
    assert "epsilon=50" in said.stderr
    forest = desk / "paid.json"
    run("train", desk / "table.csv", "--domain", path, "--epsilon", 1, "-o", forest)
    assert Forest.load(forest).guarantee.epsilon == 51


def test_a_private_draft_of_persons_and_unknown_values(run, desk):
    kinds = ("--column", "color=values", "--column", "good=values", "--person", "who")
    args = ("--private", "--epsilon", 90, "--delta", "1e-3", *kinds, "--records-per-person", 2)
    result = run("domain", "draft", desk / "table.parquet", "--label", "good", *args)
    domain = Domain.from_toml(result.stdout)
    assert domain.person == Person("who", 2)
    assert domain.label.values == ("no", "yes")
    assert domain.paid.delta == Fraction("1e-3")


def test_a_private_draft_is_charged_to_a_ledger(run, desk):
    run("ledger", "create", desk / "budget.db", "--epsilon", 60)
    args = ("--private", "--epsilon", 50, *KINDS, "--ledger", desk / "budget.db")
    run("domain", "draft", desk / "table.csv", "--label", "good", *args)
    assert Ledger(desk / "budget.db").spent == 50
    assert "has epsilon 10 left" in run(
        "domain", "draft", desk / "table.csv", "--label", "good", *args, code=3
    ).stderr.replace("\n", " ")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--private", *KINDS), "--epsilon"),
        (("--private", "--epsilon", "1", "--leave-out", "who", *KINDS), "no others"),
        (("--private", "--epsilon", "1", "--column", "size"), "NAME=KIND"),
        (("--private", "--epsilon", "1", *KINDS, "--column", "size=date"), "once for a name"),
        (("--private", "--epsilon", "1", "--column", "size=number"), "has no kind"),
        (("--private", "--epsilon", "1", *KINDS, "--column", "who=values"), "delta"),
        (KINDS, "--private"),
        (("--epsilon", "1"), "--private"),
    ],
)
def test_what_a_private_draft_needs_is_said(run, desk, args, words):
    result = run("domain", "draft", desk / "table.csv", "--label", "good", *args, code=2)
    assert words in " ".join(result.stderr.split())
