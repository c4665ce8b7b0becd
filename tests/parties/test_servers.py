"""Three real servers on loopback, each with its own table, ledger and budget, train one forest."""

import json
import time
from fractions import Fraction

import numpy as np
import pytest
from sqlalchemy import select

import frith
from benchmarks.server_process import ServerProcess
from frith.errors import RemoteError
from frith.kernels import RecordCount
from frith.parties import Keys, MergeError, OpenSum, ServerParty, train_between, train_together
from frith.parties.binding import terms_of
from frith.parties.masks import Round
from frith.privacy.exact import show
from frith.server.schema import Job, Release

pytestmark = pytest.mark.xdist_group("three servers")
NAMES = ("east", "north", "west")
TIMEOUT = (
    600  # seconds for those who live; who is dead refuses the connection, and is known at once
)


@pytest.fixture(scope="module")
def servers(tmp_path_factory):
    keys = {name: Keys.new(name) for name in NAMES}
    publics = {name: key.public for name, key in keys.items()}
    running = {}
    for name in NAMES:
        folder = tmp_path_factory.mktemp(name)
        file = folder / "keys.json"
        peers = {n: k for n, k in publics.items() if n != name}
        file.write_text(json.dumps({"party": name, "secret": keys[name].secret, "peers": peers}))
        running[name] = ServerProcess(
            folder, epsilon="50", party_keys=str(file), lease_seconds=1
        ).start()
    yield running
    for server in running.values():
        server.__exit__()


@pytest.fixture
def connections(servers):
    """To all three; a server that an earlier test has killed is started again."""
    for server in servers.values():
        if server.process.poll() is not None:
            server.start()
    return {n: frith.connect(s.url, s.sample.analyst_token) for n, s in servers.items()}


def table(servers):
    return servers["east"].table


def check_books(servers):
    """No release without a receipt, one receipt a release, and every chain holds."""
    for server in servers.values():
        context = server.context()
        with context.database.read() as session:
            book = context.book(session)
            charged = [e.request for e in book.entries(server.table) if e.kind == "charge"]
            assert book.verify().holds
            assert len(charged) == len(set(charged))
            assert set(session.scalars(select(Release.job))) <= set(charged)
        context.database.close()


@pytest.mark.parametrize("learner", ["random-decision", "c45"])
def test_servers_train_together(servers, connections, learner):
    model = train_between(connections, table(servers), learner, epsilon="0.5", disjoint=True)
    assert model.forest_.guarantee.epsilon <= frith.Budget.of("0.5").epsilon
    assert [p.party for p in model.forest_.guarantee.parties] == list(NAMES)
    assert model.failures_ == {}
    check_books(servers)


def test_without_a_declaration_epsilons_add(servers, connections):
    model = train_between(connections, table(servers), epsilon="0.5", random_state=5)
    assert model.forest_.guarantee.epsilon == frith.Budget.of("1.5").epsilon


def test_a_secure_sum_sees_less_noise_and_says_whom_it_trusts(servers, connections):
    asked = {"epsilon": "0.25", "disjoint": True, "random_state": 7}
    open_ = train_between(connections, table(servers), **asked)
    secure = train_between(connections, table(servers), secure=True, **asked)
    leaf = open_.forest_.trees.leaves[0]
    assert secure.forest_.variance[leaf] == pytest.approx(open_.forest_.variance[leaf] / 2)
    assert "at most 1 of the 3 parties put together what they know" in str(secure.forest_.guarantee)
    sizes = [m.forest_.values[m.forest_.trees.roots].sum(axis=1).mean() for m in (open_, secure)]
    noise = np.sqrt(open_.forest_.variance[open_.forest_.trees.roots].max() * 10)
    assert abs(sizes[0] - sizes[1]) < 6 * noise
    check_books(servers)


def kill_before_asking(server, party):
    server.kill()


def kill_when_accepted(server, party):
    wait = party._wait

    def killed(job):
        server.kill()
        return wait(job)

    party._wait = killed


STEPS = {"before it is asked": kill_before_asking, "when it has accepted": kill_when_accepted}


@pytest.mark.parametrize("step", list(STEPS))
def test_a_party_that_dies_is_named_and_the_rest_still_merge(servers, connections, step):
    parties = {
        n: ServerParty(c, table(servers), epsilon="0.5", timeout=TIMEOUT)
        for n, c in connections.items()
    }
    STEPS[step](servers["north"], parties["north"])
    panel = OpenSum(parties, disjoint=True, allow_missing=True)
    domain = parties["east"].domain
    seed = list(STEPS).index(step) + 11
    learner = frith.RandomDecisionForestClassifier(domain, epsilon="0.5", random_state=seed)
    model = train_together(learner, panel)
    assert list(panel.failures) == ["north"]
    assert [p.party for p in model.forest_.guarantee.parties] == ["east", "west"]
    check_books(servers)


def test_a_party_that_is_down_at_the_start_is_named(servers, connections):
    servers["west"].kill()
    with pytest.raises(MergeError, match="west failed"):
        train_between(connections, table(servers), epsilon="0.5", timeout=TIMEOUT)
    model = train_between(
        connections, table(servers), epsilon="0.5", timeout=TIMEOUT, allow_missing=True
    )
    assert list(model.failures_) == ["west"]


def test_a_secure_round_that_a_party_leaves_is_spent_and_named(servers, connections):
    table_ = table(servers)
    before = connections["east"].budget(table_).spent
    parties = {
        n: ServerParty(c, table_, epsilon="0.5", timeout=TIMEOUT) for n, c in connections.items()
    }
    from frith.parties import SecureSum

    panel = SecureSum(parties, disjoint=True)
    servers["west"].kill()
    learner = frith.RandomDecisionForestClassifier(parties["east"].domain, random_state=3)
    with pytest.raises(MergeError, match="west failed"):
        train_together(learner, panel)
    assert connections["east"].budget(table_).spent - before == frith.Budget.of("0.5").epsilon
    check_books(servers)


def test_a_party_over_its_budget_is_named(servers, connections):
    with pytest.raises(MergeError, match="east failed: .* left"):
        train_between(connections, table(servers), epsilon="60")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda said: said | {"question": "0" * 64}, "another question"),
        (lambda said: said | {"values": said["values"][:-1]}, "another shape"),
    ],
)
def test_a_replayed_or_malformed_answer_is_refused(
    servers, connections, monkeypatch, change, reason
):
    wait = ServerParty._wait

    def tampered(self, job):
        answer = wait(self, job)
        return answer | {"counts": change(answer["counts"])} if self.name == "north" else answer

    monkeypatch.setattr(ServerParty, "_wait", tampered)
    monkeypatch.setattr(
        ServerParty, "name", property(lambda self: _name(self, connections)), raising=False
    )
    with pytest.raises(MergeError, match=f"north failed: .*{reason}"):
        train_between(connections, table(servers), epsilon="0.5", random_state=21)


def _name(party, connections):
    return next(n for n, c in connections.items() if c is party._database)


def test_a_key_that_was_not_agreed_on_is_refused(servers, connections):
    stranger = Keys.new("west")
    parties = {n: ServerParty(c, table(servers), epsilon="0.5") for n, c in connections.items()}
    parties["west"].__dict__["public_key"] = stranger.public
    from frith.parties import SecureSum

    learner = frith.RandomDecisionForestClassifier(parties["east"].domain, random_state=4)
    with pytest.raises(MergeError, match="the key of west is not the one"):
        train_together(learner, SecureSum(parties, disjoint=True))


def test_a_round_about_another_unit_is_refused_and_costs_nothing(servers, connections):
    """The others would be asked in rho for the number that this one is asked for in epsilon."""
    rho = frith.Budget.of("0.9", "1e-6")
    party = ServerParty(connections["east"], table(servers), epsilon=show(rho.total))
    keys = {name: c.party().key for name, c in connections.items()}
    whole = Fraction(1)
    terms = terms_of(RecordCount(), party.domain, rho, whole, keys=keys, colluders=1)
    spent = connections["east"].budget(table(servers)).spent
    with pytest.raises(RemoteError, match="about another question, budget or mechanism"):
        party.masked_answer(RecordCount(), whole, "", Round("s", 1, 1, terms.digest, keys))
    assert connections["east"].budget(table(servers)).spent == spent


def test_a_question_that_is_repeated_is_answered_from_the_store(servers, connections):
    asked = {"epsilon": "0.5", "disjoint": True, "random_state": 5}
    first = train_between(connections, table(servers), **asked)
    spent = connections["east"].budget(table(servers)).spent
    again = train_between(connections, table(servers), **asked)
    assert connections["east"].budget(table(servers)).spent == spent
    assert again.forest_ == first.forest_


def test_a_slow_party_is_not_waited_for_forever(servers, connections, monkeypatch):
    party = ServerParty(connections["east"], table(servers), epsilon="0.5", timeout=0.2)
    monkeypatch.setattr("frith.client.jobs.Job.is_over", property(lambda self: False))
    with pytest.raises(RemoteError, match="within 0.2 s"):
        party._wait(connections["east"].jobs()[0])


def test_no_job_is_left_behind(servers, connections):
    context = servers["east"].context()
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        with context.database.read() as session:
            states = set(session.scalars(select(Job.state)))
        if states <= {"done", "failed", "cancelled"}:
            break
        time.sleep(0.2)
    context.database.close()
    assert states <= {"done", "failed", "cancelled"}
