"""Errors become one readable line and an exit code; tracebacks are for `--debug`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from frith.cli.console import say_error
from frith.errors import BudgetExceeded, FrithError

FAILED = 2
OVER_BUDGET = 3

_SERVER = ("serve", "worker", "member", "token", "backup", "restore")
_EXTRAS = {
    "cryptography": "client", "duckdb": "duckdb", "fastapi": "server", "httpx2": "client",
    "matplotlib": "plot", "onnx": "onnx", "onnxruntime": "onnx", "psycopg": "postgres",
    "pydantic": "client", "pyspark": "spark", "structlog": "server", "uvicorn": "server",
}  # fmt: skip
"""The extra that installs a package which the core lacks."""


class FrithGroup(TyperGroup):
    """The root of all commands, and the one place that turns errors into exit codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of the pipe has closed it, which is not an error
            raise
        except ImportError as error:
            if ctx.params.get("debug"):
                raise
            say_error(_missing(error, ctx.invoked_subcommand))
            raise typer.Exit(FAILED) from None
        except (FrithError, ValueError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            say_error(_message(error))
            raise typer.Exit(exit_code(error)) from None


def _missing(error: ImportError, command: str | None) -> str:
    """What to install for a command whose packages are missing."""
    package = (error.name or "").partition(".")[0]
    extra = "server" if command in _SERVER else _EXTRAS.get(package)
    if extra is None or "pip install" in str(error):
        return _message(error)
    return f"`frith {command}` needs the package {package}: pip install 'frith[{extra}]'"


def exit_code(error: Exception) -> int:
    return OVER_BUDGET if isinstance(error, BudgetExceeded) else FAILED


def _message(error: Exception) -> str:
    """The error in one line, its file first if it names one."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    return " ".join(str(error).split()) or type(error).__name__
