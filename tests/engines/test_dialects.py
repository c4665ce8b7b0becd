"""Files as people have them: found when drafting, declared in the domain, and never guessed in training."""

import gzip
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Date, Domain, Numeric, check, open_table
from frith.domain import Csv
from frith.engines.draft import draft_domain
from frith.errors import DataError, DomainError, SourceError
from frith.kernels import RecordCount
from tests.strategies import examples

N = 60
RNG = np.random.default_rng(0)
TABLE = pd.DataFrame({
    "Straße; Nr": RNG.choice(["männlich", "weiblich"], N), "größe": RNG.uniform(1, 2, N).round(2),
    "tag": pd.date_range("2020-01-01", periods=N), "a,b": RNG.choice(["x,y", "u;v", 'q"q'], N),
    "well": RNG.choice(["ja", "nein"], N),
})  # fmt: skip
KINDS = {
    "t.csv": ({}, None),
    "t.csv.gz": ({}, None),
    "T.TSV": ({"sep": "\t"}, None),
    "semicolons.csv": ({"sep": ";"}, Csv(";")),
    "bars.csv.gz": ({"sep": "|", "encoding": "cp1252"}, Csv("|", "cp1252")),
    "german.csv": ({"sep": ";", "decimal": ",", "encoding": "cp1252"}, Csv(";", "cp1252", ",")),
    "german.tsv.gz": ({"sep": "\t", "decimal": ","}, Csv("\t", decimal=",")),
    "latin.csv": ({"encoding": "latin-1"}, Csv(encoding="cp1252")),
    "t.jsonl": (None, None),
    "t.ndjson.gz": (None, None),
}


def write(folder, name):
    options, csv = KINDS[name]
    path = folder / name
    if options is None:
        text = TABLE.to_json(orient="records", lines=True, date_format="iso", force_ascii=False)
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    else:
        TABLE.to_csv(path, index=False, **options)
    return path, csv


def codes_of(source, domain):
    tasks = open_table(source, domain).tasks(tuple(range(len(domain.attributes))))
    return np.concatenate([task().codes for task in tasks]).tolist()


@pytest.mark.parametrize("name", KINDS)
def test_a_file_is_drafted_with_its_dialect_and_read_by_it(tmp_path, name):
    path, csv = write(tmp_path, name)
    domain = draft_domain(path, "well").domain
    assert domain.csv == csv
    assert domain.names == tuple(TABLE.columns[:-1])
    assert isinstance(domain.attributes[2], Date)
    assert not check(path, domain).is_outside
    assert Domain.from_toml(domain.to_toml()) == domain
    assert codes_of(path, domain) == codes_of(TABLE, domain)


def test_training_guesses_nothing(tmp_path):
    """A file in another dialect than declared is read as declared, or names what is missing."""
    path, _ = write(tmp_path, "semicolons.csv")
    domain = draft_domain(path, "well").domain
    with pytest.raises(DataError, match=r"no comma but ';'.*\[csv\] delimiter = \";\""):
        open_table(path, Domain(domain.attributes, domain.label))
    latin, _ = write(tmp_path, "latin.csv")
    undeclared = Domain(draft_domain(latin, "well").domain.attributes[2:], domain.label)
    assert codes_of(latin, undeclared) == codes_of(TABLE, undeclared)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "shift_jis", "utf-7", "cp500", "x", 3])
def test_an_encoding_in_which_one_byte_moves_others_is_refused(encoding):
    with pytest.raises(DomainError, match="save the file as UTF-8"):
        Csv(encoding=encoding)


@pytest.mark.parametrize("wrong", [{"delimiter": "x"}, {"delimiter": ""}, {"decimal": ","}])
def test_a_dialect_that_cannot_be_is_refused(wrong):
    with pytest.raises(DomainError, match="csv: "):
        Csv(**wrong)


def test_utf_16_says_what_to_do(tmp_path):
    TABLE.to_csv(tmp_path / "t.csv", index=False, encoding="utf-16")
    with pytest.raises(DataError, match="iconv -f utf-16"):
        draft_domain(tmp_path / "t.csv", "well")


@pytest.mark.parametrize("name", ["t.csv.gz", "t.jsonl.gz"])
def test_a_compressed_file_that_is_cut_off_fails_without_its_records(tmp_path, name):
    rows = "".join(
        f'{{"a": "x{i}", "y": 1}}\n' if "json" in name else f"x{i},1\n" for i in range(9_000)
    )
    whole = gzip.compress((("" if "json" in name else "a,y\n") + rows).encode())
    path = tmp_path / name
    path.write_bytes(whole[: len(whole) // 2])
    domain = Domain([Categorical("a", ("x1",))], Categorical("y", (1,)))
    with pytest.raises(SourceError, match="whole") as caught:
        open_table(path, domain).aggregate(RecordCount())
    assert "x1" not in str(caught.value)
    with pytest.raises(SourceError, match="cut off"):
        draft_domain(path, "y")


# -- JSON lines ------------------------------------------------------------------------------------

DOMAIN = Domain(
    [Numeric("n", 0, 10, cells=5, missing=True), Categorical("b", ("other", "true", "false"))],
    Categorical("y", ("no", "yes")),
)


def test_each_line_is_a_record_by_itself(tmp_path):
    lines = [
        b'{"n": 3, "b": true, "y": "no"}', b'{"y": "yes", "b": [1], "n": 1e400}', b"{", b"", b"[]", b"7",
        b'{"n": "4.5", "b": false, "y": "no", "more": {"deep": 1}}', b'{"y": "\xff"}', b"[" * 99_999,
        b'{"y": "no", "n": null}', b'{"y": "no", "n": "\\ud800"}', b'{"n": NaN, "y": "no"}',
    ]  # fmt: skip
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"\n".join(lines))
    assert codes_of(path, DOMAIN) == [[1, 1], [4, 0], [2, 2], [5, 0], [5, 0], [5, 0]]
    report = check(path, DOMAIN)
    assert (report.rows, report.malformed_rows) == (7, 4)


def test_what_is_nested_is_left_out_of_a_draft(tmp_path):
    lines = [
        {"id": {"of": i}, "tags": ["a"], "odd": [1] if i else 7, "n": i / 2, "y": "no"}
        for i in range(9)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    draft = draft_domain(tmp_path / "t.jsonl", "y")
    assert draft.domain.names == ("odd", "n")
    assert "which a domain cannot describe" in draft.left_out["id"]


@examples(60)
@given(st.lists(st.binary(max_size=20).filter(lambda b: b"\n" not in b and b"\r" not in b)))
def test_no_line_changes_how_another_is_read(tmp_path_factory, noise):
    path = tmp_path_factory.mktemp("lines") / "t.jsonl"
    good = json.dumps({"n": 3, "b": True, "y": "no"}).encode()
    path.write_bytes(b"\n".join([good, *noise, good]))
    assert codes_of(path, DOMAIN) == [[1, 1], [1, 1]]
