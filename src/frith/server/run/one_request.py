"""A connection has one request at a time, and each request has a parser of its own.

uvicorn's protocol feeds one parser whatever comes, and queues all the requests that it finds. So a
request may hide behind an `Upgrade` or a body of another, and one caller may queue requests until the
memory is full. Here a head is held until it is whole, checked, and parsed alone, and its body ends where
the head says. Who sends a second request before the first is answered gets that answer, and is hung up
on: whatever was not answered was not begun.
"""

from __future__ import annotations

import asyncio
import re

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MAX_HEAD = 16 * 1024  # bytes
_MAX_BLANK = 64  # bytes of empty lines before a request
_MAX_BETWEEN = 16 * 1024  # bytes of a chunked body without a byte of its content: names, trailers
_END = b"\r\n\r\n"
_LINE = re.compile(rb"[^ \r\n]+ [^ \r\n]+ HTTP/1\.[01]\r\n")
_UPGRADE = re.compile(rb"(?<=\r\n)upgrade(?=[ \t]*:)", re.IGNORECASE)
"""What offers another protocol. A server may pass over the offer; the parser would not read a body."""

_WRONG = (httptools.HttpParserError, httptools.HttpParserUpgrade)


class OneRequest(HttpToolsProtocol):
    """Reads a request, lets it be answered, and only then reads the next one."""

    _is_in_head = _is_in_body = _is_deaf = False
    _left: int | None = 0  # bytes of the body to come; None if its chunks say it
    _blank = _between = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._held = bytearray()

    @property
    def is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        if self._is_deaf or self.transport.is_closing():
            return
        self._unset_keepalive_if_required()
        self._held += data
        while self._held and not self._is_deaf and not self.transport.is_closing():
            if self._is_in_body:
                self._read_body()
            elif self.is_answering:
                self._end_after_answer()
            elif not self._read_head():
                break

    def _read_head(self) -> bool:
        """Parse the next head, if all of it is here."""
        while self._held.startswith(b"\r\n") and self._blank <= _MAX_BLANK:
            self._blank += len(self._take(2))
        end = self._held.find(_END, 0, _MAX_HEAD)
        if self._blank > _MAX_BLANK or (end < 0 and len(self._held) >= _MAX_HEAD):
            self._refuse("The head of this request is too long.")
        if end < 0 or self._is_deaf:
            return False
        head = _UPGRADE.sub(b"x-offer", self._take(end + len(_END)))
        self.parser, self._is_in_head, self._blank = httptools.HttpRequestParser(self), True, 0
        try:
            if _LINE.match(head):
                self.parser.feed_data(head)
        except _WRONG:
            if not self._is_in_head:  # it has begun
                self._end_after_answer()
        if self._is_in_head:
            self._refuse("Invalid HTTP request received.")
        return True

    def _read_body(self) -> None:
        """Parse what is here of a body."""
        part = self._take(len(self._held) if self._left is None else self._left)
        self._between += len(part)
        try:
            self.parser.feed_data(part)
            is_wrong = self._between > _MAX_BETWEEN
        except _WRONG:
            is_wrong = True
        if not is_wrong:
            return
        if self.is_answering and not self._is_in_body:  # a second request, behind a chunked body
            self._end_after_answer()
        elif self.is_answering and not self.cycle.response_started:
            self._refuse("Invalid HTTP request received.")
        else:  # it is answered, and a second answer would be taken for that of another request
            self._be_deaf()
            self.transport.close()

    def _take(self, size: int) -> bytes:
        part = bytes(self._held[:size])
        del self._held[:size]
        return part

    def _refuse(self, why: str) -> None:
        self._be_deaf()
        self.send_400_response(why)

    def _end_after_answer(self) -> None:
        """Close the connection once the request that has begun is answered."""
        self._be_deaf()
        self.cycle.keep_alive = False

    def _be_deaf(self) -> None:
        self._is_deaf = True
        self._held.clear()

    # -- what the parser found ---------------------------------------------------------------------

    def on_message_begin(self) -> None:
        if not self._is_in_head:
            raise ValueError("a request in the body of another")
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_in_head:  # one that follows the body must not replace one that was checked
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._left = _body_size(self.parser, self.headers)
        self.expect_100_continue &= self.parser.get_http_version() != "1.0"
        super().on_headers_complete()
        self._is_in_head, self._is_in_body, self._between = False, True, 0

    def on_body(self, body: bytes) -> None:
        self._between = 0
        if self._left is not None:
            self._left -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_body = False
        super().on_message_complete()
        if not self.parser.should_keep_alive():  # a trailer may say so
            self.cycle.keep_alive = False
            if self.cycle.response_complete:
                self.transport.close()

    def on_response_complete(self) -> None:
        if self.expect_100_continue and self._is_in_body:
            self.transport.close()  # nobody knows whether the body will come
        super().on_response_complete()


def _body_size(
    parser: httptools.HttpRequestParser, headers: list[tuple[bytes, bytes]]
) -> int | None:
    """The bytes of the body that a head announces; None if its chunks say it.

    Raises if the head can be read in more than one way.
    """
    found: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        found.setdefault(name, []).append(value)
    is_old, codings = parser.get_http_version() == "1.0", found.get(b"transfer-encoding", [])
    hosts, lengths = len(found.get(b"host", [])), found.get(b"content-length", [])
    if hosts > 1 or not (hosts or is_old):
        raise ValueError("no host, or several")
    if parser.get_method() == b"CONNECT" or len(lengths) > 1 or (codings and is_old):
        raise ValueError("a tunnel, or a body without an end")
    if codings and ([c.lower() for c in codings] != [b"chunked"] or lengths):
        raise ValueError("a body that is coded otherwise")
    return None if codings else int(lengths[0]) if lengths else 0
