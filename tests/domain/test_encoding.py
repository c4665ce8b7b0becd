"""Encoding is total, and each cell is encoded by itself."""

import datetime
import json
import tracemalloc
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.domain import Categorical, Date, Domain, Numeric, Ordered
from frith.domain.check import add_columns, empty_report
from frith.domain.columns import WithLabels, chunked, columns_of
from frith.domain.encoding import (
    encode_attributes,
    encode_column,
    encode_label,
    encode_records,
    person_digests,
)
from frith.errors import DataError
from tests import twins
from tests.strategies import (
    any_text,
    arrow_columns,
    attributes,
    categoricals,
    domains,
    examples,
    integers,
    numerics,
    objects,
    tables,
    texts,
)

LETTERS = Categorical("a", ("x", "y", "z"), other="z", missing="y")
NUMBERS = Categorical("a", (0, 1, 2.5, 7), other=7, missing=0)
TRUTHS = Categorical("a", (False, True))
SIZE = Numeric("a", 0, 10, cells=10, missing=True)
LABEL = Categorical("class", ("no", "yes"))


def codes_of(column, attribute):
    """The codes that frith gives; 60,000 would be a record that was not written."""
    column = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
    out = np.full(len(column), 60_000, dtype=np.uint16)
    encode_column(column, attribute, out)
    return out.tolist()


def objects_of(cells):
    """A NumPy array of objects, whatever the cells are."""
    column = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        column[i] = cell
    return column


# -- total: any column of a readable type ----------------------------------------------------------


@examples(600)
@given(arrow_columns(), attributes())
def test_any_arrow_column_is_encoded_like_the_twin(column_and_cells, attribute):
    column, cells = column_and_cells
    assert codes_of(column, attribute) == [twins.code_of(c, attribute) for c in cells]


@examples(200)
@given(arrow_columns(), categoricals())
def test_any_label_column_is_encoded_like_the_twin(column_and_cells, label):
    column, cells = column_and_cells
    expected = [twins.label_of(c, label) for c in cells]
    assert encode_label(column, label).tolist() == [-1 if e is None else e for e in expected]


@examples(600)
@given(st.lists(objects, max_size=8), attributes())
def test_any_python_objects_are_encoded_like_the_twin(cells, attribute):
    expected = [twins.code_of(twins.cell_of(c), attribute) for c in cells]
    assert codes_of(chunked(objects_of(cells), "a"), attribute) == expected
    frame = pd.DataFrame({"a": pd.Series(objects_of(cells), dtype=object)})
    assert codes_of(columns_of(frame)[0]("a"), attribute) == expected


@examples(300)
@given(st.lists(objects, min_size=1, max_size=8), attributes())
def test_a_cell_is_encoded_by_itself(cells, attribute):
    """Else one record could move another, and a count would change by more than its sensitivity."""
    together = codes_of(chunked(objects_of(cells), "a"), attribute)
    alone = [codes_of(chunked(objects_of([c]), "a"), attribute)[0] for c in cells]
    assert together == alone


@examples(150)
@given(st.lists(st.tuples(objects, objects), min_size=1, max_size=6), attributes())
def test_a_list_of_lists_is_read_cell_by_cell(rows, attribute):
    """NumPy alone would make text of the numbers beside a text, and 'nan' of a missing one."""
    columns, count = columns_of([list(row) for row in rows], ["a", "b"])
    assert count == len(rows)
    expected = [twins.code_of(twins.cell_of(row[0]), attribute) for row in rows]
    assert codes_of(columns("a"), attribute) == expected


@examples(150)
@given(st.lists(st.none() | any_text | st.integers(-3, 12) | st.booleans()), attributes())
def test_pandas_categories_of_any_kind_are_read_cell_by_cell(cells, attribute):
    """Mixed categories too, on which Arrow raises and quotes one of them."""
    values = list(dict.fromkeys(c for c in cells if c is not None))
    codes = [-1 if c is None else values.index(c) for c in cells]
    categories = pd.Index(objects_of(values), dtype=object)
    column = pd.Categorical.from_codes(codes, categories=categories)
    chosen = [None if code < 0 else values[code] for code in codes]  # 1 and True share one
    expected = [twins.code_of(twins.cell_of(c), attribute) for c in chosen]
    assert codes_of(chunked(pd.Series(column), "a"), attribute) == expected
    assert codes_of(chunked(column, "a"), attribute) == expected


@examples(60)
@given(st.lists(any_text, max_size=8), attributes())
def test_arrays_of_any_text_are_encoded_like_the_twin(cells, attribute):
    """NumPy's texts and pandas' may hold half a surrogate pair, on which Arrow raises."""
    typed = np.array(cells, dtype=np.str_)
    expected = [twins.code_of(twins.cell_of(c), attribute) for c in typed.tolist()]
    assert codes_of(chunked(typed, "a"), attribute) == expected
    series = pd.Series(objects_of(cells), dtype=pd.StringDtype("python"))
    expected = [twins.code_of(twins.cell_of(c), attribute) for c in cells]
    assert codes_of(chunked(series, "a"), attribute) == expected


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
@pytest.mark.parametrize("attribute", [LETTERS, NUMBERS, TRUTHS, SIZE], ids=lambda a: str(a.size))
def test_text_that_is_no_utf8_is_a_value_outside(kind, attribute):
    """Parquet and Feather readers do not look whether what they call text is text."""
    offsets = pa.py_buffer(np.array([0, 2, 3, 4], dtype=np.int32).tobytes())
    text = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"\xff\xfex1")])
    column = text.cast(kind, safe=False)
    expected = [twins.code_of(c, attribute) for c in (b"\xff\xfe", b"x", b"1")]
    assert codes_of(column, attribute) == expected
    assert codes_of(column.cast(pa.binary()).dictionary_encode(), attribute) == expected


@pytest.mark.parametrize("attribute", [LETTERS, NUMBERS, TRUTHS, SIZE], ids=lambda a: str(a.size))
def test_indices_beyond_a_damaged_dictionary_do_not_raise(attribute):
    index = pa.array([0, 1, 9, -7], pa.int8())
    column = pa.DictionaryArray.from_arrays(index, pa.array(["x", "1"]), safe=False)
    codes = codes_of(column, attribute)
    assert codes[:2] == [twins.code_of(c, attribute) for c in ("x", "1")]
    assert max(codes) < attribute.size


@pytest.mark.parametrize("attribute", [LETTERS, NUMBERS, TRUTHS, SIZE], ids=lambda a: str(a.size))
def test_a_dictionary_as_large_as_its_index_type_has_room_for_nulls(attribute):
    values = pa.array([str(i) for i in range(256)])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 255, None], pa.uint8()), values)
    assert codes_of(column, attribute) == [twins.code_of(c, attribute) for c in ("0", "255", None)]


# -- one table, many forms -------------------------------------------------------------------------


@examples(100)
@given(st.lists(st.none() | st.integers(0, 12), max_size=10), attributes())
def test_codes_do_not_depend_on_the_width_of_integers(cells, attribute):
    kinds = [pa.int8(), pa.int16(), pa.int32(), pa.int64()]
    kinds += [pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]
    kinds += [pa.float16(), pa.float32(), pa.float64(), pa.decimal128(25, 2), pa.decimal256(76, 50)]
    forms = [pa.array(cells, pa.int64()).cast(kind) for kind in kinds]
    forms += [pa.array([None if c is None else str(c) for c in cells], pa.string())]
    codes = [codes_of(form, attribute) for form in forms]
    assert codes == [[twins.code_of(c, attribute) for c in cells]] * len(forms)


@examples(100)
@given(st.lists(st.none() | texts, max_size=10), st.integers(0, 10), attributes())
def test_codes_do_not_depend_on_dictionaries_or_chunks(cells, cut, attribute):
    plain = pa.array(cells, pa.string())
    cut = min(cut, len(plain))
    forms = [
        plain,
        plain.dictionary_encode(),
        plain.cast(pa.large_string()),
        plain.cast(pa.string_view()),
        plain.cast(pa.binary()),
        plain.cast(pa.large_binary()).dictionary_encode(),
        pa.chunked_array([plain[:cut], plain[cut:cut], plain[cut:]]),
        pa.chunked_array([plain[:cut].dictionary_encode(), plain[cut:].dictionary_encode()]),
        pa.chunked_array([plain[:0], plain]),
    ]
    codes = [codes_of(form, attribute) for form in forms]
    assert codes == [[twins.code_of(c, attribute) for c in cells]] * len(forms)


@pytest.mark.parametrize("attribute", [LETTERS, NUMBERS, TRUTHS, SIZE], ids=lambda a: str(a.size))
def test_columns_without_a_value_are_missing_throughout(attribute):
    missing = twins.code_of(None, attribute)
    for kind in (pa.null(), pa.string(), pa.int8(), pa.float64(), pa.bool_(), pa.decimal128(5, 2)):
        assert codes_of(pa.nulls(3, kind), attribute) == [missing] * 3
        assert codes_of(pa.chunked_array([], kind), attribute) == []
        assert codes_of(pa.chunked_array([pa.nulls(0, kind)] * 2), attribute) == []


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (" 3.5e0 ", 3.5), ("3.5E+2", 350), ("\t7\r\n", 7), ("+4", 4), ("-4", -4), (".5", 0.5),
        ("5.", 5), ("007", 7), ("inf", np.inf), ("-Infinity", -np.inf), ("+INF", np.inf),
        ("1e999", np.inf), ("-1e999", -np.inf), ("1e-999", 0), ("9" * 5_000, np.inf),
        ("0" * 5_000 + "3", 3), ("3." + "0" * 5_000, 3), ("1e" + "9" * 500, np.inf),
        ("1e-" + "9" * 500, 0), ("true", 1), ("False", 0),
    ],
)  # fmt: skip
def test_texts_that_spell_a_number_are_that_number(text, number):
    column = pa.array([text])
    expected = codes_of(pa.array([number], pa.float64()), SIZE)
    assert codes_of(column, SIZE) == expected
    assert codes_of(column.dictionary_encode(), SIZE) == expected
    if np.isfinite(number):
        declared = Categorical("a", (12345, number))
        assert codes_of(column, declared) == [1]


@pytest.mark.parametrize(
    "text",
    [
        "abc", "", " ", "1_000", "0x10", "1,5", "1 2", "--1", "+-1", "1e", "e1", ".", "+", "nan",
        "NaN", "-nan", "NA", "?", "1.2.3", "\u0663", "\uff11", "1\u00a0", "1\x00", "\x001", "tRue",
        "\u0131nf", "½", "1d",
    ],
)  # fmt: skip
def test_texts_that_spell_no_number_are_missing(text):
    assert codes_of(pa.array([text]), SIZE) == [SIZE.missing_code]
    assert codes_of(pa.array([text]), Numeric("a", -5, 5, cells=10)) == [0]
    assert codes_of(pa.array([text]), NUMBERS) == [NUMBERS.outside_code]


def test_a_text_equals_the_declared_number_it_spells():
    column = pa.array(["1.0", "1", " 1", "01", "1e0", "2.50", "2.5", "true", "1.5", "7 ", None])
    assert codes_of(column, NUMBERS) == [1, 1, 1, 1, 1, 2, 2, 1, 3, 3, 0]
    text = Categorical("a", ("1.0", "1"), other="1")
    assert codes_of(pa.array(["1.0", "1", "1.00"]), text) == [0, 1, 1]


def test_booleans_are_read_in_the_capitals_of_every_writer():
    column = pa.array(["true", "True", "TRUE", "false", "False", "FALSE", "yes", "1", None])
    assert codes_of(column, TRUTHS) == [1, 1, 1, 0, 0, 0, 0, 0, 0]
    assert codes_of(pa.array([True, False, None]), TRUTHS) == [1, 0, 0]


def test_long_integers_are_not_rounded():
    long = 2**53 + 1
    declared = Categorical("a", ("none", str(long)))
    for kind in (pa.int64(), pa.uint64(), pa.decimal128(20, 0), pa.decimal256(40, 2)):
        assert codes_of(pa.array([long], pa.int64()).cast(kind), declared) == [1]


@examples(200)
@given(numerics(), st.lists(st.floats(), max_size=5), st.data())
def test_a_numbers_code_is_how_many_edges_are_at_most_it(attribute, cells, data):
    """Also at the edges themselves and one float beside them."""
    edge = data.draw(st.sampled_from(attribute.edges.tolist()))
    ends = [attribute.low, attribute.high]
    cells += [*ends, edge, np.nextafter(edge, -np.inf), np.nextafter(edge, np.inf)]
    codes = codes_of(pa.array(cells, pa.float64()), attribute)
    for x, code in zip(cells, codes, strict=True):
        if np.isnan(x):
            assert code == attribute.missing_code
        else:
            assert code == np.sum(attribute.edges <= x)
    assert codes[-5:-3] == [0, attribute.cells - 1]
    assert codes[-1] == codes[-3] == codes[-2] + 1


@pytest.mark.parametrize("kind", [pa.decimal32(9, 2), pa.decimal128(10, 2), pa.decimal256(76, 70)])
def test_a_decimal_is_the_float_nearest_to_it(kind):
    """The same as if its digits were text, in a CSV file; Arrow's own cast is often one bit off."""
    texts = [f"{i / 100:.2f}" for i in range(-1_000, 1_001)]
    hundredths = Numeric("a", -10, 10, cells=2_000)
    column = pa.array([Decimal(t) for t in texts], kind)
    assert codes_of(column, hundredths) == codes_of(pa.array(texts), hundredths)
    assert codes_of(column, hundredths) == [twins.code_of(t, hundredths) for t in texts]


def test_numbers_beyond_the_bounds_are_clamped():
    column = pa.array(
        [-np.inf, -1e300, -1.0, -0.0, 5e-324, 9.99, 10.0, 1e300, np.inf, np.nan, None]
    )
    assert codes_of(column, SIZE) == [0, 0, 0, 0, 0, 9, 9, 9, 9, 10, 10]


# -- what may raise: the shape of a table ----------------------------------------------------------

UNREADABLE = [
    pa.time32("s"), pa.time64("us"), pa.duration("s"), pa.month_day_nano_interval(),
    pa.list_(pa.int8()), pa.struct([("x", pa.int8())]), pa.map_(pa.string(), pa.int8()),
    pa.dictionary(pa.int8(), pa.time32("s")), pa.run_end_encoded(pa.int32(), pa.string()),
]  # fmt: skip


@pytest.mark.parametrize("kind", UNREADABLE, ids=str)
def test_a_column_type_that_no_domain_describes_is_named(kind):
    """By its type, with or without a record in it."""
    table = pa.schema([("when", kind)]).empty_table()
    with pytest.raises(DataError, match="'when'"):
        columns_of(table)[0]("when")
    with pytest.raises(DataError, match="'when'"):
        chunked(table.column("when"), "when")


@pytest.mark.parametrize(
    "values",
    [
        np.array([1], dtype="m8[s]"),
        np.array([1j]),
        np.array([(1, 2)], dtype=[("x", int), ("y", int)]),
        pd.Series(pd.to_timedelta(["1D"])),
        pd.Series(pd.period_range("2020", periods=1)),
        pd.Series(pd.interval_range(0, 1)),
        pd.Series(pd.to_timedelta(["1D"])).astype("category"),
        pd.Series([datetime.time(1)], dtype=pd.ArrowDtype(pa.time32("s"))),
    ],
    ids=lambda v: str(v.dtype),
)
def test_an_array_type_that_no_domain_describes_is_named(values):
    for column in (values, values[:0]):
        with pytest.raises(DataError, match="'when'"):
            chunked(column, "when")


def test_columns_are_found_by_name_and_only_once():
    frame = pd.DataFrame([["x", 1, "y"]], columns=["a", "b", "a"])
    for table in (frame, pa.Table.from_arrays([pa.array([1])] * 3, names=["a", "b", "a"])):
        columns, rows = columns_of(table)
        assert rows == 1
        assert len(columns("b")) == 1
        with pytest.raises(DataError, match="2 columns named 'a'"):
            columns("a")
        with pytest.raises(DataError, match="no column 'c'; it has 'a', 'b', 'a'"):
            columns("c")


@pytest.mark.parametrize("array", [np.zeros(3), np.zeros((3, 3)), np.zeros((1, 2, 2)), [[1]], 5])
def test_an_array_of_another_shape_is_refused(array):
    with pytest.raises(DataError, match="2 columns"):
        columns_of(array, ["a", "b"])


@pytest.mark.parametrize("rows", [[[1], [1, 2]], [1, 2], ["ab", "cd"], [[1, 2], None]])
def test_a_list_of_anything_but_even_rows_is_refused(rows):
    with pytest.raises(DataError, match="rows"):
        columns_of(rows, ["a", "b"])


def test_a_list_of_no_rows_is_an_empty_table():
    columns, count = columns_of([], ["a", "b"])
    assert count == 0
    assert codes_of(columns("b"), LETTERS) == []


# -- whole tables ----------------------------------------------------------------------------------


@examples(150)
@given(st.data())
def test_a_table_is_encoded_like_the_twin(data):
    domain = data.draw(domains())
    table = data.draw(tables(domain))
    columns, _ = columns_of(pd.DataFrame({k: objects_of(v) for k, v in table.items()}))
    batch, known = encode_records(columns, domain)
    expected = twins.records_of(table, domain)
    assert [
        (tuple(c), y) for c, y in zip(batch.codes.tolist(), batch.labels.tolist(), strict=True)
    ] == (expected)
    assert known.sum() == len(expected)
    assert batch.codes.dtype == domain.code_type
    assert batch.labels.dtype == domain.label_type


def test_only_the_attributes_asked_for_are_encoded():
    domain = Domain((LETTERS, Numeric("b", 0, 10, cells=10), Numeric("c", 0, 10, cells=10)), LABEL)
    table = pa.table({"a": ["y"], "b": [5], "class": ["no"]})  # without column c
    batch, _ = encode_records(columns_of(table)[0], domain, attributes=(0, 1))
    assert batch.codes.tolist() == [[1, 5, 0]]
    batch, _ = encode_records(columns_of(table)[0], domain, attributes=())
    assert batch.codes.tolist() == [[0, 0, 0]]


def test_threads_encode_the_same_codes():
    table, domain = big_table(rows=20_000)
    table.loc[::7, "class"] = "unknown"
    columns, rows = columns_of(table)
    one, known = encode_records(columns, domain, threads=1)
    many, _ = encode_records(columns, domain, threads=4)
    assert 0 < len(one) == known.sum() < rows
    assert np.array_equal(one.codes, many.codes)
    assert np.array_equal(one.labels, many.labels)


def big_table(rows, seed=0):
    """Floats, texts and categories, and their domain."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word {i}" for i in range(30)])
    table = {}
    attributes = []
    for j in range(10):
        table[f"n{j}"] = rng.normal(size=rows)
        attributes.append(Numeric(f"n{j}", -3, 3))
    for j in range(10):
        cells = pd.Series(words[rng.integers(0, 30, rows)])
        table[f"c{j}"] = cells.astype("category") if j % 2 else cells
        attributes.append(Categorical(f"c{j}", tuple(words.tolist())))
    table["class"] = np.where(rng.random(rows) < 0.5, "no", "yes")
    return pd.DataFrame(table), Domain(tuple(attributes), LABEL)


@pytest.mark.parametrize("threads", [1, 2])
def test_encoding_holds_the_codes_and_a_few_columns_but_no_copy_of_the_table(threads):
    rows = 200_000
    table, domain = big_table(rows)
    columns, _ = columns_of(table)
    encode_attributes(columns_of(table[:20_000])[0], domain, 20_000, threads=threads)  # compiles
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        codes = encode_attributes(columns, domain, rows, threads=threads)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)
    column, whole = 8 * rows, 8 * rows * len(domain.attributes)
    assert peak + pool.max_memory() < codes.nbytes + 4 * threads * column
    assert 4 * threads * column < whole  # the bound could not be met with a second table


# -- persons ---------------------------------------------------------------------------------------


@examples(200)
@given(st.lists(objects, max_size=10))
def test_persons_are_the_same_exactly_where_their_names_are(cells):
    """Two persons taken for one would share their m records, and each could move the other's."""
    digests, named = person_digests(chunked(objects_of(cells), "who"), b"key")
    names = [_name(c) for c in cells]
    assert named.tolist() == [bool(n) for n in names]
    for i in range(len(cells)):
        for j in range(len(cells)):
            if names[i] and names[j]:
                assert np.array_equal(digests[i], digests[j]) == (names[i] == names[j])


def _name(thing):
    """A person's name as bytes, so that bad UTF-8 and half surrogates stay apart."""
    if isinstance(thing, str):
        return str.encode(thing, "utf-8", "surrogatepass")
    if isinstance(thing, bytes | bytearray | memoryview):
        return bytes(thing)
    return (twins.text_of(twins.cell_of(thing)) or "").encode("utf-8", "surrogatepass")


@examples(100)
@given(st.lists(integers | st.none(), max_size=8), st.binary(min_size=1, max_size=64))
def test_a_persons_digest_does_not_depend_on_the_columns_type(cells, key):
    plain = pa.array(cells, pa.int64())
    forms = [
        plain,
        plain.dictionary_encode(),
        plain.cast(pa.string()),
        plain.cast(pa.large_string()).dictionary_encode(),
        plain.cast(pa.decimal128(38, 2)),
        pa.chunked_array([plain[:2], plain[2:2], plain[2:]]),
    ]
    if all(c is None or abs(c) < 2**53 for c in cells):
        forms.append(plain.cast(pa.float64()))
    results = [person_digests(_chunked(form), key) for form in forms]
    for digests, named in results:
        assert np.array_equal(digests, results[0][0])
        assert named.tolist() == [c is not None for c in cells]


def _chunked(array):
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def test_records_without_a_person_have_none():
    for cells in ([None, "", "a"], [np.nan, None, 1.0], [b"", None, b"a"]):
        _, named = person_digests(chunked(objects_of(cells), "who"), b"key")
        assert named.tolist() == [False, False, True]
    for kind in (pa.null(), pa.string(), pa.int8()):
        digests, named = person_digests(pa.chunked_array([pa.nulls(2, kind)]), b"key")
        assert digests.shape == (2, 4)
        assert not named.any()
    digests, named = person_digests(pa.chunked_array([], pa.string()), b"key")
    assert digests.shape == (0, 4)
    assert named.shape == (0,)


def test_another_key_gives_other_digests():
    column = pa.chunked_array([["ann"]])
    one, other = (person_digests(column, key)[0] for key in (b"a", b"b"))
    assert not np.array_equal(one, other)


def test_bad_bytes_do_not_make_one_person_of_two():
    digests, _ = person_digests(
        pa.chunked_array([pa.array([b"\xff", b"\xfe", "\ufffd".encode()])]), b"k"
    )
    assert len(np.unique(digests, axis=0)) == 3
    long = [Decimal(2**53), Decimal(2**53 + 1)]
    digests, _ = person_digests(pa.chunked_array([pa.array(long, pa.decimal128(20, 0))]), b"k")
    assert len(np.unique(digests, axis=0)) == 2


# -- dates that no calendar has --------------------------------------------------------------------

ENDS = [-(2**63), -(2**62), -1, 0, 1, 2**62, 2**63 - 1, None]
ZONES = (None, "UTC", "Europe/Berlin", "+05:30", "No/Such")
WHENEVER = [pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in ZONES]


@pytest.mark.parametrize("kind", [*WHENEVER, pa.date64()], ids=str)
def test_no_date_raises_whatever_the_attribute_is(kind):
    column = pa.chunked_array([pa.array(ENDS, pa.int64()).view(kind)])
    attributes = [
        Categorical("a", ("x", "y")), Numeric("a", 0, 1, missing=True), Ordered("a", ("x", "y")),
        Date("a", "2020-01-01", "2020-02-01", missing=True), Date("a", "2020-01-01 00:00", "2020-02-01"),
    ]  # fmt: skip
    for attribute in attributes:
        for cells in (column, column.dictionary_encode()):
            assert max(codes_of(cells, attribute)) < attribute.size
            domain = Domain([attribute], Categorical("y", (0,)))
            report = empty_report(domain)
            add_columns(report, {"a": cells, "y": pa.chunked_array([[0] * 8])}.get, 8)
            assert json.dumps(report.to_json())


def test_a_second_before_1970_is_spelled_as_its_beginning():
    """As in every other engine: a fraction of a second is cut off, not rounded towards 1970."""
    moment = datetime.datetime(1969, 1, 1, 0, 0, 0, 1)
    when = Categorical("a", ("1969-01-01 00:00:00", "1969-01-01 00:00:01"))
    for unit in ("us", "ns"):
        for column in ([moment, None], [moment]):
            array = pa.array(column, pa.timestamp(unit))
            for cells in (array, array.dictionary_encode(), array.cast(pa.timestamp(unit, "UTC"))):
                codes = encode_label(pa.chunked_array([cells]), when).tolist()
                assert codes == [0, -1][: len(column)]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("known", [1.0, 0.7])
def test_floats_are_encoded_without_a_copy_as_they_are_with_one(order, kind, known):
    """In blocks, on several threads, from arrays and frames, with labels that are unknown among them."""
    attributes = [
        Numeric("a", -1, 1),
        Numeric("b", 0, 9, cells=7, missing=True),
        Numeric("c", 1, 2),
    ]
    domain = Domain(attributes, Categorical("y", ("no", "yes")))
    rng = np.random.default_rng(0)
    rows = 150_000
    cells = np.asarray(rng.normal(size=(rows, 3)) * 3, dtype=kind, order=order)
    cells[rng.random(cells.shape) < 0.1] = np.nan
    cells[::997] = np.inf
    labels = np.where(rng.random(rows) < known, "no", "?")
    frame = pd.DataFrame(cells, columns=["a", "b", "c"]).assign(y=labels)
    names = ["a", "b", "c"]
    table = pa.table({name: pa.array(cells[:, j]) for j, name in enumerate(names)} | {"y": labels})
    plain, mask = encode_records(lambda name: table[name], domain)
    for source in (frame, table):
        batch, found = encode_records(columns_of(source)[0], domain, threads=3)
        assert np.array_equal(batch.codes, plain.codes)
        assert np.array_equal(batch.labels, plain.labels)
        assert np.array_equal(found, mask)
    codes = encode_attributes(columns_of(cells, names)[0], domain, rows, threads=2)
    assert np.array_equal(codes[mask], plain.codes)


@pytest.mark.parametrize("kind", ["f8", "f4"])
@pytest.mark.parametrize("threads", [1, 3])
def test_numbers_of_an_array_are_encoded_like_those_of_a_frame(kind, threads):
    """In one walk over its rows, past the end of a block, and without the rows that have no label."""
    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(70_001, 4)).astype(kind)
    numbers[rng.random(numbers.shape) < 0.01] = np.nan
    numbers[3], numbers[4] = np.inf, -np.inf
    domain = Domain(
        [
            Numeric("b", -1, 2, cells=7, missing=True),
            Categorical("c", (0, 1), other=1),
            Numeric("a", -3, 3),
            Numeric("d", 0, 4, scale="log"),
        ],
        LABEL,
    )
    labels = np.where(rng.random(len(numbers)) < 0.1, "unknown", "yes")
    frame = pd.DataFrame(numbers, columns=domain.names)
    found = [
        encode_records(WithLabels(columns_of(t, domain.names)[0], "class", chunked(labels, "class")),
                       domain, threads=threads)[0].codes
        for t in (numbers, np.asfortranarray(numbers), frame)
    ]  # fmt: skip
    assert len(found[0]) == np.sum(labels == "yes")
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])
    some = encode_attributes(columns_of(numbers, domain.names)[0], domain, len(numbers), (2,))
    assert np.array_equal(some[labels == "yes", 2], found[0][:, 2])
    assert not some[:, [0, 1, 3]].any()
