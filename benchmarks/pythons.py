"""A small test on every other Python that the package claims, where one can be found.

    python benchmarks/pythons.py [3.12 ...]

Makes an environment for each (`.venv-3.12`, kept), installs the package without extras, and runs
doctests and the tests of budgets, domains and ledgers. Says by name which Pythons are skipped; ends
with exit code 1 if a test fails.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SMOKE = (
    "src/frith/privacy", "src/frith/domain", "src/frith/forest", "src/frith/learners",
    "tests/privacy/test_exact.py", "tests/privacy/test_budget.py", "tests/domain/test_domain.py",
    "tests/learners/test_forest.py",
)  # fmt: skip


def claimed() -> list[str]:
    """The versions among the classifiers, without the one that runs this."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found = re.findall(r"Python :: (\d+\.\d+)$", "\n".join(project["classifiers"]), re.MULTILINE)
    return [version for version in found if version != f"3.{sys.version_info.minor}"]


def find(version: str) -> str | None:
    """A Python of this version that runs: on the path, or one of pyenv's."""
    places = [shutil.which(f"python{version}")]
    places += map(str, sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python")))
    for place in filter(None, places):  # a shim of pyenv may be there and lead nowhere
        if subprocess.run([place, "-c", "pass"], capture_output=True).returncode == 0:
            return place
    return None


def environment(version: str, python: str) -> Path:
    folder = ROOT / f".venv-{version}"
    inside = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        subprocess.run([python, "-m", "venv", folder], check=True)
        install = [inside, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, "--editable", ROOT, "pytest", "hypothesis"], check=True)
        (folder / ".ready").touch()
    return inside


def main() -> None:
    failed = []
    for version in sys.argv[1:] or claimed():
        python = find(version)
        if python is None:
            print(f"skipped: no Python {version} on this machine")
            continue
        print(f"Python {version}: {python}", flush=True)
        try:
            inside = environment(version, python)
        except subprocess.CalledProcessError:
            print(f"skipped: the packages for Python {version} cannot be installed here")
            continue
        done = subprocess.run([inside, "-m", "pytest", "-p", "no:cacheprovider", *SMOKE], cwd=ROOT)
        failed += [version] if done.returncode else []
    sys.exit(f"failed on Python {', '.join(failed)}" if failed else 0)


if __name__ == "__main__":
    main()
