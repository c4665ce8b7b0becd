"""Copies of the audit log outside the database: a file of JSON lines, a webhook, or both.

A thread of the server sends every new line. A copy that falls behind stops all changes: what cannot be
recorded outside is not done. A database that lacks a line of a copy stops them too. A line may be sent
twice, never left out.
"""

from __future__ import annotations

import json
import os
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import structlog

from frith.errors import SourceError
from frith.ledger.log import Line, lines
from frith.ledger.witness import OPENER
from frith.server.auth.acting import SINKS
from frith.server.context import Context
from frith.server.schema import Bookmark

log = structlog.get_logger("frith.log")
_EVERY_SECONDS = 0.5
_AT_ONCE = 500  # lines in one request
_SECONDS = 10  # to wait for a webhook
_TAIL = 1 << 20  # bytes at the end of a file that usually hold its last line
_LONGEST_TAIL = 1 << 26  # bytes at its end that are looked at


Last = tuple[int, str]


class Sink(Protocol):
    """A copy of the log: the number and hash of its last line, and how lines are added to it."""

    def last(self) -> Last: ...
    def send(self, found: Sequence[Line]) -> None: ...


class FileSink:
    """A file that only grows; its last line says how far it is."""

    def __init__(self, path: str):
        self._path = Path(path)
        try:
            self._append(b"")
        except OSError:
            raise SourceError(f"the audit log's file {path} cannot be written") from None

    def last(self) -> Last:
        if not self._path.exists():  # moved away: the new one is complete too
            return 0, ""
        with self._path.open("rb") as file:
            size, tail = file.seek(0, os.SEEK_END), _TAIL
            while True:
                begin = max(0, size - tail)
                file.seek(begin)
                whole = file.read(size - begin).split(b"\n")[1 if begin else 0 : -1]
                for found in filter(None, map(_number_and_hash, reversed(whole))):
                    return found
                if not begin or tail >= _LONGEST_TAIL:
                    break
                tail *= 8
        if begin or any(whole):
            raise _Unreadable
        return 0, ""  # no line was ever written to its end

    def send(self, found: Sequence[Line]) -> None:
        """An interrupted write must not swallow the first of these lines."""
        text = "".join(line.to_text() + "\n" for line in found)
        self._append((text if self._is_whole() else "\n" + text).encode())

    def _is_whole(self) -> bool:
        """Whether the file ends with a whole line; a file that was moved away starts again."""
        if not self._path.exists():
            return True
        with self._path.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 1))
            return file.read() in (b"", b"\n")

    def _append(self, data: bytes) -> None:
        place = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            written = os.write(place, data)
            os.fsync(place)
        finally:
            os.close(place)
        if written != len(data):
            raise OSError("the disk is full")


def _number_and_hash(line: bytes) -> Last | None:
    """What a line says of its entry; None if it is empty, or an interrupted write."""
    try:
        found = json.loads(line)
        return int(found["id"]), str(found["hash"])
    except (ValueError, KeyError, TypeError):
        return None


class _Unreadable(Exception):
    """A copy does not say how far it is: to begin again at its end would repeat the whole log."""


class WebhookSink:
    """A URL that takes JSON lines by POST; the database says how far it is."""

    def __init__(self, context: Context, url: str):
        self._context, self._url = context, url

    def last(self) -> Last:
        with self._context.database.read() as session:
            found = session.get(Bookmark, "webhook")
        number, _, hash = found.value.partition(" ") if found is not None else ("0", "", "")
        return int(number), hash

    def send(self, found: Sequence[Line]) -> None:
        post(self._url, "".join(line.to_text() + "\n" for line in found), "application/jsonl")
        last = found[-1].entry
        with self._context.database.write() as session:
            session.merge(Bookmark(name="webhook", value=f"{last.id} {last.hash}"))


def post(url: str, text: str, kind: str = "application/json") -> None:
    """Send a text; raises `OSError` unless it is accepted. A redirect accepts nothing."""
    headers = {"content-type": kind}
    request = urllib.request.Request(url, text.encode(), headers, method="POST")
    with OPENER.open(request, timeout=_SECONDS) as answer:
        answer.read(1)


class RolledBack(Exception):
    """The chain lacks a line that a copy has."""


class Sinks:
    """Inside its `with` block, sends new lines; `is_late` once a copy has been behind for too long."""

    def __init__(self, context: Context):
        settings = context.settings
        self._context, self._over = context, threading.Event()
        self._sinks: list[Sink] = []
        if settings.audit_file:
            self._sinks.append(FileSink(settings.audit_file))
        if settings.audit_webhook:
            self._sinks.append(WebhookSink(context, settings.audit_webhook))
        self._good = time.monotonic()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Sinks:
        if self._sinks:
            self._context.memory[SINKS] = self
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._sinks:
            self._thread.join()
            self._context.memory.pop(SINKS, None)
            self.send_all()

    def is_late(self) -> bool:
        return time.monotonic() - self._good > self._context.settings.audit_lag_seconds

    def send_all(self) -> bool:
        """Send new lines to every copy; False if one of them did not accept them."""
        sent = [self._send(sink) for sink in self._sinks]
        return all(sent)

    def _run(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            if self.send_all():
                self._good = time.monotonic()

    def _check(self, number: int, hash: str) -> None:
        """Raise unless the chain still has the last line that was sent."""
        if number:
            with self._context.database.read() as session:
                found = lines(self._context.book(session), number - 1, 1)
            if not found or found[0].entry.hash != hash:
                raise RolledBack

    def _send(self, sink: Sink) -> bool:
        try:
            after, hash = sink.last()
            self._check(after, hash)
            while True:
                with self._context.database.read() as session:
                    found = lines(self._context.book(session), after, _AT_ONCE)
                if not found:
                    break
                sink.send(found)
                after = found[-1].entry.id
        except RolledBack:
            log.error("the database is behind a copy of its audit log: it was rolled back")
            return False
        except _Unreadable:
            log.error("the last line of the audit log's file cannot be read; move the file away")
            return False
        except Exception as error:  # noqa: BLE001 - what it says may quote a URL with a password
            log.error("a copy of the audit log cannot be written", error=type(error).__name__)
            return False
        return True
