"""Files: read as they were pinned, whatever their cells hold, and silent about every cell."""

import os
import random
import shutil
import traceback

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.domain import Categorical, Domain, Numeric, Person
from frith.domain.encoding import CELL_BYTES
from frith.engines import FileEngine, MemoryEngine, files
from frith.engines import csv as csv_files
from frith.errors import DataError, FrithError, SourceError
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LeafCounts, RecordCount
from tests import twins
from tests.engines.tables import arrow, cut, write
from tests.engines.test_persons import kept
from tests.strategies import FULL, csv_texts, examples

DOMAIN = Domain(
    (
        Categorical("color", ("red", "green", "blue"), other="blue", missing="green"),
        Numeric("size", 0, 10, cells=10, missing=True),
    ),
    Categorical("class", ("no", "yes")),
)
RED, GREEN, BLUE, NO, YES, NONE = 0, 1, 2, 0, 1, 10
SECRET = "zebra" + "7731"  # in two, so that no line of code in a traceback holds it
FORMATS = [".parquet", ".feather", ".csv"]


def table(rows=20, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "color": rng.choice(["red", "green", "blue", SECRET], rows).tolist(),
        "size": rng.uniform(-1, 11, rows).round(1).tolist(),
        "class": rng.choice(["no", "yes", SECRET], rows).tolist(),
    }


def counted(path, domain=DOMAIN, **kwargs):
    return FileEngine(path, domain, **kwargs).aggregate(RecordCount()).tolist()[0]


def records(path, domain=DOMAIN, **kwargs):
    """Every counted record, sorted."""
    seen = kept(FileEngine(path, domain, **kwargs))
    return sorted((*codes, label) for codes, label in seen.elements())


def assert_silent(error):
    """Neither the message nor what Python prints around it holds a cell."""
    printed = "".join(traceback.format_exception(error))
    assert SECRET not in printed
    assert "SourceError" in printed or "DataError" in printed


# -- CSV: no cell raises ---------------------------------------------------------------------------


@pytest.fixture
def csv(tmp_path):
    """Write bytes under the header of the domain; the counted records."""

    def read(body, header=b"color,size,class\n", **kwargs):
        path = tmp_path / "table.csv"
        path.write_bytes(header + body)
        return records(path, **kwargs)

    return read


def test_a_row_with_a_wrong_number_of_cells_is_not_counted(csv):
    """And the rows beside it are, whatever it holds."""
    good = [(RED, 1, NO), (BLUE, 2, YES)]
    for bad in (
        b"red",
        b"red,1",
        b"red,1,no,",
        b"red,1,no,7",
        b'"a,b",1,no,"c"',
        b'"red,1,no',
        b'red,"1,no',
        b'red,1,"no',
        b'red,1,"no""',
        b'"red""",1,"',
        b'"',
        b'"""',
        b',,"',
        b"\xff,\xff",
        b"\xff,1,no,\xc3",
        b"M\xfcller",
        b"\xc3",  # half a character, perhaps the last of the file
        b",,,,,,,,",
        b"\x00",
    ):
        assert csv(b"red,1,no\n" + bad + b"\nblue,2,yes\n") == good
        assert csv(bad + b"\nred,1,no\nblue,2,yes\n") == good
        assert csv(b"red,1,no\nblue,2,yes\n" + bad) == good
        assert csv(bad + b"\n" + bad) == []


def test_rows_of_a_wrong_length_far_down_a_file_are_not_counted_either(csv, monkeypatch):
    monkeypatch.setattr(
        "frith.engines.lines.BLOCK", 1_000
    )  # so that they are in the middle of many blocks
    many = b"red,1,no\n" * 500
    assert csv(many + b"red,1\n" + many + b"red,1,no,no\n" + many, threads=3) == [(0, 1, 0)] * 1_500


def test_empty_cells_are_missing(csv):
    assert csv(b',,no\n"","",yes\nred,1,\nred,1,""\n') == [(GREEN, NONE, NO), (GREEN, NONE, YES)]


def test_words_for_missing_are_text_like_any_other(csv):
    """What stands for missing in somebody's files is for the domain to say, not for a reader."""
    for word in (b"NA", b"?", b"null", b"NULL", b"NaN", b"nan", b"N/A", b"#N/A", b"None", b"-"):
        assert csv(word + b"," + word + b",no\n") == [(BLUE, NONE, NO)]
        assert csv(b"red,1," + word + b"\n") == []
    na = Domain((Categorical("color", ("red", "NA")),), DOMAIN.label)
    assert csv(b"NA,1,no\n,1,no\n", domain=na) == [(0, NO), (1, NO)]


def test_bytes_that_are_no_utf8_are_values_outside(csv):
    body = b"\xff,1,no\nred,\xff,yes\nred,1,\xff\nr\xe9d,3,no\n"
    assert csv(body) == [(RED, NONE, YES), (BLUE, 1, NO), (BLUE, 3, NO)]


def test_characters_of_several_bytes_may_lie_across_blocks(csv, monkeypatch):
    domain = Domain((Categorical("color", ("red", "größe", "色", "🦓")),), DOMAIN.label)
    body = b"".join(f"{c},1,no\n".encode() for c in ("größe", "色", "🦓") * 300)
    for block in (997, 998, 999, 1_000):
        monkeypatch.setattr("frith.engines.lines.BLOCK", block)
        expected = sorted([(1, NO), (2, NO), (3, NO)] * 300)
        assert csv(body + b"\xf0\x9f,1,no\n", domain=domain) == [(0, NO), *expected]


def test_persons_whose_names_are_no_utf8_stay_apart(csv):
    persons = Domain(DOMAIN.attributes[:1], DOMAIN.label, person=Person("size", 1))
    names = [b"M\xfcller", b"M\xf6ller", b"M\xfcller", "Müller".encode(), b"M\xef\xbf\xbdller"]
    body = b"".join(b"red," + name + b",no\n" for name in names)
    assert csv(body, domain=persons) == [(RED, NO)] * 4


def test_quotes_and_commas_stay_inside_their_cell(csv):
    body = b'"re""d",2,no\n"red,",3,no\n"red",5,no\r\nred,6,no\r\n"red",7,"no"\n"""",8,no\n'
    blue = [(BLUE, i, NO) for i in (2, 3, 8)]
    for newlines in (False, True):
        assert csv(body, newlines_in_cells=newlines) == [(RED, i, NO) for i in (5, 6, 7)] + blue


def test_newlines_stay_inside_their_cell_where_that_is_declared(csv):
    body = b'"red\n",1,no\n"red\r\n",4,no\n"red",5,no\r\n"a\nred,6,no\n",7,no\n'
    declared = csv(body, newlines_in_cells=True)
    assert declared == [(RED, 5, NO), *((BLUE, i, NO) for i in (1, 4, 7))]
    assert csv(body) == [(RED, 5, NO), (RED, 6, NO)]  # else each line is a record


def test_a_quoted_newline_may_be_where_a_block_ends(csv, monkeypatch):
    body = b'"red\nred\nred",1,no\n' * 200 + b"red,2,no\n"
    for block in range(500, 530):
        monkeypatch.setattr("frith.engines.lines.BLOCK", block)
        assert csv(body, newlines_in_cells=True) == [(RED, 2, NO)] + [(BLUE, 1, NO)] * 200


CELLS = [b"red", b"1", b"no", b"", b'"', b'""', b'"x"', b'"x', b'x"', b'"a,b"', b"\xff", b"\x00"]
QUOTED = [b'"%b"' % text for text in (b'""' * 60, b'""' * 5, b'"" ' * 40, b"x" * 150)]
QUOTED += [b'"red"%b' % text for text in (b"", b'"', b"x" * 150, b'"x' * 60)]
hostile_lines = st.one_of(
    st.binary(max_size=30),
    st.lists(st.sampled_from(CELLS) | st.binary(max_size=5), max_size=5).map(b",".join),
    st.sampled_from([b'"', b'"red,1,no', b'red,1,"no', b"x" * 200, b'"' * 201, b"\xe2" * 150]),
    st.lists(st.sampled_from(CELLS + QUOTED), min_size=3, max_size=3).map(b",".join),
).map(lambda line: line.replace(b"\n", b"").replace(b"\r", b""))


@examples(200)
@given(st.lists(hostile_lines, max_size=6), st.data())
def test_a_line_is_read_by_itself(tmp_path_factory, lines, data):
    """Whatever the lines around it hold and wherever blocks end: the records are those of each."""
    path = tmp_path_factory.mktemp("lines") / "t.csv"
    end = data.draw(st.sampled_from([b"\n", b"\r\n", b"\r"]))

    def read(lines):
        path.write_bytes(b"color,size,class" + end + b"".join(line + end for line in lines))
        return records(path, threads=1)

    lines = data.draw(st.permutations([*lines, b"red,1,no", b'"blue",2,"yes"']))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "frith.engines.lines.BLOCK", data.draw(st.sampled_from([100, 101, 128, 1_000]))
        )
        most = data.draw(st.sampled_from([4, 5, CELL_BYTES]))
        patch.setattr("frith.engines.lines.CELL_BYTES", most)
        patch.setattr("frith.domain.encoding.CELL_BYTES", most)
        assert read(lines) == sorted(record for line in lines for record in read([line]))


@examples(300)
@given(st.lists(hostile_lines, max_size=4))
def test_lines_with_an_open_quote_are_those_the_twin_finds(lines):
    body = b"".join(line + b"\n" for line in lines)
    kept = bytes(csv_files._lose_open_lines(body)).split(b"\n")[:-1]
    assert kept == [b"?" * len(line) if is_open(line) else line for line in lines]


def is_open(line):
    """Whether a quote of the line is not closed, one character after another."""
    place = "start"
    for c in line.decode("latin-1"):
        if place == "quoted":
            place = "closed" if c == '"' else "quoted"
        elif c == ",":
            place = "start"
        elif c == '"' and place in ("start", "closed"):
            place = "quoted"
        else:
            place = "text"
    return place == "quoted"


def test_stray_quotes_within_a_cell_do_not_raise(csv):
    assert csv(b'red"x,1,no\n"red"x,2,no\nred,3,no\n') == [(RED, 3, 0), (BLUE, 1, 0), (BLUE, 2, 0)]


def test_nul_characters_do_not_raise(csv):
    assert csv(b"red\x00,1\x00,no\n\x00,2,no\n") == [(BLUE, 2, NO), (BLUE, NONE, NO)]


def test_blank_lines_are_no_records(csv):
    assert csv(b"\n\nred,1,no\n\n\r\n") == [(RED, 1, NO)]


def test_a_byte_order_mark_is_not_part_of_the_first_name(csv):
    assert csv(b"red,1,no\n", header=b"\xef\xbb\xbfcolor,size,class\n") == [(RED, 1, NO)]


def test_columns_in_another_order_are_found_by_name(csv):
    assert csv(b"no,1,red\n", header=b"class,size,color\n") == [(RED, 1, NO)]
    assert csv(b'no,"",1,red\n', header=b'"class","x","size","color"\n') == [(RED, 1, NO)]


@pytest.mark.parametrize("last", [b"\n", b"", b"\r\n", b"\n\n"])
def test_a_header_without_a_record_is_an_empty_table(csv, last):
    """Also where its line does not end: a table that lost its last record is still one."""
    assert csv(b"", header=b"color,size,class" + last) == []
    assert csv(b"", header=b"\xef\xbb\xbf" + b"color,size,class,other" + last) == []
    with pytest.raises(DataError, match="no column 'size'"):
        csv(b"", header=b"color,class" + last)


def test_a_file_need_not_end_in_a_newline(csv):
    assert csv(b"red,1,no\nblue,2,yes") == [(RED, 1, NO), (BLUE, 2, YES)]


def test_columns_that_the_domain_does_not_name_cannot_break_a_pass(csv):
    """Numbers for a long while and then a text: a reader that guesses types would stop here."""
    header = b"color,size,class,note\n"
    many = b"red,1,no,12345\n" * 3_000
    for note in (SECRET.encode(), b"\xff\xff", b"", b'"a,b"', b"2020-99-99"):
        assert len(csv(many + b"red,1,no," + note + b"\n" + many, header)) == 6_001


def test_a_type_guessed_from_the_first_block_is_not_held_against_the_next(csv, monkeypatch):
    monkeypatch.setattr("frith.engines.lines.BLOCK", 2_000)
    header = b"color,size,class,note\n"
    many = b"red,1,no,12345\n" * 500
    note = b"red,1,no," + SECRET.encode() + b"\n" + b"red,x" + SECRET.encode() + b",no,\xff\n"
    assert csv(many + note, header) == sorted([(RED, 1, NO)] * 501 + [(RED, NONE, NO)])


def test_names_in_another_encoding_do_not_matter_where_they_are_not_declared(csv):
    assert csv(b"red,1,no,2\n", header=b"color,size,class,gr\xf6\xdfe\n") == [(RED, 1, NO)]


def test_a_cell_of_megabytes_is_a_value_outside(csv):
    huge = b"x" * 3_000_000
    body = b"red,1,no\n" + huge + b',1,no\n"' + b"x\n" * 7_500_000 + b'",2,no\nred,3,no\n'
    expected = [(RED, 1, NO), (RED, 3, NO), (BLUE, 1, NO), (BLUE, 2, NO)]
    assert csv(body, newlines_in_cells=True) == expected


@pytest.mark.parametrize("before", range(0, 92, 7))
@pytest.mark.parametrize("last", [b"\n", b""])
def test_a_line_longer_than_a_block_is_not_counted(csv, monkeypatch, before, last):
    """However long it is and wherever it begins, and no more than that line is lost."""
    monkeypatch.setattr("frith.engines.lines.BLOCK", 100)
    first = b"red," + b" " * before + b"1,no\n"
    for length in (99, 100, 101, 199, 200, 201, 202, 350):
        line = b"x" * (length - 5) + b",3,no\n"
        expected = [(RED, 1, NO), (RED, 2, NO)] + [(BLUE, 3, NO)] * (2 if length <= 100 else 0)
        assert csv(first + line + line + b"red,2,no" + last) == expected
        assert csv(first + b"red,2,no\n" + line + line[:-1] + last) == expected


def test_an_end_of_line_may_lie_across_blocks(csv, monkeypatch):
    """Arrow alone would stop there, and leave out the rest of the file."""
    for block in range(100, 112):
        monkeypatch.setattr("frith.engines.lines.BLOCK", block)
        body = b"red,1,no\r\n" * 30 + (b"x" * 90 + b"\r\n") * 20 + b"red,1,no\r\n" * 30
        assert csv(body) == [(RED, 1, NO)] * 60


def test_a_first_record_of_any_length_opens(csv, monkeypatch):
    """Opening looks at the header alone."""
    monkeypatch.setattr("frith.engines.lines.BLOCK", 1_000)
    for first in (b"x" * 50_000, b'"' + b"x" * 50_000, b'"\n' * 900, b"\xff" * 1_000):
        assert csv(first + b"\nred,1,no\n") == [(RED, 1, NO)]


def test_no_record_is_read_when_a_file_is_opened(tmp_path, monkeypatch):
    path = write(table(), tmp_path / "t.csv")
    monkeypatch.setattr("frith.engines.lines.cut_lines", None)
    assert FileEngine(path, DOMAIN).assumptions


@pytest.mark.parametrize("header", [b'color,size,"class', b'"color,size,class', b"x" * 2**20])
def test_a_header_that_is_no_line_of_names_is_refused_at_the_door(csv, header):
    for body in (b"", b'red,1,no\n"\n', b'"\n' * 5):
        with pytest.raises(SourceError, match="not a readable csv file"):
            csv(body, header=header + b"\n")


def test_the_guarantee_says_what_a_record_of_a_csv_file_is(tmp_path):
    path = write(table(), tmp_path / "t.csv")
    assert FileEngine(path, DOMAIN).assumptions == ("each line of the CSV file is one record",)
    assert "quotes are balanced" in FileEngine(path, DOMAIN, newlines_in_cells=True).assumptions[0]


def test_a_row_of_lines_longer_than_a_block_is_an_assumption_and_a_silent_error(
    csv, tmp_path, monkeypatch
):
    monkeypatch.setattr("frith.engines.lines.BLOCK", 2**20)
    cell = b'"' + (SECRET.encode() + b"\n") * 300_000 + b'"'
    with pytest.raises(SourceError, match="part-way") as caught:
        csv(b"red,1,no\n" + cell + b",1,no\nred,1,no\n", newlines_in_cells=True)
    assert_silent(caught.value)
    engine = FileEngine(tmp_path / "table.csv", DOMAIN, newlines_in_cells=True)
    assert "rows under 1 MB" in engine.assumptions[0]


def test_only_csv_needs_assumptions(tmp_path):
    for suffix in FORMATS:
        path = write(table(), tmp_path / f"t{suffix}")
        assert bool(FileEngine(path, DOMAIN).assumptions) == (suffix == ".csv")


@examples(60)
@given(st.lists(st.tuples(st.none() | csv_texts, st.none() | csv_texts), max_size=15))
def test_csv_and_parquet_of_one_table_give_equal_sums(tmp_path_factory, rows):
    """For any text that CSV can hold, by frith's own rows and by Arrow's writer."""
    folder = tmp_path_factory.mktemp("both")
    values = tuple(dict.fromkeys(c for c, _ in rows if c))[:5] or ("a",)
    domain = Domain(
        (Categorical("text", values, other=values[-1]), Numeric("number", -5, 5, cells=9)),
        DOMAIN.label,
    )
    columns = {"text": [r[0] for r in rows], "number": [r[1] for r in rows]}
    columns["class"] = ["no", "yes", "no"] * 5
    columns["class"] = columns["class"][: len(rows)]
    expected = sorted((*c, y) for c, y in twins.records_of(columns, domain))
    written = [write(columns, folder / f"t{suffix}") for suffix in FORMATS]
    if rows:
        pyarrow.csv.write_csv(arrow(columns), folder / "arrows.csv")
        written.append(folder / "arrows.csv")
    for path in written:
        assert records(path, domain, rows=4, newlines_in_cells=True) == expected
        if not any(end in (cell or "") for row in rows for cell in row for end in "\r\n"):
            assert records(path, domain, rows=4) == expected


# -- files, folders and patterns -------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_folder_a_pattern_and_one_file_give_the_same_records(tmp_path, suffix):
    whole = table(40)
    one = records(write(whole, tmp_path / f"whole{suffix}"))
    folder = tmp_path / "parts"
    (folder / "year=2020" / "month=1").mkdir(parents=True)
    first, second, third = cut(whole, 1, 2)
    write(first, folder / f"part-0{suffix}")
    write(second, folder / "year=2020" / f"part-1{suffix}")
    write(third, folder / "year=2020" / "month=1" / f"part-2{suffix}")
    (folder / "_SUCCESS").touch()
    (folder / "notes.txt").write_text("not a table")
    for path in (
        folder,
        str(folder),
        f"{folder}/",
        f"{folder}/**/part-*{suffix}",
        f"{tmp_path}/par*",
    ):
        assert records(path) == one


def test_a_pattern_may_match_folders_as_spark_writes_them(tmp_path):
    for i, part in enumerate(cut(table(30), 1, 2)):
        (tmp_path / f"{i}.parquet").mkdir()
        write(part, tmp_path / f"{i}.parquet" / "part-00000.parquet")
    engine = FileEngine(f"{tmp_path}/*.parquet", DOMAIN)
    assert engine.aggregate(RecordCount()).tolist() == [len(twins.records_of(table(30), DOMAIN))]
    write(table(5), tmp_path / "1.parquet" / "part-00000.parquet")
    with pytest.raises(SourceError, match="changed"):
        engine.aggregate(RecordCount())


@pytest.mark.parametrize(
    "name", ["day:1", "file:x", "s3:x", "a b", "a%20b", "x?y", "#1", "_x", ".x", "[1]", "é", "*"]
)
def test_a_file_may_have_any_name(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    write(table(), tmp_path / f"{name}.parquet")
    assert counted(f"{name}.parquet") == counted(tmp_path / f"{name}.parquet") > 0


def test_a_change_of_folder_changes_nothing(tmp_path, monkeypatch):
    write(table(), tmp_path / "t.csv")
    monkeypatch.chdir(tmp_path)
    engine = FileEngine("t.csv", DOMAIN)
    monkeypatch.chdir("/")
    assert engine.aggregate(RecordCount())[0] > 0


@pytest.mark.parametrize("suffix", [".PARQUET", ".pq", ".Csv", ".arrow"])
def test_endings_are_read_in_any_case_and_spelling(tmp_path, suffix):
    known = {".PARQUET": ".parquet", ".pq": ".parquet", ".Csv": ".csv", ".arrow": ".feather"}
    write(table(), tmp_path / f"t{known[suffix]}").rename(tmp_path / f"t{suffix}")
    assert counted(tmp_path / f"t{suffix}") == counted(tmp_path) > 0


def test_files_of_one_folder_may_hold_columns_of_different_types(tmp_path):
    whole = table(60)
    kinds = [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ]
    parts = [arrow(whole).slice(15 * i, 15) for i in range(4)]
    for i, (kind, part) in enumerate(zip(kinds, parts, strict=True)):
        color, size = part["color"], part["size"]
        color = color.dictionary_encode() if i == 3 else color.cast(kind)
        size = [size, size.cast(pa.string()), size.cast(pa.float32()).cast(pa.float64()), size][i]
        columns = {"color": color, "size": size, "class": part["class"], f"extra {i}": size}
        write(pa.table(columns), tmp_path / f"{i}.feather")
    assert counted(tmp_path) == len(twins.records_of(whole, DOMAIN))
    expected = sorted((*c, y) for c, y in twins.records_of(whole, DOMAIN))
    assert [r[0] for r in records(tmp_path)] == [r[0] for r in expected]


@pytest.mark.parametrize(
    "path", ["nothing.parquet", "no/such/folder", "*.parquet", "x" * 5_000, "nul\x00.csv", ""]
)
def test_a_path_to_nothing_is_named(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceError, match="no Parquet, CSV, JSON lines or Feather file"):
        FileEngine(path, DOMAIN)


def test_an_empty_folder_is_named(tmp_path):
    (tmp_path / "readme.txt").touch()
    with pytest.raises(SourceError, match="no Parquet, CSV, JSON lines or Feather file"):
        FileEngine(tmp_path, DOMAIN)


def test_files_of_several_formats_are_refused(tmp_path):
    write(table(), tmp_path / "a.csv")
    write(table(), tmp_path / "b.parquet")
    with pytest.raises(SourceError, match="one format.*found csv, parquet"):
        FileEngine(tmp_path, DOMAIN)


@pytest.mark.parametrize("suffix", [".txt", ".xlsx", ".gz", ".json", ""])
def test_a_format_that_cannot_be_read_is_named(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    path.write_bytes(b"color,size,class\n")
    with pytest.raises(SourceError, match=f"found '{suffix}' files"):
        FileEngine(path, DOMAIN)


# -- damaged files ---------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_of_no_bytes_is_refused_at_the_door(tmp_path, suffix):
    (tmp_path / f"t{suffix}").touch()
    with pytest.raises(SourceError, match=f"t{suffix}"):
        FileEngine(tmp_path / f"t{suffix}", DOMAIN)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_file_that_is_cut_off_is_refused_at_the_door(tmp_path, suffix):
    path = write(table(50), tmp_path / f"t{suffix}")
    whole = path.read_bytes()
    for share in (0.01, 0.5, 0.99):
        path.write_bytes(whole[: int(len(whole) * share)])
        with pytest.raises(SourceError, match="cut off") as caught:
            FileEngine(path, DOMAIN)
        assert_silent(caught.value)


@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_text_by_a_wrong_name_is_refused_without_being_quoted(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    for text in (SECRET, SECRET * 1_000, f"color,size,class\n{SECRET},1,no\n" * 10):
        path.write_text(text)
        with pytest.raises(SourceError, match=f"t{suffix}") as caught:
            FileEngine(path, DOMAIN)
        assert_silent(caught.value)


def test_a_binary_file_by_the_name_of_csv_is_refused_without_being_quoted(tmp_path):
    write(table(50), tmp_path / "t.parquet").rename(tmp_path / "t.csv")
    with pytest.raises(FrithError) as caught:
        counted(tmp_path / "t.csv")
    assert_silent(caught.value)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip"])
def test_damaged_pages_never_put_a_cell_into_an_error(tmp_path, compression):
    """A flipped bit may go unseen, stop the pass or close the door; it may not talk."""
    path = tmp_path / "t.parquet"
    pq.write_table(arrow(table(200)), path, compression=compression, write_statistics=False)
    whole = path.read_bytes()
    body = whole.index(b"PAR1", 4) if b"PAR1" in whole[4:-4] else len(whole)
    footer = int.from_bytes(whole[-8:-4], "little") + 8
    rng = random.Random(0)
    seen = set()
    for _ in range(1_200 if FULL else 30):
        damaged = bytearray(whole)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(4, min(body, len(whole) - footer))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            counted(path, threads=1)
            seen.add("read")
        except FrithError as error:
            assert_silent(error)
            seen.add(type(error))
    assert SourceError in seen


@pytest.mark.parametrize("failure", [pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError])
@pytest.mark.parametrize("suffix", FORMATS)
def test_what_a_reader_says_when_it_fails_is_not_shown(tmp_path, monkeypatch, suffix, failure):
    """At the door or in a pass: Arrow's own words may be a cell of the file."""

    def fail(*args, **kwargs):
        raise failure(f"could not convert '{SECRET}'")

    path = write(table(), tmp_path / f"t{suffix}")
    engine = FileEngine(path, DOMAIN)
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", fail)
    monkeypatch.setattr(files.ds, "dataset", fail)
    monkeypatch.setattr(csv_files, "csv_batches", fail)
    with pytest.raises(SourceError, match="part-way") as caught:
        engine.aggregate(RecordCount())
    assert_silent(caught.value)
    monkeypatch.setattr(pq, "read_schema", fail)
    monkeypatch.setattr(csv_files, "csv_names", fail)
    with pytest.raises(SourceError, match="not a readable") as caught:
        FileEngine(path, DOMAIN)
    assert_silent(caught.value)


def test_damaged_dictionaries_of_feather_do_not_raise(tmp_path):
    """Arrow does not check the indices of a dictionary that it reads."""
    indices = pa.array([0, 1, 77, -5], pa.int8())
    color = pa.DictionaryArray.from_arrays(indices, pa.array(["red", SECRET]), safe=False)
    columns = {"color": color, "size": [1, 2, 3, 4], "class": ["no"] * 4}
    path = tmp_path / "t.feather"
    pyarrow.feather.write_feather(pa.table(columns), str(path), compression="uncompressed")
    assert counted(path) == 4


# -- shape -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", ["color", "size", "class"])
def test_a_missing_column_is_named(tmp_path, suffix, name):
    columns = {k: v for k, v in table().items() if k != name}
    path = write(columns, tmp_path / f"t{suffix}")
    with pytest.raises(DataError, match=f"no column '{name}'") as caught:
        FileEngine(path, DOMAIN)
    assert_silent(caught.value)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_column_in_other_capitals_is_named_as_the_file_has_it(tmp_path, suffix):
    path = write(table(), tmp_path / f"t{suffix}")
    domain = Domain([Numeric("SIZE", 0, 1)], DOMAIN.label)
    with pytest.raises(DataError, match="no column 'SIZE'.*it has 'size', and capitals"):
        FileEngine(path, domain)


def test_a_column_that_one_file_of_many_lacks_is_named_with_the_file(tmp_path):
    write(table(), tmp_path / "a.parquet")
    write({k: v for k, v in table().items() if k != "size"}, tmp_path / "b.parquet")
    with pytest.raises(DataError, match=r"b\.parquet has no column 'size'"):
        FileEngine(tmp_path, DOMAIN)


@pytest.mark.parametrize("name", ["color", "other"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_column_that_is_there_twice_is_refused_at_the_door(tmp_path, suffix, name):
    data = arrow(table() | {"other": table()["color"]})
    twice = data.append_column(name, data[name])
    path = tmp_path / f"t{suffix}"
    if suffix == ".parquet":
        pq.write_table(twice, path)
    elif suffix == ".feather":
        with pa.ipc.new_file(str(path), twice.schema) as writer:
            writer.write_table(twice)
    else:
        path.write_text(",".join(twice.column_names) + "\n" + f"red,1,no,{SECRET},{SECRET}\n" * 20)
    with pytest.raises(SourceError, match="name a column twice") as caught:
        FileEngine(path, DOMAIN)
    assert_silent(caught.value)


def test_a_header_alone_that_names_a_column_twice_is_refused_at_the_door(tmp_path):
    (tmp_path / "t.csv").write_text("color,size,class,color")
    with pytest.raises(SourceError, match="name a column twice"):
        FileEngine(tmp_path / "t.csv", DOMAIN)


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.list_(pa.int8())], ids=str)
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_a_type_without_a_place_in_a_domain_is_named_at_the_door(tmp_path, suffix, kind):
    data = arrow(table()).set_column(1, "size", pa.nulls(20, kind))
    path = write(data, tmp_path / f"t{suffix}")
    with pytest.raises(DataError, match="'size'"):
        FileEngine(path, DOMAIN)
    other = Domain(DOMAIN.attributes[:1], DOMAIN.label)  # which does not name it
    assert counted(path, other) == counted(write(table(), tmp_path / f"u{suffix}"), other)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()], ids=str)
@pytest.mark.parametrize("suffix", [".parquet", ".feather"])
def test_text_that_is_no_utf8_does_not_raise(tmp_path, suffix, kind):
    """As Latin-1 text written by a program that did not look."""
    values = pa.array([b"red", b"gr\xfcn", SECRET.encode() + b"\xff"])
    text = pa.Array.from_buffers(pa.string(), 3, values.buffers()).cast(kind, safe=False)
    for column in ("color", "size", "class"):
        data = pa.table({"color": ["red"] * 3, "size": ["1"] * 3, "class": ["no"] * 3})
        data = data.set_column(data.column_names.index(column), column, text)
        path = write(data, tmp_path / f"{column}{suffix}")
        assert counted(path) == (0 if column == "class" else 3)
        person = Domain(DOMAIN.attributes[:1], DOMAIN.label, person=Person("size", 1))
        assert counted(path, person) == {"color": 1, "size": 3, "class": 0}[column]


# -- pins ------------------------------------------------------------------------------------------

DOMAIN_OF_PERSONS = Domain(DOMAIN.attributes[:1], DOMAIN.label, person=Person("size", 2))


def append(path):
    with path.open("ab") as file:
        file.write(b"red,1,no\n")


def replace(path):
    """By another file of the same size."""
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    os.utime(other, (1, 1))
    other.replace(path)


def replace_unseen(path):
    """By another file of the same size and the same time."""
    other = path.with_name("other")
    shutil.copy2(path, other)
    other.replace(path)


def rewrite(path):
    """In place, with the same bytes and a later time."""
    times = path.stat()
    path.write_bytes(path.read_bytes())
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns + 1_000_000))


def truncate(path):
    path.write_bytes(path.read_bytes()[:-5])


CHANGES = [append, replace, replace_unseen, rewrite, truncate, lambda path: path.unlink()]
CHANGE_NAMES = ["append", "replace", "replace unseen", "rewrite", "truncate", "delete"]


@pytest.mark.parametrize("change", CHANGES, ids=CHANGE_NAMES)
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("domain", [DOMAIN, DOMAIN_OF_PERSONS], ids=["records", "persons"])
def test_a_change_between_opening_and_a_pass_is_an_error(tmp_path, suffix, change, domain):
    path = write(table(), tmp_path / f"t{suffix}")
    engine = FileEngine(path, domain)
    change(path)
    with pytest.raises(SourceError, match="changed|no longer") as caught:
        engine.aggregate(RecordCount())
    assert_silent(caught.value)


@pytest.mark.parametrize("change", CHANGES, ids=CHANGE_NAMES)
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_change_between_two_passes_is_an_error(tmp_path, suffix, change):
    write(table(), tmp_path / f"a{suffix}")
    path = write(table(seed=1), tmp_path / f"b{suffix}")
    engine = FileEngine(tmp_path, DOMAIN, threads=3)
    assert engine.aggregate(RecordCount())[0] > 0
    change(path)
    with pytest.raises(SourceError, match="changed|no longer"):
        engine.aggregate(RecordCount())


def test_a_change_during_a_pass_is_an_error(tmp_path):
    path = write(table(200), tmp_path / "t.parquet")
    engine = FileEngine(path, DOMAIN, rows=10)
    tasks = engine.tasks((0, 1))
    next(tasks)
    os.utime(path, ns=(1, 1))
    with pytest.raises(SourceError, match="changed"):
        list(tasks)


def test_a_file_that_joins_the_folder_later_is_not_read(tmp_path):
    """The list of files is pinned too."""
    write(table(), tmp_path / "a.parquet")
    engine = FileEngine(tmp_path, DOMAIN)
    before = engine.aggregate(RecordCount())
    write(table(seed=1), tmp_path / "b.parquet")
    assert np.array_equal(engine.aggregate(RecordCount()), before)


# -- sums ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", FORMATS)
def test_large_files_give_the_sums_of_memory(tmp_path, suffix):
    """Many batches and row groups at once, on several threads."""
    whole = table(30_000, seed=3)
    path = tmp_path / f"t{suffix}"
    if suffix == ".parquet":
        pq.write_table(arrow(whole), path, row_group_size=7_000)
    elif suffix == ".feather":
        pyarrow.feather.write_feather(arrow(whole), str(path), chunksize=7_000)
    else:
        write(whole, path)
    grown = grow_random_trees(DOMAIN, 5, 2, np.random.default_rng(0))
    kernel = LeafCounts(grown, DOMAIN)
    expected = MemoryEngine(arrow(whole), DOMAIN).aggregate(kernel)
    for threads, rows in ((1, 131_072), (2, 1_000), (5, 999)):
        engine = FileEngine(path, DOMAIN, threads, rows)
        assert np.array_equal(engine.aggregate(kernel), expected)


def test_only_the_columns_that_a_question_needs_are_read(tmp_path, monkeypatch):
    path = write(table(), tmp_path / "t.parquet")
    engine = FileEngine(path, DOMAIN)
    asked = []
    scan = engine.scan
    monkeypatch.setattr(engine, "scan", lambda columns: asked.append(columns) or scan(columns))
    engine.aggregate(RecordCount())
    assert asked == [["class"]]
