"""What `make prove` writes down: outcomes are of one source, and rows of another are not kept for it."""

import json
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def prove(monkeypatch, tmp_path):
    """The module, with outcomes in a folder of the test and a source that the test sets."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import prove

    monkeypatch.setattr(prove, "OUTCOMES", tmp_path / "proved.json")
    monkeypatch.setattr(prove, "source_hash", lambda step: prove.source)
    monkeypatch.setattr(prove, "source", "first", raising=False)
    return prove


def step(prove, code=0):
    return prove.Step("one", "A claim.", (sys.executable, "-c", f"exit({code})"), rows=("one.csv",))


def test_a_step_that_passed_is_passed_until_its_source_changes(prove):
    one = step(prove)
    assert prove.word_of(one) == "not run"
    prove.run(one)
    assert prove.passed(one)
    assert prove.word_of(one) == "passed"
    prove.source = "second"
    assert not prove.passed(one)
    assert prove.word_of(one) == "passed (earlier source)"


def test_a_step_that_fails_is_told(prove):
    one = step(prove, code=1)
    prove.run(one)
    assert not prove.passed(one)
    assert prove.word_of(one) == "**failed**"


def test_rows_of_an_earlier_source_are_removed_and_those_of_this_one_resumed(prove, tmp_path):
    one, rows = step(prove), tmp_path / "one.csv"
    rows.write_text("of nobody knows what")
    prove.run(one)
    assert not rows.exists()
    rows.write_text("of this source")
    prove.run(one)
    assert rows.read_text() == "of this source"
    prove.source = "second"
    prove.run(one)
    assert not rows.exists()


def test_a_step_that_was_cut_off_is_told_and_keeps_its_rows(prove, tmp_path, monkeypatch):
    one, rows = step(prove), tmp_path / "one.csv"

    def cut_off(*_, **__):
        rows.write_text("half of them")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(prove.subprocess, "run", cut_off)
        patch.setattr(prove, "_git", lambda *_: "abc")
        with pytest.raises(KeyboardInterrupt):
            prove.run(one)
    assert prove.word_of(one) == "begun"
    prove.run(one)
    assert prove.passed(one)
    assert rows.read_text() == "half of them"


def test_outcomes_have_their_day_and_commit(prove, monkeypatch):
    monkeypatch.setattr(prove, "_git", lambda *_: "abc")
    prove.run(step(prove))
    (outcome,) = json.loads(prove.OUTCOMES.read_text()).values()
    assert outcome["commit"] == "abc"
    assert len(outcome["day"]) == len("2026-01-31")


def test_every_step_names_a_command_and_rows_that_exist(prove):
    for one in prove.STEPS:
        assert (BENCHMARKS.parent / one.command[1]).exists() or one.command[1] == "-m"
        assert all(name.endswith(".csv") for name in one.rows)
    names = [one.name for one in prove.STEPS]
    assert len(names) == len(set(names))
