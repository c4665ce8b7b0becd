"""Runs a server: migrates the database, starts the worker pool, and answers with uvicorn."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import socket
from collections.abc import Generator, Iterator
from typing import Any

import uvicorn

from frith.ledger.database import Database
from frith.server.app import make_app
from frith.server.context import Context
from frith.server.run.connections import allow_many_files, patient_for
from frith.server.run.pool import WorkerPool
from frith.server.run.shutdown import Shutdown
from frith.server.run.watcher import Watcher
from frith.server.settings import Settings

_BACKLOG = 2_048
_GRACE_SECONDS = 10


def open_context(settings: Settings, *, make: bool = True) -> Context:
    """Open the server's database; with `make`, create it or migrate it first."""
    database = Database(settings.database)
    if make:
        database.upgrade()
    else:
        database.check()
    return Context(database, settings)


@contextlib.contextmanager
def listening(settings: Settings) -> Iterator[list[socket.socket]]:
    """Sockets that listen at the server's address; a `ValueError` says why there are none."""
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
        made.bind((host, port))
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def serve(context: Context, sockets: list[socket.socket], shutdown: Shutdown) -> None:
    """Serve until shutdown; then finish the requests and jobs that have begun."""
    settings = context.settings
    allow_many_files()
    server = _Server(configure(context))

    def stop() -> None:
        server.should_exit, server.force_exit = shutdown.requested, shutdown.forced

    shutdown.pass_on(stop)
    try:
        with WorkerPool(settings, shutdown):
            context.watch.follow()  # now, because a sale does it while others wait for the ledger
            with Watcher(context):
                server.run(sockets)
    finally:
        context.database.close()


def configure(context: Context) -> uvicorn.Config:
    """uvicorn's configuration. Only trusted proxies are believed about a request's address."""
    settings = context.settings
    return uvicorn.Config(
        make_app(context),
        http=patient_for(settings.body_seconds),
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        lifespan="off",
        backlog=_BACKLOG,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        proxy_headers=bool(settings.trusted_proxies),
        forwarded_allow_ips=settings.trusted_proxies,
        **_tls(settings),
    )


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers, which would kill the process once the server stops."""

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


def _no_place(settings: Settings, error: Exception) -> str:
    host, port = settings.host, settings.port
    if isinstance(error, OverflowError):
        return f"there is no port {port}; choose one up to 65535 with --port or FRITH_PORT"
    if isinstance(error, PermissionError):
        return f"port {port} may not be used; choose one from 1024 on with --port or FRITH_PORT"
    if getattr(error, "errno", None) == errno.EADDRINUSE:
        return f"port {port} of {host} is in use; choose another with --port or FRITH_PORT"
    return f"{host} is not an address of this machine; choose one with --host or FRITH_HOST"


def _tls(settings: Settings) -> dict[str, Any]:
    if not settings.tls_certificate:
        return {}
    return {"ssl_certfile": settings.tls_certificate, "ssl_keyfile": settings.tls_key or None}


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
