"""`frith remote`: ask a private database on a server, from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from frith.cli.remote import ask, curate, look, paid
from frith.cli.remote.desk import Server

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Ask a private database on a server.",
    epilog="The token comes from FRITH_TOKEN or a file, not from an option, which process lists and "
    "the shell's history would show. Begin with `export FRITH_URL=https://...`, and "
    "`read -rs FRITH_TOKEN; export FRITH_TOKEN`.",
)


@app.callback()
def _server(
    ctx: typer.Context,
    url: Annotated[
        str | None,
        typer.Option(envvar="FRITH_URL", help="The server, such as https://data.example.org."),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The file with your token; else FRITH_TOKEN."),
    ] = None,
    ca: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The authority that signed the server's certificate."),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Send the token to another machine over plain http.")
    ] = False,
) -> None:
    """Options that come before a command."""
    ctx.obj = Server(url, token_file, ca, insecure)


_LOOK, _ASK, _CURATE = "Look: free", "Ask", "For curators"
for name, command in look.COMMANDS.items():
    app.command(name, rich_help_panel=_LOOK)(command)
for name, command in ask.COMMANDS.items():
    app.command(name, rich_help_panel=_ASK)(command)
for name, command in curate.COMMANDS.items():
    app.command(name, rich_help_panel=_CURATE)(command)
app.command("register-paid", rich_help_panel=_CURATE)(paid.register_paid)
app.add_typer(curate.members, name="member", rich_help_panel=_CURATE)
app.add_typer(curate.tokens, name="token", rich_help_panel=_CURATE)
