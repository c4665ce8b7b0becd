"""Events: what somebody did, tried or was refused, as entries of the same chain as every charge.

An event is written as an entry about terms, on an account that nothing is ever charged to. So an
earlier frith follows the chain past it, and an edited, missing or reordered event shows as any entry
does. The audit log is the whole chain: entries that spend and events, each with its actor.
"""

from __future__ import annotations

import getpass
import json
from dataclasses import dataclass, field
from typing import Any

from frith.ledger.entries import MEANS, EntryKind, Receipt

ACCOUNT = "(events)"
"""The account of all events; no table can have this name."""
SUBJECT = "event"
_START = SUBJECT + MEANS
_LONGEST = 20_000  # characters of an event
_SHORT = 200  # characters of a name in it
_TOO_LONG = "too long to keep"


@dataclass(frozen=True, slots=True)
class Event:
    """What happened. Who did it is the actor of its entry.

    `outcome` is "done" or the code of a refusal. `via` is the token or the session that they came
    with, `request` the server's own id of the request, as its log has it.
    """

    action: str
    target: str = ""
    outcome: str = ""
    role: str = ""
    address: str = ""
    request: str = ""
    via: str = ""
    before: Any = None
    after: Any = None
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def purpose(self) -> str:
        """The text of the event's entry. It has no space in it, so that it ends where it should.

        Callers choose parts of it, and it is kept for ever: names are cut, and what is long is left out.
        """
        document = {name: getattr(self, name) for name in self.__slots__}
        document |= {name: document[name][:_SHORT] for name in _NAMES}
        kept = {name: value for name, value in document.items() if value not in ("", None, {})}
        if len(_written(kept)) > _LONGEST:
            kept |= {name: _TOO_LONG for name in ("before", "after") if name in kept}
            kept |= {"more": {k: _shortened(v) for k, v in self.more.items()}} if self.more else {}
        return _START + _written(kept)


_NAMES = ("action", "target", "outcome", "role", "address", "request", "via")


def _written(value: Any) -> str:
    return json.dumps(value, separators=(",", ":")).replace(" ", "\\u0020")


def _shortened(value: Any) -> Any:
    return value if len(_written(value)) <= 6 * _SHORT else _TOO_LONG


def event_in(entry: Receipt) -> Event | None:
    """The event that an entry tells of; None for every other entry."""
    if entry.account != ACCOUNT or entry.kind is not EntryKind.TERMS:
        return None
    try:
        found = json.loads(entry.purpose.removeprefix(_START))
        return Event(**{n: v for n, v in found.items() if n in Event.__slots__})
    except (ValueError, TypeError, AttributeError):  # edited: the chain says so
        return None


def at_desk() -> str:
    """The actor of a command on the machine that holds the database."""
    try:
        return f"desk:{getpass.getuser()}"
    except (OSError, KeyError):  # a container's user may have no name
        return "desk"
