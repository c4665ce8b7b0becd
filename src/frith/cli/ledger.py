"""`frith ledger`: a table's budget and what has been spent of it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import out, print_json, say
from frith.cli.options import AsJson, Delta, Epsilon

if TYPE_CHECKING:
    from frith.privacy import Ledger, Receipt

app = typer.Typer(no_args_is_help=True, help="Keep a table's budget.")


@app.command()
def create(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file to make.")],
    epsilon: Epsilon,
    delta: Delta = "0",
) -> None:
    """Open a ledger with a budget. Budgets are not edited afterwards."""
    from frith.privacy import Ledger

    ledger = Ledger.create(path, epsilon=epsilon, delta=delta)
    say(f"{path}: {ledger.budget} may be spent; charge it with `frith train ... --ledger {path}`")


@app.command()
def show(
    path: Annotated[Path, typer.Argument(metavar="LEDGER", help="A ledger file.")],
    json: AsJson = False,
) -> None:
    """Show a ledger's budget, what is left of it, and every charge."""
    from frith.privacy import Ledger

    ledger = Ledger(path)
    if json:
        print_json(_facts(ledger))
    else:
        _show(ledger)


def receipt_to_json(receipt: Receipt) -> dict[str, Any]:
    """A receipt with its amounts spelled exactly."""
    from frith.privacy.exact import show as spelled

    amounts = {"amount": spelled(receipt.amount), "running": spelled(receipt.running)}
    return asdict(receipt) | amounts


def _facts(ledger: Ledger) -> dict[str, Any]:
    from frith.privacy.exact import show as spelled

    budget = ledger.budget
    return {
        "path": str(ledger.path),
        "account": ledger.account,
        "epsilon": spelled(budget.epsilon),
        "delta": spelled(budget.delta),
        "unit": ledger.unit,
        "spent": spelled(ledger.spent),
        "remaining": spelled(ledger.remaining),
        "entries": [receipt_to_json(r) for r in ledger.entries()],
    }


def _show(ledger: Ledger) -> None:
    from rich.table import Table

    from frith.cli.words import amount

    unit, entries = ledger.unit, ledger.entries()
    say(f"{ledger.path}: budget {ledger.budget}", "bold")
    say(f"{unit} {amount(ledger.spent)} spent, {amount(ledger.remaining)} left")
    if not entries:
        say("no charges yet", "dim")
        return
    table = Table("entry", box=None, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("when (UTC)", no_wrap=True)
    table.add_column("purpose", overflow="fold")
    for name in (unit, "spent in all"):
        table.add_column(name, justify="right", no_wrap=True)
    for r in entries:
        when = r.at.removesuffix("+00:00").replace("T", " ")
        table.add_row(str(r.id), when, r.purpose, amount(r.amount), amount(r.running))
    out().print(table)
