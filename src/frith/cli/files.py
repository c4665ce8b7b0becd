"""Files that a command writes."""

from __future__ import annotations

import os
from pathlib import Path

from frith.errors import SourceError

PAID = "holds what was paid for"


def check_output(path: Path, *inputs: Path) -> None:
    """Raise if `path` cannot be written, before a budget is spent and not after."""
    folder = path.parent
    if path.is_dir():
        raise SourceError(f"{path} is a folder; name a file")
    if not folder.is_dir():
        raise SourceError(f"there is no folder {folder} to write {path.name} to; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise SourceError(f"{path} cannot be written; choose another place")
    if path.exists() and any(i.exists() and path.samefile(i) for i in inputs):
        raise SourceError(f"{path} would be written over while it is read; choose another name")


def check_new(path: Path, force: bool, what: str) -> None:
    """Raise if a file would be replaced by accident that cannot be made again for free."""
    if path.exists() and not force:
        raise SourceError(f"{path} exists and {what}; choose another name, or --force")
