"""A server under attack: what others notice while somebody tries to use it up.

    python benchmarks/server_exhaustion.py [--minutes 20] [--rate 10] [--quick]

Members who mean harm (an analyst, a curator) and strangers send 10 requests a second in all, of every
expensive or forbidden kind that we know of, over a running server with two workers. Meanwhile three
analysts ask for quotes, pages and lists once a second. Passes if no request gets a 5xx, the server's
memory stays within 300 MB of what it was, and the others' 95th percentile is under 500 ms.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from benchmarks.common import RESULTS
from benchmarks.server_process import ANALYST, ServerProcess
from frith.server.auth import sessions
from frith.server.budget import tables

OTHERS = 3
MEMORY_BYTES, P95_SECONDS = 300_000_000, 0.5
Attack = Callable[[random.Random], tuple[str, str, Any]]


class Attacker:
    """Requests of members who mean harm, and what they were answered."""

    def __init__(self, server: ServerProcess, curator: str, analyst: str):
        self.server, self.codes = server, Counter[tuple[str, int | str]]()
        self.tokens = {"analyst": analyst, "curator": curator, "stranger": "frith_0000_guess"}
        self.jobs: list[str] = ["0" * 16]
        context = server.context()
        with context.database.read() as session:
            self.domain = json.dumps(
                tables.domain_of(tables.get_table(session, server.table)).to_json()
            )
        context.database.close()

    def kinds(self) -> dict[str, tuple[str, Attack]]:
        """What is tried, by name: as whom, and the request."""
        table = f"/v1/tables/{self.server.table}"

        def forest(rng: random.Random, **more: Any) -> dict[str, Any]:
            return {"epsilon": "0.01", "learner": "random-decision",
                    "parameters": {"random_state": rng.getrandbits(30)}} | more  # fmt: skip

        def big(rng: random.Random) -> dict[str, Any]:
            trees = rng.choice([3_000, 300, 60])
            return forest(rng, parameters={"n_trees": trees, "max_depth": rng.choice([6, 9, 12])})

        def old(rng: random.Random) -> str:
            return rng.choice(self.jobs[-200:])

        hung = {
            "connection": "silent",
            "table": "t",
            "policy": {"epsilon": "1"},
            "domain": self.domain,
        }
        return {
            "huge quotes": ("analyst", lambda r: ("POST", f"{table}/quotes", big(r))),
            "huge dry runs": ("analyst", lambda r: ("POST", f"{table}/dry-runs", big(r))),
            "huge forests": ("analyst", lambda r: ("POST", f"{table}/forests", big(r))),
            "many forests": ("analyst", lambda r: ("POST", f"{table}/forests", forest(r))),
            "free forests": (
                "analyst",
                lambda r: ("POST", f"{table}/forests", forest(r, epsilon="1e-99")),
            ),
            "downloads": ("analyst", lambda r: ("GET", f"/v1/forests/{old(r)}", None)),
            "pictures": ("analyst", lambda r: ("GET", f"/v1/forests/{old(r)}/picture.svg", None)),
            "exports": ("curator", lambda r: ("GET", "/v1/ledger.csv", None)),
            "verifications": ("curator", lambda r: ("GET", "/v1/ledger/verification", None)),
            "long lists": ("curator", lambda r: ("GET", "/v1/jobs?limit=100", None)),
            "hung sources": (
                "curator",
                lambda r: ("POST", "/v1/tables", hung | {"name": f"t{r.getrandbits(40)}"}),
            ),
            "other hosts": (
                "curator",
                lambda r: (
                    "POST",
                    "/v1/tables",
                    hung
                    | {"name": "x", "connection": "sample", "table": "http://169.254.169.254/"},
                ),
            ),
            "environment": (
                "curator",
                lambda r: (
                    "POST",
                    "/v1/tables",
                    hung
                    | {"name": "x", "connection": "sample", "table": "${HOME}/../../etc/passwd"},
                ),
            ),
            "large bodies": (
                "analyst",
                lambda r: ("POST", f"{table}/quotes", {"epsilon": "1" * 2_000_000}),
            ),
            "deep bodies": (
                "analyst",
                lambda r: (
                    "POST",
                    f"{table}/quotes",
                    {"epsilon": json.loads("[" * 400 + "]" * 400)},
                ),
            ),
            "others' jobs": (
                "analyst",
                lambda r: ("GET", f"/v1/jobs/{r.getrandbits(64):016x}", None),
            ),
            "others' members": ("analyst", lambda r: ("GET", "/v1/members", None)),
            "tokens": (
                "analyst",
                lambda r: ("POST", f"/v1/members/{ANALYST}/tokens", {"note": "more"}),
            ),
            "guesses": ("stranger", lambda r: ("GET", "/v1/me", None)),
            "sign-ins": ("stranger", lambda r: ("POST", "/sign-in", None)),
        }

    def send(self, name: str, number: int) -> None:
        rng = random.Random(number)
        who, make = self.kinds()[name]
        method, path, body = make(rng)
        token = self.tokens[who] if who != "stranger" else f"frith_{number:04x}_{number:032x}"
        headers = {"Authorization": f"Bearer {token}"}
        try:
            answer = httpx2.request(
                method, self.server.url + path, json=body, headers=headers, timeout=120
            )
        except httpx2.HTTPError as error:
            self.codes[name, type(error).__name__] += 1
            return
        self.codes[name, answer.status_code] += 1
        if answer.status_code == 202:
            self.jobs.append(answer.json()["id"])


def look(server: ServerProcess, token: str, cookie: str, over: threading.Event) -> list[Any]:
    """What another analyst sees, once a second: seconds and status of a quote, a page and a list."""
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


def memory(pid: int) -> int:
    """The resident bytes of one process, those it shares included."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * 4_096


def attack(server: ServerProcess, minutes: float, rate: float) -> dict[str, Any]:
    """Attack a running server; what it answered, how large it grew, what others waited."""
    context = server.context()
    names = [f"other-{i}" for i in range(OTHERS)]
    tokens = [server.new_analyst(name, context) for name in names]
    with context.database.write() as session:
        cookies = [sessions.sign_in(context, session, token) for token in tokens]
    context.database.close()
    assert server.process is not None
    pid, over = server.process.pid, threading.Event()
    attacker = Attacker(server, server.sample.curator_token, server.sample.analyst_token)
    with ThreadPoolExecutor(OTHERS) as watching, ThreadPoolExecutor(64) as hostile:
        seen = [
            watching.submit(look, server, *who, over) for who in zip(tokens, cookies, strict=True)
        ]
        time.sleep(5)  # whatever a first request sets off
        idle, most, kinds = memory(pid), 0, list(attacker.kinds())
        began = time.monotonic()
        until, number = began + minutes * 60, 0
        while time.monotonic() < until:
            hostile.submit(attacker.send, kinds[number % len(kinds)], number)
            number += 1
            most = max(most, memory(pid))
            time.sleep(max(0.0, began + number / rate - time.monotonic()))
        over.set()
        looked = [one for future in seen for one in future.result()]
    waits = sorted(seconds for _, seconds, _ in looked)
    statuses = Counter(status for _, _, status in looked)
    return {
        "requests": number,
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
        "MB above idle": (most - idle) / 1e6,
        "idle MB": idle / 1e6,
        "others' median ms": statistics.median(waits) * 1e3,
        "others' p95 ms": waits[int(len(waits) * 0.95)] * 1e3,
        "others' slowest ms": waits[-1] * 1e3,
    }


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--minutes", type=float, default=20)
    options.add_argument("--rate", type=float, default=10)
    options.add_argument("--quick", action="store_true", help="half a minute, no file")
    given = options.parse_args()
    minutes = 0.5 if given.quick else given.minutes
    with (
        socket.create_server(("127.0.0.1", 0), backlog=512) as silent,
        tempfile.TemporaryDirectory(prefix="frith-attack-") as folder,
    ):
        server = ServerProcess(Path(folder), epsilon="1000", workers=2, requests_per_second=200,
                               queued_per_member=100)  # fmt: skip
        declared = json.loads(server.settings["connections"])
        url = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d"
        declared["silent"] = {"kind": "postgresql", "url": url}
        server.settings["connections"] = json.dumps(declared)
        with server:
            found = attack(server, minutes, given.rate)
            context = server.context()
            with context.database.read() as session:
                found["ledger holds"] = context.book(session).verify().holds
            context.database.close()
    print(json.dumps(found, indent=1))
    ok = found["5xx"] == 0 and found["broken connections"] == 0 and found["ledger holds"]
    ok &= found["MB above idle"] <= MEMORY_BYTES / 1e6
    ok &= found["others' p95 ms"] <= P95_SECONDS * 1e3
    if not given.quick:
        (RESULTS / "server_exhaustion.md").write_text(_page(found, minutes), encoding="utf-8")
    return 0 if ok else 1


def _page(found: dict[str, Any], minutes: float) -> str:
    lines = [f"| {k} | {v:.4g} |" for k, v in found.items() if isinstance(v, int | float)]
    codes = [f"| {kind} | {n} |" for kind, n in found["codes"].items()]
    return (
        f"# A server under attack\n\n`python benchmarks/server_exhaustion.py --minutes {minutes:g}`: two "
        f"members and strangers attack a server with two workers, {OTHERS} other analysts ask for a quote, a "
        "page and a list every second. Client, server and workers share one machine's cores. The attackers "
        "are scripts of ours: they try what we thought of.\n\n| what | found |\n|---|---:|\n"
        + "\n".join(lines)
        + "\n\n| attack: answer | requests |\n|---|---:|\n"
        + "\n".join(codes)
        + "\n"
    )


if __name__ == "__main__":
    sys.exit(main())
