"""Commands for curators: tables and their budgets, grants, members, and the ledger's chain."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from frith.cli.console import print_json, print_rows, say, say_note
from frith.cli.ledger import say_verified
from frith.cli.options import AsJson, Delta, DomainFile, Epsilon
from frith.cli.people import (
    Ends,
    HasRole,
    Lasts,
    Note,
    Owner,
    Scopes,
    Subject,
    TokenId,
    Who,
    print_members,
    print_tokens,
)
from frith.cli.remote.desk import TableName, connect
from frith.cli.train import Learner
from frith.client.kinds import Role

members = typer.Typer(no_args_is_help=True, help="Curators and analysts.")
tokens = typer.Typer(no_args_is_help=True, help="Tokens that members sign in with.")
_NONE = "none"
TableAlias = Annotated[str, typer.Argument(metavar="NAME", help="What analysts will call it.")]
Connection = Annotated[
    str,
    typer.Argument(
        metavar="CONNECTION", help="Where the records are; see `frith remote connections`."
    ),
]
Picked = Annotated[
    str | None,
    typer.Argument(metavar="[TABLE]", help="A file of a folder, or schema.table of a database."),
]
Query = Annotated[
    str | None,
    typer.Option(metavar="SELECT", help="A query instead of TABLE, where it is allowed."),
]
Title = Annotated[str, typer.Option(help="One line about it.")]
Signed = Annotated[
    bool, typer.Option("--signed", help="I sign that each row of a query depends on one record.")
]
AnalystEpsilon = Annotated[str | None, typer.Option(metavar="E", help="The cap of one analyst.")]
RequestEpsilon = Annotated[str | None, typer.Option(metavar="E", help="The cap of one request.")]
LeastEpsilon = Annotated[str | None, typer.Option(metavar="E", help="The least for one request.")]
Learners = Annotated[
    list[Learner] | None, typer.Option("--learner", help="A learner to allow; else all are.")
]


def register(
    ctx: typer.Context,
    name: TableAlias,
    connection: Connection,
    domain: DomainFile,
    epsilon: Epsilon,
    table: Picked = None,
    query: Query = None,
    delta: Delta = "0",
    analyst_epsilon: AnalystEpsilon = None,
    request_epsilon: RequestEpsilon = None,
    least_epsilon: LeastEpsilon = None,
    learner: Learners = None,
    renewal_days: Annotated[
        int | None, typer.Option(min=1, help="Days after which the whole budget returns.")
    ] = None,
    title: Title = "",
    signed: Signed = False,
) -> None:
    """Register a table with its reviewed domain and its policy. No record is read."""
    registered = connect(ctx).register(
        name,
        domain,
        connection=connection,
        table=table,
        query=query,
        epsilon=epsilon,
        delta=delta,
        analyst_epsilon=analyst_epsilon,
        request_epsilon=request_epsilon,
        least_epsilon=least_epsilon,
        learners=_learners(learner),
        renewal_days=renewal_days,
        title=title,
        signed=signed,
    )
    say(str(registered))
    say(f"next: frith remote grant {name} MEMBER", "dim")


def policy(
    ctx: typer.Context,
    table: TableName,
    epsilon: Annotated[str | None, typer.Option(metavar="E", help="The whole budget.")] = None,
    analyst_epsilon: AnalystEpsilon = None,
    request_epsilon: RequestEpsilon = None,
    least_epsilon: LeastEpsilon = None,
    learner: Learners = None,
) -> None:
    """Show a table's policy, or change the named parts and keep the rest; `none` removes a cap."""
    given = {
        "epsilon": epsilon,
        "analyst_epsilon": analyst_epsilon,
        "request_epsilon": request_epsilon,
        "least_epsilon": least_epsilon,
        "learners": _learners(learner),
    }
    changes = {k: None if v == _NONE else v for k, v in given.items() if v is not None}
    database = connect(ctx)
    found = database.set_policy(table, **changes) if changes else database.table(table)
    print_json(dict(found.policy))


def grant(
    ctx: typer.Context,
    table: TableName,
    member: Who,
    column: Annotated[
        list[str] | None, typer.Option(help="An attribute that they may ask about; else all.")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(metavar="E", help="The cap of this analyst.")
    ] = None,
) -> None:
    """Let an analyst ask about a table, or change an earlier grant."""
    say(str(connect(ctx).grant(table, member, column or None, epsilon)))


def grants(ctx: typer.Context, table: TableName, json: AsJson = False) -> None:
    """List the grants of a table."""
    found = connect(ctx).grants(table)
    rows = [
        (g.member, ", ".join(g.columns or ()) or "all", "" if g.epsilon is None else str(g.epsilon))
        for g in found
    ]
    print_rows(("member", "attributes", "epsilon"), rows, json)


def withdraw(ctx: typer.Context, table: TableName, member: Who) -> None:
    """Withdraw a grant; what was spent under it stays spent."""
    connect(ctx).withdraw(table, member)
    say(f"{member} may no longer ask {table}")


def batch(
    ctx: typer.Context,
    table: TableName,
    name: Annotated[str, typer.Argument(metavar="NAME", help="What the batch is called.")],
    connection: Connection,
    picked: Picked = None,
    query: Query = None,
    disjoint: Annotated[
        bool,
        typer.Option("--disjoint", help="None of its people is in the table or another batch."),
    ] = False,
) -> None:
    """Register further records, for updates of random-decision forests."""
    changed = connect(ctx).add_batch(
        table, name, connection=connection, table=picked, query=query, disjoint=disjoint
    )
    say(str(changed))


def connections(ctx: typer.Context, json: AsJson = False) -> None:
    """List where tables can be registered from."""
    found = connect(ctx).connections()
    rows = [(c.name, c.kind, "yes" if c.queries else "no") for c in found]
    print_rows(("name", "kind", "queries"), rows, json)


def raise_version(ctx: typer.Context, table: TableName) -> None:
    """State that the records have changed: a repeated request is then new, and charged."""
    say(str(connect(ctx).raise_version(table)))


def verify(ctx: typer.Context) -> None:
    """Verify the ledger's chain of hashes and stored requests. Exits with 1 on a finding."""
    say_verified(connect(ctx).verify_ledger())


@members.command("add")
def add_member(
    ctx: typer.Context,
    name: Who,
    role: HasRole = Role.ANALYST,
    subject: Subject = None,
    owner: Owner = None,
    days: Ends = None,
) -> None:
    """Add a member, or a service account that a member owns."""
    added = connect(ctx).add_member(name, role.value, subject=subject, owner=owner, days=days)
    say(str(added))
    say(f"next: frith remote token create {name}", "dim")


@members.command("list")
def list_members(ctx: typer.Context, json: AsJson = False) -> None:
    """List all members."""
    print_members(connect(ctx).members(), json)


@members.command("disable")
def disable(ctx: typer.Context, name: Who) -> None:
    """Disable a member and revoke all their tokens at once."""
    say(str(connect(ctx).disable(name)))


@members.command("enable")
def enable(ctx: typer.Context, name: Who) -> None:
    """Enable a member again; they need a new token."""
    say(str(connect(ctx).enable(name)))
    say(f"next: frith remote token create {name}", "dim")


@tokens.command("create")
def create_token(
    ctx: typer.Context,
    name: Who,
    note: Note = "",
    days: Lasts = None,
    scope: Scopes = None,
) -> None:
    """Make a token. It is printed once: only its hash is kept. Analysts may make their own."""
    issued = connect(ctx).create_token(name, note, days, scope or None)
    typer.echo(issued.token)
    say_note(f"valid until {issued.expires[:10]}; it cannot be shown again.")


@tokens.command("list")
def list_tokens(ctx: typer.Context, name: Who, json: AsJson = False) -> None:
    """List a member's tokens, without their secrets."""
    print_tokens(connect(ctx).tokens(name), json)


@tokens.command("revoke")
def revoke_token(
    ctx: typer.Context,
    token: TokenId,
) -> None:
    """Revoke a token, what was made with it, and their browser sessions at once."""
    connect(ctx).revoke_token(token)
    say(f"token {token} is revoked")


def _learners(given: list[Learner] | None) -> list[str] | None:
    return [learner.value for learner in given] if given else None


COMMANDS: dict[str, Callable[..., None]] = {
    "connections": connections,
    "register": register,
    "policy": policy,
    "batch": batch,
    "raise-version": raise_version,
    "grant": grant,
    "grants": grants,
    "withdraw": withdraw,
    "verify": verify,
}
