"""Arrays that nobody can write to: what a question or a structure is made of."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

Floats = NDArray[np.float64]


def frozen(values: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """A read-only copy in its own bytes, so that no view of it can be made writable again."""
    array = np.ascontiguousarray(values, dtype=dtype)
    if array.size == 0:
        array = array.copy()
        array.setflags(write=False)
        return array
    if not array.flags.writeable and isinstance(array.base, bytes):
        return array
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(array.shape)


class Rebuilt:
    """A dataclass that is pickled by its fields: a copy is checked and frozen like the original."""

    def __reduce__(self) -> tuple[Any, ...]:
        names = (f.name for f in fields(self) if f.init)  # type: ignore[arg-type]
        return type(self), tuple(getattr(self, name) for name in names)
