"""Neighbors in words and in numbers: records, or persons with at most m records each."""

from __future__ import annotations

import re

RECORD = "one record added or removed"


def person_neighbors(records: int) -> str:
    """The neighbors of a table in which a person has at most `records` records."""
    return f"all records of one person added or removed (at most {records} of them are counted)"


_PERSON = re.compile(re.escape(person_neighbors(0)).replace("0", "([0-9]+)"))


def neighbors_of(records_per_person: int | None) -> str:
    """The neighbors of a table: one record where `records_per_person` is None, else one person.

    >>> neighbors_of(None)
    'one record added or removed'
    """
    if records_per_person is None:
        return RECORD
    if records_per_person < 1:
        raise ValueError(f"a person has at least 1 record, not {records_per_person}")
    return person_neighbors(records_per_person)


def records_per_person(neighbors: str) -> int | None:
    """The most records of one person that are counted; None for neighbors one record apart.

    >>> records_per_person(person_neighbors(3))
    3
    """
    if neighbors == RECORD:
        return None
    found = _PERSON.fullmatch(neighbors)
    if found is None:
        raise ValueError(f"these are no neighbors that frith knows: {neighbors}")
    return int(found[1])


def unit_of(neighbors: str) -> str:
    """What is protected, in a few words."""
    most = records_per_person(neighbors)
    if most is None:
        return "records"
    return f"persons with at most {most} record{'s' if most > 1 else ''} each"
