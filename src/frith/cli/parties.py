"""`frith structure`, `release`, `merge` and `join`: one forest of several parties, by files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from frith._progress import passes
from frith.cli.console import out, print_json, quoted, say
from frith.cli.files import PAID, check_new, check_output
from frith.cli.options import AnyTable, AsJson, Delta, DomainFile, Epsilon, Force, LedgerFile
from frith.errors import FormatError

if TYPE_CHECKING:
    from frith.domain import Domain
    from frith.forest import Forest
    from frith.parties import PartyRelease, Structure

T = TypeVar("T")
Output = Annotated[Path, typer.Option("--output", "-o", help="Where to write it (JSON).")]
StructureFile = Annotated[
    Path, typer.Argument(metavar="STRUCTURE", help="A structure that all parties have.")
]


class Learner(StrEnum):
    """The learners that grow their trees before they read any record."""

    RANDOM_DECISION = "random-decision"
    SIGNAL = "signal"


def structure(
    domain: DomainFile,
    output: Output,
    learner: Annotated[Learner, typer.Option(help="The learner.")] = Learner.RANDOM_DECISION,
    trees: Annotated[int | None, typer.Option(help="The number of trees.")] = None,
    max_depth: Annotated[int | None, typer.Option(help="The most splits on a path.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seeds the tree shapes.")] = None,
    epsilon: Annotated[
        str, typer.Option(metavar="E", help="What each party will spend; sizes signal forests.")
    ] = "1",
    delta: Delta = "0",
    json: AsJson = False,
) -> None:
    """Grow trees from a domain alone, for several parties to count their records in.

    Reads no record, so the file may be given to anyone.
    """
    from frith.domain import Domain
    from frith.parties import make_structure

    check_output(output, domain)
    wanted = {"n_trees": trees, "max_depth": max_depth, "random_state": seed, "delta": delta}
    declared = Domain.load(domain)
    options = _offered(learner, declared, {k: v for k, v in wanted.items() if v is not None})
    made = make_structure(declared, learner.value, epsilon=epsilon, **options)
    made.save(output)
    facts = _structure_facts(made, output)
    if json:
        print_json(facts)
        return
    say(
        f"{output}: {facts['trees']} trees, {facts['leaves']:,} leaves, for {learner.value}", "bold"
    )
    say(f"hash {made.hash}")
    say(f"next, each party: frith release {quoted(output)} TABLE --party NAME --epsilon E", "dim")


def release(
    structure: StructureFile,
    table: AnyTable,
    party: Annotated[str, typer.Option(help="Who releases: a name that the others know.")],
    epsilon: Epsilon,
    output: Output,
    delta: Delta = "0",
    ledger: LedgerFile = None,
    force: Force = False,
    json: AsJson = False,
) -> None:
    """Count one party's records in the leaves of a structure, privately.

    What is written is covered by the guarantee in it, so it may be given to the other parties.
    Exits with 3 if the ledger's budget does not cover it; nothing is charged then.
    """
    from frith.parties import Structure
    from frith.parties import release as make_release
    from frith.privacy import Budget

    inputs = [structure, *([] if ledger is None else [ledger])]
    check_output(output, *inputs, *([] if "://" in table else [Path(table)]))
    check_new(output, force, PAID)
    if Budget.of(epsilon, delta).is_exact:
        raise ValueError("exact counts are not for other parties; release with a finite epsilon")
    with passes(f"release of {party}") as progress:
        made = make_release(
            _read(structure, Structure.load), table, party=party, epsilon=epsilon, delta=delta,
            ledger=ledger, progress=progress,
        )  # fmt: skip
    made.save(output)
    if json:
        print_json(_release_facts(made, output))
    else:
        _show_release(made, output, structure)


def merge(
    structure: StructureFile,
    releases: Annotated[
        list[Path], typer.Argument(metavar="RELEASE...", help="Releases of that structure.")
    ],
    output: Output,
    disjoint: Annotated[
        bool, typer.Option("--disjoint", help="Declare that no person is at two of the parties.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Add the releases of several parties up to one forest: any of them, in any order.

    Reads no record. Epsilons add, unless the parties declare disjoint people.
    """
    from frith.parties import PartyRelease, Structure
    from frith.parties import merge as merge_releases

    check_output(output, structure, *releases)
    shared = _read(structure, Structure.load)
    found = [_read(path, PartyRelease.load) for path in releases]
    _finish(merge_releases(shared, found, disjoint=disjoint), output, json)


def join(
    forests: Annotated[
        list[Path], typer.Argument(metavar="FOREST...", help="Each party's own forest.")
    ],
    output: Output,
    json: AsJson = False,
) -> None:
    """Let the forests of parties with different attributes of the same people vote together.

    Reads no record. Epsilons add, for every release is about the same people. A party is named
    after its file.
    """
    from frith.forest import Forest
    from frith.parties import join as join_forests

    check_output(output, *forests)
    names = Counter(path.stem for path in forests)
    _finish(
        join_forests(
            {
                path.stem if names[path.stem] == 1 else str(path): _read(path, Forest.load)
                for path in forests
            }
        ),
        output,
        json,
    )


def _offered(learner: Learner, domain: Domain, options: dict[str, Any]) -> dict[str, Any]:
    """The same options, or a message that says which there are."""
    from frith.parties.shared_structure import learner_of

    offered = learner_of(learner.value, domain)().get_params()
    for name in options:
        if name not in offered:
            raise ValueError(f"the learner {learner} finds its own {name}; leave that option out")
    return options


def _read(path: Path, load: Callable[[Path], T]) -> T:
    """Load a file; what is wrong with it is said beside its name."""
    try:
        return load(path)
    except FormatError as error:
        named = str(path) in str(error)
        raise FormatError(str(error) if named else f"{path}: {error}") from None


def _finish(forest: Forest, output: Path, json: bool) -> None:
    forest.save(output)
    if json:
        print_json({"path": str(output), "guarantee": forest.guarantee.to_json()})
        return
    shares = [f"share of {share}" for share in forest.guarantee.parties]
    _show("\n".join([forest.describe(), *shares]), output, forest.guarantee.holds)
    say(f"next: frith show {quoted(output)}", "dim")


def _structure_facts(made: Structure, output: Path) -> dict[str, Any]:
    return {
        "path": str(output),
        "hash": made.hash,
        "learner": made.learner,
        "trees": made.trees.n_trees,
        "leaves": len(made.trees.leaves),
        "domain": made.domain.fingerprint,
    }


def _release_facts(made: PartyRelease, output: Path) -> dict[str, Any]:
    return {
        "path": str(output),
        "id": made.id,
        "hash": made.hash,
        "party": made.party,
        "structure": made.structure,
        "guarantee": made.guarantee.to_json(),
        "receipt": None if made.receipt is None else made.receipt.to_json(),
    }


def _show_release(made: PartyRelease, output: Path, structure: Path) -> None:
    from frith.privacy.exact import readable

    lines = [f"release {made.id} of {made.party}: {made.values.size:,} counts", str(made.guarantee)]
    lines += [f"asked: {question}" for question in made.guarantee.asked]
    if made.receipt is not None:
        lines.append(
            f"receipt {made.receipt.id}: {made.receipt.unit} {readable(made.receipt.amount)} charged, "
            f"{readable(made.receipt.spent)} spent in all"
        )
    _show("\n".join(lines), output, made.guarantee.holds)
    say(f"next, anyone: frith merge {quoted(structure)} RELEASE... -o forest.json", "dim")


def _show(text: str, output: Path, holds: bool) -> None:
    from rich.panel import Panel
    from rich.text import Text

    color = "green" if holds else "red"
    title = Text(str(output), style=f"bold {color}")
    out().print(Panel(Text(text), title=title, border_style=color, expand=False))
