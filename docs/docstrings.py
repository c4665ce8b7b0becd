"""How our docstrings are read for the API reference."""

from __future__ import annotations

import re
from typing import Any

import griffe

_HEADINGS = re.compile(r"^\s*(Claim|Proof|Assumes|Checked|Range) {2,}", re.MULTILINE)
_NAMED = (griffe.DocstringSectionKind.parameters, griffe.DocstringSectionKind.attributes)


class Docstrings(griffe.Extension):
    """Claims and proofs become paragraphs, and parameters have meanings where others have types."""

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        if cls.docstring is not None:
            cls.docstring.value = _HEADINGS.sub(r"\n**\1.** ", cls.docstring.value)
            _read(cls)

    def on_function_instance(self, *, func: griffe.Function, **kwargs: Any) -> None:
        if func.docstring is not None:
            _read(func)


def _read(owner: griffe.Class | griffe.Function) -> None:
    for section in owner.docstring.parsed:
        if section.kind not in _NAMED:
            continue
        for named in section.value:
            if isinstance(named.annotation, str):  # words; a type would have been parsed
                named.description = _sentence(named.annotation, named.description)
                named.annotation = None
            if section.kind is _NAMED[0] and named.name in owner.parameters:
                # else both of `epsilon, delta : ...` have epsilon's default
                default = owner.parameters[named.name].default
                named.value = None if default is None else str(default)


def _sentence(words: str, more: str) -> str:
    """The words beside a name and those below it, which may go on in the middle of a sentence."""
    gap = ". " if more[:1].isupper() else " "
    return f"{words[:1].upper()}{words[1:]}{gap}{more}".strip()
