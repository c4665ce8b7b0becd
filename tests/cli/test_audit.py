"""`frith audit`: exit codes, JSON, a page, and what it refuses."""

import json

import pytest

from frith.audit.known_bad import FLAWS


def test_a_sound_learner_passes_and_the_report_says_so(run, tmp_path):
    page = tmp_path / "audit.html"
    told = run("audit", "random-decision", "--rungs", "replay,canaries", "--html", page)
    assert "random-decision: passed" in told.stdout
    assert "Claimed: epsilon 1" in told.stdout
    assert "passed" in page.read_text()


def test_json_has_the_claim_and_every_outcome(run):
    told = run(
        "audit", "signal", "--epsilon", "1/2", "--delta", "1e-6", "--rungs", "small-world", "--json"
    )
    data = json.loads(told.stdout)
    assert data["claimed"] == {"epsilon": "0.5", "delta": "1e-06"}
    assert [o["rung"] for o in data["outcomes"]] == ["small world"]
    assert data["passed"]


def test_a_learner_that_fails_exits_with_1(run, monkeypatch):
    flaw = next(f for f in FLAWS if f.name == "exact number of records in the model")
    monkeypatch.setitem(
        __import__("frith.audit.subjects").audit.subjects.SOUND, "gini", (flaw.bad,)
    )
    told = run("audit", "gini", "--rungs", "replay", code=1)
    assert "gini: failed" in told.stdout
    assert "n_records_" in told.stdout.replace("\n", " ")


def test_known_flaws_are_listed_by_the_rungs_that_see_them(run, monkeypatch):
    monkeypatch.setattr("frith.audit.ladder.FLAWS", FLAWS[1:2])
    told = run("audit", "known-bad", "--rungs", "samplers", "--json")
    assert [v["flagged_on"] for v in json.loads(told.stdout)] == [["samplers"]]
    assert "flagged" in run("audit", "known-bad", "--rungs", "samplers").stdout


def test_a_flaw_that_no_rung_sees_exits_with_1(run, monkeypatch):
    monkeypatch.setattr("frith.audit.ladder.FLAWS", FLAWS[:1])
    run("audit", "known-bad", "--rungs", "canaries", code=1)


@pytest.mark.parametrize(
    ("args", "told"),
    [(["--rungs", "ladder"], "there is no rung"), (["--epsilon", "inf"], "nothing to audit")],
)
def test_what_makes_no_sense_is_refused_in_one_line(run, args, told):
    assert told in run("audit", "gini", *args, code=2).stderr
