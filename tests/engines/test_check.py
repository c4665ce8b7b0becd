"""`frith.check`: the same report for every way to hold a table."""

import duckdb
import pyarrow as pa
import pytest

import frith
from frith import Categorical, Domain, Numeric, open_table
from frith.engines.check import look_at_first
from tests.tables import small_domain, small_table


@pytest.fixture
def domain():
    attributes = [Categorical("color", ("red", "green")), Numeric("size", 0, 5)]
    return Domain(attributes, Categorical("good", ("yes", "no")))


def test_every_source_has_the_same_report(tmp_path, domain):
    table = small_table()
    table.to_csv(tmp_path / "t.csv", index=False)
    table.to_parquet(tmp_path / "t.parquet")
    domain.save(tmp_path / "domain.toml")
    with duckdb.connect(str(tmp_path / "t.db")) as database:
        database.execute(f"CREATE TABLE t AS SELECT * FROM '{tmp_path / 't.parquet'}'")
    expected = frith.check(table, domain).to_json()
    assert expected["rows"] == 200
    assert expected["columns"][0]["outside"] == (table["color"] == "blue").sum()
    others = [
        frith.check(table[["color", "size"]], domain, table["good"]),
        frith.check(pa.Table.from_pandas(table), domain),
        frith.check(tmp_path / "t.csv", tmp_path / "domain.toml"),
        frith.check(str(tmp_path / "t.parquet"), domain),
        frith.check(open_table(tmp_path / "t.csv", domain), domain),
        frith.check(f"duckdb:///{tmp_path / 't.db'}?table=t", domain),
    ]
    for report in others:
        assert report.to_json() == expected
    assert "'color' (attribute)" in str(others[0])
    assert "note: over 5%" in str(others[0])


def test_a_fit_looks_at_the_first_rows_only(tmp_path, monkeypatch):
    table, domain = small_table(100), small_domain(records=90)
    table.to_csv(tmp_path / "t.csv", index=False)
    for source in (table, tmp_path / "t.csv"):
        raw = open_table(source, domain).peek()
        whole, part = look_at_first(raw, domain), look_at_first(raw, domain, 10)
        assert (whole.rows, whole.is_whole, whole.notices) == (100, True, [])
        assert (part.rows, part.unread_rows, part.is_whole, part.notices) == (10, 90, True, [])
        monkeypatch.setattr("frith.engines.check.COUNTED_ROWS", 50)
        assert not look_at_first(raw, domain, 10).is_whole
        monkeypatch.undo()


def test_a_raw_table_that_was_let_go_cannot_be_checked(domain):
    engine = open_table(small_table(), domain)
    frith.RandomDecisionForestClassifier(domain, max_depth=1).fit(engine, notices=False)
    assert engine.peek() is None
    with pytest.raises(frith.FrithError, match="pass the table itself"):
        frith.check(engine, domain)


def test_texts_in_a_column_of_numbers_are_told_as_what_they_count_as():
    table = small_table().assign(size=["pending" if i % 5 == 0 else "3" for i in range(200)])
    report = frith.check(table, small_domain())
    assert report.notices == ["over 5% of 'size' hold no number: has a code of its own"]
    assert "clamped to 0 .. 10, missing or no number: has a code of its own" in str(report)
    undeclared = Domain([Numeric("size", 2, 10)], small_domain().label)
    assert frith.check(table, undeclared).notices == [
        "over 5% of 'size' hold no number: counts as 2"
    ]


@pytest.mark.parametrize(
    ("declared", "told"), [(160, "more"), (175, None), (240, None), (260, "fewer")]
)
def test_a_number_of_records_that_is_a_fifth_off_is_told(declared, told):
    """A fit may have a third less: it was held out for tests."""
    table, domain = small_table(), small_domain(records=declared)
    notices = frith.check(table, domain).notices
    assert len(notices) == (told is not None)
    assert all(f"far {told} records" in notice for notice in notices)
    of_fit = look_at_first(open_table(table, domain).peek(), domain).notices
    assert of_fit == (notices if told == "more" else [])
    assert look_at_first(
        open_table(table, small_domain(records=310)).peek(), small_domain(records=310)
    ).notices
