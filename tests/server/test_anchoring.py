"""A server holds its ledger against a witness: what was charged before a record was read stays charged."""

import shutil

import httpx2
import pytest
from typer.testing import CliRunner

from benchmarks.server_process import ServerProcess
from frith.cli import app
from frith.ledger.anchors import Signer, new_key
from frith.ledger.backup import back_up
from frith.ledger.database import StoreError
from frith.ledger.witness import FileWitness, WitnessError
from frith.server.context import open_context
from frith.server.jobs import lifecycle
from frith.server.jobs.verification import look
from frith.server.run import worker
from frith.server.run.watcher import keep_time
from frith.server.run.worker import Worker, open_curator
from frith.server.settings import Settings
from frith.server.watch import Watch
from tests.server.conftest import refused, said


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "anchor.pem"
    path.write_bytes(new_key()[0])
    return path


@pytest.fixture
def witness(tmp_path):
    return tmp_path / "witness.jsonl"


@pytest.fixture
def anchored(house, key, witness):
    """The house with a witness; its ledger has entries already, so its operator begins."""
    house.set(anchor_key=str(key), anchor_witness=str(witness))
    house.context.watch.anchor()
    return house


def heads(house):
    return [anchor.entry for anchor in house.context.anchors.read(whole=True).anchors]


def charged(house):
    return [e.id for e in house.entries() if e.kind == "charge"]


def test_a_charge_is_anchored_before_a_record_is_read(anchored):
    seen = []

    def looking(engine, budget, journal, progress):
        seen.append((heads(anchored)[-1], charged(anchored)[-1]))
        return open_curator(engine, budget, journal, progress)

    job = said(anchored.analyst.ask(anchored.table), 202)
    Worker(anchored.context, looking).work_once()
    assert anchored.analyst.job(job["id"])["state"] == "done"
    ((head, charge),) = seen
    assert head >= charge


def test_a_repeat_is_anchored_as_well_and_a_dry_run_is_not(anchored):
    other = anchored.add("ben", to=anchored.table)
    anchored.train(parameters={"random_state": 1})
    said(other.ask(anchored.table, parameters={"random_state": 1}), 202)
    anchored.work()
    assert heads(anchored)[-1] >= charged(anchored)[-1]
    before = len(heads(anchored))
    said(anchored.analyst.ask(anchored.table, kind="dry-runs"), 202)
    anchored.work()
    assert len(heads(anchored)) == before


def test_no_job_is_charged_while_the_witness_does_not_answer(anchored, monkeypatch):
    job = said(anchored.analyst.ask(anchored.table), 202)
    add, lines = FileWitness.add, FileWitness.lines

    def fail(*_, **__):
        raise WitnessError("the witness cannot be read")

    monkeypatch.setattr(FileWitness, "lines", fail)
    for _ in range(7):  # more than a job has attempts
        with pytest.raises(WitnessError):
            anchored.work()
    assert charged(anchored) == []
    ready = anchored.stranger().get("/ready")
    assert (ready.status_code, ready.json()["checks"]["witness"]) == (503, False)
    monkeypatch.setattr(FileWitness, "lines", lines)
    monkeypatch.setattr(FileWitness, "add", fail)  # and now in the worst moment: after the charge
    with pytest.raises(WitnessError):
        anchored.work()
    assert len(charged(anchored)) == 2
    monkeypatch.setattr(FileWitness, "add", add)
    anchored.clock.wait(minutes=5)
    anchored.work()
    found = anchored.analyst.job(job["id"])
    assert (found["state"], len(charged(anchored))) == ("done", 2)


def test_a_database_put_back_from_an_old_copy_sells_nothing(anchored, tmp_path, lines):
    copy = tmp_path / "copy.db"
    back_up(anchored.database, copy)
    anchored.train()
    anchored.database.close()
    for left in anchored.folder.glob("server.db*"):
        left.unlink()
    shutil.copy(copy, anchored.folder / "server.db")
    anchored.set()  # the server starts again
    anchored.context.watch.compare(whole=True)
    message = refused(anchored.analyst.ask(anchored.table), "unavailable")
    assert "does not check" in message
    assert "entry" not in message, "analysts are not told what it is"
    (found,) = [line for line in lines if line["event"] == "the ledger does not check"]
    assert "put back from an old copy" in found["problem"]
    assert not look(anchored.context).holds
    assert anchored.stranger().get("/ready").json()["checks"]["ledger"] is False
    before = len(heads(anchored))
    keep_time(anchored.context)
    assert len(heads(anchored)) == before, "a chain that does not fit is never anchored"


def test_a_copy_with_the_charge_and_without_the_answer_draws_no_second_answer(anchored, tmp_path):
    """One charge is one draw, also where the database was put back to the middle of a job."""
    copy = tmp_path / "copy.db"

    def copying(engine, budget, journal, progress):
        back_up(anchored.database, copy)
        return open_curator(engine, budget, journal, progress)

    job = said(anchored.analyst.ask(anchored.table), 202)["id"]
    Worker(anchored.context, copying).work_once()
    assert anchored.analyst.job(job)["state"] == "done"
    anchored.database.close()
    for left in anchored.folder.glob("server.db*"):
        left.unlink()
    shutil.copy(copy, anchored.folder / "server.db")
    anchored.set()
    assert anchored.context.watch.compare(whole=True) == [], "no charge is missing"
    anchored.clock.wait(minutes=5)
    anchored.work()
    found = anchored.analyst.job(job)
    assert (found["state"], len(charged(anchored))) == ("failed", 2)
    assert "its charge is kept" in found["problem"]
    assert anchored.analyst.get(f"/v1/forests/{job}").status_code != 200


def test_an_anchored_answer_is_stored_as_soon_as_the_database_is_back(anchored, monkeypatch):
    """Before, the next attempt found that the job had ended, and failed it with its charge."""
    finish, tries = lifecycle.finish, []

    def fail_twice(*given):
        tries.append(given)
        if len(tries) <= 2:
            raise StoreError("the database cannot be reached")
        finish(*given)

    monkeypatch.setattr(worker, "_STORE_PAUSE", 0)
    monkeypatch.setattr(lifecycle, "finish", fail_twice)
    job = said(anchored.analyst.ask(anchored.table), 202)["id"]
    anchored.work()
    assert anchored.analyst.job(job)["state"] == "done"
    assert (len(tries), len(charged(anchored))) == (3, 2)


def test_nothing_slow_lies_between_the_anchor_of_an_answer_and_its_storing(anchored, monkeypatch):
    """A worker that is killed there has charged for an answer that nobody gets."""
    done, anchor, pack, finish = [], Watch.anchor, worker.pack, lifecycle.finish

    def noted(what, function):
        return lambda *given, **named: done.append(what(named)) or function(*given, **named)

    monkeypatch.setattr(worker, "pack", noted(lambda _: "pack", pack))
    monkeypatch.setattr(Watch, "anchor", noted(lambda named: f"anchor{len(named)}", anchor))
    monkeypatch.setattr(lifecycle, "finish", noted(lambda _: "finish", finish))
    anchored.train()
    assert done[-3:] == ["pack", "anchor1", "finish"]


def test_a_running_server_finds_it_within_a_minute(anchored, witness, key):
    """Another server of the same witness has sold what this database does not hold."""
    head = anchored.entries()[-1]
    signer = Signer.load(key)
    FileWitness(witness).add(signer.sign(head.id + 9, "ab" * 32, "2030-01-01T00:00:00").to_line())
    keep_time(anchored.context)
    refused(anchored.analyst.ask(anchored.table), "unavailable")


def test_an_operator_who_gives_anchors_up_sells_again(anchored, witness, key, monkeypatch):
    signer = Signer.load(key)
    FileWitness(witness).add(signer.sign(99, "ab" * 32, "2030-01-01T00:00:00").to_line())
    variables = {"FRITH_ANCHOR_KEY": str(key), "FRITH_ANCHOR_WITNESS": str(witness),
                 "FRITH_DATABASE": anchored.settings.database}  # fmt: skip
    run = CliRunner()
    found = run.invoke(app, ["anchor", "check"], env=variables)
    assert found.exit_code == 1
    assert "had 99" in " ".join(found.output.split())
    assert run.invoke(app, ["anchor", "begin"], env=variables).exit_code == 2
    given_up = run.invoke(app, ["anchor", "forget", "the disk burned"], env=variables)
    assert given_up.exit_code == 0, given_up.output
    checked = run.invoke(app, ["anchor", "check"], env=variables)
    assert checked.exit_code == 0
    assert "the disk burned" in checked.output
    assert run.invoke(app, ["anchor", "forget", "again"], env=variables).exit_code == 2
    anchored.train()


def test_a_new_ledger_is_anchored_by_itself_and_one_with_entries_by_its_operator(
    house, key, witness, tmp_path
):
    house.set(anchor_key=str(key), anchor_witness=str(witness))
    house.context.watch.begin()
    assert not witness.exists(), "it has entries: they might be the rest of more"
    (fault,) = house.context.watch.compare(whole=True)
    assert "frith anchor begin" in fault.text
    variables = {"FRITH_ANCHOR_KEY": str(key), "FRITH_ANCHOR_WITNESS": str(witness)}
    begun = CliRunner().invoke(
        app, ["anchor", "begin", "--database", house.settings.database], env=variables
    )
    assert begun.exit_code == 0, begun.output
    assert look(house.context).holds
    house.train()


def test_a_server_that_begins_without_entries_is_anchored_from_the_first_on(tmp_path, key, witness):
    settings = Settings(
        database=str(tmp_path / "new.db"), anchor_key=str(key), anchor_witness=str(witness)
    )
    for _ in range(2):
        context = open_context(settings)
        context.watch.begin()
        assert context.watch.compare(whole=True) == []
        context.database.close()
    assert len([line for line in FileWitness(witness).lines() if line]) == 1


def test_keys_are_made_for_their_owner_alone_and_never_overwritten(tmp_path):
    file, run = tmp_path / "key.pem", CliRunner()
    made = run.invoke(app, ["anchor", "key", str(file)])
    assert made.exit_code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert Signer.load(file).key in made.output
    before = file.read_bytes()
    assert run.invoke(app, ["anchor", "key", str(file)]).exit_code == 2
    assert file.read_bytes() == before


def test_a_running_server_with_an_old_copy_refuses_until_its_operator_has_decided(
    tmp_path, key, witness
):
    """`frith serve` from an empty ledger on; its disk is lost; the old copy neither sells nor is put back."""
    server = ServerProcess(
        tmp_path, epsilon="4", anchor_key=str(key), anchor_witness=str(witness), lease_seconds=2
    )
    variables = {f"FRITH_{name.upper()}": str(v) for name, v in server.settings.items()}
    run = CliRunner()
    assert run.invoke(app, ["anchor", "begin"], env=variables).exit_code == 0
    path = f"/v1/tables/{server.table}/forests"
    body = {"epsilon": "1", "learner": "random-decision", "parameters": {"n_trees": 2}}
    with server, server.client(server.sample.analyst_token) as client:
        old = tmp_path / "old.db"
        assert run.invoke(app, ["backup", str(old)], env=variables).exit_code == 0
        job = client.post(path, json=body).json()["id"]
        assert client.get_until_done(job)["state"] == "done"
        server.kill()
        for left in tmp_path.glob("server.db*"):
            left.unlink()
        kept = run.invoke(app, ["restore", str(old)], env=variables)
        assert kept.exit_code == 2
        assert "is not put back" in " ".join(kept.output.split())
        shutil.copy(old, tmp_path / "server.db")  # so the operator insists
        server.start()
        answer = client.post(path, json=body)
        assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
        assert httpx2.get(f"{server.url}/ready").status_code == 503
        charge = ["ledger", "charge", "--epsilon", "1", "--account", server.table]
        charge += ["--purpose", "the receipt that an analyst holds", server.settings["database"]]
        paid = run.invoke(app, charge, env=variables)
        assert paid.exit_code == 0, paid.output
        assert (
            run.invoke(app, ["anchor", "forget", "the disk was lost"], env=variables).exit_code == 0
        )
        with server.client(server.sample.curator_token) as curator:
            assert curator.get("/v1/ledger/verification").json()["problems"] == []
        job = client.post(path, json=body).json()["id"]
        assert client.get_until_done(job)["state"] == "done"
