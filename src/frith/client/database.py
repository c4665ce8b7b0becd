"""`connect`: ask a private database on a server, from Python."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, cast, overload

from frith.client.accounts import TableAccount
from frith.client.curating import Curating
from frith.client.estimators import id_of, read_estimator
from frith.client.jobs import Job, Progress
from frith.client.requests import (
    BudgetRequest,
    CountsRequest,
    ForestRequest,
    QuoteRequest,
    RequestDocument,
    ScoreRequest,
    UpdateRequest,
)
from frith.client.responses import (
    BudgetResponse,
    LearnerInfo,
    Listing,
    Member,
    PartyInfo,
    Quote,
    TableInfo,
)
from frith.client.wire import Wire
from frith.domain import Domain
from frith.ledger import Receipt
from frith.privacy.budget import Budget
from frith.privacy.exact import show

if TYPE_CHECKING:
    from frith.curator.confusion import Score
    from frith.curator.label_score import LabelScore
    from frith.curator.number_score import NumberScore
    from frith.learners import PrivateForest

_ENTRIES, _JOBS = 1_000, 100  # of the ledger, and jobs, at a time


def connect(
    url: str,
    token: str | None = None,
    *,
    timeout: float = 30,
    verify: bool | str | Path | Any = True,
    insecure: bool = False,
) -> RemoteDatabase:
    """Sign in to a private database.

    Parameters
    ----------
    url : str
        The server's URL, such as https://data.example.org.
    token : str or None, default=None
        Your token, from a curator. None reads the environment variable FRITH_TOKEN.
    timeout : float, default=30
        Seconds to wait for a response. Jobs may take longer.
    verify : bool, str, Path or SSLContext, default=True
        True trusts the usual certificate authorities; a path names the file of another.
    insecure : bool, default=False
        True sends the token to another machine over plain http.
    """
    return RemoteDatabase(Wire(url, token, timeout=timeout, verify=verify, insecure=insecure))


class RemoteDatabase(Curating):
    """A server that holds tables nobody may see, and answers with forests.

    Forests come back as fitted estimators with a guarantee and a receipt. Asking for the same forest
    again returns the same forest and costs nothing more.
    """

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.member = Member.read(wire.get("me", retry=False))
        """Who you are on the server."""

    @property
    def url(self) -> str:
        return self._wire.url

    # -- looking -------------------------------------------------------------------------------

    def tables(self) -> Listing[TableInfo]:
        """The tables that you may ask about."""
        return Listing(map(TableInfo.read, self._wire.get("tables")))

    def table(self, name: str) -> TableInfo:
        """One table: its domain, policy and batches."""
        return TableInfo.read(self._wire.get("tables", name))

    def domain(self, table: str) -> Domain:
        """The public facts about a table, as far as your grant goes."""
        return self.table(table).domain

    def budget(self, table: str) -> TableAccount:
        """What you have spent on a table, and what you have left."""
        return TableAccount.of(BudgetResponse.read(self._wire.get("tables", table, "budget")))

    def learners(self) -> Listing[LearnerInfo]:
        """The learners and the parameters that a request may set."""
        return Listing(map(LearnerInfo.read, self._wire.get("learners")))

    def jobs(self, table: str | None = None) -> Listing[Job]:
        """Your jobs, the newest first; curators get everybody's."""
        found = self._wire.get_all("jobs", "before", _JOBS, table=table)
        return Listing(Job.at(self._wire, said) for said in found)

    def job(self, id: str) -> Job:
        """A job, by its id."""
        return Job.at(self._wire, self._wire.get("jobs", id))

    def forests(self) -> Listing[Job]:
        """Your forests, by the jobs that made them, the newest first."""
        return Listing(
            Job.at(self._wire, said) for said in self._wire.get_all("forests", "before", _JOBS)
        )

    def forest(self, id: str) -> PrivateForest:
        """A finished forest as a fitted estimator. Free every time."""
        return read_estimator(self._wire.get("forests", id))

    def ledger(self) -> list[Receipt]:
        """Your reservations, charges and cancellations, oldest first; curators get everybody's."""
        return [Receipt.from_json(said) for said in self._wire.get_all("ledger", "after", _ENTRIES)]

    # -- asking --------------------------------------------------------------------------------

    def quote(
        self,
        table: str,
        epsilon: Any,
        delta: Any = 0,
        learner: str | None = None,
        **parameters: Any,
    ) -> Quote:
        """What a forest would cost and what would be left. Free; computed from public facts alone."""
        body = _forest_request(learner, epsilon, delta, parameters)
        return Quote.read(self._wire.post("tables", table, "quotes", body=body, retry=True))

    def quote_score(self, forest: PrivateForest | str, epsilon: Any, delta: Any = 0) -> Quote:
        """What a `score` would cost and what would be left. Free."""
        return self._quote_further(forest, QuoteRequest.read(_amounts(epsilon, delta)))

    def quote_update(
        self, forest: PrivateForest | str, batch: str, epsilon: Any, delta: Any = 0
    ) -> Quote:
        """What an `update` would cost and what would be left on the account that pays for it. Free."""
        return self._quote_further(
            forest, QuoteRequest.read({**_amounts(epsilon, delta), "batch": batch})
        )

    def quote_rules(self, forest: PrivateForest | str, epsilon: Any, delta: Any = 0) -> Quote:
        """What `measure_rules` would cost and what would be left. Free."""
        return self._quote_further(
            forest, QuoteRequest.read({**_amounts(epsilon, delta), "rules": True})
        )

    def _quote_further(self, forest: PrivateForest | str, body: QuoteRequest) -> Quote:
        return Quote.read(
            self._wire.post("forests", id_of(forest), "quotes", body=body, retry=True)
        )

    @overload
    def train(
        self, table: str, learner: str | None = ..., *, epsilon: Any, wait: Literal[True] = ..., **more: Any
    ) -> PrivateForest: ...  # fmt: skip
    @overload
    def train(
        self, table: str, learner: str | None = ..., *, epsilon: Any, wait: Literal[False], **more: Any
    ) -> Job: ...  # fmt: skip
    def train(
        self,
        table: str,
        learner: str | None = None,
        *,
        epsilon: Any,
        delta: Any = 0,
        key: str | None = None,
        wait: bool = True,
        progress: Progress = True,
        **parameters: Any,
    ) -> PrivateForest | Job:
        """Train a forest on a table, within a budget that is charged when the job starts.

        Parameters
        ----------
        table : str
            A name from `tables()`.
        learner : str or None, default=None
            A name from `learners()`. None takes "forest", or the first that the table allows.
        epsilon : int, float, str or Fraction
            The budget, read exactly as written.
        delta : int, float, str or Fraction, default=0
            Above 0 on tables whose budget has a delta.
        key : str or None, default=None
            Names the request, so that a retry is the same request. None makes a random key.
        wait : bool, default=True
            False returns the `Job` at once.
        progress : bool or callable, default=True
            True shows a spinner on a terminal. A function is called with the job instead.
        **parameters : Any
            The learner's own parameters.

        Returns
        -------
        PrivateForest or Job
            A fitted estimator of the learner's class, with `forest_`, `receipt_` and `remote_id_`.
        """
        body = _forest_request(learner, epsilon, delta, parameters)
        return self._ask_forest(("tables", table, "forests"), body, key, wait, progress)

    @overload
    def dry_run(
        self, table: str, learner: str | None = ..., *, epsilon: Any, wait: Literal[True] = ..., **more: Any
    ) -> PrivateForest: ...  # fmt: skip
    @overload
    def dry_run(
        self, table: str, learner: str | None = ..., *, epsilon: Any, wait: Literal[False], **more: Any
    ) -> Job: ...  # fmt: skip
    def dry_run(
        self,
        table: str,
        learner: str | None = None,
        *,
        epsilon: Any,
        delta: Any = 0,
        key: str | None = None,
        wait: bool = True,
        progress: Progress = True,
        **parameters: Any,
    ) -> PrivateForest | Job:
        """Train on synthetic records drawn from the domain alone. Free; reveals nothing about the table."""
        body = _forest_request(learner, epsilon, delta, parameters)
        return self._ask_forest(("tables", table, "dry-runs"), body, key, wait, progress)

    @overload
    def score(
        self, forest: PrivateForest | str, epsilon: Any, delta: Any = ..., *,
        key: str | None = ..., wait: Literal[True] = ..., progress: Progress = ...,
    ) -> Score | NumberScore: ...  # fmt: skip
    @overload
    def score(
        self, forest: PrivateForest | str, epsilon: Any, delta: Any = ..., *,
        key: str | None = ..., wait: Literal[False], progress: Progress = ...,
    ) -> Job: ...  # fmt: skip
    def score(
        self,
        forest: PrivateForest | str,
        epsilon: Any,
        delta: Any = 0,
        *,
        key: str | None = None,
        wait: bool = True,
        progress: Progress = True,
    ) -> Score | NumberScore | Job:
        """A noisy confusion matrix of a forest on its table, as a `frith.curator.confusion.Score`. Charged.

        Of a forest that predicts a number: R2, RMSE and MAE, each with a standard error, as a
        `frith.curator.number_score.NumberScore`. `forest` is an estimator that came from this server, or
        its id.
        """
        body = ScoreRequest.read(_amounts(epsilon, delta))
        job = self._ask(("forests", id_of(forest), "scores"), body, key)
        return cast("Score | NumberScore", job.result(progress)) if wait else job

    def score_label(
        self,
        forest: PrivateForest | str,
        epsilon: Any,
        delta: Any = 0,
        *,
        metrics: Iterable[str] | None = None,
        by: Iterable[str] = (),
        positive: Any = None,
        key: str | None = None,
        wait: bool = True,
        progress: Progress = True,
    ) -> LabelScore | Job:
        """AUC, log loss, Brier score, calibration and rates in groups, with intervals. Charged.

        Like `frith.private_score`, on the forest's table: a `frith.curator.label_score.LabelScore`. It costs
        as much as a `score`; `quote_score` returns the price.
        """
        from frith.curator.label_score import METRICS

        names = list(METRICS if metrics is None else metrics)
        asked = {"metrics": names, "by": list(by), "positive": positive}
        body = ScoreRequest.read(_amounts(epsilon, delta) | asked)
        job = self._ask(("forests", id_of(forest), "scores"), body, key)
        return cast("LabelScore", job.result(progress)) if wait else job

    @overload
    def update(
        self, forest: PrivateForest | str, batch: str, epsilon: Any, delta: Any = ..., *,
        key: str | None = ..., wait: Literal[True] = ..., progress: Progress = ...,
    ) -> PrivateForest: ...  # fmt: skip
    @overload
    def update(
        self, forest: PrivateForest | str, batch: str, epsilon: Any, delta: Any = ..., *,
        key: str | None = ..., wait: Literal[False], progress: Progress = ...,
    ) -> Job: ...  # fmt: skip
    def update(
        self,
        forest: PrivateForest | str,
        batch: str,
        epsilon: Any,
        delta: Any = 0,
        *,
        key: str | None = None,
        wait: bool = True,
        progress: Progress = True,
    ) -> PrivateForest | Job:
        """A random decision forest with a batch's records added, as a new estimator. Charged.

        A disjoint batch has its own budget; any other is charged to the table's.
        """
        path = ("forests", id_of(forest), "updates")
        body = UpdateRequest.read({**_amounts(epsilon, delta), "batch": batch})
        return self._ask_forest(path, body, key, wait, progress)

    @overload
    def measure_rules(
        self, forest: PrivateForest | str, epsilon: Any, delta: Any = ..., *,
        key: str | None = ..., wait: Literal[True] = ..., progress: Progress = ...,
    ) -> PrivateForest: ...  # fmt: skip
    @overload
    def measure_rules(
        self, forest: PrivateForest | str, epsilon: Any, delta: Any = ..., *,
        key: str | None = ..., wait: Literal[False], progress: Progress = ...,
    ) -> Job: ...  # fmt: skip
    def measure_rules(
        self,
        forest: PrivateForest | str,
        epsilon: Any,
        delta: Any = 0,
        *,
        key: str | None = None,
        wait: bool = True,
        progress: Progress = True,
    ) -> PrivateForest | Job:
        """The same forest with a few of its rules counted, as a new estimator. Charged.

        `forest_.measured.rules()` lists them; what was counted adds to the forest's guarantee.
        """
        path, body = ("forests", id_of(forest), "rules"), BudgetRequest(**_amounts(epsilon, delta))
        return self._ask_forest(path, body, key, wait, progress)

    def party(self) -> PartyInfo:
        """The server's name and public key as one of several parties."""
        return PartyInfo.read(self._wire.get("party"))

    def count(
        self, table: str, question: Any, domain: Domain, budget: Budget, round: Any = None
    ) -> Job:
        """Ask for the noisy counts of a question that all parties get. Charged.

        With a `round` the counts come masked, to be added to those of the other parties.
        """
        body: dict[str, Any] = {
            **_amounts(budget.epsilon, budget.delta),
            "question": question,
            "domain": domain.fingerprint,
        }
        if round is not None:
            body["round"] = round.to_json()
        return self._ask(("tables", table, "counts"), CountsRequest.read(body), None)

    def _ask_forest(
        self,
        path: tuple[str, ...],
        body: RequestDocument,
        key: str | None,
        wait: bool,
        progress: Progress,
    ) -> PrivateForest | Job:
        job = self._ask(path, body, key)
        return cast("PrivateForest", job.result(progress)) if wait else job

    def _ask(self, path: tuple[str, ...], body: RequestDocument, key: str | None) -> Job:
        """Send a request that is charged once, however often it has to be sent."""
        return Job.at(
            self._wire, self._wire.post(*path, body=body, key=key or secrets.token_hex(16))
        )

    # -- leaving -------------------------------------------------------------------------------

    def close(self) -> None:
        """Close the connection; jobs continue."""
        self._wire.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<private database at {self.url}, as {self.member}>"


def _forest_request(
    learner: str | None, epsilon: Any, delta: Any, parameters: dict[str, Any]
) -> ForestRequest:
    plain = {name: _plain(value) for name, value in parameters.items()}
    named = {} if learner is None else {"learner": learner}
    return ForestRequest.read({**named, **_amounts(epsilon, delta), "parameters": plain})


def _amounts(epsilon: Any, delta: Any) -> dict[str, str]:
    """Both amounts as exact text."""
    budget = Budget.of(epsilon, delta)
    if budget.is_exact:
        raise ValueError("epsilon=inf has no price; a private database sells finite amounts")
    return {"epsilon": show(budget.epsilon), "delta": show(budget.delta)}


def _plain(value: Any) -> Any:
    """A parameter for JSON: fractions as text, NumPy's numbers as Python's."""
    if isinstance(value, Fraction):
        return show(value)
    return value.item() if hasattr(value, "item") else value
