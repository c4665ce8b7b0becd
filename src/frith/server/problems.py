"""Every refusal of the server: a closed set of codes, each with its status, from public facts alone.

A caller learns the code and the message and nothing else. Messages are built from names, budgets
and the caller's own words; never from a record, a path, a database driver or another member.
"""

from __future__ import annotations

from typing import Any

from frith.client.kinds import ProblemCode
from frith.errors import FrithError

STATUS = {
    ProblemCode.BAD_REQUEST: 400,
    ProblemCode.UNAUTHORIZED: 401,
    ProblemCode.FORBIDDEN: 403,
    ProblemCode.NOT_FOUND: 404,
    ProblemCode.SLOW: 408,
    ProblemCode.CONFLICT: 409,
    ProblemCode.OVER_BUDGET: 409,
    ProblemCode.NOT_READY: 409,
    ProblemCode.TOO_LARGE: 413,
    ProblemCode.INVALID: 422,
    ProblemCode.TOO_MANY: 429,
    ProblemCode.NOT_OFFERED: 501,
    ProblemCode.UNAVAILABLE: 503,
}
BUSY = (429, 503)
"""Statuses worth a retry: the response says how long to wait, if waiting helps."""

FAILED = "the job failed on the curator's side, and its charge is kept; ask the curator"
"""The only message about a job that could not be finished, whatever the reason."""
FAILED_FREE = "the job failed on the curator's side, and nothing was charged; ask the curator"
"""The same for a job that had not been charged."""
REJECTED = "the request was not approved, and nothing was charged; ask the curator why"
STOPPED = "the job was stopped, and its charge is kept"
STOPPED_FREE = "the job was stopped; it cost nothing"


class Problem(FrithError):
    """A refused request, with what its caller may know about it."""

    def __init__(self, code: ProblemCode, message: str, *, wait: int | None = None, **facts: Any):
        self.code, self.message, self.wait, self.facts = code, message, wait, facts
        super().__init__(message)

    @property
    def status(self) -> int:
        return STATUS[self.code]

    @property
    def headers(self) -> dict[str, str]:
        """Retry-After is a constant: it reveals nothing about how long anything takes."""
        if self.code == ProblemCode.SLOW:
            return {"connection": "close"}  # the rest of its body may still come
        return {} if self.wait is None else {"retry-after": str(self.wait)}

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, **self.facts}


def invalid(message: str) -> Problem:
    return Problem(ProblemCode.INVALID, message)


def conflict(message: str) -> Problem:
    return Problem(ProblemCode.CONFLICT, message)


def unauthorized() -> Problem:
    """The same refusal for a missing, wrong, revoked or expired token."""
    return Problem(ProblemCode.UNAUTHORIZED, "sign in with a valid token; ask an operator for one")


def no_table() -> Problem:
    """The same refusal for an unknown table and for one without a grant."""
    return Problem(ProblemCode.NOT_FOUND, "there is no such table, or you have no grant for it")


def not_found(what: str) -> Problem:
    return Problem(ProblemCode.NOT_FOUND, f"there is no such {what} of yours")
