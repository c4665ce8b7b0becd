"""`frith member` and `frith token`: members and tokens, on the machine that has the database."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import print_rows, say, say_note
from frith.cli.options import AsJson
from frith.cli.serve import Config, Place, read_settings
from frith.client.kinds import Role, Scope

if TYPE_CHECKING:
    from frith.server.context import Context

members = typer.Typer(
    no_args_is_help=True, help="Members of a server: their roles, and service accounts."
)
tokens = typer.Typer(no_args_is_help=True, help="Tokens that members sign in with.")
_COLUMNS = ("name", "role", "subject", "disabled", "owner", "expires")
_TOKEN_COLUMNS = (
    "id", "member", "note", "created", "expires", "revoked", "scopes", "minter", "parent",
)  # fmt: skip
Who = Annotated[str, typer.Argument(metavar="NAME", help="A member's name.")]
HasRole = Annotated[Role, typer.Option("--role", help="What they may do.")]
Subject = Annotated[str | None, typer.Option(help="Their `sub` at the OIDC issuer.", metavar="SUB")]
Owner = Annotated[
    str | None, typer.Option(help="For a service account: who answers for it.", metavar="NAME")
]
Ends = Annotated[
    int | None, typer.Option("--days", help="Days after which a service account ends.", min=1)
]
Note = Annotated[str, typer.Option(help="What it is for.")]
Lasts = Annotated[int | None, typer.Option("--days", help="Days that it is valid for.", min=1)]
Scopes = Annotated[
    list[Scope] | None,
    typer.Option("--scope", help="What it is good for; may be repeated. All if none."),
]
TokenId = Annotated[str, typer.Argument(metavar="ID", help="The id of a token.")]


@members.command("add")
def add(
    name: Who,
    role: HasRole = Role.ANALYST,
    subject: Subject = None,
    owner: Owner = None,
    days: Ends = None,
    config: Config = None,
    database: Place = None,
) -> None:
    """Add a member, or a service account that a member owns."""
    from frith.server.auth import members as service
    from frith.server.auth.acting import acting, desk

    with (
        _context(config, database, make=True) as context,
        acting(context, desk(), "add member", name) as session,
    ):
        service.add_member(context, session, name, role.value, subject, owner=owner, days=days)
    say(f"{name} is a member now; give them a token with `frith token create {name}`")


@members.command("list")
def list_members(config: Config = None, database: Place = None, json: AsJson = False) -> None:
    """List all members."""
    from frith.server.auth import members as service

    with _context(config, database) as context, context.database.read() as session:
        found = service.list_members(session)
    print_members(found, json)


@members.command("curates")
def curates(
    name: Who,
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A registered table.")],
    end: Annotated[bool, typer.Option("--end", help="They curate it no longer.")] = False,
    config: Config = None,
    database: Place = None,
) -> None:
    """Let a member curate a table, or no longer."""
    from frith.server.auth import roles
    from frith.server.auth.acting import acting, desk

    action, target = "remove curator" if end else "add curator", f"{table}/{name}"
    with (
        _context(config, database) as context,
        acting(context, desk(), action, target) as session,
    ):
        if end:
            roles.remove_curator(session, table, name)
        else:
            roles.add_curator(context, session, table, name)
    say(f"{name} curates {table} no longer" if end else f"{name} curates {table}")


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
    from frith.server.auth.acting import acting, desk, tell

    with (
        _context(config, database) as context,
        acting(context, desk(), "change member", name) as session,
    ):
        before = service.facts_of(service.get_member(session, name))
        changed = service.set_disabled(context, session, name, disabled)
        tell(session, before=before, after=service.facts_of(changed))


@tokens.command("create")
def create(
    name: Who,
    note: Note = "",
    days: Lasts = None,
    scope: Scopes = None,
    config: Config = None,
    database: Place = None,
) -> None:
    """Make a token. It is printed once: only its hash is kept."""
    from frith.server.auth import members as service
    from frith.server.auth.acting import acting, desk

    with (
        _context(config, database) as context,
        acting(context, desk(), "create token", name) as session,
    ):
        issued = service.issue_token(context, session, name, note, days, scopes=scope or None)
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

    with _context(config, database) as context, context.database.read() as session:
        found = service.list_tokens(session, name)
    print_tokens(found, json)


@tokens.command("revoke")
def revoke(
    token: TokenId,
    config: Config = None,
    database: Place = None,
) -> None:
    """Revoke a token, what was made with it, and their browser sessions at once."""
    from frith.server.auth import members as service
    from frith.server.auth.acting import acting, desk
    from frith.server.schema import Member

    operator = Member(name="", role=Role.OPERATOR, created="")
    with (
        _context(config, database) as context,
        acting(context, desk(), "revoke token", token) as session,
    ):
        service.revoke_token(context, session, token, operator)
    say(f"token {token} is revoked")


def print_members(found: Iterable[Any], json: bool) -> None:
    """Members of the database, or of a server's answer."""
    _print(_COLUMNS, found, json)


def print_tokens(found: Iterable[Any], json: bool) -> None:
    _print(_TOKEN_COLUMNS, found, json)


def _print(columns: tuple[str, ...], found: Iterable[Any], json: bool) -> None:
    rows = [tuple(getattr(each, column) or "" for column in columns) for each in found]
    print_rows(columns, rows, json)


@contextmanager
def _context(config: Any, database: str | None, *, make: bool = False) -> Iterator[Context]:
    from frith.server.context import open_context

    context = open_context(read_settings(config, database=database), make=make)
    try:
        yield context
    finally:
        context.database.close()
