"""How a server is configured: a TOML file, FRITH_* variables over it, the command line over both.

Plain pydantic, not pydantic-settings: that would be one more dependency to save the four lines that
read the environment, and its errors would still have to be rewritten to show no value.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from frith.client.documents import NAME
from frith.client.kinds import Role
from frith.engines import Timeouts
from frith.errors import FormatError, SourceError
from frith.server.connections import Connection

PREFIX = "FRITH_"


def _not_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError("it must be a number")
    return value


def _from_json(value: Any) -> Any:
    """An environment variable holds a table as JSON."""
    return json.loads(value) if isinstance(value, str) else value


Count = Annotated[int, Field(ge=0), BeforeValidator(_not_bool)]
Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(_not_bool)]


class Settings(BaseModel):
    """Every setting has a default. Limits are per process unless they say otherwise."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    database: str = Field(default="frith-server.db", repr=False)
    """The path of a SQLite file, or the URL of a PostgreSQL database."""
    database_file: str = ""
    """A file that holds the value of `database`, for a URL with a password; it overrides `database`."""
    host: str = "127.0.0.1"
    port: Count = 8080
    workers: Count = 1
    """Worker processes that the server starts; 0 if `frith worker` runs elsewhere."""
    tls_certificate: str = ""
    tls_key: str = ""
    secure_cookies: bool = False
    """Send cookies over TLS only; set it behind a proxy that ends TLS."""
    trusted_proxies: str = ""
    """Addresses of proxies, separated by commas, that are trusted to state a request's origin."""
    token_days: Count = 90
    """The most days for which a token made by a member is valid."""
    session_hours: Count = 8
    lease_seconds: Seconds = 15
    """Another worker takes over a running job after its worker was silent for this long."""
    deliver_every: Count = 0
    """Show results only at multiples of this many seconds after acceptance; 0 shows them at once."""
    source_connect_seconds: Seconds = 10
    """How long to wait for a database with records: to connect, and for each look at its columns."""
    source_statement_seconds: Seconds = 3_600
    """How long one pass over the records of a database may take; it is charged by then."""
    body_bytes: Count = 1_000_000
    body_seconds: Annotated[int, Field(ge=1), BeforeValidator(_not_bool)] = 20
    requests_per_second: Count = 200
    """The rate limit of one member."""
    failures_per_minute: Count = 20
    """The rate limit of wrong tokens from one address, and of guesses at one token from it."""
    queued_per_member: Count = 100
    running_per_member: Count = 4
    """Jobs of one member that run at the same time, over all workers."""
    stored_per_member: Count = 2_000_000_000
    """The most bytes that one member's results may take, as estimated when they are asked for."""
    dry_run_days: Count = 30
    """Dry runs and their forests are forgotten after this long."""
    key_days: Count = 90
    """Idempotency keys are forgotten this long after their job has ended."""
    least_disk_bytes: Count = 100_000_000
    """With less free space for a SQLite database, the server reports that it is not ready."""
    job_cells: Count = 2**23
    """A request whose largest question is estimated to have more counters is refused."""
    job_bytes: Count = 3 * 2**29
    """A request that is estimated to take more memory is refused."""
    job_seconds: Count = 14_400
    """A request that is estimated to take longer is refused, and a job that does is killed."""
    heavy_reads: Count = 4
    """At most this many forests are read or drawn, or ledgers exported or verified, at once."""
    shown_bytes: Count = 8_000_000
    """Forests of longer JSON can be downloaded, but are not drawn or used to predict here."""
    verify_hours: Seconds = 24
    """Hours between verifications of the whole ledger, after the one at the start; 0 for that one only."""
    clock_days: Count = 7
    """A budget that renews sells nothing while the clock is further than this from the ledger's time."""
    anchor_witness: str = ""
    """Where to write heads of the ledger: a file, or the URL of `frith witness`."""
    anchor_key: str = ""
    """The file of the key that signs them; see `frith anchor key`."""
    anchor_trusted: str = ""
    """Further public keys whose anchors are trusted, such as earlier keys of this server."""
    party_keys: str = ""
    """The file of keys for secure sums with other servers; see `frith keys`."""
    least_colluders: Count = 1
    """The least number of colluders for which this server joins a secure sum."""
    audit_file: str = ""
    """A file that gets a copy of every line of the audit log."""
    audit_webhook: str = Field(default="", repr=False)
    """A URL that gets a copy of every line of the audit log, by POST."""
    audit_lag_seconds: Seconds = 60
    """The server changes nothing while a copy of the audit log has been behind for longer than this."""
    alert_percent: Count = 80
    """Alert curators and the webhook when this share of a table's budget is spent or reserved; 0: never."""
    alert_webhook: str = Field(default="", repr=False)
    """A URL that gets a JSON object by POST when a table's budget is nearly used up."""
    oidc_issuer: str = ""
    oidc_audience: str = ""
    oidc_jwks: str = ""
    """The URL of the issuer's keys; if empty, its discovery document names it."""
    public_url: str = ""
    """Where browsers find this server, https://frith.example.org: the issuer sends them back there."""
    oidc_client: str = ""
    """The client id at the issuer; if set, people sign in to the pages through the issuer."""
    oidc_secret: str = Field(default="", repr=False)
    """The client's secret; none for a public client, which PKCE protects."""
    oidc_scopes: str = "openid profile"
    oidc_groups: str = "groups"
    """The claim that lists somebody's groups."""
    oidc_roles: Annotated[dict[str, Role], BeforeValidator(_from_json)] = {}
    """Roles by group. If set, the issuer decides who is a member and what they may do."""
    oidc_session_minutes: Annotated[int, Field(ge=1), BeforeValidator(_not_bool)] = 30
    """How long a browser session lasts before the issuer is asked again."""
    tokens_from_oidc: Count = 0
    """Days for which a token made in an issuer's session may be valid; 0 forbids such tokens."""

    connections: Annotated[
        dict[Annotated[str, Field(pattern=NAME)], Connection], BeforeValidator(_from_json)
    ] = {}
    """Where records may be, by the names that curators pick."""

    @property
    def source_timeouts(self) -> Timeouts:
        return Timeouts(self.source_connect_seconds, self.source_statement_seconds)

    @property
    def cookies_need_tls(self) -> bool:
        return self.secure_cookies or bool(self.tls_certificate)


def load_settings(
    path: Path | None = None, environment: Mapping[str, str] = os.environ, **given: Any
) -> Settings:
    """Read the file, then the environment, then the arguments; the last one wins."""
    names = Settings.model_fields
    named = {n: environment[PREFIX + n.upper()] for n in names if PREFIX + n.upper() in environment}
    chosen = {name: value for name, value in given.items() if value is not None}
    merged = (_from_file(path) if path is not None else {}) | named
    if merged.get("database_file") and "database" not in chosen:
        merged["database"] = _secret(merged["database_file"])
    try:
        return Settings(**merged | chosen)
    except ValidationError as error:
        wrong = error.errors()[0]
        name = str(wrong["loc"][0])
        if name not in names:
            problem = f"there is no setting {name!r}; there are {', '.join(names)}"
        else:
            place = ".".join(map(str, wrong["loc"]))
            problem = f"the setting {place!r} cannot be read: {wrong['msg']}"
        raise FormatError(problem) from None


def _secret(path: Any) -> str:
    try:
        return Path(str(path)).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise SourceError(
            f"the file {path} of the setting 'database_file' cannot be read"
        ) from None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError:
        raise SourceError(f"the settings {path} cannot be read") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        raise FormatError(f"the settings {path} are not valid TOML") from None
    return data
