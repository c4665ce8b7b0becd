"""`frith remote`: the client's work on the command line."""

import json

import pytest

from frith import Forest
from frith.cli.remote.desk import INTERRUPTED
from tests.hosting import hosted
from tests.tables import small_domain

RDT = ("--learner", "random-decision", "--trees", 3, "--max-depth", 2)


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with hosted(tmp_path_factory.mktemp("host")) as host:
        yield host


@pytest.fixture
def remote(host, run, monkeypatch):
    """Run a command as the analyst of a fresh table; `.table` is its name."""
    table, token = host.add_table()
    monkeypatch.setenv("FRITH_URL", host.url)
    monkeypatch.setenv("FRITH_TOKEN", token)

    def invoke(*args, code=0):
        return run("remote", *args, code=code)

    invoke.table = table
    return invoke


@pytest.fixture
def curator(host, run, tmp_path):
    """Run a command as the curator, whose token is in a file."""
    file = tmp_path / "token"
    file.write_text(host.curator_token + "\n")
    return lambda *args, code=0: run(
        "remote", "--url", host.url, "--token-file", file, *args, code=code
    )


def train(remote, path, *args, epsilon=1, code=0):
    return remote("train", remote.table, "--epsilon", epsilon, "-o", path, *RDT, *args, code=code)


def ids_of(remote, command="jobs"):
    return [job["id"] for job in json.loads(remote(command, "--json").stdout)]


# -- signing in ------------------------------------------------------------------------------------


def test_a_server_has_to_be_named(run, monkeypatch):
    monkeypatch.delenv("FRITH_URL", raising=False)
    assert "no server: set FRITH_URL" in run("remote", "tables", code=2).stderr


def test_a_token_has_to_be_there_and_is_no_option(run, host, monkeypatch):
    monkeypatch.delenv("FRITH_TOKEN", raising=False)
    said = run("remote", "--url", host.url, "tables", code=2).stderr
    assert "no token: set FRITH_TOKEN" in said
    words = run("remote", "--help").stdout
    assert "--token " not in words
    assert "process" in words


def test_a_token_file_that_is_not_there_is_named(run, host, tmp_path):
    said = run("remote", "--url", host.url, "--token-file", tmp_path / "none", "tables", code=2)
    assert str(tmp_path / "none") in said.stderr.replace("\n", "")


def test_a_token_is_not_sent_in_the_clear(remote, run):
    assert "use https" in run("remote", "--url", "http://data.example.org", "tables", code=2).stderr


def test_a_server_that_is_not_there_is_one_line(remote, run):
    said = run("remote", "--url", "http://127.0.0.1:1", "tables", code=2).stderr
    assert said.startswith("error: http://127.0.0.1:1 cannot be reached")
    assert said.count("\n") == 1


# -- analysts --------------------------------------------------------------------------------------


def test_tables_and_their_domains(remote, tmp_path):
    assert remote.table in remote("tables").stdout
    assert json.loads(remote("tables", "--json").stdout)[0]["label"] == "good"
    domain = small_domain(records=400)
    assert remote("domain", remote.table).stdout == domain.to_toml()
    assert json.loads(remote("domain", remote.table, "--json").stdout) == domain.to_json()
    remote("domain", remote.table, "-o", tmp_path / "domain.toml")
    assert type(domain).load(tmp_path / "domain.toml") == domain
    assert "no such table" in remote("domain", "elsewhere", code=2).stderr


def test_learners_are_listed(remote):
    assert "random-decision" in remote("learners").stdout


def test_what_a_server_trained_works_like_any_forest(remote, run, tmp_path):
    path = tmp_path / "forest.json"
    said = train(remote, path, "--seed", 0)
    assert "epsilon 1 charged" in said.stdout
    assert "pass 1" in said.stderr or "done" in said.stderr
    forest = Forest.load(path)
    assert forest.trees.n_trees == 3
    assert "epsilon" in run("show", path).stdout
    assert run("rules", path, "--top", 3).stdout
    run("draw", path, "-o", tmp_path / "tree.svg")
    [id] = ids_of(remote, "forests")
    facts = json.loads(remote("forest", id, "-o", tmp_path / "again.json", "--json").stdout)
    assert facts["id"] == id
    assert facts["receipt"]["amount"] == "1.0"
    assert Forest.load(tmp_path / "again.json") == forest


def test_parameters_of_a_learner_reach_the_server(remote, tmp_path):
    out = tmp_path / "f.json"
    remote("train", remote.table, "--epsilon", 1, "--learner", "gini", "--max-depth", 2, "-o", out,
           "--set", "min_support=10")  # fmt: skip
    job = json.loads(remote("jobs", "--json").stdout)[0]
    asked = job["request"]["parameters"]
    assert (asked["max_depth"], asked["min_support"]) == (2, 10)


def test_without_a_learner_it_is_one_that_the_table_allows(remote, curator, tmp_path):
    curator("policy", remote.table, "--learner", "gini", "--learner", "id3")
    remote("quote", remote.table, "--epsilon", 1)
    for command in ("train", "dry-run"):
        remote(command, remote.table, "--epsilon", 1, "--max-depth", 2, "-o", tmp_path / "f.json")
        job = json.loads(remote("jobs", "--json").stdout)[0]["request"]
        assert (job["learner"], job["parameters"]["max_depth"]) == ("gini", 2)


def test_a_budget_and_a_quote_are_told(remote, tmp_path):
    assert ", 4 left" in remote("budget", remote.table).stdout
    said = remote("quote", remote.table, "--epsilon", "1/3").stdout
    assert "costs epsilon 1/3 of the 4" in said
    quoted = json.loads(remote("quote", remote.table, "--epsilon", "1/3", "--json").stdout)
    assert (quoted["cost"], quoted["left_after"]) == ("1/3", "11/3")
    train(remote, tmp_path / "f.json")
    facts = json.loads(remote("budget", remote.table, "--json").stdout)
    assert (facts["spent"], facts["left"], facts["unit"]) == ("1.0", "3.0", "epsilon")
    assert facts["batches"]["later"]["left"] == "4.0"


@pytest.mark.parametrize("what", [
    (), ("t", "--forest", "f"), ("t", "--batch", "b"), ("--batch", "b"),
    ("--forest", "f", "--learner", "gini"),
])  # fmt: skip
def test_a_quote_is_of_one_thing(remote, what):
    assert "say what to price" in remote("quote", *what, "--epsilon", 1, code=2).stderr


def test_over_budget_is_kind_and_exits_with_3(remote, tmp_path):
    said = train(remote, tmp_path / "f.json", epsilon=5, code=3)
    assert "you have epsilon 4 left and this asks for 5" in said.stderr
    assert not (tmp_path / "f.json").exists()
    assert "epsilon 4 left" in remote("quote", remote.table, "--epsilon", 5, code=3).stdout


def test_nothing_is_asked_where_the_forest_cannot_be_written(remote, tmp_path):
    said = train(remote, tmp_path / "none" / "f.json", code=2)
    assert "no folder" in said.stderr
    assert "--output" in remote("train", remote.table, "--epsilon", 1, code=2).stderr
    assert ids_of(remote) == []


def test_a_dry_run_is_free(remote, tmp_path):
    said = remote("dry-run", remote.table, "--epsilon", 1, *RDT).stdout
    assert "3 trees" in said
    remote("dry-run", remote.table, "--epsilon", 1, *RDT, "-o", tmp_path / "f.json")
    assert Forest.load(tmp_path / "f.json").trees.n_trees == 3
    assert ", 4 left" in remote("budget", remote.table).stdout


def test_a_job_can_be_left_looked_at_and_waited_for(host, remote):
    with host.no_work():
        said = remote("train", remote.table, "--epsilon", 1, *RDT, "--no-wait").stdout
        assert "queued" in said
        id = said.split()[0]
        assert "queued" in remote("job", id).stdout
        assert id in remote("jobs", "--table", remote.table).stdout
    said = remote("job", id, "--wait").stdout
    assert "done" in said
    assert f"frith remote forest {id}" in said
    assert json.loads(remote("job", id, "--json").stdout)["state"] == "done"


def test_a_queued_job_can_be_cancelled(host, remote):
    with host.no_work():
        remote("train", remote.table, "--epsilon", 1, *RDT, "--no-wait")
        assert "cancelled" in remote("cancel", *ids_of(remote)).stdout
    assert ", 4 left" in remote("budget", remote.table).stdout
    assert "was cancelled" in remote("job", *ids_of(remote), "--wait", code=2).stderr


def test_an_interrupt_says_how_to_come_back(host, remote, tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    with host.no_work():
        monkeypatch.setattr("frith.client.jobs.sleep", interrupt)
        said = train(remote, tmp_path / "f.json", code=INTERRUPTED).stderr
        monkeypatch.undo()
    assert "goes on at the server; `frith remote job" in said


def test_scores_and_updates(remote, tmp_path):
    train(remote, tmp_path / "f.json")
    [id] = ids_of(remote)
    quoted = ("quote", "--forest", id, "--epsilon", 1)
    assert "costs epsilon 1 of the 3" in remote(*quoted).stdout
    assert "costs epsilon 1 of the 4" in remote(*quoted, "--batch", "later").stdout
    assert "no such batch" in remote(*quoted, "--batch", "never", code=2).stderr
    assert "accuracy" in remote("score", id, "--epsilon", 1).stdout
    score = json.loads(remote("score", id, "--epsilon", 1, "--json").stdout)
    assert score["labels"] == ["no", "yes"]
    job = remote("score", id, "--epsilon", "0.5", "--no-wait").stdout.split()[0]
    assert "accuracy" in remote("job", job, "--wait").stdout
    remote("update", id, "--batch", "later", "--epsilon", 1, "-o", tmp_path / "more.json")
    assert Forest.load(tmp_path / "more.json").trees.n_trees == 3


def test_rules_are_counted(remote, tmp_path):
    remote("train", remote.table, "--epsilon", 1, "--learner", "forest", "--no-wait")
    [id] = ids_of(remote)
    quoted = ("quote", "--forest", id, "--rules", "--epsilon", 1)
    assert "costs epsilon 1 of the 3" in remote(*quoted).stdout
    assert "say what to price" in remote(*quoted, "--batch", "later", code=2).stderr
    remote("measure-rules", id, "--epsilon", 1, "-o", tmp_path / "counted.json")
    assert Forest.load(tmp_path / "counted.json").measured is not None


def test_the_ledger_is_listed(remote, tmp_path):
    train(remote, tmp_path / "f.json")
    words = remote("ledger").stdout
    assert "reserve" in words
    assert "epsilon 1" in words
    entries = json.loads(remote("ledger", "--json").stdout)
    assert [e["kind"] for e in entries][-2:] == ["reserve", "charge"]


# -- curators --------------------------------------------------------------------------------------


def test_a_curator_opens_a_table_to_an_analyst(host, curator, run, tmp_path, monkeypatch):
    small_domain(records=400).save(tmp_path / "domain.toml")
    said = curator("register", "ward", "sample", "table.parquet", "--domain",
                   tmp_path / "domain.toml", "--epsilon", 2, "--least-epsilon", "0.01",
                   "--learner", "gini", "--learner", "id3", "--title", "Ward 3")  # fmt: skip
    assert "ward: Ward 3; 3 attributes" in said.stdout
    curator("member", "add", "omar")
    assert "omar" in curator("member", "list").stdout
    assert "omar, analyst, disabled" in curator("member", "disable", "omar").stdout
    assert curator("member", "enable", "omar").stdout.startswith("omar, analyst\n")
    made = curator("token", "create", "omar", "--days", 3)
    assert made.stdout.startswith("frith_")
    assert "cannot be shown again" in made.stderr
    granted = curator("grant", "ward", "omar", "--column", "color", "--epsilon", "1/4").stdout
    assert "omar may ask ward about color; at most epsilon 0.25" in granted
    assert "omar" in curator("grants", "ward").stdout
    monkeypatch.setenv("FRITH_TOKEN", made.stdout.strip())
    assert "0.25 left" in run("remote", "--url", host.url, "budget", "ward").stdout
    refused = run("remote", "--url", host.url, "raise-version", "ward", code=2)
    assert "only an operator" in refused.stderr
    curator("withdraw", "ward", "omar")
    assert "no such table" in run("remote", "--url", host.url, "budget", "ward", code=2).stderr
    [token] = json.loads(curator("token", "list", "omar", "--json").stdout)
    curator("token", "revoke", token["id"])
    assert "valid token" in run("remote", "--url", host.url, "tables", code=2).stderr


def test_a_curator_buys_a_domain(host, curator):
    columns = (
        "--column",
        "size=number",
        "--column",
        "color=blue,green,red",
        "--column",
        "good=no,yes",
    )
    said = curator("register-paid", "bought", "sample", "table.parquet", "--label", "good", *columns,
                   "--price", 20, "--epsilon", 30, "--records", 400)  # fmt: skip
    assert "bought" in said.stdout
    assert "10 left" in curator("budget", "bought").stdout
    assert "all as they were written" in curator("verify").stdout


def test_a_policy_is_shown_and_changed_in_part(host, curator):
    table, _ = host.add_table("4", least_epsilon="0.01")
    assert json.loads(curator("policy", table).stdout)["epsilon"] == "4"
    changed = json.loads(
        curator("policy", table, "--epsilon", 3, "--request-epsilon", "1/2").stdout
    )
    assert (changed["epsilon"], changed["request_epsilon"]) == ("3.0", "0.5")
    assert changed["least_epsilon"] == "0.01"
    changed = json.loads(curator("policy", table, "--least-epsilon", "none").stdout)
    assert changed["least_epsilon"] == "0.001"


def test_batches_versions_and_the_chain(host, curator):
    table, _ = host.add_table(batch=False)
    later = ("sample", "later.parquet")
    assert "batches may" in curator("batch", table, "may", *later, "--disjoint").stdout
    assert "sample" in curator("connections").stdout
    assert "version 2" in curator("raise-version", table).stdout
    assert "all as they were written" in curator("verify").stdout
    assert table in curator("budget", table).stdout
