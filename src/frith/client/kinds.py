"""The closed sets of words that server and client exchange; their text is what JSON holds."""

from enum import StrEnum


class Role(StrEnum):
    """What a member may do."""

    CURATOR = "curator"
    ANALYST = "analyst"


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


class JobState(StrEnum):
    """A job's progress: queued, then running, then done or failed; or cancelled while queued."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        return self not in (JobState.QUEUED, JobState.RUNNING)


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
    """The client's own: whatever answered is not a private database."""
