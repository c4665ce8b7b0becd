"""`verify` reads stored requests again: what would be refused today is named, with its entries."""

import contextlib
import hashlib
import json
from dataclasses import replace
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from frith import Budget, Ledger
from frith.cli import app
from frith.errors import OutsideWindow
from frith.kernels import RecordCount
from frith.ledger import Book
from frith.ledger.database import Database
from frith.parties.binding import terms_of
from frith.parties.masks import Keys
from frith.privacy.neighbors import RECORD
from frith.server.budget import tables
from frith.server.jobs.requests import JobRequest
from frith.server.schema import Job
from tests.chains import rewrite_chain
from tests.server.conftest import said

LEAF = {"roots": [0], "attribute": [-1], "cut": [-1], "first_child": [-1], "sets": []}


@pytest.fixture
def domain(house):
    with house.database.read() as session:
        return tables.domain_of(tables.get_table(session, house.table))


@pytest.fixture
def counted(house, domain):
    """A question that was answered and charged."""
    return count(house, domain, house.table)


def count(house, domain, table):
    asked = {"epsilon": "1", "domain": domain.fingerprint, "question": {"kind": "records"}}
    job = said(house.analyst.post(f"/v1/tables/{table}/counts", json=asked), 202)["id"]
    house.work()
    return job


def rewrite(house, job, **change):
    """Let a stored request be one that an earlier frith took, and charged as it did."""
    with house.database.read() as session:
        body = json.loads(session.get(Job, job).body)
    asked = JobRequest.read(json.dumps(body | change, sort_keys=True))
    hashed = hashlib.sha256(asked.body.encode()).hexdigest()
    house.change_job(job, body=asked.body, body_hash=hashed, round=asked.round)
    with contextlib.suppress(OutsideWindow):  # what has no price today keeps the one it had
        cost = asked.budget.cost_in(asked.budget.unit)
        rewrite_chain(house.database, lambda e: replace(e, amount=cost) if e.request == job else e)


def verified(house):
    """What the API says; the command line says the same."""
    answer = said(house.curator.get("/v1/ledger/verification"))
    result = CliRunner().invoke(app, ["ledger", "verify", str(house.folder / "server.db")])
    assert result.exit_code == (1 if answer["flagged"] or answer["problems"] else 0)
    words = " ".join(result.output.split())
    assert all(" ".join(line.split()) in words for line in answer["flagged"])
    assert answer["holds"], "the chain is as it was written"
    return answer["flagged"]


def level(domain, trees=LEAF, **change):
    """A legal question about one leaf, changed."""
    cuts = [[] for _ in domain.attributes]
    question = {"kind": "level", "view": "sizes", "trees": trees, "cuts": cuts}
    return question | {"open_nodes": [0], "asks": [[0]]} | change


def shared_child(domain):
    """Two roots, both with the children of the first."""
    size = domain.attributes[0].size
    leaves = [-1] * size
    return {
        "roots": [0, 1],
        "attribute": [0, 0, *leaves],
        "cut": [-1, -1, *leaves],
        "first_child": [2, 2, *leaves],
        "sets": [],
    }


def leaf_with_children():
    """A leaf that is spelled -2 and has children: it relabels the trees after it."""
    return {
        "roots": [0, 1, 2],
        "attribute": [-2, -1, -1],
        "cut": [-1] * 3,
        "first_child": [1, -1, -1],
        "sets": [],
    }


def test_a_server_with_legal_requests_is_clean(house, counted, domain):
    house.train()
    assert verified(house) == []
    rewrite(house, counted, question=level(domain))
    assert verified(house) == []


@pytest.mark.parametrize(
    "make",
    [
        lambda d: {"kind": "leaves", "trees": shared_child(d)},
        lambda d: level(d, trees=LEAF | {"roots": [1]}),
        lambda d: level(d, open_nodes=[0, 0], asks=[[0], [0]]),
        lambda d: level(d, asks=[[len(d.attributes)]]),
        lambda d: {"kind": "leaves"},
        lambda d: level(d, leaf_with_children(), open_nodes=[0, 1, 2], asks=[[]] * 3),
        lambda d: level(d, open_nodes=[], asks=[]),
        lambda d: level(d, trees=LEAF | {"first_child": [7]}),
        lambda d: level(d, trees=LEAF | {"cut": [3]}),
    ],
)
def test_a_question_that_is_refused_today_is_flagged(house, counted, domain, make):
    rewrite(house, counted, question=make(domain))
    (line,) = verified(house)
    charges = [e.id for e in house.entries() if e.kind == "charge"]
    assert f"job {counted}, a count on '{house.table}' by 'ana'" in line
    assert f"(entries {charges[0]} and {charges[1]})" in line
    assert "its question is refused today" in line


def test_a_round_that_bound_less_is_flagged(house, counted, domain):
    """The digest of a round is not that of everything its noise depends on."""
    keys = {name: Keys.new(name).public for name in ("a", "b", "c")}
    round = {"session": "s", "attempt": 1, "question": 1, "about": "0" * 64, "keys": keys}
    rewrite(house, counted, round=round | {"colluders": 1})
    (line,) = verified(house)
    assert "its round of a secure sum binds less" in line
    terms = terms_of(
        RecordCount(), domain, Budget.of(1), Fraction(1), keys=keys, colluders=1
    ).digest
    rewrite(house, counted, round=round | {"colluders": 1, "about": terms})
    assert verified(house) == []


@pytest.mark.parametrize("kind", ["train", "count"])
@pytest.mark.parametrize("amounts", [{"epsilon": "1e-15"}, {"epsilon": "1e-9", "delta": "1e-300"}])
def test_a_budget_outside_the_window_is_flagged(house, domain, kind, amounts):
    table = house.register("gauss", delta="1e-6") if "delta" in amounts else house.table
    job = count(house, domain, table) if kind == "count" else house.train(table=table)["id"]
    rewrite(house, job, **amounts)
    (line,) = verified(house)
    assert f"job {job}, a {kind}" in line
    assert "its budget is refused today" in line
    assert said(house.analyst.get("/v1/jobs")), "old requests can still be listed"


def test_what_told_nothing_is_not_flagged(house, domain):
    dry = said(house.analyst.ask(house.table, kind="dry-runs"), 202)["id"]
    cancelled = said(house.analyst.ask(house.table, epsilon="0.2"), 202)["id"]
    said(house.analyst.post(f"/v1/jobs/{cancelled}/cancel"))
    for job in (dry, cancelled):
        rewrite(house, job, epsilon="1e-15")
    assert verified(house) == []


def test_what_waits_is_flagged_before_it_is_charged(house):
    job = said(house.analyst.ask(house.table), 202)["id"]
    rewrite(house, job, epsilon="1e-15")
    (line,) = verified(house)
    assert "(not charged yet: cancel it)" in line


def test_a_charge_by_hand_outside_the_window_is_flagged(house):
    with house.database.write() as session:
        book = Book(session.connection())
        book.charge(house.table, Fraction("1e-15"), "by hand", RECORD)
    (line,) = verified(house)
    assert "outside the window of amounts" in line


def test_a_desk_ledger_names_charges_outside_the_window(tmp_path):
    path = tmp_path / "budget.db"
    ledger = Ledger.create(path, epsilon=1)
    with Database(path).write() as session:
        book = Book(session.connection())
        old = book.charge("table", Fraction("2e-15"), "a fit of long ago", RECORD)
        book.charge("table", Fraction("0.5"), "a fit", RECORD)
    (line,) = ledger.verify().flagged
    assert line.startswith(f"entry {old.id}: a charge of epsilon 2e-15")
    result = CliRunner().invoke(app, ["ledger", "verify", str(path)])
    assert result.exit_code == 1
    assert "a fit of long ago" in result.output
