"""`frith predict`: labels for the records of a file, in batches and in order."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith._csv import cell
from frith.cli.console import print_json, say_note
from frith.cli.files import check_output
from frith.cli.options import ForestFile, TableFiles
from frith.errors import FormatError

if TYPE_CHECKING:
    import pyarrow as pa

    from frith.forest import Forest

_FORMATS = (".csv", ".parquet", ".pq")


def predict(
    forest: ForestFile,
    table: TableFiles,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A .csv or .parquet file; else stdout.")
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add a column P(label) for each label.")
    ] = False,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Add what the base and each attribute adds to the score."),
    ] = False,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON on stdout: predictions, or where they are."),
    ] = False,
) -> None:
    """Predict the label of every record of a file. Costs no budget.

    Writes one row a record, in the order of the file. The forest is public, the records are yours:
    what is printed is as private as they are.
    """
    from frith.forest import Forest

    if output is not None:
        check_output(output, forest, table)
        if output.suffix.lower() not in _FORMATS:
            raise FormatError(f"predictions are written as .csv or .parquet; not as {output.name}")
    predictions = _Predictions(Forest.load(forest), table, proba, explain)
    if output is not None:
        rows = _write(predictions, output)
        said = {"path": str(output), "rows": rows}
        print_json(said) if json else say_note(f"{rows:,} predictions written to {output}")
    elif json:
        print_json(predictions.collect())
    else:
        _write_csv(predictions, sys.stdout)


class _Predictions:
    """One table of predictions for each batch of records; checks the file's columns first."""

    def __init__(self, forest: Forest, path: Path, proba: bool, explain: bool):
        from frith.engines.batches import read_batches

        self.forest, self.proba, self.explain = forest, proba, explain
        self._batches = read_batches(path, forest.domain.names, csv=forest.domain.csv)

    @property
    def none(self) -> pa.Table:
        """The predictions for no record: their names and types."""
        import pyarrow as pa

        names = self.forest.domain.names
        return self._predict(pa.table({name: pa.array([], pa.string()) for name in names}))

    def __iter__(self) -> Iterator[pa.Table]:
        return (self._predict(batch) for batch in self._batches)

    def collect(self) -> dict[str, list[Any]]:
        import pyarrow as pa

        return pa.concat_tables([self.none, *self]).to_pydict()

    def _predict(self, records: Any) -> pa.Table:
        import pyarrow as pa

        from frith.domain import class_array, spelling
        from frith.forest.kinds import refuse_number

        codes, domain = self.forest.encode(records), self.forest.domain
        if domain.has_target:
            if self.proba:
                refuse_number(domain, "probabilities of labels")
            columns = {
                "prediction": pa.array(domain.from_target(self.forest.numbers_of_codes(codes)))
            }
            return pa.table(columns | self._added(records))
        labels = domain.label_values
        columns = {"prediction": pa.array(class_array(labels)[self.forest.labels_of_codes(codes)])}
        if self.proba:
            chances = self.forest.proba_of_codes(codes)
            columns |= {f"P({spelling(v)})": pa.array(chances[:, j]) for j, v in enumerate(labels)}
        return pa.table(columns | self._added(records))

    def _added(self, records: Any) -> dict[str, pa.Array]:
        """What each attribute adds, if requested."""
        import pyarrow as pa

        if not self.explain:
            return {}
        added, domain = self.forest.explain(records), self.forest.domain
        to = f" to {domain.target_unit}" if domain.has_log_target else ""
        return {f"adds {_joined(name)}{to}": pa.array(added[name].to_numpy()) for name in added}


def _joined(name: Any) -> str:
    """The name of an attribute, after the label if there are several."""
    from frith.domain import spelling

    return ": ".join(map(spelling, name)) if isinstance(name, tuple) else name


def _write(predictions: _Predictions, path: Path) -> int:
    if path.suffix.lower() == ".csv":
        with path.open("w", encoding="utf-8", newline="") as file:
            return _write_csv(predictions, file)
    return _write_parquet(predictions, path)


def _write_csv(predictions: _Predictions, file: Any) -> int:
    """Labels are spelled as in a domain; numbers in full."""
    from frith.domain import spelling

    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(cell, predictions.none.column_names))
    rows = 0
    for table in predictions:
        labels, *chances = (column.to_pylist() for column in table.columns)
        spelled = (cell(spelling(label)) for label in labels)
        writer.writerows(zip(spelled, *chances, strict=True))
        rows += table.num_rows
    return rows


def _write_parquet(predictions: _Predictions, path: Path) -> int:
    import pyarrow.parquet as pq

    rows = 0
    with pq.ParquetWriter(path, predictions.none.schema) as writer:
        for table in predictions:
            writer.write_table(table)
            rows += table.num_rows
    return rows
