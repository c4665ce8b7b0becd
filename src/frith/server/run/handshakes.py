"""Handshakes of TLS that are not finished: each takes little memory, and of too many the oldest ends.

A connection is a request's only after its handshake, so nothing else counts it before.
"""

from __future__ import annotations

import asyncio
from asyncio import sslproto
from typing import Any

_BUFFER_BYTES = 16 * 1024  # a whole record of TLS; asyncio takes 256 KB for each connection


def limit_handshakes(loop: Any, most: int) -> None:
    """Let the loop have at most so many at once. asyncio has no setting for either limit."""
    sslproto.SSLProtocol.max_size = _BUFFER_BYTES
    begun: dict[asyncio.Transport, None] = {}
    make = getattr(loop, "_make_ssl_transport", None)
    if make is None:  # another loop
        return

    def make_counted(
        sock: Any, protocol: Any, context: Any, waiter: Any = None, **more: Any
    ) -> Any:
        made = make(sock, protocol, context, waiter, **more)
        begun[made] = None
        if waiter is not None:
            waiter.add_done_callback(lambda _: begun.pop(made, None))
        if len(begun) > most:
            oldest = next(iter(begun))
            del begun[oldest]
            loop.call_soon(oldest.abort)  # in this turn of the loop it may not have begun
        return made

    loop._make_ssl_transport = make_counted
