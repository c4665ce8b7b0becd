"""The examples run as they are."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest

from frith.learners import BY_NAME

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *args):
    bare = {k: v for k, v in os.environ.items() if not k.startswith("FRITH_")}
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *args],
        capture_output=True, text=True, timeout=120, env=bare,
    )  # fmt: skip


def test_the_clients_tour_needs_nothing_and_leaves_nothing():
    began = time.monotonic()
    done = run("client.py")
    assert done.returncode == 0, done.stdout + done.stderr
    assert time.monotonic() - began < 60
    assert done.stderr == ""
    for learner in BY_NAME:
        assert re.search(rf"^  {learner} +done", done.stdout, re.MULTILINE), learner
    for words in (
        "costs epsilon 0.25 of the 4.0 that you have left",
        "the same forest: True",
        "differential privacy",
        "accuracy",
        "update later, epsilon 1/4",
        "refused: you have epsilon 2.0 left and this asks for 4.0; ask for at most epsilon 2",
    ):
        assert words in done.stdout, words
    url = re.search(r"http://127\.0\.0\.1:\d+", done.stdout)[0]
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(f"{url}/health")


def test_a_tour_of_a_server_needs_a_token():
    done = run("client.py", "http://127.0.0.1:1")
    assert done.returncode != 0
    assert "no token" in done.stderr
