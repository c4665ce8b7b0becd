"""`frith remote register-paid`: a table whose domain is bought from its budget."""

from __future__ import annotations

from typing import Annotated

import typer

from frith.cli.console import say
from frith.cli.domain import read_kinds
from frith.cli.options import Delta, Epsilon, PersonColumn, RecordsPerPerson
from frith.cli.remote.curate import Connection, Picked, Query, Signed, TableAlias, Title
from frith.cli.remote.desk import connect


def register_paid(
    ctx: typer.Context,
    name: TableAlias,
    connection: Connection,
    label: Annotated[str, typer.Option(help="The column to predict.", metavar="NAME")],
    column: Annotated[
        list[str],
        typer.Option(
            help="What a column is: number, date, or a public list of values such as a,b,c; give one for "
            "each, also the label.",
            metavar="NAME=KIND",
        ),
    ],
    price: Annotated[str, typer.Option(help="What the domain costs: 0.1, 1/3.", metavar="E")],
    epsilon: Epsilon,
    table: Picked = None,
    query: Query = None,
    delta: Delta = "0",
    records: Annotated[
        int | None, typer.Option(help="The number of records, if it is public.", metavar="N")
    ] = None,
    person: PersonColumn = None,
    records_per_person: RecordsPerPerson = 1,
    title: Title = "",
    signed: Signed = False,
) -> None:
    """Register a table without public bounds: its domain is bought from its budget.

    Bounds and values are private releases. Their price is charged before they are drawn, once, and stays
    charged if that fails. Every forest states it with its own.
    """
    from frith.domain import Person

    registered = connect(ctx).register_paid(
        name, label, read_kinds(column), connection=connection, table=table, query=query,
        price=price, epsilon=epsilon, delta=delta, records=records, title=title, signed=signed,
        person=None if person is None else Person(person, records_per_person),
    )  # fmt: skip
    say(str(registered))
    say(f"next: frith remote grant {name} MEMBER", "dim")
