"""Codes that the database computes itself, several packed into one whole number, unpacked here.

For each cell the database computes a *position*: which of a column's keys the cell is, or how many edges
of a grid are at most the number. A table that the Python encoding filled, key by key, turns positions
into codes. So a database's codes are the Python ones if two things hold, whatever a cell holds:

- every value that is no key gets one and the same code from the Python encoding (`_keys`);
- the position is exact, and an expression of it never fails (`frith.engines.positions`).

A column for which one of these cannot be shown is sent as it is and encoded here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._jit import compiled
from frith.domain import Domain
from frith.domain.attributes import Attribute, Categorical, Date, Numeric, Ordered
from frith.domain.encoding import Batch, encode_column, encode_label
from frith.engines.positions import Dialect

WORD_BITS = 62  # of a signed 64-bit number: no sum of positions can overflow
MOST_KEYS = 256
_LONGEST = 256  # bytes of a key
_WHOLE = re.compile("-?[0-9]{1,19}")
_EXACT = 2**53  # beyond it, whole numbers are read as the nearest float


class Source(NamedTuple):
    """A column of a database: what its cells are, how to compare one, and how to send one as it is."""

    kind: str | None  # text, integer, float; None for all else
    cell: str
    form: str


class _Place(NamedTuple):
    """Where a column's position is: in which word, above how many bits, and which code it stands for."""

    word: int
    shift: int
    bits: int
    codes: NDArray[np.int32]


class Packing:
    """What to select for some attributes and the label, and how to read it.

    `selected` are SQL expressions: words of packed positions first, then the columns that are sent as
    they are.
    """

    def __init__(
        self,
        domain: Domain,
        attributes: Sequence[int],
        sources: Mapping[str, Source],
        dialect: Dialect,
    ):
        self.domain, self.attributes = domain, tuple(attributes)
        words: list[list[str]] = []
        self._places: dict[int, _Place] = {}  # by attribute; the label is -1
        left = 0
        for j in (-1, *self.attributes):
            attribute = domain.label if j < 0 else domain.attributes[j]
            found = _position(attribute, sources[attribute.name], dialect, is_label=j < 0)
            if found is None:
                continue
            sql, codes = found
            bits = (len(codes) - 1).bit_length()
            if bits > left:
                words.append([])
                left = WORD_BITS
            shift = WORD_BITS - left
            words[-1].append(dialect.shifted(sql, shift))
            self._places[j] = _Place(len(words) - 1, shift, bits, codes)
            left -= bits
        self._raw = [j for j in (-1, *self.attributes) if j not in self._places]
        self._n_words = len(words)
        self.selected = [" + ".join(parts) for parts in words]
        self.selected += [sources[self._attribute(j).name].form for j in self._raw]

    def encode(self, rows: pa.RecordBatch | pa.Table) -> Batch:
        """The records with a known label among rows of what was selected."""
        columns = [_chunks(column) for column in rows.columns]
        words = [_whole(column) for column in columns[: self._n_words]]
        raw = dict(zip(self._raw, columns[self._n_words :], strict=True))
        labels = self._labels(words, raw, len(rows))
        known = labels >= 0
        keep = None if known.all() else known
        n_attributes = len(self.domain.attributes)
        make = np.empty if len(self.attributes) == n_attributes else np.zeros
        codes = make((int(known.sum()), n_attributes), dtype=self.domain.code_type)
        for j in self.attributes:
            if j in raw:
                encode_column(raw[j], self.domain.attributes[j], codes[:, j], keep)
        for place, word in enumerate(words):
            _unpack(word, known, self._read_from(place), codes)
        return Batch(codes, labels[known].astype(self.domain.label_type))

    def _attribute(self, j: int) -> Attribute:
        return self.domain.label if j < 0 else self.domain.attributes[j]

    def _labels(
        self, words: list[NDArray[np.int64]], raw: Mapping[int, pa.ChunkedArray], rows: int
    ) -> NDArray[np.int32]:
        if -1 in raw:
            return encode_label(raw[-1], self.domain.label)
        place = self._places[-1]
        out = np.empty((rows, 1), dtype=np.int32)
        alone = _arrays([(0, place)])
        _unpack(words[place.word], np.ones(rows, dtype=np.bool_), alone, out)
        return out[:, 0]

    def _read_from(self, word: int) -> tuple[NDArray[Any], ...]:
        here = [(j, p) for j, p in self._places.items() if p.word == word and j >= 0]
        return _arrays(here)


def _arrays(places: Sequence[tuple[int, _Place]]) -> tuple[NDArray[Any], ...]:
    """For each position of a word: its column of codes, its shift, its mask and where its codes begin.

    The codes are padded to the next power of two, so that no bits point beyond them.
    """
    filled = [
        np.append(p.codes, np.full((1 << p.bits) - len(p.codes), p.codes[-1])) for _, p in places
    ]
    begins = itertools.accumulate((len(codes) for codes in filled), initial=0)
    return (
        np.array([j for j, _ in places], dtype=np.int64),
        np.array([p.shift for _, p in places], dtype=np.int64),
        np.array([(1 << p.bits) - 1 for _, p in places], dtype=np.int64),
        np.array(list(begins)[:-1], dtype=np.int64),
        np.concatenate([np.empty(0, np.int32), *filled]).astype(np.int32),
    )


def _chunks(column: pa.Array | pa.ChunkedArray) -> pa.ChunkedArray:
    return column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])


def _whole(column: pa.ChunkedArray) -> NDArray[np.int64]:
    return column.combine_chunks().cast(pa.int64()).to_numpy(zero_copy_only=False)


# -- what a database can say -------------------------------------------------------------------


def _position(
    attribute: Attribute, source: Source, dialect: Dialect, *, is_label: bool
) -> tuple[str, NDArray[np.int32]] | None:
    """An expression for a column's position, and the code of each; None if it is sent as it is."""
    if isinstance(attribute, Categorical | Ordered):
        listed = attribute.listed if isinstance(attribute, Ordered) else attribute
        keys = _keys(listed, source.kind)
        if keys is None or len(keys) > MOST_KEYS:
            return None
        sql = dialect.among(source.cell, keys)
        cells = [_no_key(keys), *keys, None]
    elif isinstance(attribute, Date) or source.kind not in ("integer", "float"):
        return None
    else:
        sql = dialect.on_grid(source.cell, attribute)
        return None if sql is None else (sql, _grid_codes(attribute, is_label))
    kind = pa.string() if isinstance(cells[0], str) else pa.int64()
    codes = _encoded(pa.array(cells, kind), attribute, is_label)
    return None if sql is None else (sql, codes)


def _keys(attribute: Categorical, kind: str | None) -> list[Any] | None:
    """The values of a column that have a code of their own; all others have one code in common.

    Claim    A text, or a whole number, that is not among the keys is encoded as a value outside.
    Proof    Where the declared values are no numbers, a cell is looked up in `attribute.codes` by its
             spelling. A text is its own spelling unless it is no UTF-8: then it is read with U+FFFD in
             it, so no key may hold that letter. Longer texts than `CELL_BYTES` are longer than all
             keys. A whole number's spelling is its digits, so it is a key if these are in
             `codes`. Where the declared values are numbers, a whole number that is not found by its
             digits is looked up by the nearest float's, which differ only from 2^53 on: then the
             nearest float is at least 2^53 in size, and no declared value is.
    Checked  tests/engines/test_packed.py
    """
    codes = attribute.codes
    if kind == "text" and attribute.kind != "number":
        return None if any(_is_awkward(text) for text in codes) else list(codes)
    if kind == "integer":
        if attribute.kind == "number" and any(abs(float(v)) >= _EXACT for v in attribute.values):
            return None
        whole = [int(text) for text in codes if _WHOLE.fullmatch(text)]
        return [n for n in dict.fromkeys(whole) if str(n) in codes and -(2**63) <= n < 2**63]
    return None


def _is_awkward(text: str) -> bool:
    return "\ufffd" in text or "\0" in text or len(text.encode()) > _LONGEST


def _no_key(keys: Sequence[Any]) -> Any:
    """A value that is not among the keys, which are either texts or numbers."""
    if not keys or isinstance(keys[0], int):
        return next(n for n in itertools.count() if n not in keys)
    return next("?" * n for n in itertools.count(1) if "?" * n not in keys)


def _encoded(cells: pa.Array, attribute: Attribute, is_label: bool) -> NDArray[np.int32]:
    if is_label:
        return encode_label(pa.chunked_array([cells]), attribute)
    codes = np.empty(len(cells), dtype=np.int32)
    encode_column(pa.chunked_array([cells]), attribute, codes)
    return codes


def _grid_codes(attribute: Numeric, is_label: bool) -> NDArray[np.int32]:
    """Position i is cell i of the grid; the position after the last is for cells without a number."""
    missing = -1 if is_label else attribute.missing_code
    return np.append(np.arange(attribute.cells), missing).astype(np.int32)


@compiled
def _unpack(words, known, places, out):  # type: ignore[no-untyped-def]
    columns, shifts, masks, begins, codes = places
    row = 0
    for i in range(len(words)):
        if known[i]:
            for k in range(len(columns)):
                position = (words[i] >> shifts[k]) & masks[k]
                out[row, columns[k]] = codes[begins[k] + position]
            row += 1
