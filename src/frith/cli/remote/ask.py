"""Commands that ask a private database to work. Those that are charged say so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import print_json, say
from frith.cli.files import check_output
from frith.cli.options import AsJson, By, Delta, Epsilon, Metrics, Positive
from frith.cli.remote.desk import (
    ForestId,
    JobId,
    NoWait,
    TableName,
    connect,
    deliver,
    result_of,
    say_job,
)
from frith.cli.train import Learner, read_setting

if TYPE_CHECKING:
    from frith.client import Job, Quote, RemoteDatabase

How = Annotated[
    Learner | None,
    typer.Option(help="How to learn.", show_default="forest, or the first that the table allows"),
]
Trees = Annotated[int | None, typer.Option(help="The number of trees.")]
MaxDepth = Annotated[int | None, typer.Option(help="The most splits on a path.")]
Seed = Annotated[int | None, typer.Option(help="Seeds the public tree shapes; noise has no seed.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", help="Another parameter; see `frith remote learners`.", metavar="NAME=VALUE"
    ),
]
Maybe = Annotated[
    Path | None, typer.Option("--output", "-o", help="Where to write the forest (JSON).")
]


def quote(
    ctx: typer.Context,
    epsilon: Epsilon,
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="For a forest: a table's name.")
    ] = None,
    delta: Delta = "0",
    learner: How = None,
    forest: Annotated[
        str | None, typer.Option(metavar="ID", help="For a score: the id of a forest.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option(help="For an update of --forest: the name of a batch.")
    ] = None,
    rules: Annotated[bool, typer.Option("--rules", help="For counts of --forest's rules.")] = False,
    json: AsJson = False,
) -> None:
    """What a forest, a score, an update or counts of rules would cost and what would be left.

    Free. Exits with 3 if the budget does not cover it.
    """
    from frith.cli.group import OVER_BUDGET

    found = _quoted(connect(ctx), table, learner, forest, batch, rules, epsilon, delta)
    if json:
        print_json(found.to_json())
    else:
        say(str(found))
    if not found.granted:
        raise typer.Exit(OVER_BUDGET)


def _quoted(
    database: RemoteDatabase,
    table: str | None,
    learner: Learner | None,
    forest: str | None,
    batch: str | None,
    rules: bool,
    epsilon: str,
    delta: str,
) -> Quote:
    further = batch is not None or rules
    if table is not None and forest is None and not further:
        return database.quote(table, epsilon, delta, learner)
    if table is not None or forest is None or learner is not None or (batch and rules):
        raise ValueError(
            "say what to price: TABLE for a forest, --forest ID for a score of one, --forest ID "
            "--batch NAME for an update, or --forest ID --rules for counts of its rules"
        )
    if rules:
        return database.quote_rules(forest, epsilon, delta)
    if batch is None:
        return database.quote_score(forest, epsilon, delta)
    return database.quote_update(forest, batch, epsilon, delta)


def train(
    ctx: typer.Context,
    table: TableName,
    epsilon: Epsilon,
    output: Maybe = None,
    delta: Delta = "0",
    learner: How = None,
    trees: Trees = None,
    max_depth: MaxDepth = None,
    seed: Seed = None,
    set_: Set = None,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Train a private forest on a table of the server, and write it to a file.

    Your budget is charged when the job starts. Repeating a request returns the same forest and costs
    nothing more. Exits with 3 if the budget does not cover it.
    """
    _check(output, no_wait)
    database = connect(ctx)
    options = _parameters(database, table, learner, trees, max_depth, seed, set_)
    job = database.train(table, epsilon=epsilon, delta=delta, wait=False, **options)
    _finish(job, output, no_wait, json)


def dry_run(
    ctx: typer.Context,
    table: TableName,
    epsilon: Epsilon,
    output: Maybe = None,
    delta: Delta = "0",
    learner: How = None,
    trees: Trees = None,
    max_depth: MaxDepth = None,
    seed: Seed = None,
    set_: Set = None,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Train on synthetic records drawn from the domain alone. Free; reveals nothing about the table."""
    if output is not None:
        check_output(output)
    database = connect(ctx)
    options = _parameters(database, table, learner, trees, max_depth, seed, set_)
    job = database.dry_run(table, epsilon=epsilon, delta=delta, wait=False, **options)
    if output is None and not no_wait:
        say(result_of(job).forest_.describe())
    else:
        _finish(job, output, no_wait, json)


def score(
    ctx: typer.Context,
    id: ForestId,
    epsilon: Epsilon,
    delta: Delta = "0",
    metrics: Metrics = None,
    by: By = None,
    positive: Positive = None,
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """A noisy confusion matrix of a forest on its table, or scores of its probabilities. Charged.

    Of a forest that predicts a number: R2 and its errors.
    """
    database = connect(ctx)
    job: Any
    if metrics or by or positive is not None:
        job = database.score_label(
            id, epsilon, delta, metrics=metrics, by=by or (), positive=positive, wait=False
        )
    else:
        job = database.score(id, epsilon, delta, wait=False)
    if no_wait:
        say_job(job, json)
        return
    found = result_of(job)
    print_json(found.to_json()) if json else say(str(found))


def update(
    ctx: typer.Context,
    id: ForestId,
    epsilon: Epsilon,
    batch: Annotated[str, typer.Option(help="The name of a batch of the table.")],
    output: Maybe = None,
    delta: Delta = "0",
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Add a batch's records to a random-decision forest, and write the new forest. Charged."""
    _check(output, no_wait)
    job = connect(ctx).update(id, batch, epsilon, delta, wait=False)
    _finish(job, output, no_wait, json)


def measure_rules(
    ctx: typer.Context,
    id: ForestId,
    epsilon: Epsilon,
    output: Maybe = None,
    delta: Delta = "0",
    no_wait: NoWait = False,
    json: AsJson = False,
) -> None:
    """Count a few rules of a forest on its table, and write the forest with them. Charged."""
    _check(output, no_wait)
    job = connect(ctx).measure_rules(id, epsilon, delta, wait=False)
    _finish(job, output, no_wait, json)


def cancel(ctx: typer.Context, id: JobId) -> None:
    """Cancel a queued job and its reservation, or stop a running one; then its charge is kept."""
    say(str(connect(ctx).job(id).cancel()))


def _parameters(
    database: RemoteDatabase,
    table: str,
    learner: Learner | None,
    trees: int | None,
    max_depth: int | None,
    seed: int | None,
    settings: list[str] | None,
) -> dict[str, Any]:
    """The learner, and those of its parameters that were given."""
    given = {"n_trees": trees, "max_depth": max_depth, "random_state": seed}
    options = {name: value for name, value in given.items() if value is not None}
    how = learner or database.table(table).learner
    return {"learner": how} | options | dict(map(read_setting, settings or ()))


def _check(output: Path | None, no_wait: bool) -> None:
    """Check that the forest can be written, before a budget is spent."""
    if output is not None:
        check_output(output)
    elif not no_wait:
        raise ValueError(
            "say where to write the forest with --output, or leave it on the server with --no-wait"
        )


def _finish(job: Job, output: Path | None, no_wait: bool, json: bool) -> None:
    if no_wait or output is None:
        say_job(job, json)
        return
    deliver(result_of(job), output, json)


COMMANDS: dict[str, Callable[..., None]] = {
    "quote": quote,
    "dry-run": dry_run,
    "train": train,
    "score": score,
    "update": update,
    "measure-rules": measure_rules,
    "cancel": cancel,
}
