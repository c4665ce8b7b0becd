"""Cells of a CSV file that a spreadsheet takes for text, not for a formula."""

from __future__ import annotations

import re
from typing import Any

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?", re.ASCII)


def cell(value: Any) -> Any:
    """The value with an apostrophe before it if it is a text that a spreadsheet would evaluate.

    A carriage return becomes a space: Python's writer does not quote it, and it would end the row.

    >>> [cell(v) for v in ("=HYPERLINK(1)", "@x", "-a", "-1.5", "a=b", -2, None)]
    ["'=HYPERLINK(1)", "'@x", "'-a", '-1.5', 'a=b', -2, None]
    """
    if not isinstance(value, str):
        return value
    is_formula = value.startswith(_FORMULA) and not _NUMBER.fullmatch(value)
    return "'" * is_formula + value.replace("\r", " ")


def table(frame: Any) -> str:
    """A DataFrame as CSV, without its index."""
    return str(frame.map(cell).to_csv(index=False, lineterminator="\n"))
