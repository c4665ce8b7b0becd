"""A job's noisy answers, kept until it is done, so that a rerun repeats them and draws no others.

A worker may die after an analyst has seen how many passes its job had begun, and that number can
depend on noise. If a rerun drew new noise, the analyst would know of two draws for one charge. So
answers are stored before the next pass is shown, and a rerun gets them again, in order: with the same
seed and the same answers, a learner asks the same questions. Answers that were not stored were
never shown, and are drawn again. Only releases are stored, never an exact sum.
"""

from __future__ import annotations

import json
import zlib
from typing import Any


def pack(data: Any) -> bytes:
    """Compressed JSON; the same data give the same bytes."""
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 6)


def unpack(packed: bytes) -> Any:
    return json.loads(zlib.decompress(packed))
