"""A database's codes are the Python ones, cell by cell, on values that are made to be taken wrongly."""

import adbc_driver_manager
import numpy as np
import pyarrow as pa
import pytest

from frith import open_table
from frith.domain import Categorical, Date, Domain, Numeric, Ordered
from frith.domain.attributes import LogTarget
from frith.domain.columns import columns_of
from frith.domain.encoding import CELL_BYTES, encode_records
from frith.engines.packed import Packing, Source, _unpack
from frith.engines.positions import DuckDB, Postgres, Spark, _is_even, _marks

LABEL = Categorical("class", ("no", "yes"))

TEXTS = [
    "", " ", "a", "A", "a ", " a", "á", "a\u0301", "b'", 'c"', "d\\", "\\'", "e\n", "%", "_", "{0}", "$1",
    "?", "??",
    "ß", "ss", "SS", "\u0131", "i", "I", "İ", "😀", "\u200b", "\ufeff", "\ue000", "null", "NULL", "None",
    "nan", "true", "True", "TRUE", "tRUE", "false", "1", "01", "1.0", "-0", "z" * 200, "\u2028", "--", ";",
    "/*",
]  # fmt: skip
OTHERS = [
    "B'",
    "c",
    "d",
    "e",
    "\n",
    "d\\\\",
    "''",
    "2",
    "t",
    "z" * 199,
    "z" * 201,
    "\x7f",
    "\U0010ffff",
    "é",
]
NUMBERS = Numeric("n", -3.7, 9.1, cells=1_024)
FEW = Numeric("n", 0.1, 0.7, cells=3)
TWO = Numeric("n", -1, 1, cells=2)
HUGE = Numeric("n", -8e307, 8e307, cells=64)
TINY = Numeric("n", 0, 64 * 5e-324, cells=16)
FAR = Numeric("n", 1e9, 1e9 + 1, cells=4_096)
LOGS = Numeric("n", -1e-3, 1e9, scale="log", cells=257, missing=True)
NARROW = Numeric("n", 1.0, 1.0 + 64 * 2**-52, cells=32)
LOG_TARGET = LogTarget("class", 1e-2, 1e4, cells=50)


def around(edges):
    """Every edge, and the numbers next to it."""
    return np.concatenate([edges, np.nextafter(edges, -np.inf), np.nextafter(edges, np.inf)])


def floats_for(attribute):
    ends = [
        np.inf,
        -np.inf,
        np.nan,
        0.0,
        -0.0,
        5e-324,
        -5e-324,
        1.7e308,
        attribute.low,
        attribute.high,
    ]
    marks = around(_marks(attribute.edges)) if _is_even(attribute.edges) else []
    return pa.array([*around(attribute.edges), *marks, *ends, None], from_pandas=False)


WHOLE = [
    0,
    -1,
    1,
    2,
    9,
    10,
    2**31 - 1,
    -(2**31),
    2**53 - 1,
    2**53,
    2**53 + 1,
    2**63 - 1,
    -(2**63),
    None,
]

CASES = {
    "texts": (Categorical("n", tuple(TEXTS)), pa.array([*TEXTS, *OTHERS, None])),
    "texts with roles": (
        Categorical("n", ("x", "other", "lost"), other="other", missing="lost"),
        pa.array(["x", "other", "lost", "X", None, ""]),
    ),
    "few texts": (Categorical("n", ("b'", "d\\")), pa.array([*TEXTS, *OTHERS, None])),
    "booleans as text": (
        Categorical("n", (False, True)),
        pa.array(["true", "TRUE", "t", "False", "1", None]),
    ),
    "numbers as text": (
        Categorical("n", (1, 2.5)),
        pa.array(["1", "1.0", " 2.5", "true", "x", None]),
    ),
    "a letter for what is no letter": (
        Categorical("n", ("\ufffd", "x")),
        pa.array(["\ufffd", "x", "y"]),
    ),
    "an order of texts": (
        Ordered("n", ("low", "Low", "high"), missing=True),
        pa.array(["low", "Low", "LOW", None]),
    ),
    "many texts": (
        Categorical("n", tuple(f"v{i}" for i in range(200))),
        pa.array([f"v{i}" for i in range(-5, 205)] + ["v", None]),
    ),
    "too many texts": (
        Categorical("n", tuple(f"v{i}" for i in range(300))),
        pa.array(["v7", "v299", "w", None]),
    ),
    "long cells": (
        Categorical("n", ("a", "b"), other="b"),
        pa.array(["a", "a" * (CELL_BYTES + 1), "a" * CELL_BYTES, None]),
    ),
    "whole numbers": (
        Categorical("n", (0, 1, -1, 9, 2**53 - 1), other=9),
        pa.array(WHOLE, pa.int64()),
    ),
    "whole numbers that are floats": (
        Categorical("n", (0, 2**53, 2**31)),
        pa.array(WHOLE, pa.int64()),
    ),
    "whole numbers as texts": (
        Categorical("n", ("0", "01", "-1", "-0", "--1", "9007199254740993", str(-(2**63)))),
        pa.array(WHOLE, pa.int64()),
    ),
    "small whole numbers": (Categorical("n", (1, 70_000)), pa.array([1, 0, 7, None], pa.int16())),
    "an order of numbers": (Ordered("n", (3, 1, 2)), pa.array([1, 2, 3, 4, None], pa.int32())),
    "categories of floats": (
        Categorical("n", (0, 0.5, 1)),
        pa.array([0.0, -0.0, 0.5, 1.0, np.inf, None]),
    ),
    "a grid": (NUMBERS, floats_for(NUMBERS)),
    "a grid of few cells": (FEW, floats_for(FEW)),
    "a grid of two cells": (TWO, floats_for(TWO)),
    "a grid of huge numbers": (HUGE, floats_for(HUGE)),
    "a grid of tiny numbers": (TINY, floats_for(TINY)),
    "a grid far from zero": (FAR, floats_for(FAR)),
    "a log grid with missing": (LOGS, floats_for(LOGS)),
    "a grid as fine as floats": (NARROW, floats_for(NARROW)),
    "a grid of halves": (
        Numeric("n", 0, 1, cells=7),
        floats_for(Numeric("n", 0, 1, cells=7)).cast(pa.float32()),
    ),
    "a grid of whole numbers": (
        Numeric("n", -(2.0**62), 2.0**62, cells=999),
        pa.array(WHOLE, pa.int64()),
    ),
    "a grid of truths": (Numeric("n", 0, 1, cells=3), pa.array([True, False, None])),
    "numbers that are no dates": (
        Date("n", "2020-01-01", "2021-01-01"),
        pa.array([1, 18_300, None]),
    ),
    "written dates": (Date("n", "2020-01-01", "2021-01-01"), pa.array(["2020-05-05", "x", None])),
}
LABELS = {
    "a label of texts": (
        Categorical("class", ("no", "ye's", "")),
        pa.array(["no", "ye's", "", "maybe", None]),
    ),
    "a label of numbers": (Categorical("class", (0, 1)), pa.array([0, 1, 2, None])),
    "a target": (
        Numeric("class", 0, 1, cells=50),
        pa.array([0.0, 0.5, 2.0, -1.0, np.nan, np.inf, None]),
    ),
    "a target on a log scale": (
        LOG_TARGET,
        pa.array([*floats_for(LOG_TARGET).to_pylist(), 0.0, -1.0, np.nan, np.inf, None]),
    ),
}


SMALL = Domain((Categorical("n", ("a", "b")),), LABEL)


def codes_of(engine):
    batches = [task() for task in engine.tasks(tuple(range(len(engine.domain.attributes))))]
    return sorted(
        (*map(int, codes), int(label))
        for batch in batches
        for codes, label in zip(batch.codes, batch.labels, strict=True)
    )


def expected_codes(table, domain):
    batch, _ = encode_records(columns_of(table)[0], domain)
    return sorted(
        (*map(int, c), int(label)) for c, label in zip(batch.codes, batch.labels, strict=True)
    )


def tables_of():
    for name, (attribute, cells) in CASES.items():
        table = pa.table({"n": cells, "class": pa.array(["no", "yes"] * len(cells))[: len(cells)]})
        yield name, Domain((attribute,), LABEL), table
    for name, (label, cells) in LABELS.items():
        table = pa.table({"n": pa.array([1.0] * len(cells)), "class": cells})
        yield name, Domain((Numeric("n", 0, 2),), label), table


EVERY = [pytest.param(domain, table, id=name) for name, domain, table in tables_of()]


@pytest.mark.parametrize(("domain", "table"), EVERY)
def test_a_database_gives_the_codes_that_python_gives(store, domain, table):
    engine = open_table(store.save(table), domain, threads=1)
    assert codes_of(engine) == expected_codes(table, domain)


@pytest.mark.xdist_group("spark")  # a second session would take longer than the test
def test_spark_gives_the_codes_that_python_gives(spark, tmp_path):
    """All columns side by side, filled up with nulls."""
    import pyarrow.parquet as pq

    columns, attributes = {}, []
    cases = [(f"a{i}", *case) for i, case in enumerate(CASES.values())]
    rows = max(len(cells) for _, _, cells in cases)
    for name, attribute, cells in cases:
        attributes.append(_renamed(attribute, name))
        columns[name] = pa.concat_arrays([cells, pa.nulls(rows - len(cells), cells.type)])
    columns["class"] = pa.array(np.array(["no", "yes", "maybe"])[np.arange(rows) % 3])
    domain, table = Domain(tuple(attributes), LABEL), pa.table(columns)
    pq.write_table(table, tmp_path / "t.parquet")
    engine = open_table(spark.read.parquet(str(tmp_path / "t.parquet")), domain)
    frame, encode = engine._source(tuple(range(len(attributes))))
    batch = encode(frame.toArrow())
    found = sorted(
        (*map(int, c), int(label)) for c, label in zip(batch.codes, batch.labels, strict=True)
    )
    assert found == expected_codes(table, domain)


def _renamed(attribute, name):
    data = attribute.to_json() | {"name": name}
    document = Domain((attribute,), LABEL).to_json()
    return Domain.from_json(document | {"attributes": [data]}).attributes[0]


def test_a_collation_does_not_make_different_texts_equal(postgres):
    """Not even one by which a server calls A, a and á the same."""
    loose = "provider = icu, locale = 'und-u-ks-level1', deterministic = false"
    try:
        postgres.run(f"CREATE COLLATION loose ({loose})")
    except adbc_driver_manager.NotSupportedError:
        pytest.skip("this PostgreSQL was built without ICU")
    postgres.run('CREATE TABLE people (n text COLLATE loose, "class" text COLLATE loose)')
    postgres.run("INSERT INTO people VALUES ('a','no'), ('A','no'), ('á','yes'), ('b','YES')")
    domain = Domain((Categorical("n", ("b", "a", "c"), other="c"),), LABEL)
    engine = open_table(postgres.url(table="people"), domain, threads=1)
    assert codes_of(engine) == [(1, 0), (2, 0), (2, 1)]


def test_postgres_is_told_to_compare_by_bytes(postgres):
    """Which the test above shows where there are other ways."""
    engine = open_table(postgres.save({"n": ["a"], "class": ["no"]}), SMALL)
    (word,) = engine._packing((0,)).selected
    assert word.count("COLLATE") == word.count('COLLATE "C"') == word.count("c0") + word.count("c1")


def test_duckdb_compares_by_bytes_whatever_a_column_says(duckdb):
    duckdb.run('CREATE TABLE people (n VARCHAR COLLATE NOCASE, "class" VARCHAR)')
    duckdb.run("INSERT INTO people VALUES ('a','no'),('A','no'),('b','YES')")
    domain = Domain((Categorical("n", ("b", "a", "c"), other="c"),), LABEL)
    engine = open_table(duckdb.url(table="people"), domain, threads=1)
    assert codes_of(engine) == [(1, 0), (2, 0)]


@pytest.mark.parametrize("setting", ["on", "off"])
def test_a_servers_settings_do_not_change_what_a_key_is(postgres, setting):
    keys = ("d\\", "b'", "\\n", "\n", "\\'")
    url = postgres.save({"n": [*keys, "d", "n"], "class": ["no"] * 7})
    user = postgres.run("SELECT current_user")[0][0]
    postgres.run(f"ALTER ROLE {user} SET standard_conforming_strings = {setting}")
    try:
        domain = Domain((Categorical("n", ("first", *keys)),), LABEL)
        engine = open_table(url, domain, threads=1)
        assert codes_of(engine) == [(0, 0), (0, 0), *((i, 0) for i in range(1, 6))]
    finally:
        postgres.run(f"ALTER ROLE {user} RESET standard_conforming_strings")


def test_few_bytes_of_a_record_travel(postgres):
    """Twenty columns of text and numbers are three numbers of 64 bits."""
    texts = [Categorical(f"c{i}", tuple("abcdef")) for i in range(10)]
    numbers = [Numeric(f"x{i}", -4, 4) for i in range(10)]
    domain = Domain((*texts, *numbers), LABEL)
    sources = {a.name: Source("text", "c", "c") for a in (*texts, LABEL)}
    sources |= {a.name: Source("float", "x", "x") for a in numbers}
    every = tuple(range(20))
    assert len(Packing(domain, every, sources, Postgres()).selected) == 3
    assert len(Packing(domain, every, sources, DuckDB()).selected) == 11
    assert len(Packing(domain, every, sources, Spark()).selected) == 11
    assert len(Packing(domain, (3,), sources, Postgres()).selected) == 1


def test_even_grids_alone_are_divided():
    """Others, and those so fine that a rounding is a good part of a cell, are searched."""
    even = [a for a in (NUMBERS, FEW, FAR, Numeric("n", -4, 4)) if _is_even(a.edges)]
    assert len(even) == 4
    uneven = (LOGS, LOG_TARGET, NARROW, TWO, HUGE, TINY)
    assert not any(_is_even(a.edges) for a in uneven)
    wrong = NUMBERS.edges.copy()
    wrong[7] += 0.4 * (wrong[8] - wrong[7])
    assert not _is_even(wrong)


def test_no_bits_point_beyond_the_codes():
    domain = Domain((Categorical("n", ("a", "b", "c")),), LABEL)
    sources = {"n": Source("text", "n", "n"), "class": Source("text", "c", "c")}
    packing = Packing(domain, (0,), sources, Spark())
    for word in (0, -1, 2**63 - 1, -(2**63)):
        batch = packing.encode(pa.table({"s0": pa.array([word], pa.int64())}))
        assert all(0 <= code < 3 for code in batch.codes.ravel())


def test_unpacking_by_numba_equals_python():
    rng = np.random.default_rng(0)
    words = rng.integers(-(2**63), 2**63 - 1, 50, dtype=np.int64)
    places = tuple(np.array(x) for x in ([1, 0], [0, 7], [127, 3], [0, 128]))
    codes = rng.integers(0, 99, 132).astype(np.int32)
    known = rng.random(50) < 0.5
    out = np.zeros((int(known.sum()), 2), dtype=np.uint8)
    _unpack(words, known, (*places, codes), out)
    kept = [int(w) for w, k in zip(words, known, strict=True) if k]
    assert out.tolist() == [[codes[128 + ((w >> 7) & 3)], codes[w & 127]] for w in kept]
