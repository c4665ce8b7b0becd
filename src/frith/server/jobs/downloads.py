"""Released documents on their way out, in bounded memory.

A release is stored as packed JSON. A download reads and unpacks it piece by piece and never parses it.
What needs the parsed forest (pages, pictures, rules, predictions) is limited to forests of `shown_bytes`.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import func, select

from frith.client.kinds import ProblemCode
from frith.server.context import Context
from frith.server.problems import Problem
from frith.server.schema import Release

_STORED_PIECE = 2**21  # bytes; SQLite walks the whole document for each of them
_PIECE = 2**18
_FIRST, _NEXT = b'{"forest":', b',"learner":'
"""A forest's document: the forest, then its learner and the parameters, which are short."""


def stored(context: Context, release: str | None) -> Iterator[bytes]:
    """A document as it is stored, in pieces. It never changes, so each is read by itself."""
    start = 1
    while True:
        query = select(func.substr(Release.document, start, _STORED_PIECE))
        with context.database.read() as session:
            piece = session.scalar(query.where(Release.id == release))
        if not piece:
            return
        yield piece
        start += _STORED_PIECE


def unpacked(packed: Iterable[bytes]) -> Iterator[bytes]:
    """The JSON text of a document, in pieces."""
    reader = zlib.decompressobj()
    for part in packed:
        for start in range(0, len(part), _PIECE):
            rest = part[start : start + _PIECE]
            while rest:
                piece = reader.decompress(rest, _PIECE)
                rest = reader.unconsumed_tail
                if piece:
                    yield piece


def with_fields(fields: dict[str, Any], pieces: Iterator[bytes]) -> Iterator[bytes]:
    """The text of a JSON object with further fields in front of its own."""
    yield json.dumps(fields, separators=(",", ":")).encode()[:-1] + b"," + next(pieces)[1:]
    yield from pieces


def forest_alone(packed: Iterable[bytes]) -> Iterator[bytes]:
    """The document's forest, without the fields around it; a newline ends the file.

    Holds each piece back until the next one comes, because the end of the last is cut off.
    """
    pieces = unpacked(packed)
    held = b""
    while len(held) < len(_FIRST):  # the first piece of a few packed bytes is short
        held += next(pieces)
    if not held.startswith(_FIRST):
        raise ValueError("this is not the document of a forest")
    held = held[len(_FIRST) :]
    for piece in pieces:
        if len(held) > _PIECE:
            yield held[:-_PIECE]
            held = held[-_PIECE:]
        held += piece
    yield held[: held.rindex(_NEXT)] + b"\n"


def read_bounded(packed: Iterable[bytes], most: int) -> Any:
    """The parsed document, or a refusal if its text is longer than `most` bytes."""
    text = bytearray()
    for piece in unpacked(packed):
        text += piece
        if len(text) > most:
            raise Problem(
                ProblemCode.TOO_LARGE,
                "the forest is too large to be shown or used here; download it as JSON and open it "
                "with `frith show` or `Forest.load`",
            )
    return json.loads(text)
