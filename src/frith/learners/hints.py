"""What a learner's own documentation says about each parameter, for forms and command lines."""

from __future__ import annotations

import inspect


def parameter_hints(cls: type) -> dict[str, str]:
    """The first sentence about each parameter in the Parameters section of a class's docstring."""
    _, _, text = (inspect.getdoc(cls) or "").partition("Parameters\n----------\n")
    entries: dict[str, list[str]] = {}
    for line in text.partition("\n\n")[0].splitlines():
        if line.startswith(" "):
            list(entries.values())[-1].append(line.strip())
        else:
            names, _, words = line.partition(" : ")
            entries |= {name.strip(): [words] for name in names.split(",")}
    return {name: " ".join(words).partition(". ")[0] for name, words in entries.items()}
