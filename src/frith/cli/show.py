"""`frith show`: what a saved forest is and what it promises."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from frith.cli.console import out, print_json, say
from frith.cli.options import AsJson, ForestFile

if TYPE_CHECKING:
    from rich.table import Table

    from frith.forest import Forest

_SHOWN = 20  # attributes listed


def show(
    forest: ForestFile,
    json: AsJson = False,
) -> None:
    """Describe a saved forest: its guarantee, what was asked, its trees and its domain."""
    from frith.forest import Forest

    loaded = Forest.load(forest)
    if json:
        print_json(_facts(loaded, forest))
    else:
        _show(loaded, forest)


def _facts(forest: Forest, path: Path) -> dict[str, Any]:
    from frith.forest.report.facts import fingerprint

    trees = forest.trees
    return {
        "path": str(path),
        "origin": forest.origin and forest.origin.to_json(),
        "fingerprint": fingerprint(forest),
        "guarantee": forest.guarantee.to_json(),
        "kind": forest.kind.value,
        "leaf_noise_standard_deviation": _noise(forest),
        "vote": forest.vote,
        "trees": {
            "count": trees.n_trees,
            "max_depth": forest.max_depth,
            "nodes": trees.n_nodes,
            "leaves": len(trees.leaves),
            "attributes_asked": [forest.domain.names[a] for a in trees.asked],
        },
        "domain": forest.domain.to_json(),
    }


def _noise(forest: Forest) -> float:
    """The median standard deviation of the noise on a leaf's count or score."""
    import numpy as np

    return float(np.sqrt(np.median(forest.variance[forest.trees.leaves])))


def _show(forest: Forest, path: Path) -> None:
    from rich.panel import Panel
    from rich.text import Text

    from frith.privacy.promise import promise

    color = "green" if forest.guarantee.holds else "red"
    body = Text(f"{forest.guarantee}\n\n").append(promise(forest.guarantee), style="italic")
    title = Text(str(path), style=f"bold {color}")
    out().print(Panel(body, title=title, border_style=color, width=min(out().width, 88)))
    trees = forest.trees
    say(
        f"{trees.n_trees} {'tree' if trees.n_trees == 1 else 'trees'}, depth {forest.max_depth}, "
        f"{trees.n_nodes:,} nodes, "
        f"{len(trees.leaves):,} leaves that hold {forest.kind}; noise on each: standard deviation "
        f"{_noise(forest):.4g}\n"
    )
    if forest.guarantee.parties:
        out().print(_parties(forest), "", sep="\n")
    out().print(_origin(forest), "", _asked(forest), "", _domain(forest), sep="\n")


def _origin(forest: Forest) -> Table:
    from frith.forest.report.facts import facts_of, spent_rows

    table = _grid("Where it comes from", "", "")
    for name, value in [*facts_of(forest), *spent_rows(forest)]:
        table.add_row(name, value)
    return table


def _parties(forest: Forest) -> Table:
    from frith.privacy.exact import readable

    table = _grid("Each party's share", "party", "epsilon", "delta")
    for share in forest.guarantee.parties:
        table.add_row(share.party, readable(share.epsilon), readable(share.delta))
    return table


def _asked(forest: Forest) -> Table:
    table = _grid("Questions to the curator", "question", "cells", "mechanism", "scale", "share")
    for column in (1, 3, 4):
        table.columns[column].justify = "right"
    for q in forest.guarantee.asked:
        cells, share = f"{q.cells:,}", f"{float(q.share):.4g}"
        table.add_row(q.purpose, cells, q.mechanism, f"{q.scale:.4g}", share)
    return table


def _domain(forest: Forest) -> Table:
    from frith.forest.report.facts import values_of

    domain = forest.domain
    records = "" if domain.records is None else f", {domain.records:,} records declared"
    title = f"Domain: {len(domain.attributes)} attributes{records}"
    table = _grid(title, "column", "role", "values")
    table.add_row(domain.label.name, "label", values_of(domain.label), style="bold")
    if domain.person is not None:
        counted = f"at most {domain.person.records} of a person's records count"
        table.add_row(domain.person.column, "person", counted)
    asked = set(forest.trees.asked)
    for j, attribute in enumerate(domain.attributes[:_SHOWN]):
        role, style = ("used", "") if j in asked else ("not used", "dim")
        table.add_row(attribute.name, role, values_of(attribute), style=style)
    if len(domain.attributes) > _SHOWN:
        table.add_row(f"and {len(domain.attributes) - _SHOWN} more", style="dim")
    return table


def _grid(title: str, *columns: str) -> Table:
    from rich.table import Table
    from rich.text import Text

    look = {"box": None, "header_style": "dim", "title_justify": "left", "padding": (0, 2, 0, 0)}
    return Table(*columns, title=Text(title, style="bold"), **look)  # type: ignore[arg-type]
