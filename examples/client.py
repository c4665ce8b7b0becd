"""A tour of a private database, from the analyst's desk.

    python examples/client.py                        starts `frith serve --demo` for itself
    python examples/client.py URL                    asks a server that runs; FRITH_TOKEN signs in

No record ever comes to this side. What comes are forests, each with a guarantee and a receipt.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

import frith
from frith.client import Job, RemoteDatabase

EPSILON = "0.25"  # for each forest; amounts are read exactly as written


def tour(db: RemoteDatabase) -> None:
    """Everything an analyst can do, one step after another."""
    title(f"Signed in: {db!r}")
    say(db.tables())
    table = db.tables()[0].name

    title("What is public about the table: its domain")
    domain = db.domain(table)
    for attribute in domain.attributes:
        say(f"{attribute.name}: {values_of(attribute)}")
    say(f"to be predicted: {domain.label.name}: {values_of(domain.label)}")

    title("The budget, and what a forest would cost")
    say(db.budget(table))
    say(db.quote(table, EPSILON))

    title("A dry run: made-up records, free, to see whether the request works")
    say(db.dry_run(table, epsilon=EPSILON).forest_.describe())

    title("Every learner, trained on the server")
    models = {}
    for learner in db.learners():
        models[learner.name] = db.train(
            table, learner.name, epsilon=EPSILON, progress=Passes(learner.name)
        )
    say(db.budget(table))

    title("Asking for the same again is answered by the same forest, for nothing")
    again = db.train(table, "gini", epsilon=EPSILON)
    say(f"the same forest: {again.remote_id_ == models['gini'].remote_id_}")
    say(db.budget(table))

    # Each model is a scikit-learn classifier, fitted as if here. From now on nothing costs budget
    # unless it asks the server about its records again.
    title("Predictions, made here")
    model = models["forest"]
    records = pd.DataFrame(
        [{a.name: first_value(a, i) for a in domain.attributes} for i in range(3)]
    )
    predicted = records.assign(**{domain.label.name: model.predict(records)})
    say(predicted.T.to_string(header=False))

    title("The clearest rules, with their noise")
    for rule in models["id3"].forest_.rules()[:4]:
        say(rule)

    title("How good is it? A private score, charged like any release")
    say(db.score(model, epsilon=EPSILON))

    title("New records: a batch of other people, added to the random decision trees")
    [batch] = db.table(table).batch_names
    updated = db.update(models["random-decision"], batch, epsilon=EPSILON)
    say(updated.forest_.describe())

    title("Every forest has a receipt")
    for receipt in db.ledger():
        if receipt.kind == "charge":
            say(f"entry {receipt.id}: {receipt.purpose}, {receipt.unit} {receipt.amount}")

    title("And then there is no more")
    try:
        db.train(table, epsilon=4)
    except frith.BudgetExceeded as refusal:  # the same exception as with a ledger at one's desk
        say(f"refused: {refusal}")
        say(f"asked {refusal.requested}, left {refusal.remaining} of {db.budget(table).total}")


class Passes:
    """Prints which pass over the records has begun; nothing about the records is told."""

    def __init__(self, name: str):
        self.name, self.began = name, time.monotonic()

    def __call__(self, job: Job) -> None:
        if job.state == "running" and job.doing:
            print(f"  {self.name:16} pass {job.passes:3}  {job.doing}")
        elif job.state == "done":
            seconds = time.monotonic() - self.began
            print(f"  {self.name:16} done after {job.passes} of them, {seconds:.1f} s")


def values_of(attribute: frith.Categorical | frith.Numeric) -> str:
    if isinstance(attribute, frith.Numeric):
        return f"from {attribute.low} to {attribute.high}"
    return ", ".join(map(str, attribute.values))


def first_value(attribute: frith.Categorical | frith.Numeric, i: int) -> object:
    """A made-up value, from the domain alone."""
    if isinstance(attribute, frith.Numeric):
        return attribute.low
    return attribute.values[i % len(attribute.values)]


def title(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def say(thing: object) -> None:
    for line in str(thing).splitlines():
        print(f"  {line}", flush=True)


# -- a server to try it on -------------------------------------------------------------------------


@contextlib.contextmanager
def demo_server() -> Iterator[tuple[str, str]]:
    """`frith serve --demo` on a free port, for as long as it is needed: its URL and a token."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "frith", "serve", "--demo", "--port", str(port)]
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "stderr"
        with said.open("w") as log, subprocess.Popen(command, stderr=log) as server:
            try:
                url = f"http://127.0.0.1:{port}"
                wait_for(url, server)
                token = re.search(r"^ *analyst .*(frith_\w+)", said.read_text(), re.MULTILINE)
                assert token is not None, said.read_text()
                yield url, token[1]
            finally:
                server.terminate()


def wait_for(url: str, server: subprocess.Popen[bytes], seconds: float = 60) -> None:
    """Until the server's health check answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and server.poll() is None:
        with contextlib.suppress(OSError), urllib.request.urlopen(f"{url}/health", timeout=5):
            return
        time.sleep(0.1)
    raise SystemExit("the demo server did not come up")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url", nargs="?", default=os.environ.get("FRITH_URL"))
    parser.add_argument("--token-file", type=Path, help="else FRITH_TOKEN is the token")
    given = parser.parse_args()
    if given.url:
        token = given.token_file.read_text() if given.token_file else None
        with frith.connect(given.url, token) as db:
            tour(db)
        return
    print("no server was named, so one is started for this tour")
    with demo_server() as (url, token), frith.connect(url, token) as db:
        tour(db)


if __name__ == "__main__":
    main()
