"""Runs a server: starts the worker pool, and answers with uvicorn."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import functools
import socket
from collections.abc import Generator
from typing import Any

import uvicorn

from frith.server.app import make_app
from frith.server.context import Context
from frith.server.run.connections import WAITING, allow_many_files, patient_for
from frith.server.run.handshakes import limit_handshakes
from frith.server.run.place import BACKLOG
from frith.server.run.pool import WorkerPool
from frith.server.run.shutdown import Shutdown
from frith.server.run.sinks import Sinks
from frith.server.run.watcher import Watcher
from frith.server.settings import Settings

_GRACE_SECONDS = 10
_ACCEPTED = 50  # connections that asyncio accepts before it looks at one of them
_CLOSING_SECONDS = 3_600  # of TLS: who reads on is waited for, and `connections.py` ends the others
_ARENAS, _MAX_ARENAS = -8, 2  # glibc's name for the option, and what we set it to


def serve(context: Context, sockets: list[socket.socket], shutdown: Shutdown) -> None:
    """Serve until shutdown; then finish the requests and jobs that have begun."""
    settings = context.settings
    most = allow_many_files()
    _share_freed_memory()
    server = _Server(configure(context, most), settings.body_seconds, most)

    def stop() -> None:
        server.should_exit, server.force_exit = shutdown.requested, shutdown.forced

    shutdown.pass_on(stop)
    try:
        with WorkerPool(settings, shutdown):
            context.watch.follow()  # now, because a sale would do it while others wait for the ledger
            context.watch.begin()
            context.watch.compare(whole=True)
            with Watcher(context), Sinks(context):
                server.run(sockets)
    finally:
        context.database.close()


def _share_freed_memory() -> None:
    """Let threads use what other threads have freed; glibc would keep it apart, up to 8 times a core."""
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).mallopt(_ARENAS, _MAX_ARENAS)


def configure(context: Context, most: int) -> uvicorn.Config:
    """uvicorn's configuration. Only trusted proxies may state a request's address."""
    settings = context.settings
    return uvicorn.Config(
        make_app(context),
        http=patient_for(settings.body_seconds, most),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        backlog=_ACCEPTED,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        **_tls(settings),
    )


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which would kill the process once the server stops.

    Handshakes of TLS end in time; uvicorn leaves them asyncio's minute.
    """

    def __init__(self, config: uvicorn.Config, patience: float, most: int):
        super().__init__(config)
        self._patience, self._most = patience, most

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loop: Any = asyncio.get_running_loop()
        if self.config.is_ssl:
            limit_handshakes(loop, min(WAITING, self._most // 2))
            loop.create_server = functools.partial(
                loop.create_server,
                ssl_handshake_timeout=self._patience,
                ssl_shutdown_timeout=_CLOSING_SECONDS,
            )
        await super().startup(sockets)
        for listener in sockets or ():
            listener.listen(BACKLOG)  # uvicorn listened with the other number

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _tls(settings: Settings) -> dict[str, Any]:
    if not settings.tls_certificate:
        return {}
    return {"ssl_certfile": settings.tls_certificate, "ssl_keyfile": settings.tls_key or None}
