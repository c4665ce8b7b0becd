"""What the commands share: signing in, waiting for a job, and showing its result."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import err, print_json, say, say_note
from frith.cli.train import facts_of, show_model

if TYPE_CHECKING:
    from frith.client import Job, RemoteDatabase

INTERRUPTED = 130
"""The exit code after ctrl-C, as in shells."""

TableName = Annotated[str, typer.Argument(metavar="TABLE", help="A table's name on the server.")]
JobId = Annotated[str, typer.Argument(metavar="ID", help="The id of a job.")]
ForestId = Annotated[str, typer.Argument(metavar="ID", help="The id of a forest on the server.")]
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write the forest (JSON).")]
NoWait = Annotated[
    bool,
    typer.Option("--no-wait", help="Print the job and exit; `frith remote job --wait` waits."),
]


@dataclass(frozen=True)
class Server:
    """Which server to ask, and how to sign in."""

    url: str | None
    token_file: Path | None
    ca: Path | None
    insecure: bool

    def connect(self) -> RemoteDatabase:
        from frith.client import connect

        if not self.url:
            raise ValueError("no server: set FRITH_URL, or use `frith remote --url URL ...`")
        verify = True if self.ca is None else self.ca
        try:
            return connect(self.url, self._token(), verify=verify, insecure=self.insecure)
        except ImportError as error:
            raise ValueError(str(error)) from None

    def _token(self) -> str:
        if self.token_file is not None:
            return self.token_file.read_text(encoding="utf-8").strip()
        token = os.environ.get("FRITH_TOKEN", "")
        if not token.strip():
            raise ValueError("no token: set FRITH_TOKEN, or name its file with --token-file")
        return token


def connect(ctx: typer.Context) -> RemoteDatabase:
    server: Server = ctx.obj
    return server.connect()


def result_of(job: Job) -> Any:
    """Wait for a job, with a spinner on a terminal or one line a pass in a log file."""
    try:
        return job.result(_progress())
    except KeyboardInterrupt:
        say_note(f"the job goes on at the server; `frith remote job {job.id} --wait` picks it up")
        raise typer.Exit(INTERRUPTED) from None


def _progress() -> bool | Callable[[Job], None]:
    console = err()
    return True if console.is_terminal else lambda job: console.print(str(job), soft_wrap=True)


def deliver(model: Any, output: Path, as_json: bool) -> None:
    """Write a downloaded forest, and show it like one that was trained here."""
    model.forest_.save(output)
    if as_json:
        print_json({"id": model.remote_id_, **facts_of(model, output)})
        return
    show_model(model, output)
    say(f"its id on the server: {model.remote_id_}", "dim")


def say_job(job: Job, as_json: bool) -> None:
    if as_json:
        print_json(job.to_json())
    else:
        say(str(job))
