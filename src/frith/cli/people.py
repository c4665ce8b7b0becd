"""`frith member` and `frith token`: members and tokens, on the machine that has the database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import print_rows, say, say_note
from frith.cli.options import AsJson
from frith.cli.serve import Config, Place, read_settings
from frith.client.kinds import Role

if TYPE_CHECKING:
    from frith.server.context import Context

members = typer.Typer(no_args_is_help=True, help="Curators and analysts of a server.")
tokens = typer.Typer(no_args_is_help=True, help="Tokens that members sign in with.")
_COLUMNS = ("name", "role", "subject", "disabled")
Who = Annotated[str, typer.Argument(metavar="NAME", help="A member's name.")]


@members.command("add")
def add(
    name: Who,
    role: Annotated[Role, typer.Option(help="What they may do.")] = Role.ANALYST,
    subject: Annotated[
        str | None, typer.Option(help="Their `sub` at the OIDC issuer.", metavar="SUB")
    ] = None,
    config: Config = None,
    database: Place = None,
) -> None:
    """Add a curator or an analyst."""
    from frith.server.auth import members as service

    with (
        _context(config, database, make=True) as context,
        context.database.write() as session,
    ):
        service.add_member(context, session, name, role.value, subject)
    say(f"{name} is a member now; give them a token with `frith token create {name}`")


@members.command("list")
def list_members(config: Config = None, database: Place = None, json: AsJson = False) -> None:
    """List all members."""
    from frith.server.auth import members as service

    with _context(config, database) as context, context.database.read() as session:
        found = service.list_members(session)
        rows = [tuple(getattr(m, column) or "" for column in _COLUMNS) for m in found]
    print_rows(_COLUMNS, rows, json)


@members.command("disable")
def disable(name: Who, config: Config = None, database: Place = None) -> None:
    """Disable a member and revoke all their tokens, and what was made with them, at once."""
    _set_disabled(name, True, config, database)
    say(f"{name} is disabled, and all their tokens are revoked")


@members.command("enable")
def enable(name: Who, config: Config = None, database: Place = None) -> None:
    """Enable a member again; they need a new token."""
    _set_disabled(name, False, config, database)
    say(f"{name} is enabled; give them a token with `frith token create {name}`")


def _set_disabled(name: str, disabled: bool, config: Any, database: str | None) -> None:
    from frith.server.auth import members as service

    with _context(config, database) as context, context.database.write() as session:
        service.set_disabled(context, session, name, disabled)


@tokens.command("create")
def create(
    name: Who,
    note: Annotated[str, typer.Option(help="What it is for.")] = "",
    days: Annotated[int | None, typer.Option(help="Days that it is valid for.", min=1)] = None,
    config: Config = None,
    database: Place = None,
) -> None:
    """Make a token. It is printed once: only its hash is kept."""
    from frith.server.auth import members as service

    with _context(config, database) as context, context.database.write() as session:
        issued = service.issue_token(context, session, name, note, days)
    typer.echo(issued.text)
    say_note(f"valid until {issued.token.expires[:10]}; it cannot be shown again.")


@tokens.command("list")
def list_tokens(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Only this member's.")] = None,
    config: Config = None,
    database: Place = None,
    json: AsJson = False,
) -> None:
    """List tokens, without their secrets."""
    from frith.server.auth import members as service

    columns = ("id", "member", "note", "created", "expires", "revoked", "minter", "parent")
    with _context(config, database) as context, context.database.read() as session:
        found = service.list_tokens(session, name)
        rows = [tuple(getattr(t, column) or "" for column in columns) for t in found]
    print_rows(columns, rows, json)


@tokens.command("revoke")
def revoke(
    token: Annotated[str, typer.Argument(metavar="ID", help="The id of a token.")],
    config: Config = None,
    database: Place = None,
) -> None:
    """Revoke a token, what was made with it, and their browser sessions at once."""
    from frith.server.auth import members as service
    from frith.server.schema import Member

    desk = Member(name="", role="curator", created="")
    with _context(config, database) as context, context.database.write() as session:
        service.revoke_token(context, session, token, desk)
    say(f"token {token} is revoked")


@contextmanager
def _context(config: Any, database: str | None, *, make: bool = False) -> Iterator[Context]:
    from frith.server.context import open_context

    context = open_context(read_settings(config, database=database), make=make)
    try:
        yield context
    finally:
        context.database.close()
