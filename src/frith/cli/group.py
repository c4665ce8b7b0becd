"""Errors become one readable line and an exit code; tracebacks are for `--debug`."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

from frith.cli.console import say_error
from frith.errors import BudgetExceeded, FrithError

FAILED = 2
OVER_BUDGET = 3


class FrithGroup(TyperGroup):
    """The root of all commands, and the one place that turns errors into exit codes."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:  # the reader of the pipe has closed it, which is not an error
            raise
        except (FrithError, ValueError, OSError) as error:
            if ctx.params.get("debug"):
                raise
            say_error(_message(error))
            raise typer.Exit(exit_code(error)) from None


def exit_code(error: Exception) -> int:
    return OVER_BUDGET if isinstance(error, BudgetExceeded) else FAILED


def _message(error: Exception) -> str:
    """One line, with the file first where there is one."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}"
    return " ".join(str(error).split()) or type(error).__name__
