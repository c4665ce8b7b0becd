"""`frith train`: a private forest from a table."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import err, out, print_json, say, say_note
from frith.cli.files import PAID, check_new, check_output
from frith.cli.options import AnyTable, AsJson, Delta, DomainFile, Epsilon, Force, LedgerFile

if TYPE_CHECKING:
    from frith.domain import Domain


class Learner(StrEnum):
    """The learners, by the name they have on the command line."""

    FOREST = "forest"
    RANDOM_DECISION = "random-decision"
    SIGNAL = "signal"
    GINI = "gini"
    ID3 = "id3"
    C45 = "c45"
    INFO_GAIN = "info-gain"


def train(
    table: AnyTable,
    domain: DomainFile,
    epsilon: Epsilon,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write the forest (JSON).")
    ],
    delta: Delta = "0",
    learner: Annotated[Learner, typer.Option(help="The learner.")] = Learner.FOREST,
    trees: Annotated[int | None, typer.Option(help="The number of trees.")] = None,
    max_depth: Annotated[int | None, typer.Option(help="The most splits on a path.")] = None,
    seed: Annotated[
        int | None, typer.Option(help="Seeds the public tree shapes; noise has no seed.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Another parameter of the learner.", metavar="NAME=VALUE"),
    ] = None,
    public: Annotated[
        str | None,
        typer.Option(
            help="What is known beforehand: a forest (.json) or a table of records that nobody protects.",
            metavar="FILE",
        ),
    ] = None,
    ledger: LedgerFile = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Train a private forest within a budget, and write it to a file.

    If the domain's label is a number, the forest predicts that number.

    What is printed and written is covered by the guarantee, so it may be shown to anyone (with
    `--epsilon inf` or `--set as_published=true` there is none). Only on a terminal, it also tells
    the holder of the records what looks wrong with the domain; no file or pipe gets that. Exits with
    3 if the ledger's budget does not cover the request; nothing is charged then.
    """
    from frith.domain import Domain

    inputs = [domain, *([] if ledger is None else [ledger])]
    tables = [table, *([] if public is None else [public])]
    check_output(output, *inputs, *(Path(t) for t in tables if "://" not in t))
    check_new(output, force, PAID)
    declared = Domain.load(domain)
    wanted = {
        "domain": declared, "epsilon": epsilon, "delta": delta, "n_trees": trees,
        "max_depth": max_depth, "random_state": seed, "ledger": ledger,
        "public": None if public is None else _read_public(public, declared),
    }  # fmt: skip
    options = {k: v for k, v in wanted.items() if v is not None}
    options |= dict(map(read_setting, set_ or ()))
    model = _make_model(learner, declared, options)
    _fit(model, table)
    model.forest_.save(output)
    _warn(model)
    if json:
        print_json(facts_of(model, output))
    else:
        show_model(model, output)


def _make_model(learner: Learner, domain: Domain, options: dict[str, Any]) -> Any:
    """The learner by its name, for the domain's kind of label; a classifier refuses a number."""
    from frith.learners import BY_NAME, learners_for

    kind: Any = learners_for(domain).get(learner, BY_NAME[learner])
    offered = kind().get_params()
    for name in options:
        if name not in offered:
            raise ValueError(
                f"the learner {learner} has no option {name}; it has {', '.join(sorted(offered))}"
            )
    return kind(**options)


def _read_public(path: str, domain: Domain) -> Any:
    """The prior in a file: a forest, or a table of the same columns."""
    from frith.engines import open_table
    from frith.forest import Forest
    from frith.learners.public_prior import unprotected

    if path.endswith(".json"):
        return Forest.load(path)
    return open_table(path, unprotected(domain))


def read_setting(setting: str) -> tuple[str, Any]:
    """NAME=VALUE, the value as JSON where it is JSON and as text otherwise."""
    import json

    name, equals, value = setting.partition("=")
    if not equals:
        raise ValueError(f"--set takes NAME=VALUE, not {setting!r}")
    try:
        return name, json.loads(value)
    except json.JSONDecodeError:
        return name, value


def _fit(model: Any, table: str) -> None:
    from frith.engines import open_table

    engine = open_table(table, model.domain)
    model.fit(engine, notices=err().is_terminal, progress=True)  # a log would keep notices


def _warn(model: Any) -> None:
    if not model.forest_.guarantee.holds:
        say_note(f"{model.forest_.guarantee}. It is as private as the records themselves.")
    elif model.domain.learned:
        say_note(
            "the domain says `learned = true`, so its values and bounds are outside the guarantee; "
            "review it and remove that line."
        )


def facts_of(model: Any, output: Path) -> dict[str, Any]:
    """What a script needs to know about the forest that was written."""
    receipt = None if model.receipt_ is None else model.receipt_.to_json()
    return {"path": str(output), "guarantee": model.forest_.guarantee.to_json(), "receipt": receipt}


def show_model(model: Any, output: Path) -> None:
    """Print the forest that was written, its guarantee and its receipt for people."""
    from rich.panel import Panel
    from rich.text import Text

    from frith.cli.console import quoted

    lines = [model.forest_.describe(), *([str(model.receipt_)] if model.receipt_ else [])]
    color = "green" if model.forest_.guarantee.holds else "red"
    title = Text(str(output), style=f"bold {color}")
    out().print(Panel(Text("\n".join(lines)), title=title, border_style=color, expand=False))
    say(f"next: frith show {quoted(output)}", "dim")
