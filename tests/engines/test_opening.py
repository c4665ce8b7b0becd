"""Opening looks at public things alone: tables one record apart open alike, or are refused alike."""

import contextlib
import datetime
import io
import math
import os
import socket

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from frith import Categorical, Domain, Numeric, Person, open_table
from frith.domain.encoding import CELL_BYTES
from frith.engines import Timeouts, csv
from frith.errors import FrithError, SourceError
from frith.kernels import RecordCount

HUGE = 40_000_000
LONG = HUGE if os.environ.get("FRITH_FULL") == "1" else 2_000_000
DOMAIN = Domain(
    [Categorical("color", ("red", "blue"), other="blue"), Numeric("size", 0, 8, cells=8)],
    Categorical("class", ("no", "yes")),
)
RECORDS = [("red", "7", "no"), ("blue", "1", "yes")] * 3
TEXTS = {
    "an enormous cell": b"0" * LONG + b"7",
    "bad UTF-8": b"\xff\xfe\x00",
    "an open quote": b'"',
    "an open quote and many lines": b'"' + b"\n" * 9_000,
    "not a number": b"NaN",
    "a huge number": b"9" * 5_000,
    "an infinite one": b"-1e999",
    "a date": b"2020-02-30",
    "nothing": b"",
}


def outcome(source, **options):
    """What opening says: a refusal's words, or what an opened engine states."""
    try:
        engine = open_table(source, DOMAIN, **options)
    except FrithError as error:
        return type(error), str(error)
    getattr(engine, "close", lambda: None)()
    return engine.assumptions, engine.types


COLUMNS = ("color", "size", "class")


def columns(first=None):
    """The columns, as bytes; with a first record all of whose cells hold `first`."""
    records = [tuple(cell.encode() for cell in record) for record in RECORDS]
    records = [(first,) * 3, *records] if first is not None else records
    return {name: [record[i] for record in records] for i, name in enumerate(COLUMNS)}


def as_text(column):
    """Arrow text of whatever bytes."""
    plain = pa.array(column, pa.binary())
    return pa.Array.from_buffers(pa.string(), len(plain), plain.buffers())


def as_arrow(table):
    return pa.table({name: as_text(cells) for name, cells in table.items()})


def write_csv(table, folder):
    path = folder / "t.csv"
    rows = [tuple(n.encode() for n in table), *zip(*table.values(), strict=True)]
    path.write_bytes(b"".join(b",".join(row) + b"\n" for row in rows))
    return path


def write_parquet(table, folder):
    pq.write_table(as_arrow(table), folder / "t.parquet")
    return folder / "t.parquet"


def write_feather(table, folder):
    pyarrow.feather.write_feather(as_arrow(table), folder / "t.feather")
    return folder / "t.feather"


def in_memory(table, folder):
    return as_arrow(table)


def in_frame(table, folder):
    return pd.DataFrame(
        {n: pd.Series([c.decode(errors="replace") for c in v]) for n, v in table.items()}
    )


def in_rows(table, folder):
    return [list(row) for row in zip(*table.values(), strict=True)]


PLACES = [write_csv, write_parquet, write_feather, in_memory, in_frame, in_rows]


@pytest.mark.parametrize("nasty", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_nasty_first_record_changes_nothing_about_opening(place, nasty, tmp_path):
    plain = outcome(place(columns(), tmp_path))
    types = plain[1]
    assert isinstance(types, dict), "it opens"
    source = place(columns(nasty), tmp_path)
    assert outcome(source) == plain
    assert outcome(source, types=types) == plain


@pytest.mark.parametrize("nasty", TEXTS.values(), ids=TEXTS)
def test_a_nasty_first_record_changes_nothing_about_opening_a_table(store, nasty):
    with contextlib.suppress(UnicodeDecodeError):
        nasty = nasty.decode()
    kind = "bytea" if isinstance(nasty, bytes) else "text"
    store.run(f"CREATE TABLE t (color {kind}, size {kind}, class text)")
    store.run("INSERT INTO t VALUES ('red', '7', 'no')")
    url = store.url(table="t")
    plain = outcome(url)
    assert isinstance(plain[1], dict), "it opens"
    store.run("DROP TABLE t")
    cells = pa.array([nasty, b"red" if isinstance(nasty, bytes) else "red"])
    store.write(pa.table({"color": cells, "size": cells, "class": ["no", "no"]}), "t")
    assert outcome(url) == plain
    assert outcome(url, types=plain[1]) == plain


@pytest.mark.parametrize("number", [math.nan, math.inf, 1.7e308, -0.0], ids=str)
def test_a_nasty_number_changes_nothing_about_opening_a_table(store, number):
    def save(sizes):
        n = len(sizes)
        store.run("DROP TABLE IF EXISTS t")
        store.write(pa.table({"color": ["red"] * n, "size": sizes, "class": ["no"] * n}), "t")
        return store.url(table="t")

    plain = outcome(save([1.0]))
    assert isinstance(plain[1], dict)
    assert outcome(save([number, 1.0]), types=plain[1]) == plain


# -- types ---------------------------------------------------------------------------------------


def nulls(path, *more):
    """A file whose writer guessed the types of its columns from their cells."""
    sizes = [None, None, *more]
    n = len(sizes)
    table = pd.DataFrame({"color": ["red"] * n, "size": pd.Series(sizes, dtype=object)})
    table.assign(**{"class": "no"}).to_parquet(path)
    return path


def test_one_time_in_a_column_of_nulls_fails_at_the_first_pass(tmp_path):
    path = tmp_path / "t.parquet"
    plain = outcome(nulls(path))
    assert plain[1]["size"] == "null"
    nulls(path, datetime.time(1, 2))
    refused, _ = outcome(path)
    assert issubclass(refused, FrithError), "at registration it is refused"
    engine = open_table(path, DOMAIN, types=plain[1])  # later it opens like its neighbor
    with pytest.raises(SourceError, match="not of the types"):
        engine.aggregate(RecordCount())


def test_one_null_among_whole_numbers_fails_at_the_first_pass(tmp_path):
    path = tmp_path / "t.parquet"
    table = pd.DataFrame({"color": "red", "size": [1, 2], "class": "no"})
    table.to_parquet(path)
    types = open_table(path, DOMAIN).types
    assert open_table(path, DOMAIN, types=types).aggregate(RecordCount()) == 2
    table.assign(size=[1, None]).to_parquet(path)
    engine = open_table(path, DOMAIN, types=types)
    with pytest.raises(SourceError, match="not of the types"):
        engine.aggregate(RecordCount())


def test_more_categories_are_no_other_type(tmp_path):
    def write(n):
        color = pd.Categorical([f"c{i}" for i in range(n)])
        pd.DataFrame({"color": color, "size": 1, "class": "no"}).to_parquet(tmp_path / "t.parquet")
        return tmp_path / "t.parquet"

    types = open_table(write(2), DOMAIN).types
    assert open_table(write(1_000), DOMAIN, types=types).aggregate(RecordCount()) == 1_000


def test_a_catalogue_with_another_type_is_refused_at_the_door(store):
    store.run("CREATE TABLE t (color text, size integer, class text)")
    url = store.url(table="t")
    types = open_table(url, DOMAIN).types
    part = DOMAIN.view(["color"])
    assert open_table(url, part, types=types).types.keys() == {"color", "class"}
    store.run("DROP TABLE t")
    store.run("CREATE TABLE t (color text, size bigint, class text)")
    with pytest.raises(SourceError, match="not of the types that it was registered with"):
        open_table(url, DOMAIN, types=types)
    assert open_table(url, part, types=types)


# -- no record is read ---------------------------------------------------------------------------


def test_a_parquet_file_of_damaged_pages_opens_and_fails_at_the_first_pass(tmp_path):
    path = write_parquet(columns(), tmp_path)
    plain = outcome(path)
    whole = path.read_bytes()
    footer = 8 + int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(whole[:4] + os.urandom(len(whole) - 4 - footer) + whole[-footer:])
    assert outcome(path) == plain
    with pytest.raises(SourceError, match="part-way"):
        open_table(path, DOMAIN).aggregate(RecordCount())


def test_a_view_that_fails_on_every_row_opens_and_fails_at_the_first_pass(store):
    store.run("CREATE TABLE t (color text, size integer, class text)")
    store.run("INSERT INTO t VALUES ('red', 7, 'no')")
    store.run(
        "CREATE VIEW v AS SELECT color, size, CAST(color || 'x' AS integer)::text AS class FROM t"
    )
    engine = open_table(store.url(table="v"), DOMAIN)
    with pytest.raises(SourceError, match="part-way"):
        engine.aggregate(RecordCount())


def test_a_header_is_read_in_small_steps():
    class Watched(io.BytesIO):
        def read(self, size=-1):
            assert self.tell() < 2 * csv._STEP, "a record is read"
            return super().read(size)

    for line in (b"color,size,class\n", b"\xef\xbb\xbf\r\n\r\n" + b"c" * csv._STEP + b"\r\n"):
        file = Watched(line + b'"' * 10**6)
        csv._read_header(file, newlines_in_cells=False)
        assert file.tell() == len(line)


def test_a_pipe_is_no_file(tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    assert outcome(tmp_path / "t.csv")[0] is SourceError


# -- long cells ----------------------------------------------------------------------------------

BLUE, MISSING = 1, 0  # the code of what is outside, and of what is no number


def seven(size):
    """The number 7, if anybody reads it to its end."""
    return b"0" * size + b"7"


def codes(engine):
    batches = [task() for task in engine.tasks((0, 1))]
    return sorted(tuple(row) for b in batches for row in b.codes.tolist())


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_a_long_cell_is_an_outside_value(place, tmp_path):
    table = {"color": (b"red", seven(HUGE)), "size": (seven(LONG), b"7"), "class": (b"no", b"yes")}
    engine = open_table(place(table, tmp_path), DOMAIN)
    assert codes(engine) == [(0, MISSING), (BLUE, 7)]


def test_a_long_cell_of_a_database_is_an_outside_value(store):
    color, size = ["red", seven(HUGE).decode()], [seven(LONG).decode(), "7"]
    table = pa.table({"color": color, "size": size, "class": ["no", "yes"]})
    assert codes(open_table(store.save(table), DOMAIN)) == [(0, MISSING), (BLUE, 7)]
    color = [b"red", seven(LONG)]
    table = pa.table({"color": color, "size": size, "class": ["no", "yes"]})
    assert codes(open_table(store.save(table), DOMAIN)) == [(0, MISSING), (BLUE, 7)]


def test_a_long_name_is_nobody(tmp_path):
    domain = Domain(DOMAIN.attributes, DOMAIN.label, person=Person("who", 1))
    table = pd.DataFrame({"color": "red", "size": 1, "class": "no"}, index=range(3))
    table["who"] = ["a", "b" * (CELL_BYTES + 1), "c" * CELL_BYTES]
    assert open_table(table, domain).aggregate(RecordCount()) == 2


# -- waiting -------------------------------------------------------------------------------------


def test_a_server_that_never_answers_is_given_up(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"postgresql://user@127.0.0.1:{silent.getsockname()[1]}/d?connect_timeout=0&table=t"
        with pytest.raises(SourceError, match="does not answer in time"):
            open_table(url, DOMAIN, timeouts=Timeouts(connect=1))


def test_a_locked_table_is_given_up(postgres):
    postgres.run("CREATE TABLE t (color text, size integer, class text)")
    url = postgres.url(table="t")
    postgres.run("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
    try:
        with pytest.raises(SourceError, match="57014"):
            open_table(url, DOMAIN, timeouts=Timeouts(connect=3))
    finally:
        postgres.run("ROLLBACK")
    assert open_table(url, DOMAIN).aggregate(RecordCount()) == 0


def test_a_pass_has_a_limit_of_its_own(store):
    slow = "pg_sleep(0.1)::text" if not hasattr(store, "file") else "repeat('x', 1 + i::int % 2)"
    rows = "generate_series(1, 1000)" if not hasattr(store, "file") else "range(1000000000000)"
    query = f"SELECT {slow} AS color, 1 AS size, 'no' AS class FROM {rows} AS s(i)"
    url = store.url(query=query)
    with_limit = open_table(url, DOMAIN, timeouts=Timeouts(connect=30, statement=0.5))
    with pytest.raises(SourceError, match="part-way"):
        with_limit.aggregate(RecordCount())


def test_sums_are_the_same_with_limits(store):
    table = {"color": ["red", "blue"], "size": [1, 7], "class": ["no", "yes"]}
    engine = open_table(store.save(table), DOMAIN, timeouts=Timeouts(10, 10))
    for _ in range(3):
        assert np.sum(engine.aggregate(RecordCount())) == 2
