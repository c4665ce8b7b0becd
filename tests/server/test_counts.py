"""Counts for several parties: a mask hides one answer, and a question says no more than it asks."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from frith import Budget, Person
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LeafCounts, RecordCount
from frith.parties.binding import terms_of
from frith.parties.masks import Keys, PairMasks, Round
from frith.parties.questions import question_to_json
from frith.privacy.exact import show
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.schema import Member
from tests.server.conftest import at, refused, said

QUESTION = question_to_json(RecordCount())


@pytest.fixture
def peer(house):
    """Another party; the server knows its key."""
    own, other = Keys.new("here"), Keys.new("there")
    house.set(party_keys=write_keys(house, own, {"there": other.public}))
    return other.knowing({"here": own.public})


def write_keys(house, own, peers):
    path = house.folder / f"{own.party}.json"
    keys = {"party": own.party, "secret": own.secret, "peers": peers}
    path.write_text(json.dumps(keys))
    return str(path)


@pytest.fixture
def domain(house):
    with house.database.read() as session:
        return tables.domain_of(tables.get_table(session, house.table))


def about_records(domain, budget, keys):
    return terms_of(RecordCount(), domain, budget, Fraction(1), keys=keys, colluders=1).digest


def body(domain, peer, epsilon="1", **change):
    keys = {"here": peer.peers["here"], "there": peer.public}
    about = about_records(domain, Budget.of(epsilon), keys)
    round = {"session": "s", "attempt": 1, "question": 0, "about": about, "keys": keys} | change
    asked = {"epsilon": epsilon, "question": QUESTION, "domain": domain.fingerprint}
    return asked | {"round": round}


def ask(person, table, asked):
    return person.post(f"/v1/tables/{table}/counts", json=asked)


def counts(house, person, job):
    house.work()
    return said(person.get(f"/v1/counts/{job}"))


def test_a_masked_answer_is_hidden_charged_and_given_again(house, peer, domain):
    asked = body(domain, peer)
    job = said(ask(house.analyst, house.table, asked), 202)["id"]
    answer = counts(house, house.analyst, job)
    (hidden,) = answer["counts"]["values"]
    mask = PairMasks(peer, Round(**asked["round"])).hide(np.zeros(1, np.int64))
    bare = (np.array([hidden], np.uint64) + mask).view(np.int64)[0]
    assert abs(bare - 10_368) < 500, "the other party's mask takes this one off"
    assert abs(int(np.uint64(hidden).astype(np.int64))) > 10**6
    assert said(ask(house.analyst, house.table, asked), 202)["id"] == job
    assert house.spent(house.table) == house.spent(house.own) == (1, 0)


def test_one_mask_never_hides_two_answers(house, peer, domain):
    """Not of another table or version, and not for another analyst; the first answer stays."""
    other = house.register("other")
    bea = house.add("bea", to=house.table)
    asked = body(domain, peer)
    job = said(ask(house.analyst, house.table, asked), 202)["id"]
    refused(ask(house.analyst, other, asked), "conflict")
    refused(ask(bea, house.table, asked), "conflict")
    first = counts(house, house.analyst, job)
    refused(ask(house.analyst, other, asked), "conflict")
    repeat = said(ask(bea, house.table, asked), 202)["id"]
    assert counts(house, bea, repeat)["counts"] == first["counts"]
    said(house.curator.post(f"/v1/tables/{house.table}/version"))
    refused(ask(house.analyst, house.table, asked), "conflict")
    assert house.spent(house.table) == (1, 0)
    assert house.spent(other) == (0, 0)
    again = body(domain, peer, attempt=2)
    said(ask(house.analyst, house.table, again), 202)
    house.work()
    assert house.spent(house.table) == (2, 0), "another attempt is another charge"


def test_a_round_that_was_cancelled_can_be_asked_again(house, peer, domain):
    other = house.register("other")
    asked = body(domain, peer)
    job = said(ask(house.analyst, house.table, asked), 202)["id"]
    said(house.analyst.post(f"/v1/jobs/{job}/cancel"))
    said(ask(house.analyst, other, asked), 202)


def test_a_round_about_something_else_is_refused(house, peer, domain):
    stranger = Keys.new("there")
    keys = {"here": peer.peers["here"]}
    for change in (
        {"about": "0" * 64},
        {"keys": keys | {"there": stranger.public}},
        {"keys": keys},
        {"keys": {"there": peer.public, "else": peer.peers["here"]}},
        {"colluders": 2},
        {"colluders": 0},
    ):
        refused(ask(house.analyst, house.table, body(domain, peer, **change)), "invalid")
    cheap = body(domain, peer) | {"epsilon": "2"}
    refused(ask(house.analyst, house.table, cheap), "invalid")
    assert house.spent(house.own) == (0, 0)


@pytest.mark.parametrize("about", ["epsilon", "rho"])
def test_two_servers_do_not_answer_one_round_in_two_units(house, about):
    """Each is asked for the same number, one in epsilon and one in rho: one of them refuses."""
    table = house.register("other", delta="0.001")
    with house.database.read() as session:
        domain = tables.domain_of(tables.get_table(session, table))
    rings = [Keys.new(name) for name in ("a", "b", "c")]
    public = {k.party: k.public for k in rings}
    rho = Budget.of("0.9", "1e-6")
    budgets = {"epsilon": Budget.of(show(rho.total)), "rho": rho}
    assert len({b.total for b in budgets.values()}) == 1
    digest = about_records(domain, budgets[about], public)
    round = {"session": "s", "attempt": 1, "question": 0, "about": digest, "keys": public}
    for own, unit in zip(rings, ("epsilon", "rho"), strict=False):
        peers = {n: k for n, k in public.items() if n != own.party}
        house.set(party_keys=write_keys(house, own, peers))
        amounts = {n: show(getattr(budgets[unit], n)) for n in ("epsilon", "delta")}
        asked = {"question": QUESTION, "domain": domain.fingerprint, "round": round} | amounts
        answer = ask(house.analyst, table, asked)
        if unit == about:
            said(answer, 202)
        else:
            message = refused(answer, "invalid")
            assert "the round is about another question, budget or mechanism" in message
    house.work()
    assert [e.kind for e in house.entries() if e.account == table].count("charge") == 1


def test_a_masked_answer_states_whom_it_trusts(house, peer, domain):
    text = "at most 1 of the 2 parties put together what they know, and all follow the protocol"
    job = said(ask(house.analyst, house.table, body(domain, peer)), 202)["id"]
    assert text in counts(house, house.analyst, job)["counts"]["guarantee"]["assumptions"]
    open_ = body(domain, peer) | {"round": None}
    job = said(ask(house.analyst, house.table, open_), 202)["id"]
    assert text not in counts(house, house.analyst, job)["counts"]["guarantee"]["assumptions"]


@pytest.mark.parametrize("round", [
    {}, [], "s", {"unit": "rho"}, {"attempt": 1.0}, {"attempt": True}, {"question": "0"},
    {"session": ""}, {"session": "a b"}, {"about": "0"}, {"colluders": None}, {"keys": []},
])  # fmt: skip
def test_a_malformed_round_is_refused_and_costs_nothing(house, peer, domain, round):
    asked = body(domain, peer)
    asked["round"] = asked["round"] | round if isinstance(round, dict) and round else round
    refused(ask(house.analyst, house.table, asked), "invalid")
    assert house.spent(house.own) == (0, 0)


def test_no_question_breaks_the_lists_that_show_it(house, domain):
    """What is no number or no text in JSON would be an error in every later list of jobs."""
    headers = {"content-type": "application/json"}
    deep = "[" * 900 + "]" * 900
    for more in (
        '"x": NaN',
        '"x": "\\ud800"',
        '"\\ud800": 1',
        '"x": Infinity',
        f'"x": {deep}',
        '"x": 1',
    ):
        question = f'{{"kind": "records", {more}}}'
        text = f'{{"epsilon": "1", "domain": "{domain.fingerprint}", "question": {question}}}'
        answer = house.analyst.post(
            f"/v1/tables/{house.table}/counts", content=text, headers=headers
        )
        assert answer.status_code in (400, 422), more
    for question in ({}, {"kind": "level"}, {"kind": "leaves", "trees": {}}, {"kind": ["records"]}):
        asked = {"epsilon": "1", "domain": domain.fingerprint, "question": question}
        refused(ask(house.analyst, house.table, asked), "invalid")
    assert said(house.analyst.get("/v1/jobs")) == []
    assert said(house.curator.get("/v1/jobs")) == []


def test_a_view_is_counted_by_its_own_domain(house, domain):
    bea = house.add("bea", to=house.table, columns=["health"])
    asked = {"epsilon": "1", "domain": domain.fingerprint, "question": QUESTION}
    refused(ask(bea, house.table, asked), "conflict")
    narrow = asked | {"domain": domain.view(["health"]).fingerprint}
    job = said(ask(bea, house.table, narrow), 202)["id"]
    assert counts(house, bea, job)["counts"]["guarantee"]["epsilon"] == "1.0"


@pytest.mark.parametrize("limit", [10**13, 10**400])
def test_counts_whose_noise_is_outside_the_window_are_not_charged(house, domain, records, limit):
    """Each amount is fine; only the question and the records of a person make the noise so wide."""
    protected, source = replace(domain, person=Person("who", limit)), house.folder / "wide.parquet"
    records.assign(who="somebody").to_parquet(source)
    with house.database.write() as session:
        tables.register(house.context, session, "wide", at(source), protected, Policy("4"))
        tables.grant(house.context, session, "wide", house.analyst.name)
    asked = {"epsilon": "0.001", "question": QUESTION, "domain": protected.fingerprint}
    assert "scale" in refused(ask(house.analyst, "wide", asked), "invalid")
    own = said(house.analyst.get("/v1/tables/wide/budget"))["own"]
    assert (own["spent"], own["held"]) == ("0.0", "0.0")


def large_question(domain, depth=3):
    """A question whose text is nearly as long as a request may be."""
    trees = grow_random_trees(domain, 400, depth, np.random.default_rng(0))
    return question_to_json(LeafCounts(trees, domain))


def test_a_list_shows_no_long_question_and_one_job_does(house, domain):
    """A page of a hundred such jobs would hold a hundred megabytes of questions."""
    question = large_question(domain)
    size = len(json.dumps(question))
    assert 100_000 < size < house.settings.body_bytes
    asked = {"epsilon": "0.01", "question": question, "domain": domain.fingerprint}
    job = said(ask(house.analyst, house.table, asked), 202)
    assert job["request"]["question"] == question
    (shown,) = said(house.analyst.get("/v1/jobs"))
    assert shown["request"] == {
        n: v for n, v in job["request"].items() if n not in ("question", "round")
    }
    assert shown["purpose"] == job["purpose"]
    house.clock.wait(seconds=1)
    small = said(ask(house.analyst, house.table, asked | {"question": QUESTION}), 202)
    assert said(house.analyst.get("/v1/jobs"))[0]["request"] == small["request"]


def test_requests_that_are_cancelled_count_as_what_they_leave(house, domain):
    """Before, a megabyte was stored for ever with each request that somebody asked and cancelled."""
    question = large_question(domain)
    house.set(stored_per_member=4_900_000)
    left = []
    for epsilon in ("0.01", "0.02", "0.03"):
        asked = {"epsilon": epsilon, "question": question, "domain": domain.fingerprint}
        answer = ask(house.analyst, house.table, asked)
        if answer.status_code == 202:
            said(house.analyst.post(f"/v1/jobs/{answer.json()['id']}/cancel"))
        left.append(answer.status_code)
    with house.database.read() as session:
        kept = session.get(Member, "ana").stored
    assert left == [202, 202, 429]
    assert kept > 2 * len(json.dumps(question))
