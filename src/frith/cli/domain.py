"""`frith domain`: drafting the public facts of a table."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frith.cli.console import say_note
from frith.cli.files import check_output, read_table
from frith.cli.options import TableFiles
from frith.errors import DataError, PrivacyLeakWarning, SourceError

if TYPE_CHECKING:
    from frith.domain import Domain

app = typer.Typer(no_args_is_help=True, help="Draft the public facts about a table.")

_REVIEW = (
    "Drafted from the records: its values and bounds are exact facts about people.",
    "Review every one, replace what is not public knowledge, then remove `learned = true`.",
)


@app.command()
def draft(
    table: TableFiles,
    label: Annotated[str, typer.Option(help="The column to predict.", metavar="NAME")],
    person: Annotated[
        str | None,
        typer.Option(help="The column that names the protected person.", metavar="COLUMN"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write TOML (.json for JSON).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> None:
    """Draft a domain from a table, for its curator to review.

    The draft holds exact facts about people: it is private until every value in it has been
    reviewed and is public knowledge.
    """
    if output is not None:
        _check_new(output, table, force)
    domain = _draft(table, label, person)
    if output is None:
        typer.echo(_text(domain), nl=False)
    elif output.suffix == ".json":
        domain.save(output)
    else:
        output.write_text(_text(domain), encoding="utf-8")
    where = "" if output is None else f"{output} written. "
    say_note(where + " ".join(_REVIEW))


def _check_new(output: Path, table: Path, force: bool) -> None:
    """A reviewed domain is work that a new draft must not wipe out by accident."""
    check_output(output, table)
    if output.exists() and not force:
        raise SourceError(
            f"{output} exists and may be reviewed already; choose another name, or --force"
        )


def _draft(path: Path, label: str, person: str | None) -> Domain:
    from frith.domain import Domain

    table = read_table(path)
    for role, name in (("label", label), ("person", person)):
        if name is not None and name not in table.column_names:
            has = ", ".join(table.column_names)
            raise DataError(f"{path} has no {role} column {name!r}; it has {has}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)  # said as a note instead
        return Domain.from_table(table, label, person=person)


def _text(domain: Domain) -> str:
    """TOML that carries its own warning."""
    return "".join(f"# {line}\n" for line in _REVIEW) + "\n" + domain.to_toml()
