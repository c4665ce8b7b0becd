"""Domains that a table pays for: charged once, before a record is read, to the table's own account."""

from fractions import Fraction

import pytest

from frith import Forest
from frith.ledger.witness import WitnessError
from frith.server.app import make_app
from frith.server.budget import paid_domains
from frith.server.jobs.verification import look
from frith.server.schema import Bookmark
from frith.server.watch import Watch
from tests.server.conftest import QUICK, House, Person, domain_text, refused, said
from tests.tables import small_domain, small_table

F = Fraction


@pytest.fixture
def body(house):
    small_table(2_000).to_parquet(house.folder / "raw.parquet")
    return {
        "name": "raw",
        "connection": "sample",
        "table": "raw.parquet",
        "label": "good",
        "columns": {"size": "number", "color": ["blue", "green", "red"], "good": ["no", "yes"]},
        "epsilon": "1.5",
        "policy": {"epsilon": "4"},
    }


def bought(house, body, **changes):
    return house.curator.post("/v1/paid-domains", json=body | changes)


def test_a_domain_is_charged_once_and_every_forest_states_it_with_its_own(house, body):
    found = said(bought(house, body), 201)
    assert found["domain"]["paid"]["epsilon"] == "1.5"
    assert {a["name"] for a in found["domain"]["attributes"]} == {"size", "color"}
    assert house.spent("raw") == (F("1.5"), 0)
    said(house.curator.put("/v1/tables/raw/grants/ana", json={}))
    job = house.train(table="raw", epsilon="0.5")
    forest = Forest.from_json(said(house.analyst.get(f"/v1/forests/{job['id']}"))["forest"])
    assert forest.guarantee.epsilon == F("2")
    assert house.spent("raw") == (F("2"), 0)
    assert house.spent("raw/ana") == (F("0.5"), 0)
    charged = [e.amount for e in house.entries() if e.purpose == "draft a domain"]
    assert charged == [F("1.5")]
    assert not look(house.context).problems


def test_it_is_charged_before_a_record_is_read_and_stays_charged(house, body, monkeypatch):
    spent = []

    def fail(plan, engine):
        spent.append(house.spent("raw"))
        raise ValueError("age of Ada: 36")

    monkeypatch.setattr(paid_domains, "draft_charged", fail)
    message = refused(bought(house, body), "invalid")
    assert spent == [(F("1.5"), 0)]
    assert "stays charged" in message
    assert "Ada" not in message
    refused(house.curator.get("/v1/tables/raw"), "not_found")
    monkeypatch.undo()
    assert not look(house.context).problems
    for path in ("/v1/ledger", "/v1/ledger.csv", "/v1/log", "/metrics", "/v1/tables"):
        assert house.curator.get(path).status_code == 200, path
    said(bought(house, body), 201)  # a second draw
    assert house.spent("raw") == (3, 0)


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"epsilon": "5"}, "over_budget"),
        ({"epsilon": "0"}, "invalid"),
        ({"name": "../x"}, "invalid"),
        ({"table": "nowhere.parquet"}, "invalid"),
        ({"label": "color "}, "invalid"),
        ({"columns": {"size": "values", "good": ["no", "yes"]}}, "invalid"),
        ({"columns": {"nothing": "number", "good": ["no", "yes"]}}, "invalid"),
        ({"columns": {"size": "number", "good": "number"}, "policy": QUICK}, "invalid"),
        ({"person": ""}, "invalid"),
    ],
)
def test_what_is_refused_costs_nothing_and_opens_nothing(house, body, changes, code):
    refused(bought(house, body, **changes), code)
    assert house.spent("raw") == (0, 0)
    with house.database.read() as session:
        assert not house.context.book(session).has("raw")


def test_the_charge_is_anchored_before_a_record_is_read(house, body, monkeypatch):
    done = []
    monkeypatch.setattr(type(house.context.watch), "anchor", lambda watch: done.append("anchor"))
    draw = paid_domains.draft_charged
    monkeypatch.setattr(
        paid_domains, "draft_charged", lambda *given: done.append("read") or draw(*given)
    )
    said(bought(house, body), 201)
    assert done == ["anchor", "read"]


def test_a_table_with_a_paid_domain_has_versions_and_batches_like_any_other(house, body):
    said(bought(house, body), 201)
    assert said(house.curator.post("/v1/tables/raw/version"))["version"] == 2
    more = {"name": "more", "connection": "sample", "table": "raw.parquet"}
    said(house.curator.post("/v1/tables/raw/batches", json=more), 201)
    assert house.spent("raw") == (F("1.5"), 0)


def test_a_table_that_is_there_keeps_its_domain(house, body):
    refused(bought(house, body, name=house.table), "conflict")
    assert house.spent(house.table) == (0, 0)
    said(bought(house, body), 201)
    refused(bought(house, body), "conflict")
    assert house.spent("raw") == (F("1.5"), 0)


def test_a_second_try_has_the_budget_of_the_first(house, body, monkeypatch):
    """Raising it needs two people, and a table that was not registered has no policy to raise."""
    monkeypatch.setattr(paid_domains, "draft_charged", lambda plan, engine: 1 / 0)
    bought(house, body)
    monkeypatch.undo()
    refused(bought(house, body, policy={"epsilon": "40"}), "conflict")
    assert house.spent("raw") == (F("1.5"), 0)


def test_an_account_of_persons_is_charged_for_persons(house, body):
    small_table(2_000).assign(who=range(2_000)).to_parquet(house.folder / "raw.parquet")
    found = said(bought(house, body, person="who", records_per_person=2), 201)
    assert found["domain"]["person"] == {"column": "who", "records": 2}
    with house.database.read() as session:
        state = house.context.book(session).state("raw")
    assert "2" in state.neighbors
    assert state.spent == F("1.5")


def test_an_account_with_a_delta_is_charged_in_rho(house, body):
    said(bought(house, body, epsilon="0.5", policy={"epsilon": "4", "delta": "1e-6"}), 201)
    assert house.spent("raw") == (F("0.125"), 0)


def test_the_same_records_are_not_bought_from_a_second_budget(house, body):
    """Not by their curator alone: refused before anything is charged."""
    cora = house.add("cora", "curator")
    said(cora.post("/v1/paid-domains", json=body), 201)
    answer = cora.post("/v1/paid-domains", json=body | {"name": "again"})
    assert "an operator can register it" in refused(answer, "conflict")
    assert [e.account for e in house.entries() if e.purpose == "draft a domain"] == ["raw"]


def during_the_first_draw(monkeypatch, ask):
    """The answers to `ask`, which is called while the first purchase draws."""
    draw, answers = paid_domains.draft_charged, []

    def asking(*given):
        if not answers:
            answers.append(None)
            answers[0] = ask()
        return draw(*given)

    monkeypatch.setattr(paid_domains, "draft_charged", asking)
    return answers


def drafts(house):
    return [(e.account, e.amount) for e in house.entries() if e.purpose == "draft a domain"]


@pytest.mark.parametrize("name", ["raw", "second"])
def test_what_is_being_bought_is_not_bought_a_second_time_meanwhile(house, body, monkeypatch, name):
    """Neither by an impatient client, nor under another name."""
    cora = house.add("cora", "curator")
    answers = during_the_first_draw(
        monkeypatch, lambda: cora.post("/v1/paid-domains", json=body | {"name": name})
    )
    said(cora.post("/v1/paid-domains", json=body), 201)
    assert "right now" in refused(answers[0], "conflict")
    assert drafts(house) == [("raw", F("1.5"))]


@pytest.mark.parametrize("name", ["raw", "plain"])
def test_what_is_being_bought_is_not_registered_meanwhile(house, body, monkeypatch, name):
    plain = {"name": name, "connection": "sample", "table": "raw.parquet",
             "domain": domain_text(small_domain()), "policy": body["policy"]}  # fmt: skip
    answers = during_the_first_draw(
        monkeypatch, lambda: house.curator.post("/v1/tables", json=plain)
    )
    said(bought(house, body), 201)
    assert "right now" in refused(answers[0], "conflict")


@pytest.mark.parametrize("name", ["raw", "second"])
def test_two_replicas_register_the_same_records_once(house, body, monkeypatch, name):
    """Each charges, since neither knows of the other; who comes second is told that it was charged."""
    replica = House(house.folder, house.sample, house.settings, house.clock, make_app)
    cora = house.add("cora", "curator")
    there = Person(replica.app, "cora", cora.token)
    answers = during_the_first_draw(
        monkeypatch, lambda: there.post("/v1/paid-domains", json=body | {"name": name})
    )
    late = cora.post("/v1/paid-domains", json=body)
    said(answers[0], 201)
    assert "stays charged" in refused(late, "conflict")
    assert drafts(house) == [("raw", F("1.5")), (name, F("1.5"))]
    assert [t["name"] for t in said(cora.get("/v1/tables"))] == [name]
    assert not look(house.context).problems
    replica.database.close()


def test_a_table_registered_while_a_domain_is_drawn_does_not_waste_its_price(
    house, body, small, monkeypatch
):
    answers = during_the_first_draw(
        monkeypatch, lambda: house.curator.post("/v1/tables", json=small)
    )
    said(bought(house, body), 201)
    said(answers[0], 201)


def test_a_witness_that_does_not_answer_costs_nothing(house, body, monkeypatch):
    def fail(*_, **__):
        raise WitnessError("down")

    monkeypatch.setattr(Watch, "compare", fail)
    refused(bought(house, body), "unavailable")
    assert drafts(house) == []


def test_a_witness_that_is_lost_after_the_charge_is_told_with_the_charge(house, body, monkeypatch):
    """Without Retry-After: a second try would be charged again."""

    def fail(*_, **__):
        raise WitnessError("down")

    monkeypatch.setattr(Watch, "anchor", fail)
    answer = bought(house, body)
    assert "stays charged" in refused(answer, "unavailable")
    assert "retry-after" not in answer.headers
    assert drafts(house) == [("raw", F("1.5"))]


def test_a_policy_that_an_upgrade_refuses_costs_nothing(house, body):
    with house.database.write() as session:
        session.delete(session.get_one(Bookmark, "upgraded"))
    policy = body["policy"] | {"approval_epsilon": "1"}
    assert "migrate --finish" in refused(bought(house, body, policy=policy), "conflict")
    assert drafts(house) == []


def test_a_source_that_goes_after_it_was_checked_costs_nothing(house, body, monkeypatch):
    check = paid_domains.tables.check_in_time

    def check_and_remove(*given):
        found = check(*given)
        (house.folder / "raw.parquet").unlink()
        return found

    monkeypatch.setattr(paid_domains.tables, "check_in_time", check_and_remove)
    message = refused(bought(house, body), "invalid")
    assert "charged" not in message
    assert drafts(house) == []


def test_whatever_fails_after_the_charge_is_told_with_it(house, body, monkeypatch, lines):
    def fail(plan, engine):
        raise KeyError("age of Ada: 36")

    monkeypatch.setattr(paid_domains, "draft_charged", fail)
    message = refused(bought(house, body), "invalid")
    assert "stays charged" in message
    assert "Ada" not in message + str(lines)
    assert {"KeyError"} == {line["error"] for line in lines if "error" in line}


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_what_a_failed_purchase_left_is_taken_over_with_its_budget_or_not_at_all(
    house, body, monkeypatch, epsilon
):
    """Before, a table with a policy of 1 sold from the account of 1,000 that somebody had left."""
    monkeypatch.setattr(paid_domains, "draft_charged", lambda *_: 1 / 0)
    bought(house, body)
    monkeypatch.undo()
    plain = {"name": "raw", "connection": "sample", "table": "raw.parquet",
             "domain": domain_text(small_domain()), "policy": {"epsilon": epsilon}}  # fmt: skip
    answer = house.curator.post("/v1/tables", json=plain)
    if epsilon == "4":
        said(answer, 201)
        assert house.spent("raw") == (F("1.5"), 0)
    else:
        assert "an earlier try" in refused(answer, "conflict")
        refused(house.curator.get("/v1/tables/raw"), "not_found")
