"""The pages about the sources: every file, name and test that a row gives exists."""

import ast
import functools
import re

import pytest

from tests.docs.test_design import DOCS, ROOT, SOURCE

PAGES = sorted(p for p in (DOCS / "sources").glob("*.md") if p.stem != "index")
FORMS = (
    "faithful",
    "departed",
    "ours",
    "not built",
    "not run",
    "holds",
    "fails",
    "cannot be told",
)
LEAST_ROWS = 138
COLUMNS = ["item", "in the code", "form", "test", "measured"]


def rows_of(page):
    """The rows of all tables; a bar inside a cell is written with a backslash."""
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
    cells = [re.split(r"(?<!\\)\|", line)[1:-1] for line in lines]
    rows = [[cell.strip() for cell in row] for row in cells]
    return [row for row in rows if row != COLUMNS and set(row) != {"---"}]


ROWS = {page.stem: rows_of(page) for page in PAGES}
EVERY = [pytest.param(row, id=f"{page}-{i}") for page in ROWS for i, row in enumerate(ROWS[page])]


@functools.cache
def names_in(path):
    """Functions, classes and constants of a file, and the methods of its classes."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{n.name}" for n in node.body if isinstance(n, ast.FunctionDef)}
    return names


def named(cell):
    """The file and the name of every reference in a cell."""
    return re.findall(r"`([\w/]+\.py)::([\w.]+)`", cell)


def test_five_sources_have_their_rows():
    assert set(ROWS) == {"private-rdt", "dp-rf", "dpdf", "c45", "patent"}
    assert all(len(rows) > 10 for rows in ROWS.values())
    assert sum(map(len, ROWS.values())) >= LEAST_ROWS


@pytest.mark.parametrize("row", EVERY)
def test_a_row_names_code_and_tests_that_exist(row):
    item, code, form, test, measured = row
    assert item
    assert form.startswith(FORMS), form
    assert measured
    assert code == "—" or named(code), code
    for file, name in named(code):
        assert name in names_in(SOURCE / file), f"{file} has no {name}"
    assert test.startswith("no test: ") or named(test), test
    for file, name in named(test):
        assert name in names_in(ROOT / file), f"{file} has no {name}"


def test_the_patents_page_says_what_was_at_hand():
    assert "Only the first claim was at hand" in (DOCS / "sources" / "patent.md").read_text("utf-8")
