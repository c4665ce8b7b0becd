"""`frith anchor` and `frith witness`: heads of the ledger, signed and kept elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frith.cli.console import say, say_note
from frith.cli.ledger import say_verified
from frith.cli.serve import Config, Place, read_settings
from frith.errors import SourceError

if TYPE_CHECKING:
    from frith.server.context import Context

app = typer.Typer(no_args_is_help=True, help="Anchors: signed heads of a server's ledger.")
_NO_WITNESS = "no witness is named; set anchor_witness and anchor_key"


@app.command()
def key(file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to make.")]) -> None:
    """Make a key that signs anchors. Only the server and its workers may read the file."""
    from frith.ledger.anchors import new_key

    pem, public = new_key()
    try:
        out = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise SourceError(f"{file} exists; choose another name") from None
    with os.fdopen(out, "wb") as written:
        written.write(pem)
    say(public)
    say_note(f"this is the public key; serve with FRITH_ANCHOR_KEY={file}")


@app.command()
def begin(config: Config = None, database: Place = None) -> None:
    """Write the first anchor of a ledger that has entries, after verifying all of it.

    A new ledger is anchored when the server starts.
    """
    from frith.ledger.walk import Walk
    from frith.server.jobs.verification import verify

    with _context(config, database) as context:
        assert context.anchors is not None
        if not context.anchors.is_empty():
            raise SourceError(
                "the witness holds lines already; compare them with `frith anchor check`"
            )
        walk = Walk()
        with context.database.read() as session:
            found = verify(session, context.book(session), walk)
        if not found.holds:
            say_verified(found)
        context.anchors.write(walk.entries, walk.hash)
        say(f"entry {walk.entries} is anchored; its hash is {walk.hash}")


@app.command()
def check(config: Config = None, database: Place = None) -> None:
    """Verify the ledger and compare it with its witness. Exits with 1 if it finds something.

    Run it after restoring a database by other means than `frith restore`, before a server starts.
    """
    from frith.server.jobs.verification import look

    with _context(config, database) as context:
        assert context.anchors is not None
        say_verified(look(context))
        record = context.anchors.read()
        last = record.last
        say(f"all that was anchored is there, entry {0 if last is None else last.entry} the last")
        for given_up in record.given_up:
            say_note(f"at {given_up.at} earlier anchors were given up: {given_up.forgets}")
        if record.torn:
            say_note(f"{record.torn} lines of the witness are no anchors")


@app.command()
def forget(
    reason: Annotated[str, typer.Argument(help="Why, for everybody who reads the witness.")],
    config: Config = None,
    database: Place = None,
) -> None:
    """Give up the anchors so far and anchor this chain, which lacks entries that were anchored.

    The charges in them are lost: charge anew, first, what analysts hold receipts for, with `frith
    ledger charge`. The witness keeps your reason for good.
    """
    if not reason.strip():
        raise ValueError("say why: everybody who reads the witness will ask")
    with _context(config, database) as context:
        assert context.anchors is not None
        lost = context.anchors.doubts(context.database, whole=True)
        if not lost:
            raise SourceError("the ledger holds everything that was anchored; nothing is given up")
        with context.database.read() as session:
            found = context.book(session).verify()
        if not found.holds:
            say_verified(found)
        context.anchors.write(found.entries, found.head, forgets=reason)
        for line in lost:
            say_note(f"given up: {line}")
        say(f"entry {found.entries} is anchored; its hash is {found.head}")


def witness(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where the lines are kept.")],
    trusted: Annotated[
        str,
        typer.Option(
            envvar="FRITH_ANCHOR_TRUSTED", help="Public keys whose anchors are taken, with commas."
        ),
    ],
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on.")] = 8090,
) -> None:
    """Keep the anchors of a ledger, on a host that its server's operators cannot write to.

    It adds lines that a trusted key has signed, and never takes one away. Put a proxy with TLS in
    front where others could change what is sent.
    """
    from frith.ledger.anchors import read_trusted
    from frith.ledger.witnessing import make_server

    with make_server(file, read_trusted(trusted), host, port) as server:
        say(f"anchors are kept in {file}, at http://{host}:{server.server_port}/")
        server.serve_forever()


@contextmanager
def _context(config: Path | None, database: str | None) -> Iterator[Context]:
    settings = read_settings(config, database=database)
    if not settings.anchor_witness:
        raise ValueError(_NO_WITNESS)
    from frith.server.context import open_context

    context = open_context(settings, make=False)
    try:
        yield context
    finally:
        context.database.close()
