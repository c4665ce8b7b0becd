"""`frith demo`: what privacy costs, in a table and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from frith.cli.console import err, out, quoted, say, say_note

if TYPE_CHECKING:
    from rich.text import Text

    from frith.cli.demo_run import Curve, Sample

_BAR = 28  # characters of a bar at 100%


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="The folder to write to.")
    ] = Path("demo-output"),
) -> None:
    """Train private forests at several budgets and show what privacy costs.

    Writes forest.json (epsilon 1) and accuracy.png.
    """
    output.mkdir(parents=True, exist_ok=True)
    with err().status("loading") as status:
        from frith.cli import demo_run as plan

        sample = plan.load_sample(plan.TABLES)
        curve = plan.measure(
            sample, plan.EPSILONS, plan.REPEATS, lambda text: status.update(f"training, {text}")
        )
    _introduce(sample)
    _show(curve)
    curve.forest.save(output / "forest.json")
    drawn = _draw(curve, output / "accuracy.png")
    _say_where(output, drawn)


def _introduce(sample: Sample) -> None:
    from frith.cli.demo_run import REPEATS, TABLES, TREES

    if sample.name != TABLES[0]:
        say_note(
            f"the table {TABLES[0]!r} is not installed (pip install 'frith[data]'), so this shows "
            f"{sample.name!r}, which is small"
        )
    n_train, n_test = len(sample.train[1]), len(sample.test[1])
    say(f"\nWhat privacy costs on {sample.name}", "bold")
    say(
        f"ForestClassifier, and {TREES} random decision trees, trained on {n_train:,} records and "
        f"tested on {n_test:,}; mean of {REPEATS} forests a row\n"
    )


def _show(curve: Curve) -> None:
    from rich.table import Table

    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("epsilon", "accuracy", "spread", "random trees"):
        table.add_column(name, justify="right")
    table.add_column("")
    for point in curve.points:
        spread, random = f"± {point.deviation:.1%}", f"{point.random_mean:.1%}"
        row = (f"{point.epsilon:g}", f"{point.mean:.1%}", spread, random)
        table.add_row(*row, _bar(point.mean, "green"))
    table.add_section()
    table.add_row("no privacy", f"{curve.exact:.1%}", "", "", _bar(curve.exact, "white"))
    table.add_row("majority label", f"{curve.majority:.1%}", "", "", _bar(curve.majority, "dim"))
    out().print(table)


def _bar(share: float, style: str) -> Text:
    from rich.text import Text

    return Text("━" * round(share * _BAR), style=style)


def _draw(curve: Curve, path: Path) -> bool:
    from frith.cli.demo_run import NEEDS_MATPLOTLIB, draw

    try:
        draw(curve, path)
    except ImportError:
        say_note(NEEDS_MATPLOTLIB)
        return False
    return True


def _say_where(folder: Path, drawn: bool) -> None:
    say("")
    if drawn:
        say(f"picture  {folder / 'accuracy.png'}")
    say(f"forest   {folder / 'forest.json'}  (epsilon 1)")
    say(f"next     frith show {quoted(folder / 'forest.json')}", "bold")
