"""Where a server listens: its sockets, its address, and who can reach it.

Separate from the server, so that an unusable address is reported before everything is imported.
"""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
import sys
from collections.abc import Iterator

from frith.server.settings import Settings

BACKLOG = 2_048
_UNSENT_BYTES = 32 * 1024  # of an answer that the system takes ahead: a slow reader is seen to read
_LOWEST_UNSENT = 25  # Linux's name for that limit, which Python 3.11 lacks


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[list[socket.socket]]:
    """Sockets that listen at the server's address, or a `ValueError` that says why not."""
    with contextlib.ExitStack() as opened:
        try:
            found = socket.getaddrinfo(
                settings.host or None, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )
            places = dict.fromkeys((family, str(at[0])) for family, _, _, _, at in found)
            sockets = [
                opened.enter_context(_bind(family, at, settings.port)) for family, at in places
            ]
        except (OSError, OverflowError) as error:
            raise ValueError(_no_place(settings, error)) from None
        yield sockets


def _bind(family: int, host: str, port: int) -> socket.socket:
    """A listening socket. IPPROTO_TCP is named because asyncio sets TCP_NODELAY only then."""
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if sys.platform == "linux":
            made.setsockopt(socket.IPPROTO_TCP, _LOWEST_UNSENT, _UNSENT_BYTES)
        made.bind((host, port))
        made.listen(BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def address(settings: Settings) -> str:
    scheme = "https" if settings.tls_certificate else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}"


def is_exposed(settings: Settings) -> bool:
    """Whether other machines can reach the server without TLS."""
    return not settings.cookies_need_tls and not _is_loopback(settings.host)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _no_place(settings: Settings, error: Exception) -> str:
    host, port = settings.host, settings.port
    if isinstance(error, OverflowError):
        return f"there is no port {port}; choose one up to 65535 with --port or FRITH_PORT"
    if isinstance(error, PermissionError):
        return f"port {port} may not be used; choose one from 1024 on with --port or FRITH_PORT"
    if getattr(error, "errno", None) == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; choose another with --port or FRITH_PORT"
    return f"{host} is not an address of this machine; choose one with --host or FRITH_HOST"
