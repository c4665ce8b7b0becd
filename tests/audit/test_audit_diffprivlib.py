"""The audit of another package's forest: what is judged and said of it, from fits that are made up here."""

import json
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
TREES = 10
KEEPS = {1: 1 - np.exp(-1) / 2, 0: 0.5}
"""How likely a leaf of one record, or none, says label 0 where that record's label is 0: epsilon 1."""


@pytest.fixture
def audit(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import audit_diffprivlib

    return audit_diffprivlib


def labels(rng, own, runs=1_000):
    """One leaf a tree, by permute and flip; `own` has each tree's only label, None for no record."""
    likely = [KEEPS[own_label is not None] for own_label in own]
    right = rng.random((runs, len(own))) < likely
    said = np.where(right, [label or 0 for label in own], [1 - (label or 0) for label in own])
    return np.repeat(said, 2, axis=1).astype(float)


def judged(audit, pair, first, second):
    return audit.judge(audit.PAIRS[pair], (first, second), 1.0)


def test_rows_that_move_between_trees_are_seen(audit):
    """Without the first row, every tree has the next one's record, and the last has none."""
    rng = np.random.default_rng(0)
    own = [i % 2 for i in range(TREES)]
    found = judged(audit, 0, labels(rng, own), labels(rng, [*own[1:], None]))
    assert found["over"]
    assert 1 < found["epsilon"] <= found["most"]


def test_a_record_that_is_in_one_tree_alone_is_not_flagged(audit):
    rng = np.random.default_rng(1)
    own = [i % 2 for i in range(TREES)]
    found = judged(audit, 1, labels(rng, own), labels(rng, [*own[:-1], None]))
    assert not found["over"]
    assert found["epsilon"] <= 1


def test_a_seed_that_rules_a_table_out_is_seen_and_named(audit):
    rng = np.random.default_rng(2)
    told = [rng.integers(0, 2, (1_000, 2)).astype(float) for _ in range(2)]
    chance = (rng.random((1_000, 2)) < 0.3).astype(float)
    sides = [
        np.column_stack([told[0], np.ones(1_000), chance[:, 0]]),
        np.column_stack([told[1], chance[:, 1], np.ones(1_000)]),
    ]
    found = judged(audit, 4, *sides)
    assert found["over"]
    assert found["event"].startswith("made again with")


def test_the_neighbors_differ_by_one_record(audit):
    for pair in audit.PAIRS:
        table, other = pair.tables
        if len(table) == len(other):
            assert sum(a != b for a, b in zip(table, other, strict=True)) == 1
        else:
            assert any(table[:i] + table[i + 1 :] == other for i in range(len(table)))


def seeds(kept):
    seen = {"trees": 10, "kept": kept, "same": kept, "same_on_other_rows": 0, "counts_in_nodes": 0}
    used = {
        "largest": 7,
        "guesses": [{"tables": 256, "left": 54, "truth": True}],
        "search": {"tries": 100, "found": 1, "right": True, "seconds": 0.5},
    }
    return seen | used if kept else seen


def answer(job, kept=10):
    """A worker's answers, as of a forest that keeps its seeds or none."""
    if job["check"] == "fits":
        width = 2 * job["trees"] + 2 * job["rebuild"]
        return np.zeros((2, job["fits"], width)).tolist()
    side = {"warnings": 2, "high": 0.5, "classes": [0, 1]}
    return {
        "about": {
            "versions": {"diffprivlib": "0.0"}, "epsilon": 1.0, "trees": 10, "depth": 5,
            "shuffle": False, "names_neighbors": False,
        },
        "seeds": seeds(kept),
        "moves": [{"rows": 10, "removed": "first", "moved": 9, "trees": 10}],
        "spending": [{"accountant": "given", "step": "fit", "spent": 1.0, "refused": True}],
        "undeclared": {"with": side, "without": side, "named": [{"names": [0, 1], "accuracy": 1.0}]},
    }[job["check"]]  # fmt: skip


def test_the_page_says_what_was_seen_and_no_more(audit):
    found = json.loads(json.dumps(audit.run(answer, 20)))
    text = audit.page(found)
    assert "diffprivlib 0.0" in text
    assert "| fit | 1, refused |" in text
    assert text.count("| no event | 0.00 |") == len(audit.PAIRS)
    assert "What such a seed tells" in text


def test_a_forest_without_seeds_is_said_to_have_none(audit):
    text = audit.page(audit.run(lambda job: answer(job, kept=0), 20))
    assert "0 of 10 trees hold an integer" in text
    assert "What such a seed tells" not in text


def test_a_worker_that_fails_ends_the_run_with_1_and_writes_nothing(audit, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for command in ("false", "no such interpreter"):
        monkeypatch.setattr("sys.argv", ["audit_diffprivlib.py", "--quick", "--python", command])
        assert audit.main() == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
