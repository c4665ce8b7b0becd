"""`frith ledger`: a table's budget and what has been spent of it."""

from __future__ import annotations

import re
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import out, print_json, say
from frith.cli.options import AsJson, Delta, Epsilon

if TYPE_CHECKING:
    from frith.ledger import Ledger, Verification

app = typer.Typer(no_args_is_help=True, help="Keep a table's budget.")
Place = Annotated[
    str,
    typer.Argument(
        metavar="LEDGER",
        envvar="FRITH_DATABASE",
        help="A ledger file, or the URL of a database. A variable shows in no process list.",
    ),
]
RecordsPerPerson = Annotated[
    int | None,
    typer.Option(
        metavar="M",
        min=1,
        help="For fits that protect persons with at most M records each; by default, records.",
    ),
]
Account = Annotated[str, typer.Option(help="The account; a server names it after the table.")]


class Format(StrEnum):
    """How a ledger is exported."""

    CSV = "csv"
    JSON = "json"


@app.command()
def create(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file to make.")],
    epsilon: Epsilon,
    delta: Delta = "0",
    records_per_person: RecordsPerPerson = None,
) -> None:
    """Open a ledger with a budget, for fits that protect records, or persons."""
    from frith.ledger import Ledger
    from frith.privacy.neighbors import neighbors_of, unit_of

    ledger = Ledger.create(
        path, epsilon=epsilon, delta=delta, records_per_person=records_per_person
    )
    unit = unit_of(neighbors_of(records_per_person))
    say(
        f"{path}: {ledger.budget} may be spent on fits that protect {unit}; charge it with "
        f"`frith train ... --ledger {path}`"
    )


@app.command()
def declare(
    path: Place, records_per_person: RecordsPerPerson = None, account: Account = "table"
) -> None:
    """Declare what an account protects, if it was opened before accounts stated it. This is final."""
    from frith.ledger import Ledger
    from frith.privacy.neighbors import neighbors_of, unit_of

    ledger = Ledger(path, account)
    ledger.declare(records_per_person)
    say(f"{ledger}: the account {account!r} is for {unit_of(neighbors_of(records_per_person))}")


@app.command("accept-clock")
def accept_clock(path: Place) -> None:
    """Accept this machine's clock if it and the ledger disagree about the time.

    A budget that renews sells nothing while they do. Check the clock first: a period that has begun by
    it cannot be undone. This adds an entry to the ledger.
    """
    from frith.ledger import Ledger

    receipt = Ledger(path).accept_clock()
    say(f"entry {receipt.id}: the ledger's time is {receipt.at}")


@app.command("raise")
def raise_budget(
    path: Place,
    epsilon: Epsilon,
    account: Account = "table",
) -> None:
    """Set another budget for the same delta. The change is an entry of its own.

    The budget of a server's table is set on the server, where a raise needs two people.
    """
    from frith.ledger import Ledger

    ledger = Ledger(path, account)
    _refuse_table_of_server(ledger)
    ledger.set_budget(epsilon)
    say(f"{ledger}: {ledger.budget} may be spent in all")


def _refuse_table_of_server(ledger: Ledger) -> None:
    """Refuse accounts of a server's table: the part before `+`, `@` and `/` names the table."""
    from frith.errors import FrithError
    from frith.ledger.database import Database
    from frith.server.schema import RegisteredTable

    _ = ledger.state  # raises where this is no ledger, and brings an older one up to date
    database = Database(ledger.place)
    try:
        with database.read() as session:
            found = session.get(RegisteredTable, re.split("[+@/]", ledger.account)[0])
    finally:
        database.close()
    if found is not None:
        raise FrithError(
            f"{ledger.account!r} is an account of a server's table; change its policy on the server, where "
            "a raise needs two people"
        )


@app.command()
def charge(
    path: Place,
    epsilon: Epsilon,
    purpose: Annotated[str, typer.Option(help="What the charge is for, in one line.")],
    delta: Delta = "0",
    records_per_person: RecordsPerPerson = None,
    account: Account = "table",
) -> None:
    """Charge a release that was made without this ledger, or whose charge was lost with a backup."""
    from frith.ledger import Ledger
    from frith.privacy import Budget
    from frith.privacy.exact import readable
    from frith.privacy.neighbors import neighbors_of

    neighbors = neighbors_of(records_per_person)
    receipt = Ledger(path, account).charge(Budget.of(epsilon, delta), purpose, neighbors)
    say(f"entry {receipt.id}: {receipt.unit} {readable(receipt.amount)} charged")


@app.command()
def show(
    path: Place,
    account: Account = "table",
    json: AsJson = False,
) -> None:
    """Show a ledger's budget, what is left of it, and every charge."""
    from frith.ledger import Ledger

    ledger = Ledger(path, account)
    if json:
        print_json(_facts(ledger))
    else:
        _show(ledger)


@app.command()
def verify(
    path: Place,
    head: Annotated[
        str | None,
        typer.Option(help="A hash that you noted earlier; it must still be in the chain."),
    ] = None,
) -> None:
    """Check the chain of hashes and the stored requests. Exits with 1 if it finds something.

    A finding is a changed entry, or a charge that frith would refuse today, whose answer may have
    revealed more than was charged.
    """
    from frith.ledger import Fault, Ledger

    ledger = Ledger(path)
    found = _verify(ledger)
    if head is not None and head not in {e.hash for e in ledger.all_entries()}:
        gone = Fault("the hash that you noted is not in the chain: entries were removed")
        found = replace(found, faults=(*found.faults, gone))
    say_verified(found)


def say_verified(found: Verification) -> None:
    """Print what a verification found; exit with 1 if it found something."""
    for line in (*found.problems, *found.flagged):
        say(line, "red")
    if found.holds:
        say(f"{found.entries} entries, all as they were written; the last hash is {found.head}")
    if found.flagged:
        say(f"{len(found.flagged)} to look at; SECURITY.md says what each kind means")
    if not found.is_clean:
        raise typer.Exit(1)


def _verify(ledger: Ledger) -> Verification:
    """A ledger's file has the tables of a server's database, with requests or without."""
    from frith.ledger import Book
    from frith.ledger.database import Database
    from frith.server.jobs.verification import verify

    ledger.verify()  # raises where this is no ledger, and brings an older one up to date
    database = Database(ledger.place)
    try:
        with database.read() as session:
            return verify(session, Book(session.connection()))
    finally:
        database.close()


@app.command()
def export(
    path: Place,
    format: Annotated[Format, typer.Option(help="What to print.")] = Format.CSV,
) -> None:
    """Print every entry of every account."""
    from frith.ledger import Ledger, as_csv

    entries = Ledger(path).all_entries()
    if format is Format.JSON:
        print_json([entry.to_json() for entry in entries])
    else:
        typer.echo(as_csv(entries), nl=False)


@app.command()
def review(
    file: Annotated[
        Path, typer.Argument(metavar="LOG", help="An exported log, or the file of a sink.")
    ],
    head: Annotated[
        str | None, typer.Option(help="A hash that was noted elsewhere; the log must hold it.")
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only findings, not every line.")] = False,
) -> None:
    """Tell from an exported audit log alone who did what. Exits with 1 on a finding."""
    from frith.ledger import log as reading
    from frith.ledger.review import Review, who_did_what

    lines = list(reading.read(file.read_text(encoding="utf-8")))
    if not quiet:
        for sentence in who_did_what(lines):
            typer.echo(sentence)
    found = Review().read(lines)
    for finding in found.findings:
        say(f"{finding.kind}: {finding.text}", "red")
    is_held = head is None or found.holds(head)
    if not is_held:
        say("the log does not hold the hash that was noted: its end is missing, or it forks", "red")
    say(f"{len(lines)} lines, {len(found.findings)} findings")
    if found.findings or not is_held:
        raise typer.Exit(1)


def _facts(ledger: Ledger) -> dict[str, Any]:
    from frith.privacy.exact import show as spelled

    state = ledger.state
    return {
        "path": str(ledger),
        "account": ledger.account,
        "epsilon": spelled(state.budget.epsilon),
        "delta": spelled(state.budget.delta),
        "unit": state.unit,
        "neighbors": state.neighbors,
        "spent": spelled(state.spent),
        "held": spelled(state.held),
        "remaining": spelled(state.remaining),
        "entries": [receipt.to_json() for receipt in ledger.entries()],
    }


def _show(ledger: Ledger) -> None:
    from rich.table import Table

    from frith.privacy.exact import readable

    state, entries = ledger.state, ledger.entries()
    say(f"{ledger}: budget {state.budget}; neighbors: {state.neighbors or 'unknown'}", "bold")
    held = f", {readable(state.held)} reserved" if state.held else ""
    say(f"{state.unit} {readable(state.spent)} spent{held}, {readable(state.remaining)} left")
    if not entries:
        say("no charges yet", "dim")
        return
    table = Table("entry", box=None, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("when (UTC)", no_wrap=True)
    table.add_column("what", no_wrap=True)
    table.add_column("purpose", overflow="fold")
    for name in (state.unit, "spent in all"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in entries:
        when = r.at.removesuffix("+00:00").replace("T", " ")
        table.add_row(
            str(r.id), when, r.kind.word, r.purpose, readable(r.amount), readable(r.spent)
        )
    out().print(table)
