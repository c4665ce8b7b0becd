"""Workers: what a job leaves behind when a worker dies, loses it, or cannot read the records."""

import json
import re
import threading
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from frith.client.kinds import JobKind
from frith.engines.files import FileEngine
from frith.forest import Forest
from frith.ledger.database import Database, StoreError
from frith.privacy.sources import JournaledSource, NoiseSource, OpenDPSource
from frith.server.auth.members import get_member, issue_token
from frith.server.budget.amounts import read_budget
from frith.server.budget.tables import see
from frith.server.context import Context
from frith.server.jobs import history, lifecycle, queue
from frith.server.jobs.journal import pack, unpack
from frith.server.jobs.requests import ask_to_train
from frith.server.jobs.work import Work
from frith.server.problems import FAILED, FAILED_FREE, Problem
from frith.server.run import worker
from frith.server.run.sample import fill, with_sample
from frith.server.run.worker import Worker, open_curator
from frith.server.schema import Job, Journal, Release
from frith.server.settings import Settings
from tests.server.conftest import QUICK, Person, refused, said, shared_app

LEVELS = {"learner": "gini", "parameters": {"max_depth": 3}, "epsilon": "1"}
"""A request of several passes."""


class Killed(BaseException):
    """What `kill -9` is to a worker: nothing after it runs."""


class Counted(NoiseSource):
    """A source in front of the real one, which counts what was drawn and keeps it."""

    def __init__(self, source):
        self.source, self.drawn = source, []

    states = None

    def perturb(self, *args):
        return self._keep(self.source.perturb(*args))

    def choose(self, *args):
        return self._keep(self.source.choose(*args))

    def choose_signs(self, *args):
        return self._keep(self.source.choose_signs(*args))

    def choose_labels(self, *args):
        return self._keep(self.source.choose_labels(*args))

    def _keep(self, answer):
        self.drawn.append(answer)
        return answer


class Lab:
    """Makes curators that are counted, and that die when their pass number `dies_at` begins."""

    def __init__(self, dies_at=None):
        self.dies_at, self.journals = dies_at, []

    def __call__(self, engine, budget, journal, progress):
        passes = Counter()

        def begin(purpose):
            progress(purpose)
            passes["begun"] += 1
            if passes["begun"] == self.dies_at:
                raise Killed

        journal._source = Counted(journal._source)
        self.journals.append(journal)
        return open_curator(engine, budget, journal, begin)

    @property
    def drawn(self):
        return [len(j._source.drawn) for j in self.journals]


def attempt(house, lab):
    """One worker's attempt, which may die."""
    worker = Worker(house.context, lab)
    try:
        worker.work_once()
    except Killed:
        return "killed"
    return "lived"


def stored_answers(house, job):
    with house.database.read() as session:
        return lifecycle.answers(session, job)


def rows(house, kind):
    with house.database.read() as session:
        return list(session.query(kind))


def ask(house, **body):
    return said(house.analyst.ask(house.table, **(LEVELS | body)), 202)["id"]


# -- dying -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", ["gini", "id3", "forest", "info-gain"])
@pytest.mark.parametrize("dies_at", [1, 2])
def test_a_rerun_repeats_what_was_stored_and_draws_only_what_was_not(house, learner, dies_at):
    job = ask(house, learner=learner, parameters={})
    first, second = Lab(dies_at), Lab()
    assert attempt(house, first) == "killed"
    stored = stored_answers(house, job)
    assert first.drawn == [len(stored)], "everything drawn was stored before the pass was shown"
    charged = house.entries()
    assert not house.worker.work_once(), "its worker may be alive"
    house.clock.move(seconds=61)
    assert attempt(house, second) == "lived"
    (journal,) = second.journals
    assert journal._stored == stored, "and they are given again"
    assert journal._given == len(stored)
    assert house.analyst.job(job)["state"] == "done"
    assert house.entries() == charged, "under the same receipt"


def test_the_release_after_a_crash_is_the_one_that_the_stored_answers_lead_to(house):
    """Learning again from all answers, the stored ones and the new, gives the same forest."""
    job = ask(house)
    attempt(house, Lab(3))
    stored = stored_answers(house, job)
    house.clock.move(seconds=61)
    attempt(house, second := Lab())
    fresh = [
        answer.tolist() if isinstance(answer, np.ndarray) else answer
        for answer in second.journals[0]._source.drawn
    ]
    assert len(stored) > 0
    assert len(fresh) > 0
    with house.database.read() as session:
        row = session.get(Job, job)
        work = Work(session, row, house.settings)
    journal = JournaledSource(OpenDPSource(), [*stored, *fresh])
    released = Forest.from_json(said(house.analyst.get(f"/v1/forests/{job}"))["forest"])
    with work.opened() as engine:
        curator = open_curator(engine, work.asked.budget, journal, lambda purpose: None)
        assert Forest.from_json(work.run(curator)["forest"]) == released


def test_passes_do_not_fall_back_or_run_away_when_a_job_is_rerun(house):
    job = ask(house)
    attempt(house, Lab(3))
    assert house.analyst.job(job)["passes"] == 3
    house.clock.move(seconds=61)
    attempt(house, Lab())
    rerun = house.analyst.job(job)["passes"]
    whole = house.train(**LEVELS | {"epsilon": "1.1"})["passes"]
    assert rerun == whole


def test_every_pass_may_be_the_last_of_an_attempt(house):
    job = ask(house)
    drawn = 0
    for dies_at in (1, 2, 3, 4):
        lab = Lab(dies_at)
        assert attempt(house, lab) == "killed"
        drawn += sum(lab.drawn)
        house.clock.move(seconds=61)
    stored = stored_answers(house, job)
    assert drawn == len(stored)
    assert attempt(house, Lab()) == "lived"
    assert house.analyst.job(job)["state"] == "done"


def test_attempts_that_opened_nothing_do_not_count_once_a_job_is_charged(house):
    """Before, a source that was away for a while left a charged job no second attempt."""
    job = said(house.analyst.ask(house.table, **LEVELS), 202)["id"]
    house.change_job(job, attempts=lifecycle.MAX_ATTEMPTS - 1)
    assert attempt(house, Lab(dies_at=2)) == "killed"
    house.clock.wait(seconds=61)
    assert attempt(house, Lab()) == "lived"
    assert house.analyst.job(job)["state"] == "done"


def test_a_job_is_given_up_after_so_many_attempts_and_its_charge_is_kept(house):
    job = ask(house)
    for _ in range(lifecycle.MAX_ATTEMPTS):
        assert attempt(house, Lab(1)) == "killed"
        house.clock.move(seconds=61)
    lab = Lab()
    assert attempt(house, lab) == "lived"
    assert lab.journals == []
    last = house.analyst.job(job)
    assert (last["state"], last["problem"]) == ("failed", FAILED)
    assert house.spent(house.own) == (1, 0)


def test_a_job_that_kills_workers_before_it_is_charged_is_given_up_for_free(house, monkeypatch):
    def die(self):
        raise Killed

    monkeypatch.setattr(Work, "rehearse", die)
    job = ask(house)
    for _ in range(lifecycle.MAX_ATTEMPTS):
        assert attempt(house, Lab()) == "killed"
        house.clock.move(seconds=61)
    attempt(house, Lab())
    last = house.analyst.job(job)
    assert (last["state"], last["problem"]) == ("failed", FAILED_FREE)
    assert house.spent(house.own) == house.spent(house.table) == (0, 0)


def test_a_journal_ends_with_its_job(house):
    ask(house)
    attempt(house, Lab(3))
    assert rows(house, Journal)
    house.clock.move(seconds=61)
    attempt(house, Lab())
    assert rows(house, Journal) == []


def test_a_journal_of_another_shape_is_not_believed():
    source = JournaledSource(None, [7])
    with pytest.raises(RuntimeError):
        source.choose([1, 2, 3], [0.0] * 3, None)


# -- losing a lease --------------------------------------------------------------------------------


def test_a_worker_that_lost_its_job_cannot_store_anything(house):
    job = ask(house)
    slow, quick = Worker(house.context), Worker(house.context)
    with house.database.write() as session:
        lifecycle.take(house.context, session, slow.name)
        lifecycle.start(house.context, session, job, slow.name, [])
    house.clock.move(seconds=61)
    assert quick.work_once()
    released = house.analyst.get(f"/v1/forests/{job}").content
    for late in (
        lambda s: lifecycle.finish(house.context, s, job, slow.name, b"other"),
        lambda s: lifecycle.advance(house.context, s, job, slow.name, "pass", b"1", 1),
        lambda s: lifecycle.renew(house.context, s, job, slow.name),
        lambda s: lifecycle.start(house.context, s, job, slow.name, []),
    ):
        with pytest.raises(lifecycle.Lost), house.database.write() as session:
            late(session)
    assert house.analyst.get(f"/v1/forests/{job}").content == released
    assert len(rows(house, Release)) == 1


def test_a_worker_that_is_overtaken_midway_stops_and_leaves_the_job_to_the_other(house):
    job = ask(house)

    class Overtaken(Lab):
        def __call__(self, engine, budget, journal, progress):
            house.change_job(job, worker="another")
            return super().__call__(engine, budget, journal, progress)

    worker = Worker(house.context, Overtaken())
    assert worker.work_once()
    assert house.analyst.job(job)["state"] == "running"
    assert rows(house, Release) == []


def test_a_heartbeat_keeps_a_long_job(house):
    house.set(lease_seconds=0.4)
    job = ask(house)
    with house.database.write() as session:
        lifecycle.take(house.context, session, house.worker.name)
    before = rows(house, Job)[0].lease
    beaten = threading.Event()
    renew = lifecycle.renew

    def renewed(*args):
        renew(*args)
        beaten.set()

    house.clock.move(seconds=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lifecycle, "renew", renewed)
        with house.worker._heartbeat(job):
            assert beaten.wait(120)
    assert rows(house, Job)[0].lease > before


def test_one_job_is_taken_by_one_worker(house):
    for epsilon in ("0.1", "0.2", "0.3"):
        ask(house, **QUICK, epsilon=epsilon)
    taken = []

    def take(name):
        with house.database.write() as session:
            job = lifecycle.take(house.context, session, name)
            taken.append(job and job.id)

    threads = [threading.Thread(target=take, args=(f"w{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [job for job in taken if job]
    assert len(found) == len(set(found)) == 3


@pytest.fixture(params=["sqlite", "postgres"])
def context(house, request, tmp_path):
    """The state of a server on either database."""
    if request.param == "sqlite":
        yield house.context
        return
    url = request.getfixturevalue("postgres_database")
    database = Database(url)
    database.upgrade()
    context = Context(database, with_sample(Settings(database=url), tmp_path), house.clock)
    fill(context, tmp_path, "40")
    yield context
    database.close()


def test_cancelling_and_starting_at_once_is_one_or_the_other(context):
    """Either the reservation went back and nothing was charged, or it is charged for good."""
    for number in range(6):
        job = accept(context, f"0.{number + 1}")
        with context.database.write() as session:
            lifecycle.take(context, session, "w")
        outcomes = in_threads(lambda j=job: start(context, j), lambda j=job: cancel(context, j))
        assert sorted(outcomes) in (["done", "lost"], ["done", "done"]), outcomes
        with context.database.read() as session:
            kinds = [e.kind for e in context.book(session).entries(request=job)]
            state = session.get(Job, job).state
            assert context.book(session).verify().holds
        ends = {"failed": "charge", "cancelled": "release"}
        assert kinds == ["reserve"] * 2 + [ends[state]] * 2


def test_the_same_request_twice_at_once_is_one_job(context):
    for number in range(4):
        epsilon = f"0.{number + 1}"
        found = in_threads(*[lambda e=epsilon: accept(context, e)] * 4)
        assert len(set(found)) == 1, found
        keyed = in_threads(*[lambda e=epsilon: accept(context, e, f"key-{e}", n_trees=2)] * 4)
        assert len(set(keyed)) == 1, keyed
    with context.database.read() as session:
        assert session.query(Job).count() == 8


def test_metrics_say_how_long_jobs_took(context, house):
    for epsilon, seconds in (("0.1", 3.25), ("0.2", 0.5)):
        job = accept(context, epsilon)
        with context.database.write() as session:
            lifecycle.take(context, session, "w")
        start(context, job)
        house.clock.move(seconds=seconds)
        with context.database.write() as session:
            lifecycle.finish(context, session, job, "w", pack({}))
    accept(context, "0.3")
    with context.database.write() as session:
        token = issue_token(context, session, "carla").text
    text = Person(shared_app(context), "carla", token).get("/metrics").text
    assert 'frith_job_seconds_count{kind="train"} 2.0' in text
    took = float(re.search(r'frith_job_seconds_sum{kind="train"} (\S+)', text)[1])
    assert took == pytest.approx(3.75, abs=2e-3)


def accept(context, epsilon, key=None, **parameters):
    with context.database.write() as session:
        member = get_member(session, "ana")
        view = see(session, "nursery", member)
        budget = read_budget(epsilon)
        asked = ask_to_train(JobKind.TRAIN, "random-decision", budget, parameters, view.domain)
        return queue.accept(context, session, view, member, asked, key).id


def start(context, job):
    try:
        with context.database.write() as session:
            lifecycle.start(context, session, job, "w", [])
    except lifecycle.Lost:
        return "lost"
    return "done"


def cancel(context, job):
    try:
        with context.database.write() as session:
            found = history.find_job(session, job, get_member(session, "ana"))
            lifecycle.cancel(context, session, found, get_member(session, "ana"))
    except Problem:
        return "refused"
    return "done"


def in_threads(*acts):
    outcomes, gate = [], threading.Barrier(len(acts))

    def run(act):
        gate.wait()
        try:
            outcomes.append(act())
        except Exception as error:  # noqa: BLE001 - told to the test
            outcomes.append(repr(error))

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


# -- paying, reading, storing ----------------------------------------------------------------------


def test_the_charge_is_written_after_the_source_is_opened_and_before_a_record_is_read(
    house, monkeypatch
):
    seen = []
    scan, opened = FileEngine.scan, FileEngine.__init__

    def spied_scan(self, columns):
        seen.append(("read", house.spent(house.own)))
        return scan(self, columns)

    def spied_open(self, *args, **kwargs):
        seen.append(("opened", house.spent(house.own)))
        opened(self, *args, **kwargs)

    job = ask(house)
    monkeypatch.setattr(FileEngine, "scan", spied_scan)
    monkeypatch.setattr(FileEngine, "__init__", spied_open)
    house.work()
    assert house.analyst.job(job)["state"] == "done"
    assert seen[0] == ("opened", (0, 1))
    assert set(seen[1:]) == {("read", (1, 0))}


def test_a_release_is_stored_before_done_shows(house, monkeypatch):
    """Whoever looks from elsewhere while it is stored sees a running job, or both."""
    job = ask(house, **QUICK)
    finish, looks = lifecycle.finish, []

    def finish_and_look(context, session, *args):
        finish(context, session, *args)
        session.flush()
        looks.append(house.analyst.job(job)["state"])
        looks.append(len(rows(house, Release)))

    monkeypatch.setattr(lifecycle, "finish", finish_and_look)
    house.work()
    assert looks == ["running", 0]
    assert house.analyst.job(job)["state"] == "done"
    assert len(rows(house, Release)) == 1


def test_a_worker_that_dies_while_it_stores_leaves_all_or_nothing(house, monkeypatch):
    job = ask(house, **QUICK)
    finish = lifecycle.finish

    def die(context, session, *args):
        finish(context, session, *args)
        session.flush()
        raise Killed

    monkeypatch.setattr(lifecycle, "finish", die)
    assert attempt(house, Lab()) == "killed"
    assert house.analyst.job(job)["state"] == "running"
    assert rows(house, Release) == []
    monkeypatch.undo()
    house.clock.move(seconds=61)
    assert attempt(house, Lab()) == "lived"
    assert len(rows(house, Release)) == 1
    assert house.spent(house.own) == (1, 0)


def test_what_cannot_be_read_fails_with_one_message_and_keeps_the_charge(house, monkeypatch, lines):
    messages = set()
    for number, error in enumerate((MemoryError(), KeyError("Mr Smith"), OSError("Mr Smith"))):

        def broken(self, kernel, error=error):
            raise error

        monkeypatch.setattr(FileEngine, "aggregate", broken)
        job = ask(house, epsilon=f"0.{number + 1}")
        house.work()
        messages.add(house.analyst.job(job)["problem"])
        refused(house.analyst.get(f"/v1/forests/{job}"), "not_ready")
    assert messages == {FAILED}
    assert house.spent(house.own) == (Fraction(6, 10), 0)
    assert "Smith" not in json.dumps(lines)
    assert "parquet" not in json.dumps(lines)


def test_parameters_that_cannot_work_are_refused_before_the_charge(house):
    for kind, message in (("forests", "nothing was charged"), ("dry-runs", "nothing was charged")):
        bad = {"n_trees": 0}
        job = said(house.analyst.ask(house.table, parameters=bad, kind=kind), 202)["id"]
        house.work()
        last = house.analyst.job(job)
        assert last["state"] == "failed"
        assert message in last["problem"]
        assert "n_trees" in last["problem"]
    assert house.spent(house.own) == house.spent(house.table) == (0, 0)
    kinds = [e.kind for e in house.entries() if e.account == house.own]
    assert kinds == ["budget", "reserve", "release"]


def test_questions_with_too_many_cells_are_refused_before_the_charge(house):
    job = ask(house, learner="random-decision", parameters={"n_trees": 100, "max_depth": 6})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("frith.kernels.closed.MAX_CELLS", 1_000)
        house.work()
    last = house.analyst.job(job)
    assert last["state"] == "failed"
    assert "cells" in last["problem"]
    assert house.spent(house.own) == (0, 0)


def test_a_database_that_fails_midway_is_no_failure_of_the_job(house, monkeypatch):
    """Nothing is known to be lost, so the job is taken up again under its receipt."""
    job = ask(house, **QUICK)

    def fail(*args):
        raise StoreError("the disk is full")

    monkeypatch.setattr(lifecycle, "finish", fail)
    monkeypatch.setattr(worker, "_STORE_PAUSE", 0)
    with pytest.raises(StoreError):
        house.worker.work_once()
    assert house.analyst.job(job)["state"] == "running"
    monkeypatch.undo()
    house.clock.move(seconds=61)
    house.work()
    assert house.analyst.job(job)["state"] == "done"
    assert house.spent(house.own) == (1, 0)


def test_no_exact_sum_is_ever_stored(house, monkeypatch):
    """Nothing in the database holds an exact sum: neither while a job runs nor afterwards."""
    sums = []
    aggregate = FileEngine.aggregate

    def spied(self, kernel):
        found = aggregate(self, kernel)
        sums.append(found.copy())
        return found

    monkeypatch.setattr(FileEngine, "aggregate", spied)
    job = ask(house, **QUICK, epsilon="0.5")
    assert attempt(house, Lab()) == "lived"
    job2 = ask(house, learner="c45", parameters={}, epsilon="0.5")
    attempt(house, Lab(4))
    exact = [s for s in sums if s.size > 20]
    assert exact
    kept = [unpack(row.document) for row in rows(house, Release)]
    kept += [unpack(row.answers) for row in rows(house, Journal)]
    assert rows(house, Journal), (job, job2)
    text = json.dumps(kept)
    for found in exact:
        flat = json.dumps(found.ravel().tolist())[1:-1]
        assert flat not in text
        assert json.dumps(found.tolist())[1:-1] not in text


def test_packed_bytes_are_a_function_of_the_data():
    data = {"b": [1, 2, {"c": "é"}], "a": None}
    assert pack(data) == pack(json.loads(json.dumps(data)))
    assert unpack(pack(data)) == data
