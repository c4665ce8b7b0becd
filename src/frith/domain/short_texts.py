"""Maps short texts to numbers without creating a string: most declared values are short."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from frith._jit import compiled

LONGEST = 7  # bytes; with their count they fit into one word
NOT_FOUND = -2

Table = tuple[NDArray[np.uint64], NDArray[np.int32]]
"""Packed texts and their numbers, by open addressing; 0 marks a free slot."""


def make_table(numbers: Mapping[str, int]) -> Table:
    packed = {_pack(s.encode()): n for s, n in numbers.items() if 0 < len(s.encode()) <= LONGEST}
    keys = np.zeros(1 << max(3, (4 * len(packed)).bit_length()), dtype=np.uint64)
    found = np.zeros(len(keys), dtype=np.int32)
    for key, number in packed.items():
        place = int(_place(np.uint64(key))) & (len(keys) - 1)
        while keys[place]:
            place = (place + 1) & (len(keys) - 1)
        keys[place], found[place] = key, number
    return keys, found


def _pack(text: bytes) -> int:
    return int.from_bytes(bytes([len(text)]) + text, "big")


@compiled
def _place(key):  # type: ignore[no-untyped-def]
    """Where to look first: the high bits of a product depend on all bits of the key."""
    return (key ^ (key >> np.uint64(29))) * np.uint64(0x9E3779B1) >> np.uint64(13)


@compiled
def find_short(begins, texts, valid, keys, numbers, out):  # type: ignore[no-untyped-def]
    """Write the number of every valid text in the table, and NOT_FOUND for others.

    Returns the number of others. Entries of a damaged array that point outside its bytes are
    left unchanged.
    """
    others = 0
    mask = np.uint64(len(keys) - 1)
    for i in range(len(out)):
        begin, end = begins[i], begins[i + 1]
        if not valid[i] or begin < 0 or end < begin or end > len(texts):
            continue
        out[i] = NOT_FOUND
        if 0 < end - begin <= LONGEST:
            key = np.uint64(end - begin)
            for j in range(begin, end):
                key = (key << np.uint64(8)) | np.uint64(texts[j])
            place = _place(key) & mask
            while keys[place] != 0:
                if keys[place] == key:
                    out[i] = numbers[place]
                    break
                place = (place + np.uint64(1)) & mask
        if out[i] == NOT_FOUND:
            others += 1
    return others
