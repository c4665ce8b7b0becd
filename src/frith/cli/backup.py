"""`frith backup` and `frith restore`: copies of a server's state, on SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from frith.cli.console import say, say_note
from frith.cli.serve import Config, Place, read_settings


def backup(
    to: Annotated[Path, typer.Argument(metavar="FILE", help="The copy to make.")],
    config: Config = None,
    database: Place = None,
) -> None:
    """Copy the server's database while it is in use. Holds releases and hashes, no records."""
    from frith.ledger.backup import back_up
    from frith.ledger.database import Database

    back_up(Database(read_settings(config, database=database).database), to)
    say(f"{to} written; put it back with `frith restore {to}`")


def restore(
    copy: Annotated[Path, typer.Argument(metavar="FILE", help="A copy made by `frith backup`.")],
    config: Config = None,
    database: Place = None,
    forget: Annotated[
        bool, typer.Option("--forget", help="Even where charges since the backup are lost.")
    ] = False,
) -> None:
    """Put a backup back, with the server stopped. Refuses to lose charges.

    A ledger that forgets a charge sells its budget twice. With `--forget`, charge anew what
    analysts hold receipts for: `frith ledger charge`.
    """
    from frith.ledger.backup import put_back
    from frith.ledger.database import Database

    target = Database(read_settings(config, database=database).database)
    put_back(copy, target, forget=forget)
    say(f"{target} is as it was in {copy}")
    if forget:
        say_note("charges made since the backup are lost; charge them anew.")
