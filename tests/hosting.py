"""A private database in this process, behind a real socket, for the client and its commands."""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import socket
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import structlog
import uvicorn
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

import frith
from frith.server.app import make_app
from frith.server.auth import members
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.context import Context, open_context
from frith.server.run.sample import CONNECTION, with_sample
from frith.server.run.worker import Worker
from frith.server.settings import Settings
from frith.server.sources import Source
from tests.tables import small_domain, small_table


@dataclass
class Host:
    """A server with a curator; every table that a test makes is its own."""

    context: Context
    url: str
    folder: object
    curator_token: str
    desk: threading.Lock
    _numbers: itertools.count = field(default_factory=itertools.count)

    def add_table(self, epsilon="4", batch=True, **policy):
        """A fresh table, and an analyst of its own who may ask about it."""
        number = next(self._numbers)
        name, analyst = f"table-{number}", f"analyst-{number}"
        with self.context.database.write() as session:
            tables.register(
                self.context, session, name, Source(CONNECTION, "table.parquet"),
                small_domain(records=400), Policy(epsilon, **policy), title="A small table",
                curator="carla",
            )  # fmt: skip
            if batch:
                later = Source(CONNECTION, "later.parquet")
                tables.add_batch(self.context, session, name, "later", later, disjoint=True)
            members.add_member(self.context, session, analyst, "analyst")
            tables.grant(self.context, session, name, analyst)
            token = members.issue_token(self.context, session, analyst).text
        return name, token

    def charges(self, table):
        """What the table's own account was charged."""
        with self.context.database.read() as session:
            entries = self.context.book(session).entries(table)
        return [e.amount for e in entries if e.kind == "charge"]

    @contextlib.contextmanager
    def no_work(self):
        """Meanwhile jobs stay queued."""
        with self.desk:
            yield

    def connect(self, token=None, **options):
        return frith.connect(self.url, token or self.curator_token, **options)


class PausingWorker(Worker):
    """A worker that a test can keep from its desk."""

    def __init__(self, context, desk):
        super().__init__(context)
        self._desk = desk

    def work_once(self):
        with self._desk:
            return super().work_once()


@contextlib.contextmanager
def hosted(folder):
    """Serve from `folder` on a free port, with one worker."""
    small_table(400).to_parquet(folder / "table.parquet")
    small_table(100, seed=1).to_parquet(folder / "later.parquet")
    context = open_context(with_sample(Settings(database=str(folder / "server.db")), folder))
    with context.database.write() as session:
        members.add_member(context, session, "carla", "operator")
        token = members.issue_token(context, session, "carla").text
    stop, desk = threading.Event(), threading.Lock()
    worker = threading.Thread(target=PausingWorker(context, desk).run, args=(stop.is_set, 0.02))
    worker.start()
    with silence(), listening(context) as url:
        yield Host(context, url, folder, token, desk)
    stop.set()
    worker.join()
    context.database.close()


@contextlib.contextmanager
def silence():
    """The server's log would mix with what a client prints."""
    before = structlog.get_config()
    structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
    try:
        yield
    finally:
        structlog.configure(**before)


@contextlib.contextmanager
def listening(context, **tls):
    listener = socket.create_server(("127.0.0.1", 0))
    config = uvicorn.Config(
        make_app(context), log_config=None, access_log=False, lifespan="off", **tls
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


def self_signed(folder):
    """A certificate that no authority vouches for, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "frith test")])
    now = datetime.now(UTC)
    host = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(host, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    (folder / "cert.pem").write_bytes(certificate.public_bytes(pem))
    plain = serialization.NoEncryption()
    (folder / "key.pem").write_bytes(
        key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    )
    return str(folder / "cert.pem"), str(folder / "key.pem")
