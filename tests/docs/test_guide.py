"""The guide keeps its word: its code and commands run, its outputs are theirs, its links lead somewhere.

Blocks of a page run in order, in a folder of the page's own: `python` here, `sh` in a shell. What an
`output` block shows must be what the block above it printed, with `...` for anything. Blocks in other
languages are for reading; so is `py`, for code that needs what cannot be installed here.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pandas as pd
import pytest

from frith import datasets
from frith.server.connections import Folder
from frith.server.context import open_context
from frith.server.run.sample import fill, with_sample
from frith.server.run.worker import Worker
from frith.server.settings import Settings
from tests.hosting import listening, silence

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
FIRST = DOCS / "guide" / "start.md"
SHARED = [DOCS / "domains.md", DOCS / "engines.md"]
PAGES = sorted([*DOCS.glob("guide/*.md"), *DOCS.glob("proofs/*.md"), *SHARED])
DONE_ALREADY = ("pip ", "apt", "podman ", "frith serve", "export FRITH_", "read ")
"""Lines that set up what a test has: packages, a running server, and its address and token."""
SIGNED_IN = {"analysts": "analyst_token", "curators": "curator_token"}
NOT_RUN = 1  # blocks of code in the whole guide


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    where: str


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = re.finditer(r"^```(\w*)\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE)
    return [Block(m[1], m[2], f"{page.name}:{text[: m.start()].count(chr(10)) + 1}") for m in found]


def tables_of(page: Path) -> set[str]:
    """The tables that a page loads by their names."""
    return {m for b in blocks_of(page) for m in re.findall(r"\bload\(\"(\w+)\"\)", b.text)}


class Reader:
    """Follows one page from its first block to its last."""

    def __init__(self, folder: Path, env: dict[str, str]):
        self.folder, self.env = folder, env
        self.names: dict = {"__name__": "guide"}
        self.said = ""

    def follow(self, block: Block) -> None:
        if block.language == "python":
            self._run_python(block)
        elif block.language in ("sh", "console"):
            self._run_shell(block)
        elif block.language == "output":
            check_output(block, self.said)

    def _run_python(self, block: Block) -> None:
        blank = "\n" * int(block.where.split(":")[1])  # tracebacks name the page's own lines
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(blank + block.text, block.where, "exec"), self.names)
        self.said = said.getvalue()

    def _run_shell(self, block: Block) -> None:
        lines = [line.removeprefix("$ ") for line in block.text.splitlines()]
        script = "\n".join(line for line in lines if not line.startswith(DONE_ALREADY))
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script], cwd=self.folder, env=self.env,
            capture_output=True, text=True, timeout=900,
        )  # fmt: skip
        assert done.returncode == 0, f"{block.where}\n{script}\n{done.stdout}{done.stderr}"
        self.said = done.stdout


def check_output(block: Block, said: str) -> None:
    options = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    same = doctest.OutputChecker().check_output(block.text, said, options)
    assert same, f"{block.where} shows\n{block.text}and what was printed is\n{said}"


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """What `frith serve --demo` runs, in this process: its URL and its tokens."""
    folder = tmp_path_factory.mktemp("demo")
    context = open_context(with_sample(Settings(database=str(folder / "server.db")), folder))
    sample = fill(context, folder)
    stop = threading.Event()
    worker = threading.Thread(target=Worker(context).run, args=(stop.is_set, 0.02))
    worker.start()
    with silence(), listening(context) as url:
        yield url, sample, context.settings.connections
    stop.set()
    worker.join()
    context.database.close()


@pytest.fixture
def reader(tmp_path, monkeypatch):
    """A reader in an empty folder, with no server yet."""
    monkeypatch.chdir(tmp_path)
    for name in [n for n in os.environ if n.startswith("FRITH_") and n != "FRITH_DATA"]:
        monkeypatch.delenv(name)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    return Reader(tmp_path, {**os.environ, "PATH": path, "COLUMNS": "120"})


@pytest.mark.parametrize(
    "page", [p for p in PAGES if p != FIRST], ids=lambda p: f"{p.parent.name}/{p.stem}"
)
def test_a_page_runs_as_it_stands(page, reader, request, monkeypatch):
    for name in tables_of(page):
        try:
            datasets.origin(name)
        except ValueError:
            pytest.skip(f"the table {name!r} is not on this machine: set FRITH_DATA")
    if page.stem in SIGNED_IN:
        url, sample, connections = request.getfixturevalue("demo")
        connections["data"] = Folder(kind="folder", root=reader.folder)
        signed_in = {"FRITH_URL": url, "FRITH_TOKEN": getattr(sample, SIGNED_IN[page.stem])}
        reader.env |= signed_in
        for name, value in signed_in.items():
            monkeypatch.setenv(name, value)
    for block in blocks_of(page):
        reader.follow(block)


def test_nearly_everything_runs():
    blocks = [block for page in PAGES for block in blocks_of(page)]
    assert sum(b.language == "python" for b in blocks) > 25
    assert sum(b.language in ("sh", "console") for b in blocks) > 8
    assert sum(b.language == "py" for b in blocks) <= NOT_RUN


def test_the_first_page_alone_leads_to_a_private_forest_and_its_report(reader):
    for block in blocks_of(FIRST):
        reader.follow(block)
    from frith import Forest

    forest = Forest.load(reader.folder / "forest.json")
    assert forest.guarantee.holds
    assert forest.guarantee.epsilon == 1
    assert "What it promises" in (reader.folder / "forest.html").read_text()


def test_an_output_that_is_not_shown_is_noticed(reader):
    block = Block("output", "epsilon 2.0\n", "nowhere:1")
    reader.follow(Block("python", "print('epsilon', 1.0)", "nowhere:1"))
    with pytest.raises(AssertionError, match="what was printed"):
        reader.follow(block)
    with pytest.raises(AssertionError, match="no-such-command"):
        reader.follow(Block("sh", "no-such-command\n", "nowhere:1"))


# -- links, as they are read in the repository -----------------------------------------------------

LINKED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]


@pytest.mark.parametrize("page", LINKED, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\(([^)\s]+)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"[a-z]+:", target) or target.startswith("#"):
            continue
        found = (page.parent / unquote(target.split("#")[0])).resolve()
        assert found.exists(), f"{page.name} links to {target}"
        if DOCS in page.parents:
            assert DOCS in found.parents, f"{page.name} links to {target}, which the site has not"


# -- its pictures ----------------------------------------------------------------------------------


def draw(results: Path, folder: Path) -> str:
    command = [sys.executable, ROOT / "benchmarks" / "guide_figures.py", "--results", results]
    done = subprocess.run(
        [*command, "--out", folder], capture_output=True, text=True, check=True, timeout=600
    )
    for name in ("which_learner", "what_epsilon_costs", "beside_peers"):
        ET.parse(folder / f"{name}.svg")
    return done.stdout


def test_pictures_are_drawn_from_what_there_is_and_say_what_there_is_not(tmp_path):
    rows = pd.read_csv(DOCS / "results" / "accuracy.csv")
    rows[(rows.learner == "forest") | (rows.learner == "gradient boosting")].to_csv(
        tmp_path / "few.csv", index=False
    )
    said = draw(tmp_path / "few.csv", tmp_path)
    assert "c45: nothing measured" in said
    assert "its limit" not in said
    rows[rows.learner == "nobody"].to_csv(tmp_path / "none.csv", index=False)
    assert "its limit without noise" in draw(tmp_path / "none.csv", tmp_path)
