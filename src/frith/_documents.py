"""JSON documents of frith, read in one way: say the format, hold every field, be of the right types."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from frith.errors import FormatError, FrithError


@contextmanager
def reading(data: Any, what: str, format: str) -> Iterator[None]:
    """Read a document of this format; raise `FormatError` where it is another or is malformed.

    Errors that frith raises itself pass as they are. Nothing of the document is quoted.
    """
    if not isinstance(data, Mapping) or data.get("format") != format:
        raise FormatError(f"this is not a frith {what}: it must say format {format!r}")
    try:
        yield
    except FrithError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise FormatError(
            f"the {what} is incomplete or malformed ({type(error).__name__})"
        ) from None


def parsed(
    text: str | bytes, what: str, parse: Callable[[str], Any] = json.loads, kind: str = "JSON"
) -> Any:
    """What a text says; raise `FormatError` where it cannot be parsed."""
    try:
        return parse(text.decode("utf-8-sig") if isinstance(text, bytes) else text)
    except (ValueError, RecursionError) as error:  # also bad UTF-8 and numbers without end
        raise FormatError(
            f"{what} is not valid {kind}, perhaps because it was cut off: {error}"
        ) from None


def read_file(path: str | Path) -> Any:
    """What a JSON file says."""
    return parsed(Path(path).read_bytes(), str(path))


def write_file(path: str | Path, data: Any) -> None:
    """Write a document on one line of JSON."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    Path(path).write_text(text + "\n", encoding="utf-8")
