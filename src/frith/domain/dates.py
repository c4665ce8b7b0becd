"""Dates and times as numbers: seconds since 1970 in UTC, NaN where there is none. Nothing here raises."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._jit import compiled

DAY = 86_400
_A_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def is_moment(kind: pa.DataType) -> bool:
    """Whether an Arrow type is of dates, or of dates with times."""
    return pa.types.is_date(kind) or pa.types.is_timestamp(kind)


def moments(chunk: pa.Array) -> NDArray[np.float64]:
    """The seconds of a column of dates or timestamps; a fraction of a second is cut off."""
    if pa.types.is_date32(chunk.type):
        whole, width = chunk.view(pa.int32()), None
    else:
        whole = chunk.view(pa.int64())
        width = 10**3 if pa.types.is_date64(chunk.type) else _A_SECOND[chunk.type.unit]
    numbers = whole.fill_null(0).to_numpy(zero_copy_only=False)
    seconds = (
        numbers.astype(np.float64) * DAY if width is None else (numbers // width).astype(float)
    )
    seconds[chunk.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return seconds


def whole_seconds(chunk: pa.Array) -> pa.Array:
    """Timestamps in UTC without fractions of a second, cut off downwards before 1970 too."""
    ticks = chunk.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    nulls = chunk.is_null().to_numpy(zero_copy_only=False)
    return pa.array(ticks // _A_SECOND[chunk.type.unit], pa.timestamp("s"), mask=nulls)


def parsed_moments(texts: pa.Array) -> NDArray[np.float64]:
    """The seconds that texts (unchecked bytes) spell as 2024-01-31 or 2024-01-31T12:30:00.5+01:00."""
    is_large = pa.types.is_large_binary(texts.type)
    _, offsets, data = texts.buffers()
    seconds = np.full(len(texts), np.nan)
    if len(texts):
        width = np.int64 if is_large else np.int32
        ends = np.frombuffer(offsets, dtype=width)[texts.offset : texts.offset + len(texts) + 1]
        letters = np.frombuffer(data or b"", dtype=np.uint8)
        _parse(ends, letters, texts.is_valid().to_numpy(zero_copy_only=False), seconds)
    return seconds


@compiled
def _parse(ends, letters, valid, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        begin, end = ends[i], ends[i + 1]
        while begin < end and (letters[begin] == 32 or 9 <= letters[begin] <= 13):
            begin += 1
        while begin < end and (letters[end - 1] == 32 or 9 <= letters[end - 1] <= 13):
            end -= 1
        if valid[i] and end - begin >= 10:
            out[i] = _moment(letters, begin, end)


@compiled
def _moment(letters, i, end):  # type: ignore[no-untyped-def]
    """The seconds that one text of at least ten characters spells, NaN if it spells no date."""
    year, month, day = (
        _digits(letters, i, 4),
        _digits(letters, i + 5, 2),
        _digits(letters, i + 8, 2),
    )
    if letters[i + 4] != 45 or letters[i + 7] != 45 or year < 1 or not 1 <= month <= 12:
        return np.nan
    if not 1 <= day <= _days_of(year, month):
        return np.nan
    seconds = _day_number(year, month, day) * 86_400
    i += 10
    if i == end:
        return float(seconds)
    if (letters[i] != 84 and letters[i] != 32) or end - i < 6 or letters[i + 3] != 58:
        return np.nan
    hour, minute = _digits(letters, i + 1, 2), _digits(letters, i + 4, 2)
    if not 0 <= hour < 24 or not 0 <= minute < 60:
        return np.nan
    seconds += 3_600 * hour + 60 * minute
    i += 6
    if i < end and letters[i] == 58:
        second = _digits(letters, i + 1, 2) if end - i >= 3 else -1
        if not 0 <= second < 60:
            return np.nan
        seconds += second
        i += 3
        if end - i >= 2 and letters[i] == 46 and 48 <= letters[i + 1] <= 57:
            i += 1
            while i < end and 48 <= letters[i] <= 57:
                i += 1
    shift = _zone(letters, i, end)
    return np.nan if shift < -86_400 else float(seconds - shift)


@compiled
def _zone(letters, i, end):  # type: ignore[no-untyped-def]
    """The offset from UTC at the end of a text, in seconds; less than -86,400 if there is none."""
    left = end - i
    if left == 0 or (left == 1 and letters[i] == 90):
        return 0
    if (letters[i] != 43 and letters[i] != 45) or (left != 3 and left != 5 and left != 6):
        return -100_000
    if left == 6 and letters[i + 3] != 58:
        return -100_000
    hours = _digits(letters, i + 1, 2)
    minutes = 0 if left == 3 else _digits(letters, end - 2, 2)
    if not 0 <= hours < 24 or not 0 <= minutes < 60:
        return -100_000
    east = 3_600 * hours + 60 * minutes
    return east if letters[i] == 43 else -east


@compiled
def _digits(letters, i, count):  # type: ignore[no-untyped-def]
    """The number that some digits spell, -1 if one of them is not a digit."""
    number = 0
    for j in range(i, i + count):
        if not 48 <= letters[j] <= 57:
            return -1
        number = 10 * number + (letters[j] - 48)
    return number


@compiled
def _days_of(year, month):  # type: ignore[no-untyped-def]
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


@compiled
def _day_number(year, month, day):  # type: ignore[no-untyped-def]
    """Days since 1970-01-01: years are counted from March, so that leap days end them."""
    if month <= 2:
        year -= 1
        month += 12
    days = 365 * year + year // 4 - year // 100 + year // 400
    return days + (153 * (month - 3) + 2) // 5 + day - 719_469
