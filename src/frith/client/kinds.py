"""The closed sets of words that server and client exchange; their text is what JSON holds."""

from enum import StrEnum


class Role(StrEnum):
    """What a member may do. A curator has rights only on the tables that they curate."""

    OPERATOR = "operator"
    CURATOR = "curator"
    ANALYST = "analyst"
    AUDITOR = "auditor"


class Scope(StrEnum):
    """What a token may be used for; it allows no more than its member may do."""

    READ = "read"
    ASK = "ask"
    CURATE = "curate"
    AUDIT = "audit"
    METRICS = "metrics"


class JobKind(StrEnum):
    """What a job was asked for."""

    TRAIN = "train"
    DRY_RUN = "dry-run"
    SCORE = "score"
    UPDATE = "update"
    RULES = "rules"
    COUNT = "count"

    @property
    def makes_forest(self) -> bool:
        return self in (JobKind.TRAIN, JobKind.DRY_RUN, JobKind.UPDATE, JobKind.RULES)

    @property
    def reads_forest(self) -> bool:
        """Whether it is about a forest that was released before."""
        return self in (JobKind.SCORE, JobKind.UPDATE, JobKind.RULES)


class ProposalKind(StrEnum):
    """What needs a second person."""

    RAISE = "raise"
    REQUEST = "request"


class ProposalState(StrEnum):
    """How far a proposal is."""

    OPEN = "open"
    APPROVED = "approved"
    REJECTED = "rejected"


class JobState(StrEnum):
    """A job's progress: queued, then running, then done or failed; or cancelled while queued.

    If the policy requires approval, it is waiting before it is queued.
    """

    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self not in (JobState.WAITING, JobState.QUEUED, JobState.RUNNING)


class ProblemCode(StrEnum):
    """Why a server refused, or why a client could not ask."""

    BAD_REQUEST = "bad_request"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    SLOW = "slow"
    CONFLICT = "conflict"
    OVER_BUDGET = "over_budget"
    NOT_READY = "not_ready"
    TOO_LARGE = "too_large"
    INVALID = "invalid"
    TOO_MANY = "too_many"
    FAILED = "failed"
    NOT_OFFERED = "not_offered"
    UNAVAILABLE = "unavailable"
    UNREACHABLE = "unreachable"
    """The client's own: the server did not answer."""
    NOT_FRITH = "not_frith"
    """The client's own: what answered is not a private database."""
