"""Where anchors are kept: a file that is only added to, or a URL that takes them by POST.

Whoever can take lines away from a witness can hide a rollback. So it belongs where those who can write
to the database cannot: on another host, in a folder of another user, on a disk that is written once.
"""

from __future__ import annotations

import http.client
import os
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, Protocol

from frith.errors import SourceError
from frith.ledger.database import StoreError

_SECONDS = 5
_TAIL_LINES = 200
_TAIL_BYTES = 200_000
_MOST_BYTES = 1_000_000_000


class WitnessError(StoreError):
    """The witness cannot be read or written to; nothing is charged or read until it can."""


class Witness(Protocol):
    """A list of lines that grows."""

    def lines(self, *, tail: bool = False) -> list[str]:
        """All lines, or some of the last ones, oldest first; none if there is nothing yet."""
        ...

    def add(self, line: str) -> None:
        """Add a line; returns once it is stored safely."""
        ...


def open_witness(place: str) -> Witness:
    """The witness at a path or a URL."""
    if "://" not in place:
        return FileWitness(Path(place))
    if not place.startswith(("http://", "https://")):
        raise SourceError("a witness is the path of a file, or a URL that begins with http")
    return UrlWitness(place)


class FileWitness:
    """A file of lines."""

    def __init__(self, path: Path):
        self._path = path

    def lines(self, *, tail: bool = False) -> list[str]:
        try:
            with self._path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                begin = max(0, size - _TAIL_BYTES) if tail else 0
                if size - begin > _MOST_BYTES:
                    raise OSError  # an anchor may be in what would not be read
                file.seek(begin)
                read = file.read().decode("utf-8", "replace").split("\n")
        except FileNotFoundError:
            return []
        except OSError:
            raise WitnessError(f"the witness {self._path} cannot be read") from None
        return read[1:] if begin else read  # the first line of a tail may lack its beginning

    def add(self, line: str) -> None:
        """One write, after a line's end: an interrupted write must not swallow this line."""
        text = f"\n{line}\n".encode()
        try:
            file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                if os.write(file, text) != len(text):
                    raise OSError
                os.fsync(file)
            finally:
                os.close(file)
        except OSError:
            raise WitnessError(f"the witness {self._path} cannot be written to") from None


class UrlWitness:
    """`frith witness`, or anything that takes a line by POST and gives all lines by GET."""

    def __init__(self, url: str):
        self._url = url

    def lines(self, *, tail: bool = False) -> list[str]:
        url = self._url
        if tail:
            parts = urllib.parse.urlsplit(url)
            query = "&".join(filter(None, (parts.query, f"last={_TAIL_LINES}")))
            url = urllib.parse.urlunsplit(parts._replace(query=query))
        return self._ask(url, None).decode("utf-8", "replace").split("\n")

    def add(self, line: str) -> None:
        self._ask(self._url, line.encode())

    def _ask(self, url: str, body: bytes | None) -> bytes:
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        try:
            with OPENER.open(request, timeout=_SECONDS) as answer:
                says_its_end = answer.chunked or answer.length is not None
                read: bytes = answer.read(_MOST_BYTES + 1)
                is_whole = says_its_end and not answer.length and len(read) <= _MOST_BYTES
        except (OSError, ValueError, urllib.error.URLError, http.client.HTTPException):
            raise WitnessError("the witness does not answer as it should") from None
        if not is_whole:  # an anchor may be in what is missing
            raise WitnessError("the witness's answer breaks off, or does not say how long it is")
        return read


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: a witness is where the operator said, and a redirected POST becomes a GET."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


OPENER = urllib.request.build_opener(_NoRedirects)
