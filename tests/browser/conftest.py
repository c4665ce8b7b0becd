"""A demo server of its own process, and Debian's Chromium to look at it."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from benchmarks.server_process import free_port

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
_SECONDS = 180


@dataclass(frozen=True)
class Demo:
    """Where the server is, and who may sign in."""

    url: str
    table: str
    curator: str
    analyst: str


@pytest.fixture(scope="module")
def browser():
    """Closed before other tests run: it keeps an event loop of its own."""
    if not Path(CHROMIUM).exists():
        what = "chromium is not installed: apt-get install chromium"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(what)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The folder of the connection `data`."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def demo(browser, tmp_path_factory, data):
    """`frith serve --demo`, until the last test is done."""
    port, log = free_port(), tmp_path_factory.mktemp("demo") / "stderr"
    connections = json.dumps({"data": {"kind": "folder", "root": str(data)}})
    environment = os.environ | {"FRITH_CONNECTIONS": connections}
    command = [sys.executable, "-m", "frith", "serve", "--demo", "--port", str(port)]
    with log.open("w") as said:
        process = subprocess.Popen(command, stderr=said, stdout=subprocess.DEVNULL, env=environment)
        try:
            yield _wait(process, log, f"http://127.0.0.1:{port}")
        finally:
            process.terminate()
            process.wait(120)


@pytest.fixture(scope="session")
def shots(tmp_path_factory):
    """Where screenshots go."""
    given = os.environ.get("FRITH_SCREENSHOTS")
    folder = Path(given) if given else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _wait(process, log, url):
    """The tokens are told once, before the server answers."""
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until and process.poll() is None:
        if _answers(url):
            text = log.read_text()
            tokens = [re.search(rf"{r}  \w+ +(frith_\w+)", text)[1] for r in ("curator", "analyst")]
            return Demo(url, re.search(r"table +(\S+)", text)[1], *tokens)
        time.sleep(0.1)
    pytest.fail(f"the demo server did not come up: {log.read_text()[-2000:]}")


def _answers(url):
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        return direct.open(f"{url}/health", timeout=5).status == 200
    except OSError:
        return False
