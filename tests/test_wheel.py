"""A wheel built from the tree has all that it needs, and works where nothing else of ours is."""

import os
import re
import subprocess
import sys
import sysconfig
import time
import zipfile
from pathlib import Path

import httpx2
import pytest

from benchmarks.server_process import free_port

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
BARE = {k: v for k, v in os.environ.items() if k != "PYTHONPATH" and not k.startswith("FRITH_")}
BARE |= {"NUMBA_DISABLE_JIT": "1"}  # compiling everything again would take longer than the test
FIT = """
import frith
from frith.datasets import load
X, y, domain = load("tic_tac_toe")
frith.Ledger.create("budget.db", epsilon=1)
model = frith.ForestClassifier(domain, epsilon=1, ledger="budget.db").fit(X, y)
print(frith.__file__, model.forest_.guarantee.epsilon, frith.Ledger("budget.db").remaining)
"""
pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    pytest.importorskip("hatchling", reason="no hatchling: the wheel cannot be built here")
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--no-build-isolation", "--wheel-dir", folder, ROOT], check=True)
    (built,) = folder.glob("frith-*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    """An environment with the wheel; other packages are those of this one, so nothing is fetched."""
    folder = tmp_path_factory.mktemp("clean") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    inside = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", inside, "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-index", wheel], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    # a folder named in a .pth file comes after the environment's own, and its .pth files are not
    # read: an editable frith in it stays out of the way
    (site / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder / "bin"


def run(*command, cwd):
    return subprocess.run(command, cwd=cwd, env=BARE, capture_output=True, text=True, timeout=600)


def test_a_wheel_has_every_file_of_the_package(wheel):
    packed = {n for n in zipfile.ZipFile(wheel).namelist() if n.startswith("frith/")}
    ours = {
        str(p.relative_to(SOURCE))
        for p in SOURCE.rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    assert packed == ours
    for kind in (".html", ".css", ".js", ".svg", "py.typed", "0001_ledger.py"):
        assert any(name.endswith(kind) for name in packed), kind


def test_a_wheel_is_used_where_no_checkout_is(installed, tmp_path):
    done = run(installed / "frith", "--help", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "train" in done.stdout
    done = run(installed / "python", "-c", FIT, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    place, epsilon, left = done.stdout.split()
    assert Path(place).is_relative_to(installed.parent)
    assert (epsilon, left) == ("1", "0")


def test_a_server_from_a_wheel_has_its_pages(installed, tmp_path):
    port = free_port()
    command = [installed / "frith", "serve", "--demo", "--port", str(port)]
    server = subprocess.Popen(
        command, cwd=tmp_path, env=BARE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        url = f"http://127.0.0.1:{port}"
        page = _get(url, server)
        assert page.status_code == 200
        assert "<form" in page.text
        assert httpx2.get(f"{url}/static/style.css", timeout=60).status_code == 200
    finally:
        server.terminate()
        server.wait(300)


def _get(url, server):
    with httpx2.Client(follow_redirects=True, timeout=60) as client:
        for _ in range(3_000):
            try:
                return client.get(url)
            except httpx2.ConnectError:
                assert server.poll() is None, "the server has ended"
                time.sleep(0.1)
    raise AssertionError("the server does not answer")


def test_version_changelog_and_citation_agree():
    from frith import __version__ as version

    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## (\d+\.\d+\.\d+) \((\d{4}-\d\d-\d\d)\)$", changelog, re.MULTILINE)
    assert re.fullmatch(r"\d+\.\d+\.\d+", version)
    assert released[0][0] == version
    assert f"\nversion: {version}\n" in citation
    assert f"\ndate-released: {released[0][1]}\n" in citation
