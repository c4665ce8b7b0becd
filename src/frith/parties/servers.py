"""Parties that are running servers: each with its own table, ledger and budget."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._cached import cached_property
from frith.client import RemoteDatabase
from frith.client.jobs import Job
from frith.curator import Release
from frith.errors import RemoteError
from frith.kernels import Question
from frith.learners import BY_NAME, PrivateForestClassifier
from frith.parties.binding import terms_of
from frith.parties.joint import OpenSum, Panel, train_together
from frith.parties.masks import Round
from frith.parties.merging import MergeError
from frith.parties.questions import question_to_json
from frith.parties.secure import SecureSum
from frith.privacy.budget import Budget, Meter
from frith.privacy.guarantee import Guarantee

_PAUSE = 0.05


class ServerParty:
    """A table on a server, asked question by question within a budget.

    Every question is its own request: reserved, charged before a record is read, and stored.
    A repeated question gets the stored answer.
    """

    def __init__(
        self,
        database: RemoteDatabase,
        table: str,
        *,
        epsilon: Any,
        delta: Any = 0,
        timeout: float = 120,
    ):
        self._database, self._table, self._timeout = database, table, timeout
        self.domain, self.budget = database.domain(table), Budget.of(epsilon, delta)
        self._meter, self._told = Meter(self.budget), list[Guarantee]()

    @property
    def remaining_share(self) -> Fraction:
        return self._meter.remaining / self.budget.total

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of all its answers together; their amounts add."""
        if not self._told:
            raise MergeError("this party has not been asked anything")
        return functools.reduce(Guarantee.then, self._told)

    @cached_property
    def public_key(self) -> str:
        key = self._database.party().key
        if key is None:
            raise MergeError("this server has no keys for secure sums; see `frith keys`")
        return key

    def noisy_counts(self, kernel: Question, share: Fraction, purpose: str) -> Release:
        said = self._ask(kernel, share, None)
        return Release(np.array(said["values"], dtype=np.int64), float(said["variance"]))

    def masked_answer(
        self, kernel: Question, share: Fraction, purpose: str, round: Round
    ) -> NDArray[np.uint64]:
        said = self._ask(kernel, share, round)
        return np.array(said["values"], dtype=np.uint64)

    def _ask(self, kernel: Question, share: Fraction, round: Round | None) -> dict[str, Any]:
        budget = self._price(share)
        self._meter.charge(share * self.budget.total)
        question = question_to_json(kernel)
        job = self._database.count(self._table, question, self.domain, budget, round)
        said = self._wait(job)["counts"]
        if said["question"] != self._digest(kernel, budget, round):
            raise MergeError("the answer belongs to another question: it is replayed or changed")
        if np.shape(said["values"]) != tuple(kernel.shape):
            raise MergeError("the answer has another shape than was asked for")
        self._told.append(Guarantee.from_json(said["guarantee"]))
        return dict(said)

    def _digest(self, kernel: Question, budget: Budget, round: Round | None) -> str:
        """The terms of the answer; a server gives every question its own budget."""
        keys, colluders = (round.keys, round.colluders) if round else ({}, 0)
        whole = Fraction(1)
        return terms_of(kernel, self.domain, budget, whole, keys=keys, colluders=colluders).digest

    def _price(self, share: Fraction) -> Budget:
        """The epsilon and delta to ask with; a part of a budget with a delta has no delta of its own."""
        if share == 1:
            return self.budget
        if self.budget.delta:
            raise MergeError("learners that ask more than once need delta = 0 between servers")
        return Budget.of(share * self.budget.total)

    def _wait(self, job: Job) -> dict[str, Any]:
        until = time.monotonic() + self._timeout
        while not job.is_over:
            if time.monotonic() > until:
                raise RemoteError(
                    f"no answer within {self._timeout:g} s", code="slow", facts={"job": job.id}
                )
            time.sleep(_PAUSE)
            job.refresh()
        return job.counts()


def train_between(
    servers: Mapping[str, RemoteDatabase],
    table: str | Mapping[str, str],
    learner: str = "random-decision",
    *,
    epsilon: Any,
    delta: Any = 0,
    disjoint: bool = False,
    secure: bool = False,
    colluders: int = 1,
    allow_missing: bool = False,
    timeout: float = 120,
    **parameters: Any,
) -> PrivateForestClassifier:
    """Train one forest on the tables of several servers, horizontally.

    Errors name the party that fails. The estimator's guarantee lists the parties' shares, and its
    `failures_` says who is missing, and why.

    Parameters
    ----------
    servers : dict of str to RemoteDatabase
        Each party's name and a connection to its server.
    table : str or dict of str to str
        The table's name, or its name at each party.
    learner : str, default="random-decision"
        The learner to train.
    epsilon, delta : int, float, str or Fraction
        What each party spends. Without `delta` it is 0.
    disjoint : bool, default=False
        True declares that no protected person has records at two of the parties.
    secure : bool, default=False
        True reveals only sums, with shares of the noise; see `frith.parties.secure`.
    colluders : int, default=1
        With `secure`, how many parties may pool what they know.
    allow_missing : bool, default=False
        True continues without a party that fails. Not with `secure`.
    timeout : float, default=120
        Seconds to wait for one party's answer to one question.
    **parameters : Any
        The learner's own parameters.
    """
    if secure and allow_missing:
        raise ValueError("a secure sum cannot go on without a party; try again with the others")
    failures: dict[str, str] = {}
    parties: dict[str, Any] = {}
    for name, server in servers.items():
        where = table if isinstance(table, str) else table[name]
        try:
            parties[name] = ServerParty(
                server, where, epsilon=epsilon, delta=delta, timeout=timeout
            )
        except (RemoteError, OSError) as error:
            if not allow_missing:
                raise MergeError(f"{name} failed: {error}") from error
            failures[name] = str(error)
    panel: Panel
    if secure:
        panel = SecureSum(parties, colluders=colluders, disjoint=disjoint)
    else:
        panel = OpenSum(parties, disjoint=disjoint, allow_missing=allow_missing)
    domain = next(iter(parties.values())).domain
    model = train_together(
        BY_NAME[learner](domain, epsilon=epsilon, delta=delta, **parameters), panel
    )
    model.failures_ = failures | getattr(panel, "failures", {})
    return model
