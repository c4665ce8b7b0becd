"""What all commands share: help, version, errors on one line, a fast start."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import frith
from frith.cli import app

COMMANDS = [
    "demo",
    "domain draft",
    "check",
    "ledger create",
    "ledger show",
    "train",
    "show",
    "predict",
    "structure",
    "release",
    "merge",
    "join",
]


def test_version_is_printed(run):
    assert run("--version").stdout == f"frith {frith.__version__}\n"


@pytest.mark.parametrize(
    ("args", "package", "extra"),
    [
        (("serve", "--demo", "--port", "0"), "fastapi", "server"),
        (("serve", "--demo", "--port", "0"), "cryptography", "server"),
        (("keys", "new", "key.json", "--party", "ada"), "cryptography", "client"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(tmp_path, args, package, extra):
    """As on a core install, in a process where the package cannot be imported."""
    code = f"import sys; sys.modules[{package!r}] = None; from frith.cli import main; main()"
    command = [sys.executable, "-c", code, *args]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert f"pip install 'frith[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_rooms_are_reached_from_a_bare_import():
    code = (
        "import frith; print(frith.datasets.__name__, frith.parties.__name__, frith.audit.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["frith.datasets", "frith.parties", "frith.audit"]


def test_no_arguments_show_the_help():
    result = CliRunner().invoke(app, [])
    for command in ("demo", "domain", "check", "train", "predict", "show", "ledger"):
        assert command in result.output


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(run, command):
    assert "Usage" in run(*command.split(), "--help").stdout


def test_help_says_that_the_output_of_check_is_private(run):
    assert "PRIVATE" in run("check", "--help").stdout


@pytest.mark.parametrize(
    "args",
    [
        ("show", "missing.json"),
        ("predict", "missing.json", "missing.csv"),
        ("check", "missing.csv", "--domain", "missing.toml"),
        ("train", "missing.csv", "--domain", "missing.toml", "--epsilon", "1", "-o", "out.json"),
        ("domain", "draft", "missing.csv", "--label", "good"),
        ("ledger", "show", "missing.ledger"),
    ],
    ids=lambda args: args[0],
)
def test_a_missing_file_is_one_line_and_exit_code_2(run, tmp_path, monkeypatch, args):
    monkeypatch.chdir(tmp_path)
    result = run(*args, code=2)
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert "missing." in result.stderr
    assert result.stdout == ""


def test_debug_lets_an_error_through(tmp_path):
    result = CliRunner().invoke(app, ["--debug", "show", str(tmp_path / "missing.json")])
    assert isinstance(result.exception, FileNotFoundError)


def test_brackets_in_a_file_name_are_no_markup(run, tmp_path):
    assert "[red]x.json" in run("show", tmp_path / "[red]x.json", code=2).stderr


def test_an_unknown_command_is_a_usage_error(run):
    run("plant", code=2)


def test_the_command_line_imports_nothing_heavy():
    heavy = ("numpy", "pyarrow", "pandas", "sklearn", "opendp", "numba", "matplotlib")
    code = f"import sys, frith.cli; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_installed_program_runs():
    program = Path(sys.executable).with_name("frith")
    if not program.exists():
        pytest.skip("frith is not installed beside this Python")
    done = subprocess.run([program, "show", "missing.json"], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "error: missing.json: no such file or directory\n"
    done = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"frith {frith.__version__}\n"
