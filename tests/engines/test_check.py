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
