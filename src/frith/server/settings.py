"""How a server is configured: a TOML file, then FRITH_* variables over it, then the command line."""

from __future__ import annotations

import math
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from frith.errors import FormatError, SourceError

PREFIX = "FRITH_"


@dataclass(frozen=True)
class Settings:
    """Every setting has a default; limits are per process unless they say otherwise."""

    database: str = field(default="frith-server.db", repr=False)
    """The path of a SQLite file, or the URL of a PostgreSQL database."""
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    """Worker processes that the server runs itself; 0 where `frith worker` runs elsewhere."""
    tls_certificate: str = ""
    tls_key: str = ""
    secure_cookies: bool = False
    """Send cookies over TLS only; set it behind a proxy that ends TLS."""
    trusted_proxies: str = ""
    """Addresses whose word is taken for where a request comes from, with commas between them."""
    token_days: int = 90
    session_hours: int = 8
    lease_seconds: float = 15
    """A running job whose worker was not heard of for so long is taken over."""
    deliver_every: int = 0
    """Results are shown at whole multiples of so many seconds after acceptance; 0 shows them at once."""
    body_bytes: int = 1_000_000
    body_seconds: int = 20
    requests_per_second: int = 200
    """Of one member."""
    failures_per_minute: int = 20
    """Wrong tokens from one address."""
    queued_per_member: int = 100
    running_per_member: int = 4
    """Jobs of one member that are at work at the same time, over all workers."""
    heavy_reads: int = 4
    """Forests that are read or drawn, and exports and verifications of the ledger, at once."""
    party_keys: str = ""
    """The file of keys for secure sums with other servers; see `frith keys`."""
    least_colluders: int = 1
    """How many of the parties of a secure sum this one reckons may put together what they know."""
    oidc_issuer: str = ""
    oidc_audience: str = ""
    oidc_jwks: str = ""
    """The URL of the issuer's keys; empty to ask its discovery document."""

    @property
    def cookies_need_tls(self) -> bool:
        return self.secure_cookies or bool(self.tls_certificate)


def load_settings(
    path: Path | None = None, environment: Mapping[str, str] = os.environ, **given: Any
) -> Settings:
    """The file, the environment, and what was given on the command line, the last one wins."""
    settings = replace(Settings(), **_from_file(path)) if path is not None else Settings()
    named = {f.name: environment[PREFIX + f.name.upper()] for f in fields(Settings)
             if PREFIX + f.name.upper() in environment}  # fmt: skip
    settings = replace(settings, **{k: _read(k, v) for k, v in named.items()})
    return replace(settings, **{k: v for k, v in given.items() if v is not None})


def _from_file(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise SourceError(f"the settings {path} cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise FormatError(f"the settings {path} are not valid TOML") from None
    return {name: _read(name, value) for name, value in data.items()}


def _read(name: str, value: Any) -> Any:
    """A value of the type that the setting's default has."""
    defaults = vars(Settings())
    if name not in defaults:
        raise FormatError(f"there is no setting {name!r}; there are {', '.join(defaults)}")
    kind = type(defaults[name])
    read = _as_bool(value) if kind is bool else _as(kind, value)
    if read is None:
        least = "" if kind in (bool, str) else " of at least 0"
        raise FormatError(f"the setting {name!r} must be of type {kind.__name__}{least}")
    return read


def _as_bool(value: Any) -> bool | None:
    words = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    return words.get(str(value).lower())


def _as(kind: type, value: Any) -> Any:
    """A text as it is; a number that is finite, not below 0, and not rounded. None for others."""
    if isinstance(value, bool) or not isinstance(value, str if kind is str else (str, int, float)):
        return None
    try:
        read = kind(value)
    except (ValueError, OverflowError):
        return None
    return read if kind is str or (0 <= read < math.inf and read == float(value)) else None
