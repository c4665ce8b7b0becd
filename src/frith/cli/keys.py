"""`frith keys`: the keys of a server that takes part in secure sums."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer

from frith.cli.console import say, say_note
from frith.errors import FormatError, SourceError

app = typer.Typer(no_args_is_help=True, help="Keys for secure sums with other servers.")
File = Annotated[Path, typer.Argument(metavar="FILE", help="A file of keys.")]


@app.command()
def new(
    file: File,
    party: Annotated[str, typer.Option(help="The name that other parties know this one by.")],
) -> None:
    """Make a key. The file holds its secret: only the server may read it."""
    from frith.parties import Keys

    if file.exists():
        raise SourceError(f"{file} exists; a new key would break every agreement with the old one")
    keys = Keys.new(party)
    _write(file, {"party": party, "secret": keys.secret, "peers": {}})
    say(keys.public)
    say_note(f"give this public key to the other parties; serve with FRITH_PARTY_KEYS={file}")


@app.command()
def trust(
    file: File,
    party: Annotated[str, typer.Argument(metavar="NAME", help="The other party.")],
    key: Annotated[str, typer.Argument(metavar="KEY", help="Its public key.")],
) -> None:
    """Store another party's public key, after checking where it came from."""
    if len(key) != 64 or not all(c in "0123456789abcdef" for c in key):
        raise FormatError("a public key has 64 digits, 0 to 9 and a to f")
    data = _read(file)
    _write(file, data | {"peers": data["peers"] | {party: key}})
    say(f"{data['party']} knows {party} now")


@app.command()
def show(file: File) -> None:
    """Show the public keys: your own, and those of the other parties."""
    from frith.parties import Keys

    data = _read(file)
    keys = Keys.load(data["party"], data["secret"], data["peers"])
    for name, key in ((keys.party, keys.public), *keys.peers.items()):
        say(f"{name}  {key}")


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        raise FormatError(f"{file} is not a file of keys; make one with `frith keys new`") from None


def _write(file: Path, data: Any) -> None:
    """Readable by its owner only, from the first byte on."""
    part = file.with_name(file.name + ".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as out:
        json.dump(data, out, indent=2)
    os.replace(part, file)
