"""The recipes run as they stand, where the tools that they are about are installed."""

import importlib.util
import re

import pytest

from tests.docs.test_guide import DOCS, blocks_of, reader

PAGES = sorted(p for p in (DOCS / "recipes").glob("*.md") if p.stem != "index")
TOOLS = ("mlflow", "skops", "duckdb")
__all__ = ["reader"]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_a_recipe_runs_as_it_stands(page, reader, monkeypatch):
    code = "".join(block.text for block in blocks_of(page) if block.language == "python")
    wanted = [t for t in TOOLS if re.search(rf"^import {t}\b", code, re.MULTILINE)]
    missing = [tool for tool in wanted if importlib.util.find_spec(tool) is None]
    if missing:
        pytest.skip(f"not installed: pip install {' '.join(missing)}")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    for block in blocks_of(page):
        reader.follow(block)
