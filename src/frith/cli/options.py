"""Arguments and options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TableFiles = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE", help="A Parquet, CSV, JSON lines or Feather file, folder or pattern."
    ),
]
AnyTable = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A Parquet, CSV, JSON lines or Feather file, folder or pattern, or the URL of a database table: "
        "duckdb:///file.db?table=t, postgresql://user@host/database?table=t.",
    ),
]
ForestFile = Annotated[
    Path, typer.Argument(metavar="FOREST", help="A forest written by `frith train`.")
]
DomainFile = Annotated[
    Path, typer.Option("--domain", metavar="FILE", help="The domain: TOML, or JSON if named .json.")
]
Epsilon = Annotated[
    str, typer.Option("--epsilon", metavar="E", help="The budget, read as written: 0.1, 1/3.")
]
Delta = Annotated[
    str, typer.Option("--delta", metavar="D", help="0 for a pure budget, else such as 1e-6.")
]
LedgerFile = Annotated[
    Path | None,
    typer.Option(help="The ledger to charge before a record is read.", metavar="FILE"),
]
PersonColumn = Annotated[
    str | None, typer.Option(help="The column that names the protected person.", metavar="COLUMN")
]
RecordsPerPerson = Annotated[
    int, typer.Option(help="The most records of a person that count.", min=1, metavar="M")
]
Metrics = Annotated[
    list[str] | None,
    typer.Option("--metric", help="accuracy, auc, log_loss, brier or calibration; once for each."),
]
By = Annotated[
    list[str] | None,
    typer.Option("--by", metavar="ATTRIBUTE", help="Rates in the groups of an attribute."),
]
Positive = Annotated[
    str | None, typer.Option(metavar="VALUE", help="The label that is scored, against all others.")
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on stdout and nothing else.")]
