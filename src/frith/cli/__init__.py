"""The command line: `frith` and its commands, one file each.

Only Typer is imported when the program starts; a command imports what it needs when it runs, so
that `frith --help` answers at once.
"""

from __future__ import annotations

from typing import Annotated

import typer

from frith._version import __version__
from frith.cli import (
    anchor,
    audit,
    backup,
    check,
    demo,
    domain,
    draw,
    effects,
    keys,
    ledger,
    parties,
    people,
    predict,
    remote,
    report,
    rules,
    score,
    serve,
    show,
    train,
    warm,
)
from frith.cli.group import FrithGroup

__all__ = ["app", "main"]

app = typer.Typer(
    name="frith",
    cls=FrithGroup,
    no_args_is_help=True,
    rich_markup_mode="markdown",
    add_completion=False,
    pretty_exceptions_enable=False,  # `--debug` shows plain tracebacks, without local variables
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Differentially private decision forests.",
    epilog="Start with `frith demo`. Errors exit with 2, a budget that is used up with 3.",
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"frith {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show the traceback of an error, not only its message.")
    ] = False,
) -> None:
    """Options that come before a command; `FrithGroup` reads --debug."""


_FIRST, _DESK, _ANYONE = "Start here", "At the curator's desk", "With a released forest"
_PARTIES, _SERVER = "Several parties", "The private database"
app.command("demo", rich_help_panel=_FIRST)(demo.demo)
app.command("audit", rich_help_panel=_FIRST)(audit.audit)
app.command("warm", rich_help_panel=_FIRST)(warm.warm)
app.add_typer(domain.app, name="domain", rich_help_panel=_DESK)
app.command("check", rich_help_panel=_DESK)(check.check)
app.add_typer(ledger.app, name="ledger", rich_help_panel=_DESK)
app.command("train", rich_help_panel=_DESK)(train.train)
app.command("score", rich_help_panel=_DESK)(score.score)
app.command("structure", rich_help_panel=_PARTIES)(parties.structure)
app.command("release", rich_help_panel=_PARTIES)(parties.release)
app.command("merge", rich_help_panel=_PARTIES)(parties.merge)
app.command("join", rich_help_panel=_PARTIES)(parties.join)
app.command("serve", rich_help_panel=_SERVER)(serve.serve)
app.command("worker", rich_help_panel=_SERVER)(serve.worker)
app.add_typer(remote.app, name="remote", rich_help_panel=_SERVER)
app.add_typer(people.members, name="member", rich_help_panel=_SERVER)
app.add_typer(people.tokens, name="token", rich_help_panel=_SERVER)
app.add_typer(keys.app, name="keys", rich_help_panel=_SERVER)
app.add_typer(anchor.app, name="anchor", rich_help_panel=_SERVER)
app.command("witness", rich_help_panel=_SERVER)(anchor.witness)
app.command("migrate", rich_help_panel=_SERVER)(backup.migrate)
app.command("backup", rich_help_panel=_SERVER)(backup.backup)
app.command("restore", rich_help_panel=_SERVER)(backup.restore)
app.command("show", rich_help_panel=_ANYONE)(show.show)
app.command("rules", rich_help_panel=_ANYONE)(rules.rules)
app.command("effects", rich_help_panel=_ANYONE)(effects.effects)
app.command("draw", rich_help_panel=_ANYONE)(draw.draw)
app.command("report", rich_help_panel=_ANYONE)(report.report)
app.command("predict", rich_help_panel=_ANYONE)(predict.predict)


def main() -> None:
    """The `frith` program."""
    app()
