"""`frith.connect`: what a server has learned is as good as learned here, and paid once."""

import json
import pickle
import sys
from fractions import Fraction
from typing import get_overloads

import httpx2
import numpy as np
import pytest
from sklearn.base import clone

import frith
from frith.client import Job, RemoteDatabase, wire
from frith.client.responses import Account
from frith.curator.confusion import Score
from frith.curator.label_score import LabelScore
from frith.errors import BudgetExceeded, RemoteError
from frith.learners import BY_NAME
from tests.hosting import hosted, listening, self_signed
from tests.tables import small_domain, small_table

X = small_table(50, seed=2)[["color", "round", "size"]]


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with hosted(tmp_path_factory.mktemp("host")) as host:
        yield host


@pytest.fixture
def curator(host):
    with host.connect() as database:
        yield database


@pytest.fixture
def asked(host):
    """A fresh table's name, and its analyst's connection."""
    table, token = host.add_table()
    with host.connect(token) as database:
        yield table, database


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(wire, "_PAUSES", (0.01, 0.01))


# -- signing in ------------------------------------------------------------------------------------


def test_the_token_may_come_from_the_environment(host, monkeypatch):
    monkeypatch.setenv("FRITH_TOKEN", f" {host.curator_token}\n")
    assert frith.connect(host.url).member.name == "carla"


def test_no_token_is_explained(host, monkeypatch):
    monkeypatch.delenv("FRITH_TOKEN", raising=False)
    with pytest.raises(ValueError, match="pass token=, or set FRITH_TOKEN"):
        frith.connect(host.url)


def test_a_wrong_token_is_refused_in_the_servers_words(host):
    with pytest.raises(RemoteError, match="sign in with a valid token") as caught:
        host.connect("frith_0_0")
    assert (caught.value.code, caught.value.status) == ("unauthorized", 401)


def test_nothing_shows_the_token(host, curator):
    secret = host.curator_token.rpartition("_")[2]
    for thing in (curator, curator._wire, curator._wire._client, curator.member, curator.tables()):
        assert secret not in repr(thing)
    with pytest.raises(ValueError, match="signs that no token has") as caught:
        host.connect(f"{host.curator_token}\r\nx: y")
    assert secret not in str(caught.value)


@pytest.mark.parametrize("url", ["http://data.example.org", "http://10.0.0.1:8080", "HTTP://[::2]"])
def test_a_token_does_not_travel_in_the_clear(url):
    with pytest.raises(ValueError, match="use https"):
        frith.connect(url, "secret")
    assert wire.read_url(url, insecure=True)


@pytest.mark.parametrize("url", ["http://localhost:1", "http://127.0.0.1", "http://[::1]:80/"])
def test_plain_http_stays_on_this_machine(url):
    assert wire.is_loopback(wire.read_url(url))


@pytest.mark.parametrize(
    "url", ["data.example.org", "ftp://x", "https://u:p@x", "https://x?a=b", ""]
)
def test_what_is_no_servers_url_is_explained(url):
    with pytest.raises(ValueError, match="the URL of a server"):
        frith.connect(url, "secret")


def test_a_proxy_never_sees_what_stays_on_this_machine(host, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    assert host.connect().member.name == "carla"


def test_a_server_that_is_not_there_is_named():
    with pytest.raises(RemoteError, match="http://127.0.0.1:1 cannot be reached; check") as caught:
        frith.connect("http://127.0.0.1:1", "secret")
    assert (caught.value.code, caught.value.status) == ("unreachable", None)


def test_a_certificate_is_checked_and_ones_own_authority_can_be_named(host, tmp_path):
    certificate, key = self_signed(tmp_path)
    with listening(host.context, ssl_certfile=certificate, ssl_keyfile=key) as url:
        with pytest.raises(RemoteError, match=r"certificate of https://.* is not trusted"):
            frith.connect(url, host.curator_token)
        with frith.connect(url, host.curator_token, verify=tmp_path / "cert.pem") as database:
            assert database.member.name == "carla"


def test_another_kind_of_server_is_noticed(host, curator, monkeypatch):
    page = httpx2.Response(200, text="<html>hello</html>")
    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", lambda *_: page)
    with pytest.raises(RemoteError, match="does not answer like a private database"):
        curator.tables()


def test_what_is_missing_is_named(host, monkeypatch):
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with pytest.raises(ImportError, match=r"pip install 'frith\[client\]'"):
        host.connect()


# -- looking ---------------------------------------------------------------------------------------


def test_an_analyst_sees_their_table_and_nothing_else(asked):
    name, database = asked
    [table] = database.tables()
    assert (table.name, table.batch_names, table.source) == (name, ("later",), None)
    assert repr(database.tables()) == (
        f"{name}: A small table; 3 attributes, label 'good' of 2 values, version 1, batches later"
    )
    assert database.domain(name) == small_domain(records=400)
    with pytest.raises(RemoteError, match="no such table") as caught:
        database.domain("table-none")
    assert caught.value.code == "not_found"


def test_names_stay_names_in_a_url(asked):
    _, database = asked
    for name in ("a/b", "..", "a?b=c", "%2e%2e", "a b"):
        with pytest.raises(RemoteError) as caught:
            database.budget(name)
        assert caught.value.status in (404, 422)


def test_budgets_are_exact(asked):
    table, database = asked
    assert str(database.budget(table)).endswith("epsilon 0 of 4 spent, 4 left")
    database.train(table, "random-decision", epsilon="1/3", n_trees=2)
    budget = database.budget(table)
    assert (budget.unit, budget.spent, budget.left) == ("epsilon", Fraction(1, 3), Fraction(11, 3))
    assert (budget.total, budget.held, budget.renewal) == (4, 0, None)
    assert budget.left_epsilon == pytest.approx(11 / 3)


def test_a_budget_with_a_delta_is_kept_in_rho_and_says_what_it_buys(host):
    table, token = host.add_table("2", delta="1e-6", renewal_days=30)
    database = host.connect(token)
    quote = database.quote(table, 1, delta="1e-6")
    assert quote.unit == "rho"
    assert "would remain" in str(quote)
    database.train(table, "random-decision", epsilon=1, delta="1e-6", n_trees=2)
    words = str(database.budget(table))
    assert "rho" in words
    assert "(epsilon 1." in words
    assert "renews every 30 days" in words


def test_learners_come_with_their_parameters(asked):
    _, database = asked
    found = {learner.name: learner for learner in database.learners()}
    assert set(found) == set(BY_NAME)
    assert found["random-decision"].parameters["n_trees"] == 10
    assert "n_trees=10" in str(found["random-decision"])


def test_facts_of_a_newer_server_are_read():
    said = {"name": "a", "unit": "epsilon", "left_epsilon": 1.0, "new": 1}
    amounts = ("epsilon", "delta", "total", "spent", "held", "left")
    account = Account.read(said | dict.fromkeys(amounts, "1/3"))
    assert account.left == Fraction(1, 3)


# -- asking ----------------------------------------------------------------------------------------


def test_a_quote_is_what_training_costs(asked):
    table, database = asked
    quote = database.quote(table, "0.5", learner="gini", max_depth=1)
    assert quote.granted
    assert (quote.cost, quote.left, quote.left_after) == (Fraction(1, 2), 4, Fraction(7, 2))
    assert str(quote) == "costs epsilon 0.5 of the 4 that you have left; 3.5 would remain"
    model = database.train(table, "gini", epsilon="0.5", max_depth=1)
    assert model.receipt_.amount == quote.cost
    refused = database.quote(table, 4)
    assert not refused.granted
    assert (refused.left, refused.left_after) == (Fraction(7, 2), Fraction(7, 2))
    assert str(refused) == refused.refusal


def test_without_a_learner_it_is_one_that_the_table_allows(asked, curator):
    table, database = asked
    assert database.table(table).learner == "forest"
    curator.set_policy(table, learners=["id3", "gini"])
    assert database.table(table).learner == "id3"
    assert database.quote(table, 1).cost == 1
    for ask in (database.train, database.dry_run):
        assert type(ask(table, epsilon=1)) is BY_NAME["id3"]


@pytest.mark.parametrize("learner", BY_NAME)
def test_every_learner_comes_back_as_its_own_class(asked, learner):
    table, database = asked
    model = database.train(table, learner, epsilon=1)
    assert type(model) is BY_NAME[learner]
    assert set(model.predict(X)) <= {"no", "yes"}
    assert model.forest_.guarantee.epsilon == 1
    assert model.receipt_.kind == "charge"
    again = database.train(table, learner, epsilon="1.0")
    assert again.remote_id_ == model.remote_id_
    assert database.budget(table).spent == 1


def test_an_estimator_from_a_server_behaves_like_a_local_one(asked, tmp_path):
    table, database = asked
    model = database.train(
        table, "random-decision", epsilon=Fraction(3, 2), n_trees=np.int64(7), random_state=3
    )
    assert (model.n_trees, model.random_state, model.epsilon) == (7, 3, Fraction(3, 2))
    assert model.forest_.trees.n_trees == 7
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.score(X, model.predict(X)) == 1
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    assert len(model.forest_.rules())
    model.forest_.save(tmp_path / "forest.json")
    assert frith.Forest.load(tmp_path / "forest.json") == model.forest_
    here = clone(model).fit(frith.open_table(small_table(400), small_domain(records=400)))
    assert np.array_equal(here.forest_.trees.attribute, model.forest_.trees.attribute)
    assert database.forest(model.remote_id_).get_params() == model.get_params()


def test_a_dry_run_is_free(asked):
    table, database = asked
    model = database.dry_run(table, "random-decision", epsilon=2, n_trees=3)
    assert model.receipt_ is None
    assert "made up" in str(model.forest_.guarantee)
    assert len(model.predict(X)) == len(X)
    assert database.budget(table).spent == 0


def test_scores_of_a_label_are_charged_and_private(asked):
    table, database = asked
    model = database.train(table, "random-decision", epsilon=1, n_trees=3)
    score = database.score_label(model, epsilon="0.5", by=["color"])
    assert isinstance(score, LabelScore)
    assert (score.positive, score.guarantee.epsilon) == ("yes", Fraction(1, 2))
    assert 0 <= score.auc.low <= score.auc.high <= 1
    assert [row["group"] for row in score.by("color")] == ["red", "green", "blue"]
    assert database.budget(table).spent == Fraction(3, 2)
    assert database.quote_score(model, "0.5").cost == Fraction(1, 2)
    again = database.score_label(model.remote_id_, "0.50", by=["color"], positive="yes")
    assert again == score  # the same request, spelled otherwise
    with pytest.raises(RemoteError, match="no attribute"):
        database.score_label(model, epsilon=1, by=["nothing"])
    with pytest.raises(RemoteError, match="metrics are among"):
        database.score_label(model, epsilon=1, metrics=["f1"])
    assert database.budget(table).spent == Fraction(3, 2)


def test_a_score_is_charged_and_private(asked):
    table, database = asked
    model = database.train(table, "random-decision", epsilon=1, n_trees=3)
    score = database.score(model, epsilon=1)
    assert isinstance(score, Score)
    assert score.guarantee.epsilon == 1
    assert "how long it takes" in str(score.guarantee)
    assert score == database.score(model.remote_id_, "1.0")
    assert database.budget(table).spent == 2
    job = database.score(model, epsilon="0.5", wait=False)
    assert isinstance(job.result(), Score)


def test_a_forest_that_the_server_does_not_have_cannot_be_scored(asked):
    table, database = asked
    here = frith.RandomDecisionForestClassifier(small_domain(records=400), epsilon=1, n_trees=2)
    engine = frith.open_table(small_table(400), small_domain(records=400))
    model = database.train(table, "random-decision", epsilon=1, n_trees=2).fit(engine)
    for elsewhere in (here, here.fit(engine), model):
        with pytest.raises(ValueError, match="trained or updated elsewhere"):
            database.score(elsewhere, 1)


def test_an_update_adds_a_batch_under_a_budget_of_its_own(asked):
    table, database = asked
    model = database.train(table, "random-decision", epsilon=1, n_trees=3, random_state=0)
    more = database.update(model, "later", epsilon=1)
    assert more.remote_id_ != model.remote_id_
    assert (more.n_trees, more.random_state) == (3, 0)
    assert np.array_equal(more.forest_.trees.attribute, model.forest_.trees.attribute)
    assert more.forest_.guarantee.epsilon == 1
    budget = database.budget(table)
    assert (budget.spent, budget.batches["later"].spent, budget.batches["later"].left) == (1, 1, 3)
    assert f"{table}+later/{database.member.name}: epsilon 1 of 4 spent" in str(budget)
    with pytest.raises(RemoteError, match="no such batch"):
        database.update(model, "never", epsilon=1)


def test_scores_and_updates_have_quotes(asked):
    table, database = asked
    model = database.train(table, "random-decision", epsilon=1, n_trees=3)
    score = database.quote_score(model, epsilon="0.5")
    assert (score.cost, score.left, score.left_after) == (Fraction(1, 2), 3, Fraction(5, 2))
    update = database.quote_update(model.remote_id_, "later", epsilon=4)
    assert (update.granted, update.left, update.left_after) == (True, 4, 0), "the batch's own"
    with pytest.raises(RemoteError, match="no such batch"):
        database.quote_update(model, "never", epsilon=1)
    assert database.budget(table).spent == 1


def test_rules_are_counted_on_the_server(asked):
    table, database = asked
    model = database.train(table, epsilon=1)
    assert database.quote_rules(model, epsilon=2).left_after == 1
    counted = database.measure_rules(model, epsilon=2)
    assert counted.remote_id_ != model.remote_id_
    assert counted.forest_.guarantee.epsilon == database.budget(table).spent == 3
    assert len(counted.forest_.measured.rules()) > 0


def test_without_waiting_there_is_a_job(host, asked):
    table, database = asked
    with host.no_work():
        job = database.train(table, "random-decision", epsilon=1, wait=False)
        assert (job.state, job.passes, job.table) == ("queued", 0, table)
        assert job.receipt.kind == "reserve"
        assert database.budget(table).held == 1
        assert "1 held" in str(database.budget(table))
    model = job.result()
    assert (job.state, job.id) == ("done", model.remote_id_)
    assert job.receipt.kind == "charge"
    assert [j.id for j in database.jobs(table)] == [job.id]
    assert [j.id for j in database.forests()] == [job.id]
    assert str(database.job(job.id)).startswith(f"{job.id} train random-decision on {table}, done")
    assert database.job(job.id).result().forest_ == model.forest_


def test_a_queued_job_can_be_cancelled_and_costs_nothing(host, asked):
    table, database = asked
    with host.no_work():
        job = database.train(table, epsilon=1, wait=False).cancel()
    assert job.state == "cancelled"
    assert database.budget(table).left == 4
    with pytest.raises(RemoteError, match="was cancelled") as caught:
        job.result()
    assert caught.value.code == "cancelled"
    with pytest.raises(RemoteError, match="only a job that has not ended"):
        job.cancel()


def test_a_request_that_cannot_work_is_told_and_not_charged(asked):
    table, database = asked
    with pytest.raises(RemoteError, match="nothing was charged") as caught:
        database.train(table, "gini", epsilon=1, n_trees=0)
    assert caught.value.code == "failed"
    assert database.budget(table).left == 4
    with pytest.raises(RemoteError, match="has the parameters") as caught:
        database.train(table, "gini", epsilon=1, no_such=1)
    assert caught.value.status == 422


def test_over_budget_is_the_same_exception_as_at_the_desk(asked):
    table, database = asked
    database.train(table, "random-decision", epsilon="3.5", n_trees=2)
    with pytest.raises(BudgetExceeded, match="you have epsilon 0.5 left") as caught:
        database.train(table, epsilon=1)
    error = caught.value
    assert isinstance(error, RemoteError)
    assert (error.requested, error.remaining, error.unit) == (1, Fraction(1, 2), "epsilon")
    assert (error.code, error.status) == ("over_budget", 409)
    sent = pickle.loads(pickle.dumps(error))
    assert (str(sent), sent.remaining) == (str(error), error.remaining)
    assert database.budget(table).held == 0


def test_the_least_account_is_the_one_that_is_told(host):
    table, token = host.add_table("1", analyst_epsilon="1")
    curator = host.connect()
    curator.train(table, "random-decision", epsilon="0.75", n_trees=2)
    with pytest.raises(BudgetExceeded, match="the table has epsilon 0.25 left") as caught:
        host.connect(token).train(table, epsilon="0.5")
    assert caught.value.remaining == Fraction(1, 4)


@pytest.mark.parametrize("epsilon", ["inf", float("inf"), 0, -1, "many"])
def test_amounts_that_are_none_are_refused_before_asking(asked, epsilon):
    table, database = asked
    with pytest.raises(ValueError, match="epsilon|amount"):
        database.train(table, epsilon=epsilon)


# -- failures on the way ---------------------------------------------------------------------------


@pytest.fixture
def flaky(monkeypatch):
    """Requests that arrive, and answers that do not: the first few of a method."""
    real = httpx2.HTTPTransport.handle_request
    seen = []

    def install(method, failures, answer=None):
        def handle(transport, request):
            response = real(transport, request)
            if request.method == method:
                seen.append(request)
                if len(seen) <= failures:
                    response.read()
                    if answer is None:
                        raise httpx2.ReadError("connection reset")
                    return answer()
            return response

        monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", handle)
        return seen

    return install


def test_a_dropped_connection_is_tried_again_and_paid_once(host, asked, flaky):
    table, database = asked
    seen = flaky("POST", 2)
    model = database.train(table, "random-decision", epsilon="0.5", n_trees=2)
    keys = [request.headers["idempotency-key"] for request in seen]
    assert len(keys) == 3
    assert len(set(keys)) == 1
    assert host.charges(table) == [Fraction(1, 2)]
    assert [job.id for job in database.jobs()] == [model.remote_id_]


def test_a_key_of_ones_own_is_sent(asked, flaky):
    table, database = asked
    seen = flaky("POST", 0)
    database.train(table, "random-decision", epsilon="0.5", n_trees=2, key="monday")
    assert seen[0].headers["idempotency-key"] == "monday"
    with pytest.raises(RemoteError, match="idempotency key was used") as caught:
        database.train(table, "random-decision", epsilon="0.5", n_trees=3, key="monday")
    assert caught.value.code == "conflict"


def test_a_busy_server_is_asked_again_when_it_says(asked, flaky, monkeypatch):
    table, database = asked
    naps = []
    monkeypatch.setattr(wire, "sleep", naps.append)
    problem = {"code": "unavailable", "message": "later"}

    def busy():
        return httpx2.Response(503, json=problem, headers={"retry-after": "7"})

    seen = flaky("GET", 1, busy)
    assert database.budget(table).left == 4
    assert naps == [7]
    seen.clear()
    flaky("POST", 1, busy)
    assert database.quote(table, epsilon=1).cost == 1, "a quote changes nothing"
    assert naps == [7, 7]


def test_waiting_for_a_busy_server_ends_after_half_a_minute(asked, flaky, monkeypatch):
    naps = []
    monkeypatch.setattr(wire, "sleep", naps.append)
    monkeypatch.setattr(wire, "_PAUSES", (0.1,) * 6)
    problem = {"code": "too_many", "message": "still full"}
    flaky("GET", 99, lambda: httpx2.Response(429, json=problem, headers={"retry-after": "10"}))
    with pytest.raises(RemoteError, match="still full"):
        asked[1].tables()
    assert naps == [10, 10, 10]


def test_tries_are_bounded_and_so_is_waiting(asked, flaky):
    _, database = asked
    seen = flaky("GET", 99)
    with pytest.raises(RemoteError, match="cannot be reached"):
        database.tables()
    assert len(seen) == 3
    patient = {"code": "too_many", "message": "wait a day"}
    seen.clear()
    flaky("GET", 99, lambda: httpx2.Response(429, json=patient, headers={"retry-after": "86400"}))
    with pytest.raises(RemoteError, match="wait a day"):
        database.tables()


def test_what_must_not_happen_twice_is_not_tried_again(host, curator, flaky):
    seen = flaky("POST", 99)
    with pytest.raises(RemoteError, match="cannot be reached"):
        curator.create_token("carla")
    assert len(seen) == 1


def test_a_timeout_is_said_as_one(asked, monkeypatch):
    def slow(*_):
        raise httpx2.ReadTimeout("timed out")

    monkeypatch.setattr(httpx2.HTTPTransport, "handle_request", slow)
    with pytest.raises(RemoteError, match="did not answer in time"):
        asked[1].tables()


def test_an_interrupt_leaves_the_job_and_says_how_to_come_back(host, asked, monkeypatch):
    table, database = asked

    def interrupt(_):
        raise KeyboardInterrupt

    with host.no_work():
        with monkeypatch.context() as patch:
            patch.setattr("frith.client.jobs.sleep", interrupt)
            with pytest.raises(KeyboardInterrupt, match=r"goes on .* job\('\w+'\) picks it up"):
                database.train(table, "random-decision", epsilon=1, n_trees=2)
        [job] = database.jobs()
        assert job.state == "queued"
    assert job.result().remote_id_ == job.id


def test_a_server_lost_while_waiting_leaves_the_job_too(host, asked, flaky):
    table, database = asked
    with host.no_work():
        flaky("GET", 99)
        with pytest.raises(RemoteError, match=r"cannot be reached.*job \w+ goes on") as caught:
            database.train(table, "random-decision", epsilon=1, n_trees=2)
    assert caught.value.facts["job"]


# -- progress --------------------------------------------------------------------------------------


def test_progress_is_told_to_a_function(asked):
    table, database = asked
    told = []
    database.train(
        table,
        "gini",
        epsilon=1,
        max_depth=2,
        progress=lambda job: told.append((job.state, job.passes)),
    )
    assert told[-1][0] == "done"
    assert told[-1][1] >= 3
    assert len(told) == len(set(told))


@pytest.mark.parametrize("progress", [True, False])
def test_nothing_is_printed_where_there_is_no_terminal(asked, capfd, progress):
    table, database = asked
    database.train(table, "random-decision", epsilon=1, n_trees=2, progress=progress)
    assert capfd.readouterr() == ("", "")


def test_a_terminal_gets_a_spinner(asked, monkeypatch, capsys):
    table, database = asked
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    database.train(table, "random-decision", epsilon=1, n_trees=2)
    assert f"train random-decision on {table}" in capsys.readouterr().err


# -- curators --------------------------------------------------------------------------------------


def test_a_curator_can_open_a_table_to_an_analyst(host, curator, tmp_path):
    small_domain(records=400).save(tmp_path / "domain.toml")
    table = curator.register(
        "clinic", tmp_path / "domain.toml", connection="sample", table="table.parquet", epsilon="1/2",
        least_epsilon=0.01, learners=["gini"], title="Clinic",
    )  # fmt: skip
    assert table.source == "sample: table.parquet"
    assert [str(c) for c in curator.connections()] == ["sample, folder"]
    assert str(curator.add_member("nora")) == "nora, analyst"
    issued = curator.create_token("nora", note="laptop", days=2)
    assert issued.token not in repr(issued)
    assert issued.token not in str(issued)
    given = curator.grant("clinic", "nora", columns=["color", "size"], epsilon="0.25")
    assert str(given) == "nora may ask clinic about color, size; at most epsilon 0.25"
    assert curator.grants("clinic") == [given]
    nora = frith.connect(host.url, issued.token)
    assert nora.domain("clinic").names == ("color", "size")
    assert nora.budget("clinic").total == Fraction(1, 4)
    with pytest.raises(RemoteError, match="only an operator") as caught:
        nora.raise_version("clinic")
    assert caught.value.code == "forbidden"
    curator.withdraw("clinic", "nora")
    assert nora.tables() == []
    assert repr(nora.tables()) == "(none)"
    assert [t.id for t in curator.tokens("nora")] == [issued.id]
    curator.revoke_token(issued)
    with pytest.raises(RemoteError, match="valid token"):
        nora.tables()
    assert "revoked" in str(curator.tokens("nora")[0])


def test_a_policy_is_changed_in_part(host, curator):
    table, _ = host.add_table("4", least_epsilon="0.01", delta="1e-6", renewal_days=7)
    changed = curator.set_policy(table, epsilon=2, request_epsilon="1/2").policy
    assert (changed["epsilon"], changed["request_epsilon"]) == ("2.0", "0.5")
    assert (changed["least_epsilon"], changed["renewal_days"]) == ("0.01", 7)
    assert curator.set_policy(table, least_epsilon=None).policy["least_epsilon"] == "0.001"
    with pytest.raises(RemoteError, match="needs two people"):
        curator.set_policy(table, epsilon=3)
    with pytest.raises(ValueError, match="a policy has no epsilom"):
        curator.set_policy(table, epsilom=1)


def test_a_curator_sees_what_everybody_spent(host, curator):
    table, token = host.add_table()
    host.connect(token).train(table, "random-decision", epsilon=1, n_trees=2)
    budget = curator.budget(table)
    assert budget.whole.spent == 1
    assert [a.spent for a in budget.analysts] == [1]
    assert f"{table}: epsilon 1 of 4 spent" in str(budget)
    assert budget.batches["later"].whole.left == 4
    assert f"{table}+later: epsilon 0 of 4 spent" in str(budget)
    assert any(m.name == "carla" for m in curator.members())


def test_a_new_version_makes_a_repeat_a_new_request(host, curator):
    table, token = host.add_table()
    analyst = host.connect(token)
    first = analyst.train(table, "random-decision", epsilon=1, n_trees=2)
    assert curator.raise_version(table).version == 2
    second = analyst.train(table, "random-decision", epsilon=1, n_trees=2)
    assert first.remote_id_ != second.remote_id_
    assert analyst.budget(table).spent == 2


def test_a_batch_is_registered(host, curator):
    table, _ = host.add_table(batch=False)
    changed = curator.add_batch(table, "more", connection="sample", table="later.parquet")
    assert changed.batch_names == ("more",)


def test_the_ledger_is_read_page_by_page(host, curator, monkeypatch):
    table, token = host.add_table()
    host.connect(token).train(table, "random-decision", epsilon=1, n_trees=2)
    whole = curator.ledger()
    assert [entry.id for entry in whole] == list(range(1, len(whole) + 1))
    for size in (1, 2, len(whole), len(whole) + 1):
        monkeypatch.setattr("frith.client.database._ENTRIES", size)
        assert curator.ledger() == whole


def test_jobs_and_forests_are_read_page_by_page(host, monkeypatch):
    table, token = host.add_table()
    analyst = host.connect(token)
    for seed in range(3):
        analyst.dry_run(table, "random-decision", epsilon=1, n_trees=2, random_state=seed)
    jobs, forests = ([job.id for job in found] for found in (analyst.jobs(), analyst.forests()))
    assert len(set(jobs)) == 3
    assert jobs == forests
    for size in (1, 2, 3, 4):
        monkeypatch.setattr("frith.client.database._JOBS", size)
        assert [job.id for job in analyst.jobs()] == jobs
        assert [job.id for job in analyst.jobs(table)] == jobs
        assert [job.id for job in analyst.forests()] == jobs


def test_the_ledger_is_read_and_verified(host, curator):
    table, token = host.add_table()
    analyst = host.connect(token)
    model = analyst.train(table, "random-decision", epsilon=1, n_trees=2)
    kinds = [entry.kind for entry in analyst.ledger()]
    assert kinds[-2:] == ["reserve", "charge"]
    assert analyst.ledger()[-1] == model.receipt_
    found = curator.verify_ledger()
    assert found.holds
    assert found.entries == len(curator.ledger())
    with pytest.raises(RemoteError, match="only an operator"):
        analyst.verify_ledger()


def test_what_comes_back_has_a_type_with_and_without_waiting():
    for name, kind in {
        "train": "PrivateForest",
        "dry_run": "PrivateForest",
        "update": "PrivateForest",
        "score": "Score | NumberScore",
    }.items():
        known = [o.__annotations__ for o in get_overloads(getattr(RemoteDatabase, name))]
        assert {a["wait"]: a["return"] for a in known} == {
            "Literal[True]": kind,
            "Literal[False]": "Job",
        }
    said = [f.__annotations__.get("return") for f in vars(RemoteDatabase).values() if callable(f)]
    assert "Any" not in said


def test_a_job_tells_itself_as_json(asked):
    table, database = asked
    job = database.train(table, "random-decision", epsilon=1, n_trees=2, wait=False)
    assert isinstance(job, Job)
    assert json.loads(json.dumps(job.to_json()))["id"] == job.id
    assert job.request["parameters"]["n_trees"] == 2
    assert repr(job).startswith(f"<Job {job.id}")
    job.wait(progress=False)
