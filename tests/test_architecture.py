"""The folder list is the architecture: imports point one way, and only learners know scikit-learn."""

import re
import signal
import subprocess
import sys

import pytest

from tests.imports import ABOVE, BELOW, ROOMS, SOURCE, graph, imported, modules, room_of

ORDER = (*BELOW, *ROOMS, *ABOVE)
FILES = sorted(p for p in SOURCE.rglob("*.py"))


def test_every_module_is_in_a_room():
    folders = {p.name for p in SOURCE.iterdir() if p.is_dir() and p.name != "__pycache__"}
    assert folders == set(ROOMS)
    assert {p.stem for p in SOURCE.glob("*.py")} == {*BELOW, *ABOVE}


@pytest.mark.parametrize("module", sorted(modules()))
def test_imports_point_one_way(module):
    """Lazy imports and imports for types count like any other, and there are no exceptions."""
    for target in graph()[module]:
        if room_of(target) != room_of(module):
            assert ORDER.index(room_of(target)) < ORDER.index(room_of(module)), target


def test_no_module_imports_itself_by_a_detour():
    edges, done, path = graph(), set(), []

    def visit(module):
        if module in path:
            raise AssertionError(" -> ".join([*path[path.index(module) :], module]))
        if module in done:
            return
        path.append(module)
        for target in sorted(edges[module]):
            visit(target)
        done.add(path.pop())

    for module in edges:
        visit(module)
    assert done == set(edges)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_only_learners_and_what_stands_above_them_know_scikit_learn(path):
    if any(m.split(".")[0] == "sklearn" for m in imported(path)):
        room = path.relative_to(SOURCE).parts[0]
        assert ORDER.index(room) >= ORDER.index("learners")


def test_tests_and_rooms_have_the_same_names():
    here = SOURCE.parents[1] / "tests"
    folders = {p.name for p in here.iterdir() if (p / "__init__.py").exists()}
    assert set(ROOMS) <= folders
    assert folders - set(ROOMS) == {"browser", "docs", "formats", "issuer"}


def test_a_bare_import_loads_nothing_heavy():
    code = (
        "import sys, frith; print([m for m in ('numba', 'sklearn', 'opendp') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_bare_import_reaches_the_rooms_that_people_use():
    code = (
        "import sys, frith; before = {*sys.modules}; "
        "print(frith.datasets.names, frith.parties.release, frith.audit.__name__, frith.budget); "
        "print([m for m in before if m.startswith(('frith.d', 'frith.p', 'frith.a'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_cached_properties_are_our_own():
    """On Python 3.11 those of the standard library hold up a fork, and every thread."""
    for path in FILES:
        if path.stem != "_cached":
            assert not re.search(r"functools(\.| import .*)cached_property", path.read_text()), path


def test_nothing_stores_or_sends_a_pickle():
    for path in FILES:
        assert "pickle" not in {m.split(".")[0] for m in imported(path)}, path


def test_reading_the_source_for_its_examples_changes_no_signal():
    """A process that ignores the signal to end, as jobs' own server does, hangs pools of its forks."""
    assert signal.getsignal(signal.SIGTERM) is not signal.SIG_IGN
