"""Lines read piece by piece: what is kept of one depends on that line alone."""

import io
import itertools

import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from frith import Categorical, Domain, open_table
from frith.domain.encoding import CELL_BYTES
from frith.engines import csv, lines


def cut(*pieces, most=2):
    """A line read in pieces, its cells cut to one byte more than `most`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CELL_BYTES", most)
        begun = lines._LineOfCells()
        for piece in pieces:
            begun.add(piece)
        return begun.line()


def cells(line):
    """As Arrow reads them."""
    (record,) = pyarrow.csv.read_csv(
        io.BytesIO(line + b"\n"),
        read_options=pyarrow.csv.ReadOptions(autogenerate_column_names=True),
        convert_options=pyarrow.csv.ConvertOptions(
            column_types={f"f{i}": pa.binary() for i in range(line.count(b",") + 1)}
        ),
    ).to_pylist()
    return list(record.values())


def is_closed(line):
    return csv._lose_open_lines(line + b"\n") == line + b"\n"


@given(st.text('ab,"', max_size=12).map(str.encode), st.sets(st.integers(0, 12)))
@example(b'"ab"a', frozenset({4}))
@example(b'"a""b"', frozenset({3}))
def test_what_is_kept_of_a_line_does_not_depend_on_where_pieces_end(line, ends):
    """Else a record could change how a later one is read."""
    bounds = [0, *sorted(e for e in ends if e <= len(line)), len(line)]
    assert cut(*(line[a:b] for a, b in itertools.pairwise(bounds))) == cut(line)


@given(st.text('ab,"', min_size=1, max_size=12).map(str.encode))
@example(b'"ab"a')
@example(b'"abc"')
@example(b'"""""",')
def test_cells_are_cut_where_arrow_ends_them(line):
    """A cell of up to two bytes stays, of a longer one three bytes stay, and a quote stays open."""
    kept = cut(line)
    assert is_closed(kept) == is_closed(line)
    if is_closed(line):
        assert cells(kept) == [cell[:3] for cell in cells(line)]


@given(st.text("a\r\n", max_size=20).map(str.encode))
def test_the_first_end_of_a_line(block):
    ends = [block.find(end) for end in (b"\r", b"\n") if end in block]
    assert lines._first_end(block) == min(ends, default=-1)


@pytest.mark.parametrize("more", [0, 1])
@pytest.mark.parametrize("quote", [b"", b'"'])
def test_the_cap_is_to_the_byte_however_long_the_line(more, quote, tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK", 4 * CELL_BYTES)
    value = '"' * CELL_BYTES if quote else "x" * CELL_BYTES
    domain = Domain([Categorical("color", ("red", value))], Categorical("class", ("no", "yes")))
    cell = quote + (value + "é" * more).encode().replace(b'"', b'""') + quote
    path = tmp_path / "t.csv"
    filler = b"y" * 6 * CELL_BYTES
    path.write_bytes(b"color,class,other\n%b,no,%b\n%b,no,1\n" % (cell, filler, cell))
    batches = [task() for task in open_table(path, domain).tasks((0,))]
    assert [c for b in batches for (c,) in b.codes.tolist()] == [0 if more else 1] * 2
