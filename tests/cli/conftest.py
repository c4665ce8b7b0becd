"""The command line as a function, and the small table in files."""

from __future__ import annotations

import contextlib
import logging

import pytest
import structlog
from typer.testing import CliRunner

from frith.cli import app
from tests.tables import small_domain, small_table


@contextlib.contextmanager
def same_logs():
    """A command that logs would leave its own stream behind, closed, to all that log after it."""
    before, root = structlog.get_config(), logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        structlog.configure(**before)
        root.handlers[:] = handlers
        root.setLevel(level)


@pytest.fixture
def run():
    """Run a command and hold it to an exit code."""

    def invoke(*args, code=0):
        with same_logs():
            result = CliRunner().invoke(app, [str(a) for a in args])
        assert result.exit_code == code, result.output
        assert "Traceback" not in result.output
        return result

    return invoke


@pytest.fixture
def desk(tmp_path):
    """A folder with the small table in every format, and its domain."""
    table = small_table(400)
    table.to_parquet(tmp_path / "table.parquet")
    table.to_feather(tmp_path / "table.feather")
    table.to_csv(tmp_path / "table.csv", index=False)
    small_domain(records=400).save(tmp_path / "domain.toml")
    return tmp_path


@pytest.fixture
def forest(desk, run):
    """The path of a saved forest."""
    path = desk / "forest.json"
    run("train", desk / "table.parquet", "--domain", desk / "domain.toml", "--epsilon", 5,
        "--learner", "random-decision", "--trees", 20, "--max-depth", 3, "--seed", 0, "-o", path)  # fmt: skip
    return path
