"""Replicas of a server, each a forked process, for whichever frith is on the path.

`python replicas.py FOLDER fill` first fills the database, with names that earlier friths have too. Every
line on stdin is a port to serve on; the answer is a process id. A replica runs its jobs itself.
"""

import contextlib
import json
import os
import signal
import sys
import threading
from pathlib import Path

import pandas as pd
import uvicorn

from frith.domain import Categorical, Domain
from frith.server.app import make_app
from frith.server.auth import members
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.context import open_context
from frith.server.run.worker import Worker
from frith.server.settings import load_settings
from frith.server.sources import Source

ANALYSTS = ("ana", "ben", "cem")


def fill(context, folder):
    """A table, its curator and its analysts; their tokens."""
    rows = {"ward": ["a", "b", "c"] * 20, "ill": ["no", "yes"] * 30}
    pd.DataFrame(rows).to_parquet(folder / "visits.parquet")
    domain = Domain(
        (Categorical("ward", ("a", "b", "c")),), Categorical("ill", ("no", "yes")), records=60
    )
    with context.database.write() as session:
        members.add_member(context, session, "carla", "curator")
        members.add_member(context, session, "eve", "analyst")
        source = Source("local", "visits.parquet")
        tables.register(context, session, "visits", source, domain, Policy("1000"))
        for name in ANALYSTS:
            members.add_member(context, session, name, "analyst")
            tables.grant(context, session, "visits", name)
        names = ("carla", *ANALYSTS)
        return {n: members.issue_token(context, session, n).text for n in names}


def serve(port):
    """Answer on a port and run jobs until SIGTERM; then finish what has begun."""
    context = open_context(load_settings(None, os.environ))
    over = threading.Event()
    worker = threading.Thread(target=Worker(context).run, args=(over.is_set, 0.05))
    server = uvicorn.Server(
        uvicorn.Config(make_app(context), port=port, log_config=None, lifespan="off")
    )
    server.capture_signals = contextlib.nullcontext
    signal.signal(signal.SIGTERM, lambda *_: setattr(server, "should_exit", True))
    worker.start()
    server.run()
    over.set()
    worker.join()
    context.database.close()


def main(folder, *words):
    if words:
        context = open_context(load_settings(None, os.environ))
        print(json.dumps(fill(context, folder)), flush=True)
        context.database.close()
    for line in sys.stdin:
        process = os.fork()
        if not process:
            sys.stdin.close()
            os.dup2(2, 1)  # what it logs is no answer
            serve(int(line))
            os._exit(0)
        print(process, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
