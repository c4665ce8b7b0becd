"""Who reads slowly gets all of an answer; who holds a connection and does nothing takes little."""

import asyncio
import contextlib
import resource
import socket
import ssl
import sys
import time

import pytest
import uvicorn
from uvicorn.server import ServerState

from frith.server.run import connections, place, serve
from frith.server.run.connections import allow_many_files, patient_for
from tests.hosting import self_signed
from tests.server.conftest import read_all
from tests.server.test_one_request import Line, never

pytestmark = pytest.mark.xdist_group("slow clients")
SIZE = 300_000
ASKED = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"


async def long_answer(scope, receive, send):
    head = {"type": "http.response.start", "status": 200}
    await send(head | {"headers": [(b"content-length", b"%d" % SIZE)]})
    for more in (True, False):
        await send({"type": "http.response.body", "body": b"a" * (SIZE // 2), "more_body": more})


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    return self_signed(tmp_path_factory.mktemp("tls"))


def talk(client, files=None, *, patience=0.5, most=1_000):
    """What `client` returns for the port of a server, which asks for TLS if it is given `files`."""

    async def whole():
        tls = {} if files is None else {"ssl_certfile": files[0], "ssl_keyfile": files[1]}
        config = uvicorn.Config(
            long_answer, http=patient_for(patience, most), lifespan="off", log_config=None,
            backlog=serve._ACCEPTED, **tls,
        )  # fmt: skip
        config.load()
        server = serve._Server(config, patience, most)
        server.lifespan = config.lifespan_class(config)
        listener = place._bind(socket.AF_INET, "127.0.0.1", 0)
        await server.startup([listener])
        try:
            return await asyncio.to_thread(client, listener.getsockname()[1])
        finally:
            server.force_exit = True
            await server.shutdown([listener])

    return asyncio.run(whole())


def connect(port, files=None):
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
    made.connect(("127.0.0.1", port))
    if files is None:
        return made
    trusting = ssl.create_default_context(cafile=files[0])
    trusting.check_hostname = False
    return trusting.wrap_socket(made)


@pytest.mark.parametrize("is_tls", [False, True])
def test_a_slow_and_steady_reader_gets_the_whole_answer(certificate, is_tls):
    files = certificate if is_tls else None

    def read_slowly(port):
        found = b""
        with connect(port, files) as connection:
            connection.sendall(ASKED)
            while part := connection.recv(16_384):
                found += part
                time.sleep(0.15)
        return found

    assert talk(read_slowly, files, patience=1).endswith(b"\r\n\r\n" + b"a" * SIZE)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such limit")
def test_the_system_takes_little_of_an_answer_ahead():
    """With more, who reads steadily over a slow line would look as if they had stopped."""
    with place._bind(socket.AF_INET, "127.0.0.1", 0) as listener:
        assert listener.getsockopt(socket.IPPROTO_TCP, place._LOWEST_UNSENT) == 32 * 1024


@pytest.mark.parametrize("is_tls", [False, True])
def test_who_stops_reading_is_hung_up_on(certificate, is_tls):
    files = certificate if is_tls else None

    def stop_reading(port):
        with connect(port, files) as connection:
            connection.sendall(ASKED)
            time.sleep(3)
            found = 0
            with contextlib.suppress(OSError):
                while part := connection.recv(65_536):
                    found += len(part)
        return found

    assert talk(stop_reading, files) < SIZE


def test_who_never_says_goodbye_is_left(certificate):
    def stay(port):
        with connect(port, certificate) as connection:
            connection.sendall(ASKED)
            found = 0
            while found < SIZE:
                found += len(connection.recv(65_536))
            until = time.monotonic() + 60
            with socket.socket(fileno=connection.detach()) as bare:  # what it says is not read
                bare.settimeout(60)
                with contextlib.suppress(ConnectionError):
                    while bare.recv(65_536):
                        pass
            return time.monotonic() < until

    assert talk(stay, certificate)


def test_of_too_many_handshakes_the_oldest_is_broken_off(certificate):
    def crowd(port):
        with contextlib.ExitStack() as all:
            silent = [all.enter_context(connect(port)) for _ in range(30)]
            oldest = read_all(silent[0], time.monotonic() + 50)
            with connect(port, certificate) as connection:
                connection.sendall(ASKED)
                return oldest, connection.recv(12)

    assert talk(crowd, certificate, patience=60, most=20) == (b"", b"HTTP/1.1 200")


def test_a_connection_past_the_most_is_closed_at_once():
    def crowd(port):
        with contextlib.ExitStack() as all:
            for _ in range(2):
                one = all.enter_context(connect(port))
                one.sendall(ASKED)  # it is being answered, so it does not wait
                assert one.recv(12) == b"HTTP/1.1 200"
            with connect(port) as another, contextlib.suppress(ConnectionResetError):
                return read_all(another, time.monotonic() + 50)
        return b""

    assert talk(crowd, patience=60, most=2) == b""


def test_a_goodbye_is_waited_for_once():
    async def look():
        one = patient_for(60)(uvicorn.Config(never), ServerState(), {}, asyncio.get_running_loop())
        line = Line()
        one.connection_made(line)
        line.ended = "closed"
        one._look()
        assert line.ended == "closed"
        one._look()
        assert line.ended == "aborted"
        one.connection_lost(None)

    asyncio.run(look())


def test_an_answer_that_was_added_is_not_taken_for_one_that_nobody_reads():
    async def look():
        one = patient_for(60)(uvicorn.Config(never), ServerState(), {}, asyncio.get_running_loop())
        line = Line(unsent=100)
        one.connection_made(line)
        line.unsent = 50_000
        one._look()
        assert line.ended == ""
        one._look()
        assert line.ended == "aborted"
        one.connection_lost(None)

    asyncio.run(look())


@pytest.mark.parametrize(
    ("hard", "most"), [(300, 100), (150, 2), (10**6, connections._MAX_FILES - 200)]
)
def test_fewer_connections_than_files_are_allowed(monkeypatch, hard, most):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (100, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: None)
    assert allow_many_files() == most
