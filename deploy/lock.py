"""Write deploy/requirements.txt, every package pinned and hashed, and deploy/sbom.cdx.json from it.

    python deploy/lock.py            # asks pip what it would install, for the Python that runs this
    python deploy/lock.py --check    # fails if a requirement of pyproject.toml is not met by the lock

Hashes are of the files for this platform (Linux on x86-64 for those in the repository): pip refuses
any other file. Run it on another platform to install there.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LOCK, SBOM = ROOT / "deploy" / "requirements.txt", ROOT / "deploy" / "sbom.cdx.json"
EXTRAS = ("server", "duckdb", "postgres")
HEAD = """# Written by `python deploy/lock.py`: what `pip install 'frith[{extras}]'` takes, pinned and hashed.
#   pip install --require-hashes -r deploy/requirements.txt && pip install --no-deps .
"""


def wanted() -> list[str]:
    """The requirements of the package with its extras, those of extras that name extras included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found, extras = list(project["dependencies"]), list(EXTRAS)
    while extras:
        for line in project["optional-dependencies"][extras.pop()]:
            own = re.fullmatch(r"frith\[(.*)\]", line)
            if own:
                extras += own[1].split(",")
            else:
                found.append(line)
    return sorted(set(found))


def resolve() -> list[dict[str, Any]]:
    """What pip would install, by its own report."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--report"]
        command += [str(report), "--ignore-installed", "--only-binary", ":all:", *wanted()]
        subprocess.run(command, check=True)
        installed: list[dict[str, Any]] = json.loads(report.read_text())["install"]
    return sorted(installed, key=lambda package: _name(package))


def _name(package: dict[str, Any]) -> str:
    return re.sub(r"[-_.]+", "-", package["metadata"]["name"]).lower()


def _sha256(package: dict[str, Any]) -> str:
    return str(package["download_info"]["archive_info"]["hashes"]["sha256"])


def lock(packages: list[dict[str, Any]]) -> str:
    lines = [
        f"{_name(p)}=={p['metadata']['version']} \\\n    --hash=sha256:{_sha256(p)}\n"
        for p in packages
    ]
    return HEAD.format(extras=",".join(EXTRAS)) + "".join(lines)


def bill(packages: list[dict[str, Any]]) -> dict[str, Any]:
    """The same list as a CycloneDX document."""
    from frith._version import __version__

    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "frith",
                "name": "frith",
                "version": __version__,
                "licenses": [{"license": {"id": "MIT"}}],
            }
        },
        "components": [_component(p) for p in packages],
    }


def _component(package: dict[str, Any]) -> dict[str, Any]:
    data, name = package["metadata"], _name(package)
    purl = f"pkg:pypi/{name}@{data['version']}"
    made = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": data["version"],
        "purl": purl,
    }
    made["hashes"] = [{"alg": "SHA-256", "content": _sha256(package)}]
    if data.get("license_expression"):
        made["licenses"] = [{"expression": data["license_expression"]}]
    elif data.get("license") and len(data["license"]) < 100:
        made["licenses"] = [{"license": {"name": data["license"].strip()}}]
    return made


def locked() -> dict[str, str]:
    """Names and versions in the lock."""
    text = LOCK.read_text(encoding="utf-8")
    return dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", text, re.MULTILINE))


def unmet() -> list[str]:
    """Requirements of pyproject.toml that the lock does not meet."""
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name

    have, missing = locked(), []
    for requirement in map(Requirement, wanted()):
        version = have.get(canonicalize_name(requirement.name))
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            missing.append(str(requirement))
    return missing


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--check", action="store_true", help="write nothing")
    if options.parse_args().check:
        missing = unmet()
        print("\n".join(missing) or "every requirement is met by the lock")
        return 1 if missing else 0
    packages = resolve()
    LOCK.write_text(lock(packages), encoding="utf-8")
    SBOM.write_text(json.dumps(bill(packages), indent=1) + "\n", encoding="utf-8")
    print(f"{len(packages)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
