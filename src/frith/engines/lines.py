"""The lines of a file, read piece by piece: what is kept of a line depends on that line alone.

Where a piece ends depends on the lines before it. So the beginning of a line is kept with the state
in which its end is read on, and gives the same line however it was broken.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

import numpy as np

from frith._jit import compiled
from frith.domain.encoding import CELL_BYTES

BLOCK = 2**24
"""A line may have this many bytes, after its long cells are cut; a longer line is lost."""

_PIECE = 2**20
"""Bytes read at a time: of more, the system would clear fresh pages for every read."""

_LOST = b"?"
"""What replaces a lost line: one cell, and no object of JSON."""

_COMMA, _QUOTE = b',"'

_AT_START, _IN_TEXT, _IN_QUOTES, _AFTER_QUOTE = range(4)
"""Where in a cell the next byte is; after a quote within quotes, that byte says what the quote was."""


def whole_lines(file: BinaryIO, at_once: int = _PIECE) -> Iterator[bytes]:
    """The lines of any file, those of so many bytes at a time."""
    return _lines(file, _Line, at_once)


def cut_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of a file of cells between commas, many at a time.

    Long cells are cut, so that one cell does not lose its record, and takes little time.
    """
    return _lines(file, _LineOfCells, _PIECE)


def _lines(file: BinaryIO, kind: type[_Line], at_once: int) -> Iterator[bytes]:
    """What is within one piece is handed on as it is: no line of it is longer than a block."""
    begun = kind()
    for piece in _pieces(file, min(at_once, BLOCK)):
        first, end = _first_end(piece), 1 + max(piece.rfind(b"\n"), piece.rfind(b"\r"))
        if not end:
            begun.add(piece)
            continue
        begun.add(piece[:first])
        yield begun.line() + piece[first:end]
        begun = kind()
        begun.add(piece[end:])
    if line := begun.line():
        yield line + b"\n"


def _pieces(file: BinaryIO, size: int) -> Iterator[bytes]:
    """The file's bytes. If CR LF straddles two pieces, CR ends the line.

    Arrow mistakes a piece that holds only the LF of such a pair for the end of the file.
    """
    after_cr = False
    while piece := file.read(size):
        yield piece.removeprefix(b"\n") if after_cr else piece
        after_cr = piece.endswith(b"\r")


def _first_end(piece: bytes) -> int:
    """Where the first line ends; -1 if none does. Searching for one byte is faster than a pattern."""
    found = piece.find(b"\n")
    before = piece.find(b"\r", 0, found if found >= 0 else len(piece))
    return before if before >= 0 else found


class _Line:
    """A line that is read in several pieces, or enough of it to show that it is too long."""

    def __init__(self) -> None:
        self._kept = bytearray()

    def add(self, more: bytes) -> None:
        if len(self._kept) <= BLOCK:
            self._kept += more

    def line(self) -> bytes:
        return bytes(self._kept) if len(self._kept) <= BLOCK else _LOST


class _LineOfCells(_Line):
    """Each cell is cut to one byte more than the encoding reads; its quotes stay."""

    def __init__(self) -> None:
        super().__init__()
        self._state = np.array([_AT_START, 0])  # where in a cell, and how long its text is

    def add(self, more: bytes) -> None:
        data = np.frombuffer(more, dtype=np.uint8)
        start = 0
        while start < len(more):
            start = self._skip(more, start)
            end = start + CELL_BYTES
            super().add(_cut(data[start:end], self._state, CELL_BYTES + 1).tobytes())
            start = end

    def _skip(self, more: bytes, start: int) -> int:
        """Where the part of a cell ends that is not kept. A search is faster than a look at every byte."""
        where, size = self._state
        if size <= CELL_BYTES or where == _AFTER_QUOTE:
            return start
        found = more.find(b'"' if where == _IN_QUOTES else b",", start)
        return found if found >= 0 else len(more)

    def line(self) -> bytes:
        if self._state[0] == _AFTER_QUOTE:
            super().add(b'"')
            self._state[0] = _IN_TEXT
        return super().line()


@compiled
def _cut(data, state, most):  # type: ignore[no-untyped-def]
    """What is kept of the next bytes of a line: of each cell's text at most `most` bytes.

    Cells are those of Arrow's parser: a quote counts only at the start of a cell, two within quotes stand
    for one, and what follows the closing quote is text up to the comma.
    """
    where, size = state[0], state[1]
    kept = np.empty(len(data) + 1, np.uint8)  # the quote before these bytes may be kept too
    n = 0
    for byte in data:
        if where == _IN_QUOTES and byte == _QUOTE:
            where = _AFTER_QUOTE
            continue
        if where == _AFTER_QUOTE:
            if byte == _QUOTE:
                if size < most:
                    kept[n] = _QUOTE
                    n += 1
                where = _IN_QUOTES
            else:
                kept[n] = _QUOTE
                n += 1
                where = _IN_TEXT
        elif where == _AT_START:
            where = _IN_TEXT
            if byte == _QUOTE:
                kept[n] = _QUOTE
                n += 1
                where = _IN_QUOTES
                continue
        if where == _IN_TEXT and byte == _COMMA:
            kept[n] = _COMMA
            n += 1
            where = _AT_START
            size = 0
            continue
        if size < most:
            kept[n] = byte
            n += 1
            size += 1
    state[0] = where
    state[1] = size
    return kept[:n]
