"""Random domains, columns, tables and trees, for hypothesis."""

from __future__ import annotations

import datetime
import enum
import math
import os
import string
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
from hypothesis import settings
from hypothesis import strategies as st

from frith.domain import Categorical, Date, Domain, Numeric, Ordered, Person
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.forest.voting import VOTES
from frith.growing.pruning import cut_back
from frith.growing.random_trees import grow_random_trees
from frith.privacy.guarantee import Guarantee

FULL = os.environ.get("FRITH_FULL") == "1"


def examples(count: int) -> settings:
    """Try `count` examples, or half as many outside of the full-size run, which has many times more."""
    return settings(max_examples=count * 20 if FULL else max(4, count // 2))


# -- cells -------------------------------------------------------------------------------------

unicode = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
any_text = st.text(max_size=6) | st.text("ax1\ud800\udfff", max_size=3)  # also half surrogate pairs
numeric_texts = st.one_of(
    st.floats().map(repr),
    st.integers().map(str),
    st.from_regex(
        r"[ \t\n\v\f\r]?[+-]?[0-9]{0,3}\.?[0-9]{0,2}([eE][+-]?[0-9]{1,4})?\s?", fullmatch=True
    ),
    st.sampled_from(
        ["1.0", "01", "1e0", "+1", "-0", ".5", "5.", "1_000", "0x10", "1,5", "inf", "-Infinity"]
        + [
            "INF",
            "iNf",
            "nan",
            "NaN",
            "NA",
            "?",
            "true",
            "False",
            "TRUE",
            "tRue",
            "1e999",
            "-1e999",
        ]
        + [
            "1e-999",
            "\u0663",
            "\uff11",
            "1\u00a0",
            "\u20031",
            "1\x00",
            "1e",
            "e5",
            ".",
            "--1",
            "1d",
        ]
    ),
)
texts = st.one_of(unicode, numeric_texts, st.sampled_from(["", " ", "a", "b", "c", "x", "true"]))
floats = st.one_of(
    st.floats(),
    st.integers(-3, 12).map(float),
    st.sampled_from([-0.0, 0.5, 5e-324, 2.0**53, 1e22, 1.7976931348623157e308]),
)
integers = st.one_of(st.integers(-3, 12), st.integers(-(2**63), 2**63 - 1))
decimals = st.decimals(
    allow_nan=False, allow_infinity=False, min_value=-999, max_value=999, places=2
)


class Unprintable:
    """An object that gives nothing away."""

    def __str__(self) -> str:
        raise RuntimeError("no")

    __repr__ = __str__

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("no")

    __ne__ = __eq__
    __hash__ = object.__hash__


class Colour(str, enum.Enum):  # noqa: UP042 - the older kind, whose str() is not its value
    A = "a"


objects = st.one_of(
    st.none(),
    texts,
    any_text,
    st.binary(max_size=3),
    st.booleans(),
    floats,
    integers,
    st.integers(),
    st.decimals(),
    st.dates(),
    st.sampled_from(
        [
            pd.NA, pd.NaT, np.datetime64("NaT"), np.nan, Decimal("NaN"), Decimal("sNaN"),
            Decimal("Infinity"), Decimal("1E+999999"), Decimal("0E-999999"), Decimal("1.10"),
            np.float32(0.1), np.float64(1.0), np.int64(3), np.int64(2**53 + 1),
            np.uint64(2**64 - 1), np.bool_(True), np.str_("a"), np.bytes_(b"a"), np.array(1.5),
            np.array([1, 2]), bytearray(b"a"), memoryview(b"a"), Colour.A, 2**53 + 1, 10**30,
            10**400, 10**5_000, Unprintable(), {"a": 1}, [1], (1, 2), {1}, 1j,
            complex(math.nan, 0), object,
            datetime.timedelta(1), datetime.datetime(2020, 1, 1), pd.Timestamp("2020-01-01"),
            pa.scalar(1.0), pa.scalar("a"), range(3), "\ud800", "a\udfff",
        ]
    ),
)  # fmt: skip

whole_seconds = st.datetimes().map(lambda t: t.replace(microsecond=0))
date_texts = st.one_of(
    st.dates().map(str),
    st.datetimes().map(str),
    st.datetimes().map(datetime.datetime.isoformat),
    st.datetimes(datetime.datetime(2, 1, 1), datetime.datetime(9998, 1, 1)).map(
        lambda t: f"{t}+01:30"
    ),
    st.sampled_from(
        ["2020-02-28", "2020-02-29", "2019-02-29", "1900-02-29", "2020-02-28T10:00", "2020-02-30"]
        + ["2020-02-28 10", "2020-02-28 10:00:60", "2020-02-28 24:00", "2020-02-28T10:00:00Z"]
        + ["2020-02-28 10:00-0130", "2020-02-28 10:00+02", "2020-02-28 10:00 ", "\t2020-02-28"]
        + [
            "2020-2-28",
            "20200228",
            "28.02.2020",
            "02/28/2020",
            "2020-02-28T10:00:00.",
            "2020-02-28x",
        ]
        + [
            "0000-01-01",
            "2020-13-01",
            "2020-00-10",
            "2020-02-28 10:00:00.5",
            "2020-02-28 10:00+24:00",
        ]
    ),
)

# -- domains -----------------------------------------------------------------------------------

value_lists = st.one_of(
    st.lists(texts, min_size=1, max_size=6, unique=True),
    st.lists(st.sampled_from(["a", "b", "c", "x", "1", "true"]), min_size=1, unique=True),
    st.lists(
        st.one_of(
            st.integers(-3, 12),
            st.integers(-(2**70), 2**70),
            st.floats(allow_nan=False, allow_infinity=False),
            st.sampled_from([1.0, 0.5, 1e22, -0.0]),
        ),
        min_size=1,
        max_size=6,
        unique_by=lambda v: str(int(v)) if float(v).is_integer() else repr(v),
    ),
    st.permutations([False, True]),
    st.sampled_from([[False], [True]]),
)


@st.composite
def categoricals(draw, name="a", values=value_lists):
    declared = tuple(draw(values))
    special = st.none() | st.sampled_from(declared)
    return Categorical(name, declared, other=draw(special), missing=draw(special))


@st.composite
def numerics(draw, name="a"):
    low = draw(st.one_of(st.integers(-10, 10), st.floats(-1e300, 1e300)))
    width = draw(st.one_of(st.integers(1, 20), st.floats(1e-3, 1e300)))
    high = max(float(low) + width, float(low) + abs(low) * 1e-6)
    scale = draw(st.sampled_from(["linear", "log"]))
    return Numeric(name, low, high, scale, draw(st.integers(2, 40)), draw(st.booleans()))


@st.composite
def dates(draw, name="a"):
    """Bounds of a few days up to all that the calendar has, with a time or without."""
    first = draw(st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 1, 1)))
    first = draw(st.sampled_from([first, datetime.datetime(2020, 2, 27), datetime.datetime.min]))
    last = first + datetime.timedelta(days=draw(st.sampled_from([1, 3, 100, 360])))
    if draw(st.booleans()):
        first, last = first.date(), last.date()
    cells = draw(st.none() | st.just(2))
    return Date(name, first, last, cells, missing=draw(st.booleans()))


@st.composite
def ordereds(draw, name="a"):
    values = tuple(draw(value_lists.filter(lambda v: len(v) > 1)))
    return Ordered(name, values, missing=draw(st.booleans()))


def attributes(name="a"):
    return st.one_of(categoricals(name), numerics(name), dates(name), ordereds(name))


@st.composite
def domains(draw, most=4, person=False, names=None):
    """Any domain with up to `most` attributes; `names` is a strategy for theirs."""
    count = draw(st.integers(1, most))
    if names is None:
        chosen = [f"column {i}" for i in range(count + 2)]
    else:
        chosen = draw(st.lists(names, min_size=count + 2, max_size=count + 2, unique=True))
    label = Categorical(chosen[-1], tuple(draw(value_lists)))
    declared = [draw(attributes(name)) for name in chosen[:count]]
    who = Person(chosen[count], draw(st.integers(1, 3))) if person else None
    return Domain(tuple(declared), label, person=who)


# -- Arrow columns -----------------------------------------------------------------------------

_BYTES = st.one_of(st.binary(max_size=4), texts.map(lambda t: t.encode()))
_WIDTHS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_UNSIGNED = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())

ARROW_CELLS = {
    **{t: st.integers(-(2 ** (t.bit_width - 1)), 2 ** (t.bit_width - 1) - 1) for t in _WIDTHS},
    **{t: st.one_of(st.integers(0, 12), st.integers(0, 2**t.bit_width - 1)) for t in _UNSIGNED},
    pa.float16(): st.floats(width=16).map(np.float16),
    pa.float32(): st.floats(width=32),
    pa.float64(): floats,
    pa.decimal32(9, 2): decimals,
    pa.decimal64(18, 2): decimals,
    pa.decimal128(38, 0): st.integers(-(10**38) + 1, 10**38 - 1).map(Decimal),
    pa.decimal256(76, 70): decimals,
    pa.bool_(): st.booleans(),
    pa.string(): texts,
    pa.large_string(): texts,
    pa.string_view(): texts,
    pa.binary(): _BYTES,
    pa.large_binary(): _BYTES,
    pa.binary_view(): _BYTES,
    pa.binary(2): st.binary(min_size=2, max_size=2),
    pa.null(): st.none(),
    pa.date32(): st.dates(),
    pa.date64(): st.dates(),
    pa.timestamp("s"): whole_seconds,
    pa.timestamp("us"): st.datetimes(),
    pa.timestamp("ms", tz="UTC"): whole_seconds,
}


@st.composite
def arrow_columns(draw, max_size=12):
    """(a column of any readable type, plain or dictionary, in any chunks; its cells)."""
    kind = draw(st.sampled_from(sorted(ARROW_CELLS, key=str)))
    cells = draw(st.lists(st.none() | ARROW_CELLS[kind], max_size=max_size))
    make = dictionaries if kind != pa.null() and draw(st.booleans()) else plain
    cuts = sorted(draw(st.lists(st.integers(0, len(cells)), max_size=3)))
    parts = [cells[a:b] for a, b in zip([0, *cuts], [*cuts, len(cells)], strict=True)]
    chunks = [make(draw, part, kind) for part in parts]
    if any(c.type != chunks[0].type for c in chunks):  # index types differ by chunk
        chunks = [plain(draw, part, kind) for part in parts]
    column = pa.chunked_array(chunks, chunks[0].type)
    return column, [float(c) if isinstance(c, np.float16) else c for c in cells]


def plain(draw, cells, kind):
    """The cells as an Arrow array, perhaps a slice of a longer one."""
    around = draw(st.booleans())
    array = pa.array([None, *cells, None] if around else cells, kind)
    return array.slice(1, len(cells)) if around else array


def dictionaries(draw, cells, kind):
    """A dictionary as no writer would order it: unused entries, repeated ones, nulls inside."""
    extra = draw(st.lists(st.none() | ARROW_CELLS[kind], max_size=3))
    entries = draw(st.permutations([*cells, *extra]))
    places = []
    for cell in cells:
        same = [
            i for i, e in enumerate(entries) if e is cell or (e == cell and type(e) is type(cell))
        ]
        is_null = cell is None and draw(st.booleans())
        places.append(None if is_null else draw(st.sampled_from(same)))
    index = draw(st.sampled_from([pa.int8(), pa.uint8(), pa.int32(), pa.uint64()]))
    return pa.DictionaryArray.from_arrays(pa.array(places, index), pa.array(entries, kind))


# -- tables ------------------------------------------------------------------------------------


def cells_for(attribute):
    """Cells of one Python type, many of them inside the attribute's domain."""
    if isinstance(attribute, Date):
        low, high = datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30)
        around = [attribute.value_of(number) for number in (attribute.low, *attribute.edges[:3])]
        inside = st.sampled_from(around)
        typed = st.datetimes(low, high) if attribute.has_time else st.dates(low.date(), high.date())
        return [
            st.none() | typed | inside,
            st.none() | csv_texts | date_texts | inside.map(str),
            st.none() | floats,
        ]
    attribute = attribute.listed if isinstance(attribute, Ordered) else attribute
    if isinstance(attribute, Numeric):
        inside = st.floats(attribute.low, attribute.high)
        return [
            st.none() | floats | inside,
            st.none() | st.integers(-(10**9), 10**9),
            st.none() | csv_texts | inside.map(repr),
            st.none() | st.booleans(),
        ]
    text = [v for v in attribute.values if isinstance(v, str) and v]
    declared = [str(v).lower() if isinstance(v, bool) else str(v) for v in attribute.values]
    kinds = [st.none() | csv_texts | st.sampled_from(text or [d for d in declared if d] or ["q"])]
    if attribute.kind == "number":
        kinds += [st.none() | floats | st.sampled_from([float(v) for v in attribute.values])]
    if attribute.kind == "boolean":
        kinds += [st.none() | st.booleans()]
    return kinds


# What CSV can hold: an empty cell is a missing one there, so there is no empty text.
csv_texts = texts.filter(bool)


@st.composite
def tables(draw, domain, max_size=12):
    """{column name: cells}, each column of one Python type with missing cells."""
    rows = draw(st.integers(0, max_size))
    columns = {}
    for attribute in (*domain.attributes, domain.label):
        cells = draw(st.sampled_from(cells_for(attribute)))
        columns[attribute.name] = draw(st.lists(cells, min_size=rows, max_size=rows))
    return columns


# -- trees -------------------------------------------------------------------------------------


@st.composite
def grown_trees(draw, domain):
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    return grow_random_trees(domain, draw(st.integers(1, 4)), draw(st.integers(1, 3)), rng)


@st.composite
def any_trees(draw, domain, most_inner=5):
    """Trees no learner would grow: attributes asked again, cuts at the ends, lone leaves."""
    roots, attribute, cut, first = [], [], [], []
    for _ in range(draw(st.integers(1, 3))):
        roots.append(len(attribute))
        node = _append(attribute, cut, first, 1)
        for _ in range(draw(st.integers(0, most_inner))):
            if node == len(attribute):
                break
            if draw(st.booleans()):
                a = draw(st.integers(0, len(domain.attributes) - 1))
                asked = domain.attributes[a]
                attribute[node], first[node] = a, len(attribute)
                if isinstance(asked, Numeric):  # dates and orders too
                    cut[node] = draw(st.integers(0, asked.size))
                _append(attribute, cut, first, asked.branches)
            node += 1
    trees = Trees(*(np.array(x, dtype=np.int32) for x in (roots, attribute, cut, first)))
    trees.check(domain)
    return trees


def _append(attribute, cut, first, count):
    at = len(attribute)
    for column in (attribute, cut, first):
        column.extend([-1] * count)
    return at


@st.composite
def trees_with_sets(draw, domain):
    """Some splits into all values ask for a set instead; what hung below other values is gone."""
    trees, rng = draw(grown_trees(domain)), np.random.default_rng(draw(st.integers(0, 999)))
    wide = [a for a, x in enumerate(domain.attributes) if isinstance(x, Categorical) and x.size > 1]
    asking = np.flatnonzero(np.isin(trees.attribute, wide) & (rng.random(trees.n_nodes) < 0.7))
    if not len(asking):
        return trees
    sets = rng.random((len(asking), max(a.size for a in domain.attributes))) < 0.5
    cut = trees.cut.copy()
    cut[asking] = -2 - np.arange(len(asking))
    asked = replace(trees, cut=cut, sets=sets)
    return cut_back(asked, asked.attribute >= 0, domain)[0]


def lone(trees, number, domain):
    """One tree of several, by itself."""
    return cut_back(replace(trees, roots=trees.roots[[number]]), trees.attribute >= 0, domain)[0]


def trees(domain):
    return st.one_of(grown_trees(domain), any_trees(domain), trees_with_sets(domain))


def forest_over(domain, trees, vote="counts", seed=0):
    """Values of every kind: few and small, so that labels tie, and some of them negative."""
    values = np.random.default_rng(seed).integers(-2, 4, (trees.n_nodes, domain.n_labels))
    return Forest(domain, trees, values, Guarantee(Fraction(1)), np.ones(trees.n_nodes), vote)


@st.composite
def forests(draw, domain):
    """A forest of any trees that votes in any way."""
    vote, seed = draw(st.sampled_from(VOTES)), draw(st.integers(0, 999))
    return forest_over(domain, draw(trees(domain)), vote, seed)


letters = st.text(string.ascii_letters, min_size=1, max_size=8)
