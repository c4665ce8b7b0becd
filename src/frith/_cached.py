"""A property that is computed when it is first asked for, and then kept."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # then it is read as a property
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 - it is a decorator
        """`functools.cached_property` without its lock, which Python has until 3.11.

        That lock is one for all objects of a class: while one thread computes, all others wait, and a
        process that is forked meanwhile waits for ever. Without it two threads may compute the same
        value at once; both get the one that was kept first.
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
