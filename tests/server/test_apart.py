"""Files that a curator drafts from or checks are read in a process of their own, within limits."""

import multiprocessing
import os
import struct
import threading
import time
from pathlib import Path

import pytest

from frith.errors import DataError, SourceError
from frith.server.budget import apart
from frith.server.budget.apart import read_apart
from frith.server.budget.places import Places
from frith.server.problems import Problem
from frith.server.settings import Settings


def where():
    return os.getpid()


def quote_a_record():
    raise ValueError("age of Ada: 36")


def refuse():
    raise DataError("the file is written in several ways")


def die():
    os._exit(9)


def fill(size):
    block = bytearray(size)
    time.sleep(60)
    return len(block)


def wait_for(path, begun=None):
    if begun is not None:
        begun.touch()
    while not Path(path).exists():
        time.sleep(0.05)


def test_what_is_read_is_read_elsewhere():
    assert read_apart(Settings(), where) != os.getpid()


@pytest.mark.parametrize(
    ("read", "said"),
    [(quote_a_record, "cannot be read"), (refuse, "several ways"), (die, "cannot be read")],
)
def test_what_goes_wrong_is_told_without_a_record(read, said):
    with pytest.raises(SourceError, match=said) as caught:
        read_apart(Settings(), read)
    assert "Ada" not in str(caught.value)


def test_a_process_that_dies_while_it_answers_is_told_like_one_that_died_before():
    mine, theirs = multiprocessing.Pipe(duplex=False)
    os.write(theirs.fileno(), struct.pack("!i", 100) + b"the rest is missing")
    theirs.close()
    with mine, pytest.raises(SourceError, match="cannot be read"):
        apart._await(mine, None, 1)


def test_a_file_that_takes_too_much_is_given_up(monkeypatch):
    monkeypatch.setattr(apart, "_LEAST_BYTES", 2**29)
    with pytest.raises(SourceError, match="more memory"):
        read_apart(Settings(job_bytes=1), fill, 2**30)
    monkeypatch.setattr(apart, "SECONDS", 0.1)
    with pytest.raises(SourceError, match="more time"):
        read_apart(Settings(), fill, 1)


def test_a_server_that_ends_waits_for_no_file(tmp_path):
    """What Python does with such processes when it exits: it terminates them, and waits for them."""
    caught = []

    def read():
        with pytest.raises(SourceError, match="cannot be read") as error:
            read_apart(Settings(), wait_for, tmp_path / "stop", tmp_path / "begun")
        caught.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    while not (tmp_path / "begun").exists():
        time.sleep(0.05)
    for process in multiprocessing.active_children():
        process.terminate()
    thread.join(30)
    assert caught


def test_only_so_many_are_read_at_once_and_places_come_back(tmp_path):
    stop = tmp_path / "stop"
    threads = [
        threading.Thread(target=read_apart, args=(Settings(), wait_for, stop))
        for _ in range(apart.LIMIT)
    ]
    for thread in threads:
        thread.start()
    while apart._places.free:
        time.sleep(0.01)
    with pytest.raises(Problem) as caught:
        read_apart(Settings(), where)
    assert caught.value.status == 429
    stop.touch()
    for thread in threads:
        thread.join()
    assert read_apart(Settings(), where)


def test_one_member_has_half_of_the_places_at_most(monkeypatch):
    places = Places(4, "busy")
    monkeypatch.setattr(apart, "_places", Places(2, "busy"))
    give_back = [places.take("cora"), places.take("cora")]
    with pytest.raises(Problem, match="busy") as caught:
        places.take("cora")
    assert (caught.value.status, caught.value.wait) == (429, 10)
    places.take("dan")
    places.take("eve")
    with pytest.raises(Problem):
        places.take("fay")
    give_back[0]()
    places.take("fay")
    apart._places.take("cora")
    with pytest.raises(Problem):
        read_apart(Settings(), where, by="cora")
    assert read_apart(Settings(), where, by="dan")
