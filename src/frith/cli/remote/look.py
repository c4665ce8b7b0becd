"""Commands that look at a private database and cost nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frith.cli.console import print_json, print_rows, say
from frith.cli.files import check_output
from frith.cli.options import AsJson
from frith.cli.remote.desk import ForestId, JobId, Output, TableName, connect, deliver, result_of
from frith.cli.remote.desk import say_job as _say_job
from frith.client.kinds import JobKind, JobState

if TYPE_CHECKING:
    from frith.client import Job


def tables(ctx: typer.Context, json: AsJson = False) -> None:
    """List the tables that you may ask about."""
    found = connect(ctx).tables()
    columns = ("table", "version", "attributes", "label", "batches", "title")
    rows = [
        (t.name, str(t.version), str(len(t.domain.names)), t.domain.label.name,
         ", ".join(t.batch_names), t.title)
        for t in found
    ]  # fmt: skip
    print_rows(columns, rows, json)


def domain(
    ctx: typer.Context,
    table: TableName,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write it there: TOML, or JSON if .json.")
    ] = None,
    json: AsJson = False,
) -> None:
    """Show what is public about a table: values, bounds and labels, as far as your grant goes."""
    if output is not None:
        check_output(output)
    found = connect(ctx).domain(table)
    if output is not None:
        found.save(output)
    elif json:
        print_json(found.to_json())
    else:
        typer.echo(found.to_toml(), nl=False)


def budget(ctx: typer.Context, table: TableName, json: AsJson = False) -> None:
    """Show what you have spent and have left on a table; curators see everybody's."""
    found = connect(ctx).budget(table)
    if json:
        print_json(found.to_json())
    else:
        say(str(found))


def learners(ctx: typer.Context, json: AsJson = False) -> None:
    """List the learners of a server and the parameters that `--set` knows."""
    found = connect(ctx).learners()
    rows = [
        (x.name, x.summary, " ".join(f"{k}={v}" for k, v in x.parameters.items())) for x in found
    ]
    print_rows(("learner", "what it is", "parameters"), rows, json)


def jobs(
    ctx: typer.Context,
    table: Annotated[str | None, typer.Option(help="Only this table's.", metavar="TABLE")] = None,
    json: AsJson = False,
) -> None:
    """List your jobs, the newest first; curators see everybody's."""
    _print_jobs(connect(ctx).jobs(table), json)


def forests(ctx: typer.Context, json: AsJson = False) -> None:
    """List your forests, the newest first."""
    _print_jobs(connect(ctx).forests(), json)


def _print_jobs(found: list[Job], json: bool) -> None:
    if json:
        print_json([job.to_json() for job in found])
        return
    columns = ("id", "asked (UTC)", "what", "table", "epsilon", "state")
    rows = [
        (job.id, _when(job.created), job.purpose, job.table, job.request["epsilon"], job.state)
        for job in found
    ]
    print_rows(columns, rows)


def _when(time: str) -> str:
    """A time, to the minute."""
    return time[:16].replace("T", " ")


def job(
    ctx: typer.Context,
    id: JobId,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until the job is over.")] = False,
    json: AsJson = False,
) -> None:
    """Show a job and its result. With --wait, exits with 2 if the job failed."""
    found = connect(ctx).job(id)
    score = result_of(found) if wait else None
    if found.kind == JobKind.SCORE and score is not None:
        print_json(score.to_json()) if json else say(str(score))
        return
    _say_job(found, json)
    if found.state == JobState.DONE and found.kind != JobKind.SCORE and not json:
        say(f"next: frith remote forest {found.id} -o forest.json", "dim")


def forest(ctx: typer.Context, id: ForestId, output: Output, json: AsJson = False) -> None:
    """Download a forest, for `frith show`, `rules`, `draw` and `predict`. Free."""
    check_output(output)
    deliver(connect(ctx).forest(id), output, json)


def ledger(ctx: typer.Context, json: AsJson = False) -> None:
    """List your reservations, charges and cancellations, oldest first; curators see everybody's."""
    from frith.privacy.exact import readable

    entries = connect(ctx).ledger()
    if json:
        print_json([entry.to_json() for entry in entries])
        return
    columns = ("entry", "when (UTC)", "account", "what", "purpose", "amount", "spent")
    rows = [
        (str(e.id), _when(e.at), e.account, e.kind, e.purpose, f"{e.unit} {readable(e.amount)}",
         readable(e.spent))
        for e in entries
    ]  # fmt: skip
    print_rows(columns, rows)


COMMANDS: dict[str, Callable[..., None]] = {
    "tables": tables,
    "domain": domain,
    "budget": budget,
    "learners": learners,
    "jobs": jobs,
    "job": job,
    "forests": forests,
    "forest": forest,
    "ledger": ledger,
}
