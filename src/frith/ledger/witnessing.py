"""A witness for servers on other hosts: takes signed lines by POST, gives them by GET."""

from __future__ import annotations

import hashlib
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from frith.errors import FormatError
from frith.ledger.anchors import Anchor, is_signed
from frith.ledger.witness import FileWitness, WitnessError

_MOST_BYTES = 4_096
_SECONDS = 10


class _Kept:
    """The lines of a file, each once: anybody who has read a line could send it again."""

    def __init__(self, file: Path):
        self._file, self._lines = file, FileWitness(file)
        self._size, self._known = 0, set[bytes]()
        self._follow()

    def last(self, count: int) -> list[str]:
        """The last lines; all of them for 0."""
        found = self._read(tail=count > 0)
        return (found if len(found) >= count else self._read())[-count:]

    def add(self, line: str) -> bool:
        """Keep a line; False if it is there already."""
        self._follow()
        if _digest(line) in self._known:
            return False
        self._lines.add(line)
        self._size = self._bytes()
        self._known.add(_digest(line))
        return True

    def _follow(self) -> None:
        """Read the file anew if somebody else has written to it, or taken lines away."""
        size = self._bytes()
        if size != self._size:
            self._known = set(map(_digest, self._read()))
            self._size = size

    def _bytes(self) -> int:
        try:
            return self._file.stat().st_size
        except OSError:
            return 0

    def _read(self, *, tail: bool = False) -> list[str]:
        return [line for line in self._lines.lines(tail=tail) if line.strip()]


def _digest(line: str) -> bytes:
    return hashlib.sha256(line.encode()).digest()


def make_server(file: Path, trusted: frozenset[str], host: str, port: int) -> ThreadingHTTPServer:
    """A server that keeps lines in a file, to which it only adds."""
    if not trusted:
        raise FormatError("name at least one public key to trust")
    kept, lock = _Kept(file), threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS
        server_version, sys_version = "frith-witness", ""

        def do_GET(self) -> None:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            last = query.get("last", ["0"])[-1]
            count = int(last) if last.isdecimal() and len(last) < 10 else 0
            try:
                lines = kept.last(count)
            except WitnessError:
                self._answer(503, "the lines cannot be read")
                return
            self._answer(200, "".join(f"{line}\n" for line in lines))

        def do_POST(self) -> None:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal() or int(length) > _MOST_BYTES:
                self._answer(413, "an anchor is shorter")
                return
            try:
                anchor = Anchor.from_line(self.rfile.read(int(length)).decode())
            except (FormatError, UnicodeDecodeError):
                self._answer(400, "this is not an anchor")
                return
            if anchor.key not in trusted or not is_signed(anchor):
                self._answer(403, "this anchor is not signed by a key that is trusted here")
                return
            try:
                with lock:
                    is_new = kept.add(anchor.to_line())
            except WitnessError:
                self._answer(503, "the line cannot be kept")
                return
            self._answer(*((201, "kept") if is_new else (200, "kept already")))

        def _answer(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Logs nothing: what is worth noting is in the file."""

    return ThreadingHTTPServer((host, port), Handler)
