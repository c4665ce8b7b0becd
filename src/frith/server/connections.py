"""Connections: where records are, as the operator declares. A curator picks one, and a table in it.

Only the settings hold folders, hosts, users and passwords. A curator writes a name inside a connection,
which reaches no other file, host or variable of the server.
"""

from __future__ import annotations

import glob
import os
import re
from abc import ABC, abstractmethod
from pathlib import Path, PurePath
from typing import Annotated, Literal
from urllib.parse import parse_qsl, quote, urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from frith.engines.duckdb import reads_files
from frith.engines.files import list_files
from frith.engines.urls import Selection, duckdb_table, is_url, postgres_table
from frith.errors import SourceError

_NO_FILE = (
    "the connection has no Parquet, CSV, JSON lines or Feather files of one format by that name"
)
_PASSWORD = re.compile(r":[^@/]*@")
_PLAIN = re.compile(r"[\w.=*-]+(/[\w.=*-]+)*")  # names of Spark: no scheme, no braces, no quotes


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("write an absolute path")
    return path


AbsolutePath = Annotated[Path, AfterValidator(_absolute)]


class _Connection(BaseModel, ABC):
    """What all kinds share; each kind overrides what it can do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @abstractmethod
    def place(self, table: str | None, query: str | None) -> str | Path:
        """What frith opens for a table or a query; `SourceError` if the connection has no such thing."""

    def hide(self, message: str) -> str:
        """An engine's message without what only the operator may know."""
        return message

    def adopt(self, text: str) -> Selection | None:
        """The table that a source from before connections would pick here; None if it is not in here."""
        return None


class Folder(_Connection):
    """Files under a folder; a table is the path of a file or a folder in it, or a pattern."""

    kind: Literal["folder"]
    root: AbsolutePath
    queries: Literal[False] = False

    def place(self, table: str | None, query: str | None) -> Path:
        """The path of files that are all under the root, links followed.

        Raises the same error whatever is wrong, so that nobody learns what exists outside the root.
        """
        name, root = PurePath(_only_table(table, query)), self.root.resolve()
        if name.is_absolute() or ".." in name.parts or name.parts.count("**") > 1:
            raise SourceError(_NO_FILE)  # several ** are looked for in every combination, for hours
        try:
            place = root / name
            if not place.exists():  # a pattern
                place = Path(glob.escape(str(root))) / name
            files, _ = list_files(place)
            inside = all(Path(file).resolve().is_relative_to(root) for file in files)
        except (SourceError, OSError, ValueError):
            raise SourceError(_NO_FILE) from None
        if not inside:
            raise SourceError(_NO_FILE)
        return place

    def hide(self, message: str) -> str:
        return message.replace(f"{self.root.resolve()}/", "")

    def adopt(self, text: str) -> Selection | None:
        path = Path(text).absolute()
        is_inside = not is_url(text) and path.is_relative_to(self.root)
        return Selection(str(path.relative_to(self.root))) if is_inside else None


class _Database(_Connection):
    """Tables as `table` or `schema.table`; with `queries`, any SELECT that the user may run."""

    queries: bool = False
    schemas: tuple[str, ...] = ()
    """The schemas that curators may pick tables from; all if none is named."""

    @model_validator(mode="after")
    def _check_reach(self) -> _Database:
        if self.queries and self.schemas:
            raise ValueError("queries reach every schema; leave out queries or schemas")
        return self

    def options(self, table: str | None, query: str | None) -> str:
        """The picked table or query as options of a URL."""
        if query is not None and table is None:
            if not self.queries:
                raise SourceError("the connection takes no queries; pick a table")
            return f"query={quote(query, safe='')}"
        whole = _only_table(table, query)
        schema, name = whole.split(".", 1) if "." in whole else ("", whole)
        if self.schemas and schema not in self.schemas:
            raise SourceError(f"write schema.table, with a schema of {', '.join(self.schemas)}")
        chosen = f"table={quote(name, safe='')}"
        return f"{chosen}&schema={quote(schema, safe='')}" if schema else chosen


class DuckDBFile(_Database):
    """The tables of one DuckDB file; its queries read no other file."""

    kind: Literal["duckdb"]
    file: AbsolutePath

    def place(self, table: str | None, query: str | None) -> str:
        options = self.options(table, query)
        if query is not None and reads_files(query):
            raise SourceError("a query reads tables of the connection and names no files")
        return f"duckdb:////{quote(str(self.file).lstrip('/'))}?{options}"

    def hide(self, message: str) -> str:
        return message.replace(str(self.file), "the connection's file")

    def adopt(self, text: str) -> Selection | None:
        source = duckdb_table(text) if text.startswith("duckdb:") else None
        is_this = source is not None and self.file in [f.absolute() for f in source.files]
        return source.selection if source is not None and is_this else None


class PostgresDatabase(_Database):
    """The tables of one PostgreSQL database; its password is in a file or a variable."""

    kind: Literal["postgresql"]
    url: str
    password_file: AbsolutePath | None = None
    password_env: str = ""

    @model_validator(mode="after")
    def _check_url(self) -> PostgresDatabase:
        parts = urlsplit(self.url)
        options = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        if parts.scheme != "postgresql":
            raise ValueError("url begins with postgresql://")
        if parts.password is not None or any("password" in name for name in options):
            raise ValueError("url holds a password; name a password_file or a password_env instead")
        if options & {"table", "schema", "query"}:
            raise ValueError("url names a database; curators pick tables in it")
        if self.password_file is not None and self.password_env:
            raise ValueError("the password is in password_file or in password_env, not in both")
        return self

    def place(self, table: str | None, query: str | None) -> str:
        options, password = self.options(table, query), self._password()
        if password is not None:
            options += f"&password={quote(password, safe='')}"
        return f"{self.url}{'&' if '?' in self.url else '?'}{options}"

    def adopt(self, text: str) -> Selection | None:
        if not text.startswith("postgres"):
            return None
        source = postgres_table(text)
        return source.selection if _PASSWORD.sub("@", source.uri, count=1) == self.url else None

    def _password(self) -> str | None:
        """Reads the password each time, so that changing it needs no restart."""
        try:
            if self.password_file is not None:
                return self.password_file.read_text(encoding="utf-8").removesuffix("\n")
            return os.environ[self.password_env] if self.password_env else None
        except (OSError, UnicodeDecodeError, KeyError):
            raise SourceError(
                "the connection's password is missing here; ask the operator"
            ) from None


class SparkLake(_Connection):
    """Files under a root of a Spark cluster, or tables of some schemas of its catalogue."""

    kind: Literal["spark"]
    format: Literal["parquet", "orc", "table"]
    root: str = ""
    schemas: tuple[str, ...] = ()
    queries: Literal[False] = False

    @model_validator(mode="after")
    def _check_reach(self) -> SparkLake:
        if (self.format == "table") != bool(self.schemas) or bool(self.root) == bool(self.schemas):
            raise ValueError("format table needs schemas, the other formats need a root")
        return self

    def place(self, table: str | None, query: str | None) -> str:
        name = _only_table(table, query)
        if not _PLAIN.fullmatch(name) or ".." in name:
            raise SourceError("a name here has letters, digits, and . = * - _ / between them")
        if self.format != "table":
            return f"spark+{self.format}:{self.root.rstrip('/')}/{name}"
        schema, _, rest = name.partition(".")
        if schema not in self.schemas or not re.fullmatch(r"\w+", rest):
            raise SourceError(f"write schema.table, with a schema of {', '.join(self.schemas)}")
        return f"spark+table:{name}"

    def hide(self, message: str) -> str:
        return message.replace(self.root.rstrip("/") + "/", "") if self.root else message


Connection = Annotated[
    Folder | DuckDBFile | PostgresDatabase | SparkLake, Field(discriminator="kind")
]


def _only_table(table: str | None, query: str | None) -> str:
    if query is not None or not (table or "").strip() or "\0" in (table or ""):
        raise SourceError("pick one table of the connection, or write a query if it takes queries")
    return table or ""
