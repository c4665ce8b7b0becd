"""The examples run as they are."""

import os
import re
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from frith.learners import BY_NAME

EXAMPLES = Path(__file__).parents[2] / "examples"


def run(name, *args):
    bare = {k: v for k, v in os.environ.items() if not k.startswith("FRITH_")}
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *args],
        capture_output=True, text=True, timeout=900, env=bare,
    )  # fmt: skip


def test_the_clients_tour_needs_nothing_and_leaves_nothing():
    done = run("client.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for learner in BY_NAME:
        assert re.search(rf"^  {learner} +done", done.stdout, re.MULTILINE), learner
    for words in (
        "costs epsilon 0.25 of the 4 that you have left",
        "the same forest: True",
        "differential privacy",
        "accuracy",
        "update later, epsilon 1/4",
        "refused: you have epsilon 2 left and this asks for 4; ask for at most epsilon 2",
    ):
        assert words in done.stdout, words
    url = re.search(r"http://127\.0\.0\.1:\d+", done.stdout)[0]
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{url}/health")


def test_a_tour_of_a_server_needs_a_token():
    done = run("client.py", "http://127.0.0.1:1")
    assert done.returncode != 0
    assert "no token" in done.stderr


def test_three_hospitals_make_one_forest():
    done = run("hospitals.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    for words in (
        "structure.json: 10 trees",
        "north.json: ",
        "epsilon=0.5 differential privacy",
        "share of harbor: epsilon=0.5",
        "refused: the release of harbor is of another structure",
        "refused: the release of north is given twice",
        "refused: the release of south was changed",
        "3/2 of the variance",
        "assumes: at most 1 of the 3 parties put together what they know, and all follow",
        "north: 1 of 2.0 left, after release of north 0.5, secure sum 0.5",
        "harbor: 0.5 of 2.0 left",
    ):
        assert words in done.stdout, words
    found = dict(re.findall(r"^  (all .*?) +accuracy (\S+)", done.stdout, re.MULTILINE))
    assert set(found) == {"all three, open", "all three, secure", "all records in one place"}
