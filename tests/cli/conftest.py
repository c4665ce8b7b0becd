"""The command line as a function, and the small table in files."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

from frith.cli import app
from tests.tables import small_domain, small_table


@pytest.fixture
def run():
    """Run a command and hold it to an exit code."""

    def invoke(*args, code=0):
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
        "--learner", "random-decision", "--trees", 20, "--height", 3, "--seed", 0, "-o", path)  # fmt: skip
    return path
