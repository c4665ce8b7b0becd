"""Records that a curator looks at are read in a process of their own, with a deadline and a memory limit.

A draft holds a whole file in memory. In the server's process a few large files would take the memory
and the threads of everybody, and what Python and Arrow keep of it would stay taken. Memory is looked at
every 50 ms: a process that passes its limit takes more until it is looked at.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeVar

from frith.errors import FrithError, SourceError
from frith.server.budget.places import Places
from frith.server.settings import Settings

LIMIT = 2
"""Files that one server reads for curators at once."""
SECONDS = 300
_LEAST_BYTES = 2**30  # beside `job_bytes`: what the process takes before it reads
_LOOK_SECONDS = 0.05
_UNREADABLE = "the file cannot be read; it may be cut off"
_TOO_MUCH = "reading the file takes more {} than this server allows; do it at your desk with frith"
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4_096
_places = Places(LIMIT, "the server is reading other files; try again later")
T = TypeVar("T")


def read_apart(settings: Settings, read: Callable[..., T], *given: Any, by: str | None = None) -> T:
    """What `read` returns for what is `given`; a `SourceError` if it fails, which quotes no record.

    `by` is the member who wants it, and has one place at most.
    """
    give_back = _places.take(by)
    try:
        return _run(settings.job_bytes + _LEAST_BYTES, read, given)
    finally:
        give_back()


def _run(most: int, read: Callable[..., T], given: tuple[Any, ...]) -> T:
    processes = multiprocessing.get_context("spawn")
    mine, theirs = processes.Pipe(duplex=False)
    process = processes.Process(target=_work, args=(theirs, read, given), daemon=True)
    process.start()
    theirs.close()
    try:
        return _await(mine, process.pid, most)
    finally:
        process.kill()
        process.join()
        process.close()
        mine.close()


def _await(pipe: Connection, pid: int | None, most: int) -> Any:
    until = time.monotonic() + SECONDS
    while not wait([pipe], _LOOK_SECONDS):
        if time.monotonic() > until:
            raise SourceError(_TOO_MUCH.format("time"))
        if used_bytes(pid) > most:
            raise SourceError(_TOO_MUCH.format("memory"))
    try:
        problem, found = pipe.recv()
    except (EOFError, OSError):  # it died, perhaps while it answered
        raise SourceError(_UNREADABLE) from None
    if problem is not None:
        raise SourceError(problem)
    return found


def _work(pipe: Connection, read: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """The whole life of the process. Messages of other errors than ours may quote a record."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process, also when it ends
    threading.Thread(target=follow_parent, daemon=True).start()
    try:
        pipe.send((None, read(*given)))
    except FrithError as error:
        pipe.send((str(error), None))
    except Exception:  # noqa: BLE001 - of any class: see above
        pipe.send((_UNREADABLE, None))


def follow_parent() -> None:
    """Kill this process when the one that started it is gone."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os.kill(os.getpid(), signal.SIGKILL)


def used_bytes(pid: int | None) -> int:
    """The memory that a process has for itself; 0 if it is gone, or the system does not say.

    Not the size of its address space, which libraries reserve by the gigabyte and never touch; nor
    pages of files that it maps, which the system takes back when it needs them.
    """
    try:
        _, resident, shared, *_ = Path(f"/proc/{pid}/statm").read_text().split()
    except (OSError, ValueError):
        return 0
    return (int(resident) - int(shared)) * _PAGE
