"""How to name a table of a database: one URL with everything needed to read it.

    duckdb:///census.db?table=people                       a table or a view of a DuckDB file
    duckdb:///census.db?schema=s&table=people
    duckdb:///census.db?query=SELECT%20age%2C%20ill%20FROM%20people
    duckdb://?query=SELECT * FROM 'people.parquet'         Parquet files through DuckDB
    postgresql://user:password@host/census?table=people    and further options of libpq

Names and queries are percent-encoded, at least each `%` and `&` in them; a `+` is a plus. Errors
show only the names of the file, the table and the database: in a mistyped URL the password may be
anywhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from frith.errors import SourceError

_URL = re.compile(r"([a-z][a-z0-9+.\-]+)://", re.IGNORECASE)
_NEARLY = re.compile(r"(duckdb|postgres(ql)?):|.*\bpassword\s*=", re.IGNORECASE | re.DOTALL)
SCHEMES = {"duckdb": "duckdb", "postgresql": "postgresql", "postgres": "postgresql"}
FORMS = (
    "duckdb:///file.db?table=name or postgresql://user:password@host/database?table=name; "
    "a file is named by its path"
)


@dataclass(frozen=True, slots=True)
class Selection:
    """What is read: a table or view by its name, or a query."""

    table: str | None = None
    schema: str | None = None
    query: str | None = None

    def __str__(self) -> str:
        if self.table is None:
            return "the query"
        return f"table {self.table if self.schema is None else f'{self.schema}.{self.table}'!r}"


@dataclass(frozen=True, slots=True)
class DuckDBTable:
    """`files` are the places where the database may be, none of them for Parquet files alone."""

    files: tuple[Path, ...]
    selection: Selection


@dataclass(frozen=True, slots=True)
class PostgresTable:
    """`uri` is what libpq gets, password included; `database` is what errors may show."""

    uri: str = field(repr=False)
    database: str
    selection: Selection


def is_url(source: str) -> bool:
    """Whether this is a URL, well-formed or not, rather than a path."""
    return bool(_URL.match(source) or _NEARLY.match(source))


def scheme_of(url: str) -> str:
    """`duckdb` or `postgresql`."""
    found = _URL.match(url)
    if found is None:
        raise SourceError(f"this is not the URL of a table; write {FORMS}")
    scheme = found.group(1).lower()
    if scheme not in SCHEMES:
        raise SourceError(f"there is no engine for {scheme}:// URLs; write {FORMS}")
    return SCHEMES[scheme]


def duckdb_table(url: str) -> DuckDBTable:
    place, options = _split(url, "duckdb")
    selection, others = _selection(options)
    if others:
        raise SourceError(
            "a DuckDB URL takes table, schema and query, and this one has something else; "
            "percent-encode an & that belongs to a name or a query"
        )
    files = _places(_decoded(place))
    if not files and selection.query is None:
        raise SourceError("a DuckDB URL without a file takes a query: duckdb://?query=SELECT ...")
    return DuckDBTable(files, selection)


def postgres_table(url: str) -> PostgresTable:
    place, options = _split(url, "postgresql")
    selection, others = _selection(options)
    uri = f"postgresql://{place}" + ("?" + "&".join(others) if others else "")
    _, slash, name = place.rpartition("@")[2].rpartition("/")
    # An @ among the options may be what follows a password that holds a question mark.
    is_plain = slash and name and "@" not in options and ":" not in name
    database = f"PostgreSQL database {_decoded(name)!r}" if is_plain else "the PostgreSQL database"
    return PostgresTable(uri, database, selection)


def _split(url: str, scheme: str) -> tuple[str, str]:
    """The part between the scheme and the question mark, and the part after it."""
    if scheme_of(url) != scheme:
        raise SourceError(f"expected a {scheme}:// URL")
    if "\0" in url or any("\ud800" <= c <= "\udfff" for c in url):
        raise SourceError("the URL holds a NUL or an invalid character; remove it")
    place, _, options = url.partition("://")[2].partition("?")
    return place, options


def _selection(options: str) -> tuple[Selection, list[str]]:
    """What to read, and the options for the driver as they were written."""
    ours: dict[str, str] = {}
    others = []
    for option in filter(None, options.split("&")):
        name, _, value = option.partition("=")
        if name not in ("table", "schema", "query"):
            others.append(option)
            continue
        if name in ours:
            raise SourceError(f"the URL has {name}= twice; give it once")
        ours[name] = _decoded(value)
        if not ours[name].strip() or "\0" in ours[name]:
            raise SourceError(f"the URL has nothing usable after {name}=")
    if ("table" in ours) == ("query" in ours):
        raise SourceError("a URL names either a table, ?table=name, or a query, ?query=SELECT ...")
    if "schema" in ours and "query" in ours:
        raise SourceError("schema= goes with table=; a query names its schemas itself")
    return Selection(**ours), others


def _places(place: str) -> tuple[Path, ...]:
    """Three slashes may mean a relative or an absolute path, so return both."""
    if place.strip("/").lower() == ":memory:":
        raise SourceError("a DuckDB database in memory holds no table yet; name a file")
    if not place.strip("/"):
        return ()
    if not place.startswith("/"):
        return (Path(place),)
    absolute, relative = Path("/" + place.lstrip("/")), Path(place[1:])
    if place.startswith(("/./", "/../")):
        return (relative,)
    return (absolute,) if place.startswith("//") else (absolute, relative)


def _decoded(text: str) -> str:
    try:
        return unquote(text, errors="strict")
    except UnicodeError:
        raise SourceError("a percent-encoded part of the URL is not UTF-8") from None
