"""Files that earlier code wrote are read by today's, and mean what they meant."""

import json
import sqlite3
import threading
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import frith
from frith import Domain, Forest, Ledger
from frith.curator.confusion import Score
from frith.curator.label_score import LabelScore
from frith.errors import BudgetExceeded, FormatError
from frith.parties import PartyRelease, Structure, merge
from frith.parties.masks import Round
from tests.forest.test_export import feed, session_of
from tests.formats import write

HERE = Path(__file__).parent
FOLDERS = sorted(p for p in HERE.iterdir() if (p / "expected.json").exists())
EXPECTED = {p: json.loads((p / "expected.json").read_text(encoding="utf-8")) for p in FOLDERS}
FILES = [folder / name for folder in FOLDERS for name in EXPECTED[folder]]


def files(pattern):
    found = [file for file in FILES if file.match(pattern)]
    return pytest.mark.parametrize("file", found, ids=lambda f: f"{f.parent.name}/{f.name}")


def expected(file):
    return EXPECTED[file.parent][file.name]


def test_every_file_is_read_by_a_test():
    read = ("forest-*.json", "domain.*", "structure.json", "round.json", "score.json", "*.sql")
    for file in FILES:
        assert any(file.match(p) for p in (*read, "label-score.json", "api.json")), file
    for folder in FOLDERS:
        assert {f.name for f in folder.iterdir()} - set(EXPECTED[folder]) <= {
            "expected.json", "release-north.json", "release-south.json"
        }  # fmt: skip


# -- files -----------------------------------------------------------------------------------------


@files("forest-*.json")
def test_a_forest_predicts_what_it_did(file):
    forest = Forest.load(file)
    assert write.facts(forest) == expected(file)
    assert Forest.from_json(forest.to_json()) == forest


def test_every_vote_is_there_and_splits_by_sets_too():
    for folder in FOLDERS:
        forests = [Forest.load(f) for f in folder.glob("forest-*.json")]
        votes = {forest.vote for forest in forests}
        assert votes - {"sum"} == {"counts", "shares", "weighted", "confident", "product"}
        assert any(len(forest.trees.sets) for forest in forests)


@files("forest-sum.json")
def test_a_number_is_the_one_that_its_onnx_model_predicts(file):
    forest, table = Forest.load(file), write.colored(write.ASKED)
    (numbers,) = session_of(forest).run(None, feed(table, forest.domain))
    assert numbers.tolist() == expected(file)["predicted"]


def test_a_forest_that_predicts_a_number_is_kept():
    assert any(file.name == "forest-sum.json" for file in FILES)


@files("domain.*")
def test_a_domain_declares_what_it_did(file):
    if file.suffix == ".json":
        domain = Domain.from_json(json.loads(file.read_text(encoding="utf-8")))
    else:
        domain = Domain.load(file)
    meant = expected(file)
    assert list(domain.names) == meant["names"]
    assert list(domain.label.values) == meant["labels"]
    assert [a.size for a in domain.attributes] == meant["sizes"]
    assert [domain.person.column, domain.person.records] == meant["person"]
    assert domain.records == meant["records"]
    assert domain.fingerprint == meant["fingerprint"]


@files("structure.json")
def test_a_structure_and_its_releases_merge_to_the_same_forest(file):
    structure = Structure.load(file)
    assert structure.hash == expected(file)["hash"]
    releases = [PartyRelease.load(f) for f in sorted(file.parent.glob("release-*.json"))]
    assert write.facts(merge(structure, releases, disjoint=True)) == expected(file)["merged"]


@files("round.json")
def test_a_round_binds_the_same_bytes(file):
    """Parties of different versions must agree on what masks are made from."""
    round_ = Round.from_json(json.loads(file.read_text(encoding="utf-8")))
    assert round_.describe().hex() == expected(file)["describes"]
    assert round_.honest == expected(file)["honest"]


@files("score.json")
def test_a_score_says_what_it_did(file):
    score = Score.from_json(json.loads(file.read_text(encoding="utf-8")))
    meant = expected(file)
    assert (score.accuracy, score.accuracy_error) == (meant["accuracy"], meant["error"])
    assert str(score.guarantee.epsilon) == meant["epsilon"]


@files("label-score.json")
def test_a_score_of_a_label_says_what_it_did(file):
    score = LabelScore.from_json(json.loads(file.read_text(encoding="utf-8")))
    assert write.told(score) == expected(file)
    assert LabelScore.from_json(score.to_json()) == score


def test_a_score_of_a_label_is_kept():
    assert any(file.name == "label-score.json" for file in FILES)


@pytest.mark.parametrize("kind", [Forest, Domain, Structure, PartyRelease, Score])
def test_a_version_that_is_not_known_is_refused(kind):
    name = {PartyRelease: "release"}.get(kind, kind.__name__.lower())
    with pytest.raises(FormatError, match=f"frith-{name}/"):
        kind.from_json({"format": f"frith-{name}/99"})


# -- databases -------------------------------------------------------------------------------------


def restored(file, folder):
    place = folder / "restored.db"
    with closing(sqlite3.connect(place)) as database:
        database.executescript(file.read_text(encoding="utf-8"))
    return place


@files("ledger.sql")
def test_a_ledger_goes_on_where_it_stopped(file, tmp_path):
    ledger, meant = Ledger(restored(file, tmp_path)), expected(file)
    assert str(ledger.remaining) == meant["remaining"]
    assert str(ledger.spent) == meant["spent"]
    assert ledger.neighbors == meant["neighbors"]
    assert [entry.to_json() for entry in ledger.entries()] == meant["entries"]
    assert ledger.verify().holds
    fit = frith.ID3Classifier(
        write.small_domain(records=400), epsilon=ledger.remaining, ledger=ledger.place
    )
    table = write.small_table(400)
    fit.fit(table[write.COLUMNS], table["good"])
    with pytest.raises(BudgetExceeded):
        fit.fit(table[write.COLUMNS], table["good"])
    assert ledger.verify().holds


@files("server.sql")
def test_a_servers_database_is_opened_and_its_chain_holds(file, tmp_path):
    meant = expected(file)
    account = Ledger(restored(file, tmp_path), meant["table"])
    assert str(account.spent) == meant["spent"]
    assert str(account.remaining) == meant["remaining"]
    written = [e for e in account.all_entries() if e.kind != "terms"]  # those a migration adds
    assert len(written) == meant["entries"]
    assert account.verify().holds


# -- the API ---------------------------------------------------------------------------------------


@pytest.fixture
def replay(request):
    """A server that gives the answers that were written down."""
    file = request.getfixturevalue("file")
    told = json.loads(file.read_text(encoding="utf-8"))

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self):
            self.answer()

        def do_POST(self):
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.answer()

        def answer(self):
            here = (self.command, self.path.split("?")[0])
            asked = next(a for a in told if (a["method"], a["path"]) == here)
            text = json.dumps(asked["answer"]).encode()
            self.send_response(asked["status"])
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *words):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", told
    server.shutdown()
    thread.join()
    server.server_close()


@files("api.json")
def test_a_client_understands_an_older_server(file, replay):
    url, told = replay
    meant = expected(file)
    answers = {(a["method"], a["path"]): a["answer"] for a in told}
    with frith.connect(url, "a-token") as database:
        assert [table.name for table in database.tables()] == [meant["table"]]
        assert database.domain(meant["table"]) == write.small_domain(records=400)
        assert len(database.learners()) == len(answers["GET", "/v1/learners"])
        budget = database.budget(meant["table"])
        assert str(budget.left) == "4"
        assert str(budget.spent) == "0"
        assert database.quote(meant["table"], "0.5", learner="id3").granted
        job = database.job(meant["forest"])
        assert (job.state, job.is_over, job.receipt.kind) == ("done", True, "charge")
        model = database.forest(meant["forest"])
        assert type(model).__name__ == "ID3Classifier"
        assert model.predict(write.ASKED).shape == (len(write.ASKED),)
        assert len(database.ledger()) == len(answers["GET", "/v1/ledger"])


@files("api.json")
def test_a_server_understands_an_older_client(file, tmp_path):
    """Requests are answered with the same status, and answers have all that they had."""
    import httpx2

    told, meant = json.loads(file.read_text(encoding="utf-8")), expected(file)
    ids = {}  # of jobs then, and of the same jobs now
    with write.hosted(tmp_path) as host:
        name, token = host.add_table()
        headers = {"authorization": f"Bearer {token}"}
        with httpx2.Client(base_url=host.url, headers=headers) as client:
            for asked in told:
                path = asked["path"].replace(f"/tables/{meant['table']}", f"/tables/{name}")
                for then, now in ids.items():
                    path = path.replace(then, now)
                if asked["path"].endswith("/cancel"):  # done meanwhile; which is another answer
                    continue
                answer = client.request(asked["method"], path, json=asked["body"])
                assert answer.status_code == asked["status"], (path, answer.text)
                _has_all_of(answer.json(), asked["answer"], path)
                if asked["status"] == 202:
                    ids[asked["answer"]["id"]] = answer.json()["id"]
                    _wait(client, answer.json()["id"])


def _has_all_of(now, then, path):
    if isinstance(then, dict):
        missing = set(then) - set(now)
        assert not missing, f"{path} has lost {missing}"
    elif isinstance(then, list) and then and isinstance(then[0], dict):
        _has_all_of(now[0], then[0], path)


def _wait(client, job):
    for _ in range(600):
        if client.get(f"/v1/jobs/{job}").json()["state"] not in ("queued", "running"):
            return
        time.sleep(0.05)
    raise AssertionError("the job did not end")
