"""How our docstrings are read for the API reference."""

from __future__ import annotations

import re
from typing import Any

import griffe

_HEADINGS = re.compile(r"^\s*(Claim|Proof|Assumes|Checked|Range) {2,}", re.MULTILINE)


class Docstrings(griffe.Extension):
    """Claims and proofs become paragraphs; parameters that share a line keep their own defaults."""

    def on_class_members(self, *, cls: griffe.Class, **kwargs: Any) -> None:
        if cls.docstring is None:
            return
        cls.docstring.value = _HEADINGS.sub(r"\n**\1.** ", cls.docstring.value)
        for section in cls.docstring.parsed:
            if section.kind is not griffe.DocstringSectionKind.parameters:
                continue
            for named in section.value:  # else both of `epsilon, delta : ...` have epsilon's
                if named.name in cls.parameters:
                    default = cls.parameters[named.name].default
                    named.value = None if default is None else str(default)
