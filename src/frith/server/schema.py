"""The server's tables. Times are UTC in ISO 8601, amounts exact text, lists JSON.

No exact sum is ever stored: a `release` is a finished forest or score, a `journal` the noisy answers
of a job that is still running.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, Text
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

from frith.client.kinds import Role
from frith.ledger.book import metadata as shared


class Base(DeclarativeBase):
    metadata = shared
    type_annotation_map = {str: Text, bytes: LargeBinary}  # noqa: RUF012 - SQLAlchemy's own form


class Member(Base):
    """Somebody with a role; `subject` is their `sub` at the OIDC issuer.

    `disabled` is the time since when they cannot sign in; None if they can. `stored` estimates, from
    public sizes, how many bytes their jobs store: a refusal must not reveal how jobs ended. A service
    account has an `owner`, who answers for it, and ends when it `expires`.

    `earlier_role` is the column that a frith without operators reads: there, curators may do
    everything. The next version drops it.
    """

    __tablename__ = "member"
    name: Mapped[str] = mapped_column(primary_key=True)
    earlier_role: Mapped[str] = mapped_column("role")
    assigned_role: Mapped[str | None]
    subject: Mapped[str | None] = mapped_column(unique=True)
    created: Mapped[str]
    disabled: Mapped[str | None]
    stored: Mapped[int] = mapped_column(BigInteger, default=0)
    owner: Mapped[str | None]
    expires: Mapped[str | None]

    @property
    def role(self) -> str:
        """What they may do; members whom an earlier frith added keep the role that it gave them."""
        if self.assigned_role is not None:
            return self.assigned_role
        return Role.OPERATOR if self.earlier_role == Role.CURATOR else Role.ANALYST

    @role.setter
    def role(self, role: str) -> None:
        self.assigned_role = role
        self.earlier_role = Role.CURATOR if role == Role.OPERATOR else Role.ANALYST

    @property
    def is_operator(self) -> bool:
        return self.role == Role.OPERATOR

    @property
    def is_auditor(self) -> bool:
        return self.role == Role.AUDITOR

    @property
    def may_curate(self) -> bool:
        """Whether they may be a table's curator, and register tables."""
        return self.role in (Role.OPERATOR, Role.CURATOR)

    @property
    def sees_everything(self) -> bool:
        """Whether they may read what was spent and done on every table."""
        return self.role in (Role.OPERATOR, Role.AUDITOR)


class Token(Base):
    """What a member signs in with; only the hash of its secret is kept."""

    __tablename__ = "token"
    id: Mapped[str] = mapped_column(primary_key=True)
    member: Mapped[str] = mapped_column(ForeignKey("member.name"))
    note: Mapped[str]
    hash: Mapped[str]
    created: Mapped[str]
    expires: Mapped[str]
    revoked: Mapped[str | None]
    parent: Mapped[str | None]
    """The token that made it, or a session of the OIDC issuer; it ends with that token."""
    minter: Mapped[str | None]
    """The member who made it; None for the operator's command line."""
    scopes: Mapped[str | None]
    """Scopes, separated by spaces; None for all scopes of the member's role."""
    session: Mapped[str | None]
    """The session at the OIDC issuer that it represents; None for a token that somebody holds."""
    __table_args__ = (Index("tokens_by_parent", "parent"),)


class BrowserSession(Base):
    """A signed-in browser; it ends with its token."""

    __tablename__ = "browser_session"
    hash: Mapped[str] = mapped_column(primary_key=True)
    token: Mapped[str] = mapped_column(ForeignKey("token.id"))
    csrf: Mapped[str]
    expires: Mapped[str]


class RegisteredTable(Base):
    """A table that analysts may ask about: its source, its domain and its policy.

    `types` are the types of its columns when it was registered, or None if nobody noted them.
    """

    __tablename__ = "registered_table"
    name: Mapped[str] = mapped_column(primary_key=True)
    title: Mapped[str]
    source: Mapped[str]
    domain: Mapped[str]
    signed: Mapped[bool]
    version: Mapped[int]
    policy: Mapped[str]
    created: Mapped[str]
    types: Mapped[str | None]


class TableCurator(Base):
    """Who curates a table: its policy, its batches, its grants, and everybody's jobs on it."""

    __tablename__ = "table_curator"
    table: Mapped[str] = mapped_column(ForeignKey("registered_table.name"), primary_key=True)
    member: Mapped[str] = mapped_column(ForeignKey("member.name"), primary_key=True)
    created: Mapped[str]


class Proposal(Base):
    """What somebody has proposed, and somebody else approves or rejects.

    It raises a table's budget, with the new policy as its `document`, or releases a `job` that the policy
    wants approved. `reason` says why, in the proposer's words.
    """

    __tablename__ = "proposal"
    id: Mapped[str] = mapped_column(primary_key=True)
    kind: Mapped[str]
    table: Mapped[str] = mapped_column(ForeignKey("registered_table.name"))
    member: Mapped[str] = mapped_column(ForeignKey("member.name"))
    job: Mapped[str | None]
    document: Mapped[str]
    reason: Mapped[str]
    created: Mapped[str]
    state: Mapped[str]
    decider: Mapped[str | None]
    decided: Mapped[str | None]
    __table_args__ = (
        Index("proposals_of_a_table", "table", "state"),
        Index("proposals_by_job", "job"),
    )


class Bookmark(Base):
    """How far something has got: the last entry sent outside, the last finished upgrade."""

    __tablename__ = "bookmark"
    name: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


class Batch(Base):
    """Further records of a table, from a source of their own."""

    __tablename__ = "batch"
    table: Mapped[str] = mapped_column(ForeignKey("registered_table.name"), primary_key=True)
    name: Mapped[str] = mapped_column(primary_key=True)
    source: Mapped[str]
    disjoint: Mapped[bool]
    created: Mapped[str]
    types: Mapped[str | None]


class Grant(Base):
    """An analyst's permission to ask about a table, or about some of its attributes."""

    __tablename__ = "table_grant"
    table: Mapped[str] = mapped_column(ForeignKey("registered_table.name"), primary_key=True)
    member: Mapped[str] = mapped_column(ForeignKey("member.name"), primary_key=True)
    columns: Mapped[str | None]
    epsilon: Mapped[str | None]
    created: Mapped[str]


class Job(Base):
    """An accepted request: what was asked, how far it is, and its release.

    `forest` is the release that a score or an update is about, `round` the hash of a secure sum's
    round. Only the ledger's entries about it say what it costs, and whom.
    """

    __tablename__ = "job"
    id: Mapped[str] = mapped_column(primary_key=True)
    member: Mapped[str] = mapped_column(ForeignKey("member.name"))
    table: Mapped[str] = mapped_column(ForeignKey("registered_table.name"))
    version: Mapped[int]
    kind: Mapped[str]
    body: Mapped[str]
    body_hash: Mapped[str]
    seed: Mapped[int] = mapped_column(BigInteger)
    state: Mapped[str]
    passes: Mapped[int]
    doing: Mapped[str]
    created: Mapped[str]
    started: Mapped[str | None]
    finished: Mapped[str | None]
    attempts: Mapped[int]
    worker: Mapped[str | None]
    lease: Mapped[str | None]
    release: Mapped[str | None]
    problem: Mapped[str | None]
    stored: Mapped[int] = mapped_column(BigInteger, default=0)
    forest: Mapped[str | None]
    round: Mapped[str | None]
    __table_args__ = (
        Index("jobs_by_state", "state", "created"),
        Index("jobs_by_body", "table", "version", "body_hash"),
        Index("jobs_by_time", "created", "id"),
        Index("jobs_of_a_member", "member", "created", "id"),
        Index("jobs_of_a_table", "table", "created", "id"),
        Index("jobs_of_a_member_on_a_table", "member", "table", "created", "id"),
        Index("jobs_by_lease", "member", "lease"),
        Index("jobs_by_worker", "worker", "finished"),
        Index("jobs_by_release", "release"),
        Index("jobs_by_forest", "forest"),
        Index("jobs_by_round", "round"),
    )


class RequestKey(Base):
    """An idempotency key of a member and its job; a job may have several keys."""

    __tablename__ = "request_key"
    member: Mapped[str] = mapped_column(ForeignKey("member.name"), primary_key=True)
    key: Mapped[str] = mapped_column(primary_key=True)
    job: Mapped[str] = mapped_column(ForeignKey("job.id"))


class Release(Base):
    """What a job released, stored before any of it is shown; `document` is packed JSON."""

    __tablename__ = "release"
    id: Mapped[str] = mapped_column(primary_key=True)
    job: Mapped[str] = mapped_column(ForeignKey("job.id"), unique=True)
    document: Mapped[bytes]
    hash: Mapped[str]
    created: Mapped[str]


class SeenWorker(Base):
    """When a worker last reported in."""

    __tablename__ = "worker"
    name: Mapped[str] = mapped_column(primary_key=True)
    seen: Mapped[str]


class Journal(Base):
    """Noisy answers of an unfinished job, which a rerun repeats instead of drawing new ones."""

    __tablename__ = "journal"
    job: Mapped[str] = mapped_column(ForeignKey("job.id"), primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    answers: Mapped[bytes]
