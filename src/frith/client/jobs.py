"""A job on the server: where it stands, waiting for it, and what it came to."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any

from frith.client.estimators import read_estimator, read_score
from frith.client.wire import UNREACHABLE, Wire
from frith.errors import RemoteError
from frith.ledger import Receipt

if TYPE_CHECKING:
    from frith.curator.confusion import Score
    from frith.learners import PrivateForestClassifier

Progress = bool | Callable[["Job"], None]
"""True for a spinner on a terminal, False for silence, or a function to call when something is new."""
_FIRST, _GROWTH, _LONGEST = 0.05, 1.4, 1.0  # seconds between two looks


class Job:
    """A request that the server has accepted. What it costs is charged when it starts."""

    def __init__(self, wire: Wire, said: Mapping[str, Any]) -> None:
        self._wire, self._said = wire, said

    @property
    def id(self) -> str:
        """Its name on the server; that of the forest, too, when it is done."""
        return str(self._said["id"])

    @property
    def kind(self) -> str:
        """train, dry-run, update or score."""
        return str(self._said["kind"])

    @property
    def table(self) -> str:
        return str(self._said["table"])

    @property
    def state(self) -> str:
        """queued, running, done, failed or cancelled, when last looked at."""
        return str(self._said["state"])

    @property
    def created(self) -> str:
        return str(self._said["created"])

    @property
    def purpose(self) -> str:
        """What it is for, in the ledger's words."""
        return str(self._said["purpose"])

    @property
    def is_over(self) -> bool:
        return self.state not in ("queued", "running")

    @property
    def passes(self) -> int:
        """The passes over the records that it has begun."""
        return int(self._said["passes"])

    @property
    def doing(self) -> str:
        """What the pass under way is for."""
        return str(self._said["doing"])

    @property
    def request(self) -> Mapping[str, Any]:
        """What was asked for, with every parameter spelled out."""
        return self._said["request"]

    @property
    def receipt(self) -> Receipt | None:
        """The last entry of your account about it; a dry run has none."""
        entry = self._said["receipt"]
        return None if entry is None else Receipt.from_json(entry)

    @property
    def problem(self) -> str | None:
        """Why it failed."""
        return self._said["problem"]

    def to_json(self) -> dict[str, Any]:
        """As the server tells it."""
        return dict(self._said)

    def refresh(self) -> Job:
        """Look again."""
        self._said = self._wire.get("jobs", self.id)
        return self

    def cancel(self) -> Job:
        """End it while it is still queued; what was reserved for it is given back."""
        self._said = self._wire.post("jobs", self.id, "cancel")
        return self

    def wait(self, progress: Progress = True) -> Job:
        """Wait until it is over. An interrupt ends the waiting, not the job."""
        with _telling(self), _shown(progress) as show:
            pause, before = _FIRST, None
            while True:
                now = (self.state, self.passes, self.doing)
                if now != before:
                    show(self)
                if self.is_over:
                    return self
                pause = _FIRST if before is None else min(_LONGEST, pause * _GROWTH)
                before = now
                sleep(pause)
                self.refresh()

    def counts(self) -> dict[str, Any]:
        """The answer of a job that counted."""
        if self.state != "done":
            why = self.problem or f"the job {self.id} was {self.state}"
            raise RemoteError(why, code=self.state, facts={"job": self.id})
        said: dict[str, Any] = self._wire.get("counts", self.id)
        return said

    def result(self, progress: Progress = True) -> PrivateForestClassifier | Score:
        """The fitted estimator, or the score; waits for it where it is not there yet."""
        self.wait(progress)
        if self.state != "done":
            why = self.problem or f"the job {self.id} was {self.state}"
            raise RemoteError(why, code=self.state, facts={"job": self.id})
        if self.kind == "score":
            return read_score(self._wire.get("scores", self.id))
        return read_estimator(self._wire.get("forests", self.id))

    def __str__(self) -> str:
        pass_ = f", pass {self.passes}" if self.passes else ""
        doing = f": {self.doing}" if self.doing else ""
        problem = f": {self.problem}" if self.problem else ""
        return f"{self.id} {self.purpose} on {self.table}, {self.state}{pass_}{doing}{problem}"

    def __repr__(self) -> str:
        return f"<Job {self}>"


@contextmanager
def _telling(job: Job) -> Iterator[None]:
    """Where waiting ends early, say that the job goes on, and how to come back to it."""
    back = f"job {job.id} goes on at the server"
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{back}; job({job.id!r}) picks it up") from None
    except RemoteError as error:
        if error.code != UNREACHABLE:
            raise
        raise RemoteError(f"{error}; {back}", code=error.code, facts={"job": job.id}) from None


@contextmanager
def _shown(progress: Progress) -> Iterator[Callable[[Job], None]]:
    """A function that shows a job to whoever waits."""
    if callable(progress):
        yield progress
        return
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False)
    if not progress or not console.is_terminal:
        yield lambda job: None
        return
    with console.status("") as status:
        yield lambda job: status.update(str(job))
