"""What a command shows as it would be typed."""

from __future__ import annotations

import shlex
from pathlib import Path


def quoted(path: Path) -> str:
    """A path as it is typed after a command."""
    return shlex.quote(str(path))
