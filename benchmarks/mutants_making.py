"""Mutants: one small change to the syntax tree of one file each, and the breaks by hand of equations."""

from __future__ import annotations

import ast
import copy
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mutants_learners
import mutants_privacy

SOURCE = Path(__file__).resolve().parents[1] / "src" / "frith"
SETS = {"privacy": mutants_privacy.TESTS, "learners": mutants_learners.TESTS}
ONLY = mutants_privacy.ONLY | mutants_learners.ONLY

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}  # fmt: skip
SWAPS = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"}
LEFT_OUT = {
    "_charge", "charge", "check", "check_question", "check_tree", "_check_window", "_check_labels",
    "_check_parts", "_check_size", "_check_splits", "_check_arrays", "_check_family", "_shrink",
}  # fmt: skip
NEAREST = {"float_at_least": "float({})", "float_root_at_least": "float({}) ** 0.5"}


@dataclass(frozen=True)
class Mutant:
    """One change to one file."""

    file: str
    function: str
    line: int
    change: str
    text: str
    by_hand: bool = False

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.file}{self.text}".encode()).hexdigest()[:12]


def _without_words(text: str) -> ast.Module:
    """The code alone: a sentence that is mended makes no new mutant."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant("")
    return tree


def mutants_of(file: str) -> Iterator[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    tree = _without_words((SOURCE / file).read_text(encoding="utf-8"))
    sites, seen = _wanted_sites(file, tree), Counter[str]()
    for number, site in enumerate(sites):
        for variant in range(len(_changes(site.node))):
            broken = copy.deepcopy(tree)
            target = _wanted_sites(file, broken)[number]
            before = ast.unparse(target.shown)
            _changes(target.node)[variant]()
            after = "left out" if _is_left_out(target.node) else ast.unparse(target.shown)
            change = f"{before} -> {after}"
            seen[site.function + change] += 1
            if (times := seen[site.function + change]) > 1:
                change += f" (number {times})"
            yield Mutant(
                file, site.function, getattr(site.node, "lineno", 0), change,
                ast.unparse(ast.fix_missing_locations(broken)),
            )  # fmt: skip


def broken_equations() -> Iterator[Mutant]:
    """The breaks by hand, each under the name of what it breaks."""
    for name, file, before, after in mutants_learners.EQUATIONS:
        whole = (SOURCE / file).read_text(encoding="utf-8")
        if whole.count(before) != 1:
            raise ValueError(f"{name}: {file} does not have {before!r} exactly once")
        line = whole[: whole.index(before)].count("\n") + 1
        change = " ".join(f"{before} -> {after}".split())
        yield Mutant(file, name, line, change, whole.replace(before, after), by_hand=True)


def mutants_in(chosen: str) -> dict[str, Mutant]:
    """The mutants of a set by their ids: the equations, then the others."""
    by_hand = broken_equations() if chosen == "learners" else ()
    return {m.id: m for m in (*by_hand, *(m for f in SETS[chosen] for m in mutants_of(f)))}


@dataclass(frozen=True)
class Site:
    """A node that can be changed, what of its surroundings is shown, and whose it is."""

    node: ast.AST
    shown: ast.AST
    function: str


def _wanted_sites(file: str, tree: ast.AST) -> list[Site]:
    pattern = re.compile(ONLY.get(file, ".*"))
    return [s for s in _sites(tree, tree, "") if pattern.fullmatch(s.function.split(".")[-1])]


def _sites(node: ast.AST, parent: ast.AST, function: str) -> Iterator[Site]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
        children = list(node.body)
    elif isinstance(node, ast.AnnAssign | ast.Assign):
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        if isinstance(parent, ast.Module | ast.ClassDef) and isinstance(target, ast.Name):
            function = f"{function}.{target.id}".lstrip(".")
        children = [node.value] if node.value else []
    if _changes(node):
        has_text = isinstance(parent, ast.expr) and not isinstance(node, ast.stmt)
        yield Site(node, parent if has_text else node, function)
    for child in children:
        yield from _sites(child, node, function)


def _changes(node: ast.AST) -> list:
    """What can be done to a node, each as a function that does it in place."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        return [lambda: setattr(node, "op", OPERATORS[type(node.op)]())]
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        return [lambda: node.ops.__setitem__(0, COMPARISONS[type(node.ops[0])]())]
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 2**20:
        value = node.value
        return [
            lambda: setattr(node, "value", value + 1),
            lambda: setattr(node, "value", value - 1),
        ]
    if isinstance(node, ast.Call):
        return _call_changes(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = _name(node.value)
        if name in LEFT_OUT:
            return [lambda: setattr(node, "value", ast.Constant(None))]
    return []


def _call_changes(node: ast.Call) -> list:
    name = _name(node)
    if name in SWAPS:
        field = "id" if isinstance(node.func, ast.Name) else "attr"
        return [lambda: setattr(node.func, field, SWAPS[name])]
    if name in NEAREST and len(node.args) == 1:
        made = ast.parse(NEAREST[name].format(f"({ast.unparse(node.args[0])})"), mode="eval").body

        def round_to_nearest() -> None:
            node.func, node.args = ast.Name("sum", ast.Load()), [ast.List([made], ast.Load())]

        return [round_to_nearest]
    return []


def _name(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _is_left_out(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
