"""One request at a time on a real connection: where it ends, and what is not taken for a request."""

import asyncio
import contextlib
import re
import socket
import time

import psutil
import pytest
import uvicorn
from uvicorn.server import ServerState

from benchmarks.server_process import ServerProcess
from frith.server.run import serve
from frith.server.run.connections import patient_for
from frith.server.run.one_request import OneRequest
from tests.hosting import self_signed
from tests.server.conftest import read_all

pytestmark = pytest.mark.xdist_group("slow clients")


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A real one, which waits for 3 seconds."""
    with ServerProcess(tmp_path_factory.mktemp("real"), workers=0, body_seconds=3) as server:
        yield server


@pytest.mark.parametrize(
    "begun",
    [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX-Long: ",
        b"POST /sign-in HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\nX-Long: ",
        b"POST /sign-in HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1;",
    ],
    ids=["a head", "what follows a body", "a chunk's head"],
)
def test_a_header_without_an_end_is_not_kept(server, begun):
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        connection.sendall(begun)
        sent = 0
        with contextlib.suppress(OSError):  # hung up on
            while sent < 20_000_000:
                connection.sendall(b"a" * 10_000)
                sent += 10_000
    assert sent < 20_000_000
    with server.client(server.sample.analyst_token) as client:
        assert client.get("/health").status_code == 200


def test_a_head_that_is_too_long_is_told_so(server):
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        connection.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Long: " + b"a" * 20_000)
        assert read_all(connection, time.monotonic() + 60).startswith(b"HTTP/1.1 400")


def answers(server, *segments, pause=0.3):
    """The statuses of all responses on a connection, until it is closed or rests for a second."""
    found = b""
    with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for number, segment in enumerate(segments):
            time.sleep(pause if number else 0)
            with contextlib.suppress(OSError):
                connection.sendall(segment)
        connection.settimeout(1)
        with contextlib.suppress(OSError):
            while part := connection.recv(65536):
                found += part
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", found)]


def request(server, line, *headers, body=b""):
    token = f"Authorization: Bearer {server.sample.analyst_token}"
    lines = (f"{line} HTTP/1.1", "Host: x", token, "Content-Type: application/json", *headers)
    return "\r\n".join((*lines, "", "")).encode() + body


QUOTE = b'{"epsilon":"0.01"}'
UPGRADE = ("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk")


@pytest.mark.parametrize("offer", [(), UPGRADE, ("connection: upgrade", "UPGRADE:x")])
def test_a_body_is_a_body_whenever_it_comes_and_whatever_its_head_offers(server, offer):
    inner = request(server, "GET /v1/me")
    for size in (f"Content-Length: {len(inner)}", "Transfer-Encoding: chunked"):
        head = request(server, f"POST /v1/tables/{server.table}/quotes", size, *offer)
        body = inner if "Length" in size else b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)
        assert answers(server, head + body) == [422]
        assert answers(server, head, body) == [422]
    length = f"Content-Length: {len(QUOTE)}"
    quote = request(server, f"POST /v1/tables/{server.table}/quotes", length, *offer, body=QUOTE)
    assert answers(server, quote) == [200]
    assert answers(server, quote[:-5], quote[-5:]) == [200]
    assert answers(server, quote, quote) == [200, 200]


def test_what_is_sent_before_an_answer_is_not_begun(server):
    me = request(server, "GET /v1/me")
    chunked = request(server, "POST /v1/me", "Transfer-Encoding: chunked", body=b"0\r\n\r\n")
    assert answers(server, me * 5_000) == [200]
    assert answers(server, chunked + me * 5_000) == [405]
    assert answers(server, me + b"no request\r\n\r\n") == [200]
    assert answers(server, me, me, me[:10], me[10:]) == [200] * 3


@pytest.mark.parametrize(
    "head",
    [
        "GET /health HTTP/1.1\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n",
        "GET /health\r\n\r\n",
        "GET /health HTTP/2.0\r\nHost: x\r\n\r\n",
        "CONNECT /health HTTP/1.1\r\nHost: x\r\n\r\n",
        "CONNECT x:80 HTTP/1.1\r\nHost: x\r\n\r\n",
        "POST /health HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST /health HTTP/1.0\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\na",
        "POST /health HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n"
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /health HTTP/1.1\r\nHost: x\r\nContent-Length : 3\r\n\r\nabc",
        "GET /health HTTP/1.1\r\nHost: x\r\n folded\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: x\r\nA: b\r\r\nUpgrade: x\n\r\nC: d\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: x\r\nUpgrade : x\r\n\r\n",
        "GET /health HTTP/1.1\r\nHost: x\r\nUpgrade: \x00\r\n\r\n",
        "\r\nUpgrade: x\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
        "OPTIONS /health RTSP/1.0\r\nHost: x\r\n\r\n",
        "\r\n" * 1_000,
        "GET  /health HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /health  HTTP/1.1\r\nHost: x\r\n\r\n",
        "\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
        "\r\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_a_head_that_can_be_read_in_two_ways_is_refused(server, head):
    assert answers(server, head.encode()) == [400]


@pytest.mark.parametrize("rest", [b"0\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\n\r\n", b"zz\r\n"])
def test_a_request_that_was_answered_early_has_no_second_answer(server, rest):
    head = b"POST /v1/me HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n"
    assert answers(server, head, rest) == [401]


def test_empty_lines_before_a_request_are_passed_over(server):
    me = request(server, "GET /v1/me")
    assert answers(server, b"\r\n" + me, b"\r\n\r\n" + me) == [200, 200]


class Line(asyncio.Transport):
    """A connection whose other side reads `reads` bytes whenever somebody looks."""

    def __init__(self, unsent=0, reads=0):
        super().__init__()
        self.unsent, self.reads, self.ended, self.sent = unsent, reads, "", b""

    def get_extra_info(self, name, default=None):
        return ("127.0.0.1", 1) if name in ("peername", "sockname") else default

    def get_write_buffer_size(self):
        self.unsent = max(0, self.unsent - self.reads)
        return self.unsent

    def is_closing(self):
        return bool(self.ended)

    def write(self, data):
        self.sent += data

    def close(self):
        self.ended = "closed"

    def abort(self):
        self.ended = "aborted"

    def pause_reading(self):
        pass

    def resume_reading(self):
        pass


async def never(scope, receive, send):
    await asyncio.Event().wait()


def test_nothing_is_kept_of_what_comes_while_a_request_is_answered():
    async def flood():
        config = uvicorn.Config(never, lifespan="off")
        one = OneRequest(config, ServerState(), {}, asyncio.get_running_loop())
        one.connection_made(Line())
        for _ in range(100):
            one.data_received(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"a" * 100_000)
            await asyncio.sleep(0)
        assert len(one.tasks) == 1
        assert len(one._held) == 0
        for task in one.tasks:
            task.cancel()

    asyncio.run(flood())


@pytest.mark.parametrize(
    ("unsent", "reads", "ended"),
    [(5_000, 0, "aborted"), (10**6, 2_000, ""), (10**6, 10, "aborted"), (100, 100, ""), (0, 0, "")],
)
def test_only_who_reads_on_is_waited_for(unsent, reads, ended):
    async def wait():
        config = uvicorn.Config(never, lifespan="off")
        one = patient_for(0.05)(config, ServerState(), {}, asyncio.get_running_loop())
        line = Line(unsent, reads)
        one.connection_made(line)
        one._stop_watching()
        await asyncio.sleep(0.5)
        assert line.ended == ended
        one.connection_lost(None)

    asyncio.run(wait())


def test_a_handshake_that_does_not_begin_ends(tmp_path):
    certificate, key = self_signed(tmp_path)

    async def silent():
        config = uvicorn.Config(
            never, lifespan="off", ssl_certfile=certificate, ssl_keyfile=key, log_config=None
        )
        config.load()
        tls = serve._Server(config, patience=0.3, most=100)
        tls.lifespan = config.lifespan_class(config)
        listener = socket.create_server(("127.0.0.1", 0))
        await tls.startup([listener])
        reader, writer = await asyncio.open_connection(*listener.getsockname())
        assert await asyncio.wait_for(reader.read(), 30) == b""
        writer.close()
        await tls.shutdown([listener])

    asyncio.run(silent())


def test_an_old_client_is_not_told_to_go_on(server):
    head = b"POST /sign-in HTTP/1.0\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n"
    assert 100 not in answers(server, head, b"a=b")


def test_a_trailer_that_closes_the_connection_closes_it(server):
    head = request(server, "GET /v1/me", "Transfer-Encoding: chunked")
    with socket.create_connection(("127.0.0.1", server.port), 60) as connection:
        connection.sendall(head + b"0\r\nConnection: close\r\n\r\n")
        assert read_all(connection, time.monotonic() + 60).startswith(b"HTTP/1.1 200")


def test_who_reads_nothing_is_hung_up_on(server):
    """Thirty answers of half a megabyte, asked for one after the other, of which none is read."""
    document = request(server, "GET /v1/openapi.json")
    with socket.socket() as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
        connection.connect(("127.0.0.1", server.port))
        mine, until = connection.getsockname()[1], time.monotonic() + 60
        with contextlib.suppress(OSError):
            for _ in range(30):
                connection.sendall(document)
                time.sleep(0.05)
        of_server = psutil.Process(server.process.pid)
        while time.monotonic() < until and any(
            c.raddr and c.raddr.port == mine for c in of_server.net_connections("tcp")
        ):
            time.sleep(0.2)
        assert time.monotonic() < until


def test_a_header_after_the_body_replaces_none_before_it(server):
    request = (
        f"POST /v1/tables/{server.table}/quotes HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
        f"Authorization: Bearer {server.sample.analyst_token}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        '12\r\n{"epsilon":"0.01"}\r\n0\r\nAuthorization: Bearer none\r\n\r\n'
    ).encode()
    with socket.create_connection(("127.0.0.1", server.port), 120) as connection:
        connection.sendall(request)
        assert read_all(connection, time.monotonic() + 60).startswith(b"HTTP/1.1 200")
