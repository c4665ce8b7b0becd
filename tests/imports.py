"""The import graph of the package: what each module imports, lazy imports and type imports counted."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import frith

SOURCE = Path(frith.__file__).parent
ROOMS = (
    "privacy", "ledger", "domain", "forest", "kernels", "engines", "curator", "growing", "learners",
    "client", "parties", "audit", "datasets", "server", "cli",
)  # fmt: skip
"""The folder list, which is the architecture: a room imports from rooms before it, never after."""
BELOW = (
    "_amounts", "errors", "_csv", "_documents", "_arrays", "_cached", "_jit", "_threads",
    "_version", "_markup", "_progress",
)  # fmt: skip
ABOVE = ("__init__", "__main__")


@functools.cache
def modules() -> dict[str, Path]:
    """Every module by name; a package is its `__init__`."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("frith", *path.relative_to(SOURCE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def imported(path: Path) -> list[str]:
    """Every name that a file imports, wherever the import stands."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{a.name}" for a in node.names)]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return names


@functools.cache
def graph() -> dict[str, set[str]]:
    """The modules that each module imports: of `from a import b`, b where that is a module, else a."""
    known = modules()
    edges: dict[str, set[str]] = {name: set() for name in known}
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module:
                full = (f"{node.module}.{a.name}" for a in node.names)
                found = {f if f in known else node.module for f in full}
            elif isinstance(node, ast.Import):
                found = {alias.name for alias in node.names}
            else:
                continue
            edges[name] |= {f for f in found if f in known and f != name}
    return edges


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def room_graph() -> dict[str, set[str]]:
    """The rooms that each room imports."""
    edges: dict[str, set[str]] = {room: set() for room in ROOMS}
    for name, targets in graph().items():
        if room_of(name) in ROOMS:
            others = {room_of(t) for t in targets} & set(ROOMS)
            edges[room_of(name)] |= others - {room_of(name)}
    return edges
