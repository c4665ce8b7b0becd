"""Where a table's records are: a connection, and a table or a query in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from frith.client.requests import SourceRequest
from frith.domain import Domain
from frith.engines import Engine, open_table
from frith.engines.urls import Selection
from frith.errors import FrithError, SourceError
from frith.server.connections import Connection
from frith.server.settings import Settings

_SECRET = re.compile(
    r"(://[^/@:?]*):.+@|((?:passw|pwd|secret|token|key|sig)[a-z_-]*=)[^&\s]+",
    re.IGNORECASE | re.DOTALL,
)
"""Up to the last @, because a password may hold any character: mask too much rather than too little."""


@dataclass(frozen=True, slots=True)
class Source:
    """What a curator picked."""

    connection: str
    table: str | None = None
    query: str | None = None

    @classmethod
    def of(cls, request: SourceRequest) -> Source:
        return cls(request.connection, request.table, request.query)

    def to_text(self) -> str:
        """As it is stored."""
        return json.dumps(
            {name: value for name, value in asdict(self).items() if value is not None}
        )

    def __str__(self) -> str:
        return f"{self.connection}: {self.table or self.query}"


def open_source(
    settings: Settings, stored: str, domain: Domain, types: Mapping[str, str] | None = None
) -> Engine:
    """Open a stored source through its connection; errors reveal nothing that only the operator may know.

    With `types`, refuses columns of other types.
    """
    source = read_source(settings, stored)
    connection = connection_of(settings, source)
    place = connection.place(source.table, source.query)
    try:
        return open_table(place, domain, types=types, timeouts=settings.source_timeouts)
    except FrithError as error:
        raise SourceError(connection.hide(str(error))) from None


def connection_of(settings: Settings, source: Source) -> Connection:
    found = settings.connections.get(source.connection)
    if found is None:
        names = ", ".join(settings.connections) or "none"
        raise SourceError(
            f"there is no connection {source.connection!r}; the operator declared {names}, and declares "
            "more in the settings: [connections.NAME]"
        )
    return found


def read_source(settings: Settings, stored: str) -> Source:
    """The source in a stored text. A source from before connections needs a connection that covers it."""
    if stored.startswith("{"):
        return Source(**json.loads(stored))
    for name, connection in settings.connections.items():
        try:
            chosen = connection.adopt(stored)
        except SourceError:
            continue
        if chosen is not None:
            return Source(name, _table(chosen), chosen.query)
    raise SourceError(
        "the table was registered without a connection, and no connection of the settings covers "
        "its source; the operator can declare one that does"
    )


def shown(stored: str) -> str:
    """A stored source as curators see it."""
    if stored.startswith("{"):
        return str(Source(**json.loads(stored)))
    return _SECRET.sub(lambda m: f"{m[1]}:***@" if m[1] else f"{m[2]}***", stored)


def _table(chosen: Selection) -> str | None:
    return chosen.table if chosen.schema is None else f"{chosen.schema}.{chosen.table}"
