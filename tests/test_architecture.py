"""The folder list is the architecture: imports point one way, and only learners know scikit-learn."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "frith"
ORDER = [
    ("errors", "_arrays", "_jit", "short_texts"),
    ("privacy",),
    ("store",),
    ("ledger",),
    ("domain", "encoding", "drafting", "synthetic"),
    ("structure",),
    ("forest", "export", "nodes", "rules", "picture", "draw", "importance"),
    ("kernels",),
    ("engines",),
    ("curator",),
    ("published", "scoring"),
    ("trees",),
    ("learners",),
    ("audit", "datasets", "client", "report"),
    ("parties",),
    ("demo",),
    ("server",),
    ("cli",),
    ("__main__",),
]
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}
FILES = sorted(p for p in SOURCE.rglob("*.py") if p != SOURCE / "__init__.py")


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{a.name}" for a in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path):
    assert room(path) in LEVEL, f"{room(path)} has no place in the order yet"
    for module in imported(path):
        parts = module.split(".")
        if parts[0] == "frith" and len(parts) > 1 and parts[1] in LEVEL:
            assert LEVEL[parts[1]] <= LEVEL[room(path)], f"{path.name} imports {module}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_learners_and_what_stands_above_them_know_scikit_learn(path):
    if any(m.split(".")[0] == "sklearn" for m in imported(path)):
        assert LEVEL[room(path)] >= LEVEL["learners"]


def test_a_bare_import_loads_nothing_heavy():
    code = (
        "import sys, frith; print([m for m in ('numba', 'sklearn', 'opendp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_nothing_stores_or_sends_a_pickle():
    for path in FILES:
        assert "pickle" not in {m.split(".")[0] for m in imported(path)}, path
