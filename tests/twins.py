"""The slow twins of the fast code: loops that anyone can check by eye.

Nothing here imports the code it checks; a domain is read for what it declares, no more.
"""

from __future__ import annotations

import datetime
import hashlib
import math
import re
from collections import Counter, defaultdict
from decimal import Decimal

import numpy as np
import pandas as pd

WHITESPACE = " \t\n\v\f\r"
DIGITS = r"([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?"
NUMBER = re.compile(rf"[+-]?({DIGITS}|inf|Inf|INF|infinity|Infinity|INFINITY)")
MOMENT = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})(?:[ T]([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:[.][0-9]+)?)?"
    r"(Z|[+-][0-9]{2}(?::?[0-9]{2})?)?)?"
)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")

# -- one cell ----------------------------------------------------------------------------------


def text_of(cell):
    """How a cell reads as text, or None if it is missing."""
    if cell is None:
        return None
    if isinstance(cell, bytes):
        return cell.decode("utf-8", errors="replace")
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float):
        if math.isnan(cell):
            return None
        return str(int(cell)) if cell.is_integer() else repr(cell)
    if isinstance(cell, datetime.datetime):
        return f"{cell.replace(microsecond=0, tzinfo=None)}"
    if isinstance(cell, Decimal):
        whole, _, rest = f"{cell:f}".partition(".") if cell else "0.0".partition(".")
        return f"{whole}.{rest.rstrip('0')}" if rest.strip("0") else whole
    return str(cell)


def number_of(cell):
    """The number a cell holds or spells, NaN if there is none."""
    if isinstance(cell, bool | int | float | Decimal):
        try:
            return float(cell)
        except OverflowError:
            return math.inf if cell > 0 else -math.inf
    text = text_of(cell)
    if text is None:
        return math.nan
    if text in TRUE + FALSE:
        return float(text in TRUE)
    text = text.strip(WHITESPACE)
    return float(text) if NUMBER.fullmatch(text) else math.nan


def moment_of(cell):
    """The seconds since 1970 that a cell holds or spells, NaN if there are none."""
    if isinstance(cell, datetime.datetime):
        moment = cell.replace(tzinfo=cell.tzinfo or datetime.UTC)
    elif isinstance(cell, datetime.date):
        moment = datetime.datetime(cell.year, cell.month, cell.day, tzinfo=datetime.UTC)
    elif isinstance(cell, str | bytes):
        found = MOMENT.fullmatch(text_of(cell).strip(WHITESPACE))
        if found is None:
            return math.nan
        *parts, zone = found.groups()
        try:
            moment = datetime.datetime(*(int(p or 0) for p in parts), tzinfo=datetime.UTC)
            if zone and zone != "Z":
                sign, hours, minutes = zone[0], zone[1:3], zone[3:].strip(":") or "00"
                east = datetime.time(int(hours), int(minutes))
                minutes = 60 * east.hour + east.minute
                return (moment - EPOCH).total_seconds() - 60 * (
                    minutes if sign == "+" else -minutes
                )
        except ValueError:
            return math.nan
    else:
        return math.nan
    return math.floor((moment - EPOCH).total_seconds())


def cell_of(thing):
    """What an arbitrary Python object in a column stands for."""
    if isinstance(thing, np.generic) and not isinstance(thing, np.datetime64):
        thing = thing.item()
    if isinstance(thing, bytes | bytearray | memoryview):
        return bytes(thing)
    if isinstance(thing, str):
        return str.encode(thing, "utf-8", "surrogatepass").decode("utf-8", "replace")
    if pd.api.types.is_scalar(thing) and not (isinstance(thing, Decimal) and thing.is_snan()):
        thing = None if pd.isna(thing) else thing
    if thing is None or isinstance(thing, bool | float):
        return thing
    try:
        text = str(thing)
        if thing != thing:
            return None
    except Exception:  # noqa: BLE001 - it cannot be printed or compared
        return "" if not isinstance(thing, Decimal) else None
    return thing if isinstance(thing, int | Decimal) else text


def code_of(cell, attribute, outside=None, missing=None):
    """The code of one cell; where it is outside or missing, what the attribute declares."""
    if hasattr(attribute, "first"):
        seconds = moment_of(cell)
        is_day = not hasattr(attribute.first, "hour") and not hasattr(attribute.last, "hour")
        return _cell_of_grid(seconds // 86_400 if is_day else seconds, attribute)
    if hasattr(attribute, "listed"):
        code = code_of(cell, attribute.listed, outside=-1, missing=-1)
        return code if code >= 0 else attribute.cells if attribute.missing else 0
    if not hasattr(attribute, "values"):
        return _cell_of_grid(number_of(cell), attribute)
    codes = {text_of(v): i for i, v in enumerate(attribute.values)}
    if outside is None:
        outside = 0 if attribute.other is None else codes[text_of(attribute.other)]
        missing = outside if attribute.missing is None else codes[text_of(attribute.missing)]
    text = text_of(cell)
    if text is None:
        return missing
    if text in codes:
        return codes[text]
    declared = attribute.values[0]
    if isinstance(declared, bool | str):
        forms = TRUE if text in TRUE else FALSE if text in FALSE else ()
        meant = [codes[form] for form in forms if form in codes]
        return meant[0] if len(meant) == 1 else outside
    return codes.get(text_of(number_of(text)), outside)


def _cell_of_grid(x, attribute):
    if math.isnan(x):
        return attribute.cells if attribute.missing else 0
    return sum(1 for edge in attribute.edges if edge <= x)


def label_of(cell, label):
    """The label's code, or None where the record is not counted."""
    if not hasattr(label, "values") and math.isnan(number_of(cell)):
        return None
    code = code_of(cell, label, outside=-1, missing=-1)
    return None if code < 0 else code


# -- whole tables ------------------------------------------------------------------------------


def records_of(table, domain):
    """[(codes, label)] of the counted records of {column: cells}."""
    counted = []
    for i, cell in enumerate(table[domain.label.name]):
        label = label_of(cell, domain.label)
        if label is not None:
            codes = tuple(code_of(table[a.name][i], a) for a in domain.attributes)
            counted.append((codes, label))
    return counted


def leaf_of(codes, root, trees):
    """Walk one record down one tree; the node of its leaf."""
    return path_of(codes, root, trees)[-1]


def path_of(codes, root, trees):
    """The nodes that one record passes in one tree, from root to leaf."""
    node, path = root, [int(root)]
    while trees.attribute[node] >= 0:
        code = codes[trees.attribute[node]]
        if trees.cut[node] < -1:
            node = trees.first_child[node] + (0 if trees.sets[-2 - trees.cut[node]][code] else 1)
        elif trees.cut[node] < 0:
            node = trees.first_child[node] + code
        else:
            node = trees.first_child[node] + (1 if code >= trees.cut[node] else 0)
        path.append(int(node))
    return path


def leaf_counts(records, domain, trees):
    """Records of each label in each leaf of each tree."""
    leaves = [n for n in range(len(trees.attribute)) if trees.attribute[n] < 0]
    counts = np.zeros((len(leaves), len(domain.label.values)), dtype=int)
    for codes, label in records:
        for root in trees.roots:
            counts[leaves.index(leaf_of(codes, root, trees)), label] += 1
    return counts


# -- votes -------------------------------------------------------------------------------------


def label_voted(codes, trees, values, vote):
    """The label that trees give one record together: the first best, if any weight is positive."""
    ballots = [_ballot(path_of(codes, r, trees), values, vote) for r in trees.roots]
    weights = _weights(ballots, vote)
    if max(weights) <= 0:
        weights = [max(0, sum(int(values[r][c]) for r in trees.roots)) for c in range(len(weights))]
    return list(weights).index(max(weights))


def _ballot(path, values, vote):
    """What one tree says about each label."""
    if vote in ("counts", "product"):
        return np.array(values[path[-1]], dtype=float)
    shares = [_shares(values[node]) for node in path]
    if vote == "confident":
        return max(shares, key=max)  # the first of them from above
    spoken = next((s for s in reversed(shares) if max(s) > 0), shares[0])
    if vote == "weighted":
        return np.where(np.arange(len(spoken)) == np.argmax(spoken), spoken, 0)
    return spoken


def _shares(counts):
    counts = [max(0, int(c)) for c in counts]
    return np.array([c / sum(counts) if sum(counts) else 0 for c in counts], dtype=float)


def _weights(ballots, vote):
    most = max(max(b) for b in ballots)
    sure = {c for b in ballots for c, share in enumerate(b) if share == most}
    if vote == "confident" and len(sure) == 1:
        return next(b for b in ballots if max(b) == most)
    total = np.zeros(len(ballots[0]))
    for ballot in ballots:
        total += ballot
    return np.exp(total - max(total)) if vote == "product" else total


def confusion_counts(records, trees, values, vote):
    """Records of each label, by the label that trees give them."""
    counts = np.zeros((len(values[0]), len(values[0])), dtype=int)
    for codes, label in records:
        counts[label, label_voted(codes, trees, values, vote)] += 1
    return counts


def score_counts(records, forest, positive, edges, groups):
    """Records by group, by bin of the probability of one label, by whether they have it.

    `groups` has the group of each code of an attribute, and that attribute; or None.
    """
    n_groups = 1 if groups is None else max(groups[1]) + 1
    counts = np.zeros((n_groups, len(edges) + 1, 2), dtype=int)
    for codes, label in records:
        chance = forest.proba_of_codes(np.array([codes]))[0, positive]
        place = sum(chance > edge for edge in edges)
        group = 0 if groups is None else groups[1][codes[groups[0]]]
        counts[group, place, int(label == positive)] += 1
    return counts


# -- persons -----------------------------------------------------------------------------------

WORD = 2**64


def kept_records(table, domain):
    """What is left when every person keeps the m records with the smallest keyed hash."""
    key = bytes.fromhex(domain.fingerprint)
    by_person = defaultdict(list)
    for i, cell in enumerate(table[domain.person.column]):
        record = records_of({name: [cells[i]] for name, cells in table.items()}, domain)
        if record and text_of(cell):
            by_person[text_of(cell)].append(record[0])
    kept = Counter()
    for person, records in by_person.items():
        digest = hashlib.blake2b(person.encode(), digest_size=32, key=key).digest()
        records.sort(key=lambda r: _record_hash(key, digest, r))
        kept.update(records[: domain.person.records])
    return kept


def _record_hash(key, digest, record):
    codes, label = record
    words = [int.from_bytes(digest[i : i + 8], "little") for i in range(0, 32, 8)]
    state = int.from_bytes(key[:8], "little")
    for word in [*words, label, *codes]:
        state = _mix(state, word)
    return state


def _mix(state, word):
    """splitmix64, as published by Vigna."""
    z = ((state ^ word) + 0x9E3779B97F4A7C15) % WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % WORD
    return z ^ (z >> 31)
