"""The server's folders import in one order, and neither pages nor routes borrow from each other."""

import pytest

from tests.imports import SOURCE, graph, modules

ORDER = (
    "problems", "connections", "settings", "sources", "schema", "watch", "context", "auth", "budget",
    "jobs", ("api", "web"), "app", "run",
)  # fmt: skip
"""The files and folders of `server/`: each imports from those before it; `api` and `web` are peers."""
LEVEL = {
    name: level
    for level, names in enumerate(ORDER)
    for name in ([names] if isinstance(names, str) else names)
}
MODULES = sorted(m for m in modules() if m.startswith("frith.server."))


def part_of(module):
    return module.split(".")[2]


def test_every_file_and_folder_has_its_place():
    names = {p.stem for p in (SOURCE / "server").iterdir() if not p.name.startswith("__")}
    assert names == set(LEVEL)


@pytest.mark.parametrize("module", MODULES)
def test_imports_point_down(module):
    for target in graph()[module]:
        if target.startswith("frith.server.") and part_of(target) != part_of(module):
            assert LEVEL[part_of(target)] < LEVEL[part_of(module)], target
