"""What is going on, shown while it goes on: in a terminal, in a notebook, in a log.

Shows texts that are public already, such as the purpose of a question, and nothing about records.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

Show = Callable[[str], None]


@contextmanager
def showing(title: str, *, log: bool = True) -> Iterator[Show]:
    """A function that shows a text in the place of the one before.

    A terminal gets a spinner, a notebook one line that changes, and a log file, if `log`, a line for
    each text.
    """
    if is_notebook():
        yield _notebook_line(title)
        return
    from rich.console import Console

    console = Console(stderr=True, markup=False, highlight=False)
    if not console.is_terminal:
        yield lambda text: console.print(text, soft_wrap=True) if log else None
        return
    with console.status(title) as status:
        yield status.update


@contextmanager
def passes(title: str, progress: bool | Show = True) -> Iterator[Show]:
    """A function that takes the purpose of each pass over the records; it numbers and shows them.

    Where `progress` is a function, it takes them itself; where it is False, nobody does.
    """
    if not isinstance(progress, bool):
        yield progress
        return
    number = 0

    def count(purpose: str) -> None:
        nonlocal number
        number += 1
        show(f"{title}, pass {number}: {purpose}")

    with showing(title) if progress else nullcontext(_nothing) as show:
        yield count


def _nothing(text: str) -> None:
    pass


def is_notebook() -> bool:
    """Whether a kernel runs this, whose output goes to a page and is saved with it."""
    shell = sys.modules.get("IPython")
    running = None if shell is None else shell.get_ipython()
    return getattr(running, "kernel", None) is not None


def _notebook_line(title: str) -> Show:
    from IPython.display import display

    def bundle(text: str) -> dict[str, Any]:
        return {"text/plain": text}

    line: Any = display(bundle(title), raw=True, display_id=True)
    return lambda text: line.update(bundle(text), raw=True)
