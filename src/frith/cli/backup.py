"""`frith migrate`, `frith backup` and `frith restore`: a server's state."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from frith.cli.console import say, say_note
from frith.cli.serve import Config, Place, read_settings

_WAIT_SECONDS = 2


def migrate(
    config: Config = None,
    database: Place = None,
    wait: Annotated[
        bool, typer.Option("--wait", help="Change nothing; wait until somebody else has.")
    ] = False,
    finish: Annotated[
        bool, typer.Option("--finish", help="Say that no earlier frith runs on it any more.")
    ] = False,
) -> None:
    """Bring the server's database up to date, or make a new one.

    An earlier frith can keep running on it, so this is the first step of a rolling upgrade. The last is
    `--finish`, which allows what an earlier frith would ignore.
    """
    from frith.ledger.database import HEAD, Database

    settings = read_settings(config, database=database)
    target = Database(settings.database)
    before = target.version if target.file is None or target.file.is_file() else None
    while wait and (before is None or before < HEAD):
        time.sleep(_WAIT_SECONDS)
        before = target.version
    if not wait:
        target.upgrade()
    say(f"{target}: version {before or 'none'} before, {target.version} now")
    if finish:
        from frith.server.auth import upgrade
        from frith.server.auth.acting import acting, desk
        from frith.server.context import Context

        context = Context(target, settings)
        with acting(context, desk(), "finish upgrade", HEAD) as session:
            upgrade.finish(context, session)
        say("no earlier frith runs on it any more")


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
        bool,
        typer.Option("--forget", help="Restore even if charges made since the backup are lost."),
    ] = False,
) -> None:
    """Put a backup back, with the server stopped. Refuses to lose charges.

    A ledger that forgets a charge sells its budget twice. With `--forget`, charge anew what
    analysts hold receipts for: `frith ledger charge`.
    """
    from frith.ledger.anchored import open_anchors
    from frith.ledger.backup import put_back
    from frith.ledger.database import Database

    settings = read_settings(config, database=database)
    target = Database(settings.database)
    anchors = open_anchors(settings.anchor_witness, settings.anchor_key, settings.anchor_trusted)
    put_back(copy, target, forget=forget, anchors=anchors)
    say(f"{target} is as it was in {copy}")
    if forget:
        say_note("charges made since the backup are lost; charge them anew.")
    if forget and anchors is not None:
        say_note("then give up the anchors of what is lost: `frith anchor forget REASON`.")
