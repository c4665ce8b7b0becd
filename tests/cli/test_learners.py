"""Every learner trains from the command line."""

import json

import pytest
from typer.testing import CliRunner

from frith import Forest
from frith.cli import app
from frith.cli.train import Learner
from frith.datasets import load
from frith.learners import BY_NAME


@pytest.fixture
def files(tmp_path):
    X, y, domain = load("tic_tac_toe")
    X.assign(**{"class": y}).to_parquet(tmp_path / "t.parquet")
    domain.save(tmp_path / "d.toml")
    return tmp_path


def train(files, *options):
    out = str(files / "forest.json")
    return CliRunner().invoke(
        app,
        ["train", str(files / "t.parquet"), "--domain", str(files / "d.toml"), "--epsilon", "1",
         "-o", out, *options],
    )  # fmt: skip


def test_the_command_line_knows_every_learner():
    assert [str(learner) for learner in Learner] == list(BY_NAME)


@pytest.mark.parametrize("learner", BY_NAME)
def test_every_learner_trains(files, learner):
    done = train(files, "--learner", learner, "--json")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["guarantee"]["epsilon"] == "1.0"
    assert Forest.load(files / "forest.json").guarantee.holds


def test_parameters_of_a_learner_are_set_by_name(files):
    done = train(
        files,
        "--learner",
        "id3",
        "--max-depth",
        "2",
        "--set",
        "criterion=gini",
        "--set",
        "prune=false",
    )
    assert done.exit_code == 0, done.output
    assert Forest.load(files / "forest.json").max_depth == 2


@pytest.mark.parametrize("setting", ["colour=red", "prune"])
def test_a_parameter_that_is_not_there_is_named(files, setting):
    done = train(files, "--learner", "id3", "--set", setting)
    assert done.exit_code == 2
    assert setting.split("=")[0] in done.output
    assert "Traceback" not in done.output


def test_a_table_of_a_database_trains_by_its_url(files):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(files / "t.db")) as connection:
        connection.execute(f"create table t as select * from '{files / 't.parquet'}'")
    out = files / "forest.json"
    done = CliRunner().invoke(
        app,
        ["train", f"duckdb:///{files / 't.db'}?table=t", "--domain", str(files / "d.toml"),
         "--epsilon", "1", "-o", str(out)],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert Forest.load(out).guarantee.holds


def test_a_password_in_a_url_is_not_shown(files):
    done = CliRunner().invoke(
        app,
        ["train", "postgresql://me:hunter2@127.0.0.1:1/nowhere?table=t", "--domain",
         str(files / "d.toml"), "--epsilon", "1", "-o", str(files / "forest.json")],
    )  # fmt: skip
    assert done.exit_code == 2
    assert "hunter2" not in done.output
