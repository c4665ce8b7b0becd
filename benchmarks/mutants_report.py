"""What a mutation run found, in words: which mutants survived and why, and what killed the others."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path


def explained() -> dict[str, str]:
    """Survivors that change nothing that matters, by file, function and change, each with the reason."""
    listed = tomllib.loads(Path(__file__).with_name("mutants_explained.toml").read_text())
    return {mutant: entry["why"] for entry in listed["survivors"] for mutant in entry["mutants"]}


EXPLAINED = explained()


def key_of(row: dict[str, str]) -> str:
    return f"{row['file']} {row['function']}: {row['change']}"


def report(rows: list[dict[str, str]], total: int, guarded: Iterable[str]) -> str:
    """What was tried, what survived and why, and every mutant with the test that killed it."""
    from common import markdown_table  # not above: a process that imported frith cannot test a copy

    survivors = [r for r in rows if r["outcome"] == "survived"]
    files = [
        (
            f,
            len(of := [r for r in rows if r["file"] == f]),
            sum(r["outcome"] == "killed" for r in of),
        )
        for f in guarded
    ]
    kept = [
        (f"`{_cell(key_of(r))}`", EXPLAINED.get(key_of(r), "**not explained**")) for r in survivors
    ]
    by_hand = [r for r in rows if _is_by_hand(r)]
    others = [r for r in rows if not _is_by_hand(r)]
    lines = [
        "# Mutants", "",
        f"{len(rows):,} of {total:,} mutants were tried, {len(rows) - len(survivors):,} killed. Made by "
        "`benchmarks/mutants.py`, which says how; each ran against the tests that are named there.", "",
        markdown_table(("file", "tried", "killed"), files),
        "## Survivors", "",
        markdown_table(("mutant", "why it may"), kept) if kept else "None.\n",
    ]  # fmt: skip
    if by_hand:
        items = [
            (r["function"], *_columns(r)) for r in sorted(by_hand, key=lambda r: r["function"])
        ]
        lines += ["## Equations", "", markdown_table(("item", *COLUMNS), items)]
    lines += ["## All", "", markdown_table(COLUMNS, [_columns(r) for r in others])]
    return "\n".join(lines)


COLUMNS = ("place", "change", "outcome", "killed by")


def _columns(row: dict[str, str]) -> tuple[str, ...]:
    place, change = f"{row['file']}:{row['line']}", f"`{_cell(row['change'])}`"
    return place, change, row["outcome"], row["by"]


def _is_by_hand(row: dict[str, str]) -> bool:
    """Whether it is named for a paper's item: no function has a space in its name."""
    return " " in row["function"]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
