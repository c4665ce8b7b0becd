"""Hostile JSON: every question and forest is refused with a clear error, or is what it says."""

import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest

from frith import Categorical, Domain, Forest, Numeric
from frith.errors import FormatError, FrithError, TooManyCells
from frith.kernels.closed import base_of
from frith.parties.questions import question_from_json, question_to_json
from tests import hostile
from tests.hostile import DOMAIN

FULL = os.environ.get("FRITH_FULL") == "1"
ROUNDS, EACH = (20, 5_000) if FULL else (4, 600)
MOST_SECONDS = 120  # a hang, not slowness: everything here takes milliseconds


@pytest.fixture(autouse=True)
def no_hang():
    """A hang ends the test, whatever C code it is in when it comes back to Python."""

    def stop(number, frame):
        raise TimeoutError("a document from outside took too long")

    before = signal.signal(signal.SIGALRM, stop)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def read(reader, document):
    """What the reader makes of it, or None; nothing but frith's own errors comes out."""
    signal.setitimer(signal.ITIMER_REAL, MOST_SECONDS)
    try:
        return reader(document)
    except FrithError as error:
        clear = 10 < len(str(error)) < 400
    assert clear
    return None


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_question_is_refused_or_moves_no_further_than_it_states(seed):
    rng, answered, slowest = random.Random(seed), 0, 0.0
    for _ in range(EACH):
        document = hostile.legal_question(rng)
        if rng.random() < 0.95:
            document = hostile.mutated(document, rng)
        start = time.perf_counter()
        question = read(lambda d: question_from_json(d, DOMAIN), document)
        slowest = max(slowest, time.perf_counter() - start)
        if question is None:
            continue
        answered += 1
        plain = question_to_json(question)
        assert base_of(question).shape[0] >= 1
        moved = [hostile.slow_answer(plain, *record) for record in hostile.every_record()]
        assert max(sum(cells.values()) for cells in moved) <= question.l1
        assert max(sum(n * n for n in cells.values()) for cells in moved) <= question.l2_squared
    assert EACH // 30 < answered < EACH, f"the slowest took {slowest:.3f} s"


@pytest.mark.parametrize("seed", range(ROUNDS))
def test_a_forest_is_refused_or_predicts_like_a_walk(seed):
    rng, answered = random.Random(seed), 0
    records = [codes for codes, label in hostile.every_record() if label == 0]
    codes = np.array(records, dtype=DOMAIN.code_type)
    for _ in range(EACH // 2):
        document = hostile.legal_forest(rng)
        if rng.random() < 0.95:
            document = hostile.mutated(document, rng, at="trees")
        forest = read(Forest.from_json, document)
        if forest is None or not forest.domain.same_codes(DOMAIN):
            continue
        answered += 1
        labels = forest.labels_of_codes(codes, threads=1)
        assert np.all(labels < forest.domain.n_labels)
        trees = forest.trees.to_json()
        for root in trees["roots"]:
            leaves = [hostile.walk(trees, record, root) for record in records]
            assert all(trees["first_child"][leaf] == -1 for leaf in leaves)
        if forest.vote == "counts":
            found = [
                forest.values[[hostile.walk(trees, r, t) for t in trees["roots"]]] for r in records
            ]
            best = [votes.sum(axis=0) for votes in found]
            wins = [b[k] == b.max() or b.max() <= 0 for b, k in zip(best, labels, strict=True)]
            assert all(wins)
    assert answered > 10


def test_no_loop_leaves_its_arrays(tmp_path):
    """With numba's bounds checks on, in a cache folder of its own: cached kernels check nothing."""
    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join([p for p in sys.path if p]),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.kernels.bounds", "20000" if FULL else "150"],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "bounds are checked" in done.stdout
    assert int(done.stdout.split()[-3]) > 10


WIDE = Domain(
    [Categorical("many", tuple(range(10_000))), Numeric("number", 0, 1, cells=65_535)],
    Categorical("label", ("0", "1")),
)


def leaves_question(attribute, cut, first_child):
    arrays = {"roots": [0], "attribute": attribute, "cut": cut, "first_child": first_child}
    return {"kind": "leaves", "trees": arrays | {"sets": []}}


def chain(depth):
    """One path of this many cuts, each with a leaf on its left."""
    inner, leaf = [1, 1, 1], [-1, -1, -1]
    attribute, cut, first = (
        np.array([inner, leaf] * depth + [leaf])[:, i].tolist() for i in range(3)
    )
    first[: 2 * depth : 2] = range(1, 2 * depth, 2)
    return leaves_question(attribute, cut, first)


def test_children_are_counted_before_room_is_made_for_them():
    """Ten thousand children for each of many nodes, all of them the same: 4 GB, had each been named."""
    inner, leaves = 2_000, 10_000
    parents = [inner] * inner
    question = leaves_question(
        [0] * inner + [-1] * leaves, [-1] * (inner + leaves), parents + [-1] * leaves
    )
    tracemalloc.start()
    try:
        with pytest.raises(FormatError, match="two paths"):
            question_from_json(question, WIDE)
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


def test_a_long_path_is_measured_in_a_moment():
    """As long as a body of a megabyte can make it."""
    question_from_json(chain(10), WIDE)  # loops are compiled here
    assert question_from_json(chain(40_000), WIDE).l1 == 1


def test_open_nodes_are_counted_before_room_is_made_for_what_they_ask(monkeypatch):
    """One node named often: that it is named twice is found out only after the room is made."""
    monkeypatch.setattr("frith.parties.questions.MAX_CELLS", 100)
    level = {"kind": "level", "view": "sizes", "trees": leaves_question([-1], [-1], [-1])["trees"]}
    level |= {"cuts": [[], []], "open_nodes": [0] * 51, "asks": [[]] * 51}
    with pytest.raises(TooManyCells, match="at most 100 cells"):
        question_from_json(level, WIDE)
