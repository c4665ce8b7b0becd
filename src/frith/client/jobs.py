"""A job on the server: its progress, waiting for it, and its result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import sleep
from typing import TYPE_CHECKING, Any

from pydantic import PrivateAttr

from frith._progress import showing
from frith.client.estimators import read_estimator, read_score
from frith.client.kinds import JobKind, JobState, ProblemCode
from frith.client.responses import CountsResponse, JobResponse
from frith.client.wire import Wire
from frith.errors import RemoteError

if TYPE_CHECKING:
    from frith.curator.confusion import Score
    from frith.curator.label_score import LabelScore
    from frith.curator.number_score import NumberScore
    from frith.learners import PrivateForest

Progress = bool | Callable[["Job"], None]
"""True for a spinner on a terminal or a line in a notebook, False for silence, or a function to call
with every change."""
_FIRST, _GROWTH, _LONGEST = 0.05, 1.4, 1.0  # seconds between two polls


class Job(JobResponse):
    """A request that the server has accepted. Its cost is charged when it starts.

    Its fields are those of the last refresh: `id`, `kind`, `table`, `state`, `created`, `purpose`,
    `passes`, `doing`, `request`, `receipt` and `problem`. A forest has the id of the job that made it.
    """

    _wire: Any = PrivateAttr()

    @classmethod
    def at(cls, wire: Wire, data: Any) -> Job:
        job = cls.read(data)
        job._wire = wire
        return job

    @property
    def is_over(self) -> bool:
        return self.state.is_over

    def refresh(self) -> Job:
        """Ask the server for its current state."""
        return self._update(self._wire.get("jobs", self.id))

    def cancel(self) -> Job:
        """Cancel it with its reservation, or stop it if it is running; then its charge is kept."""
        return self._update(self._wire.post("jobs", self.id, "cancel"))

    def _update(self, data: Any) -> Job:
        vars(self).update(vars(JobResponse.read(data)))
        return self

    def wait(self, progress: Progress = True) -> Job:
        """Wait until the job ends. An interrupt stops the wait, not the job."""
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
        """The counts that the job released."""
        self._must_be_done()
        return CountsResponse.read(self._wire.get("counts", self.id)).to_json()

    def result(self, progress: Progress = True) -> PrivateForest | Score | LabelScore | NumberScore:
        """The fitted estimator or the score; waits until the job ends."""
        self.wait(progress)
        self._must_be_done()
        if self.kind == JobKind.SCORE:
            return read_score(self._wire.get("scores", self.id))
        return read_estimator(self._wire.get("forests", self.id))

    def _must_be_done(self) -> None:
        if self.state != JobState.DONE:
            why = self.problem or f"the job {self.id} was {self.state}"
            raise RemoteError(why, code=self.state, facts={"job": self.id})

    def __repr__(self) -> str:
        return f"<Job {self}>"


@contextmanager
def _telling(job: Job) -> Iterator[None]:
    """If the wait ends early, say that the job continues, and how to return to it."""
    back = f"job {job.id} goes on at the server"
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"{back}; job({job.id!r}) picks it up") from None
    except RemoteError as error:
        if error.code != ProblemCode.UNREACHABLE:
            raise
        raise RemoteError(f"{error}; {back}", code=error.code, facts={"job": job.id}) from None


@contextmanager
def _shown(progress: Progress) -> Iterator[Callable[[Job], None]]:
    """A function that shows the progress of a job."""
    if callable(progress):
        yield progress
        return
    if not progress:
        yield lambda job: None
        return
    with showing("", log=False) as show:
        yield lambda job: show(str(job))
