"""Everything the server can say no with: a fixed set, each with its status and made of public facts.

A caller learns the code and the message and nothing else. Messages are built from names, budgets
and the caller's own words; never from a record, a path, a driver or another member.
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
"""What may pass: such an answer says how long to wait, where a wait helps."""

FAILED = "the job failed on the curator's side, and its charge is kept; ask the curator"
"""The one thing that is said of a job that could not be finished."""
FAILED_FREE = "the job failed on the curator's side, and nothing was charged; ask the curator"
"""The same of a job that had not been charged."""
STOPPED = "a curator stopped the job, and its charge is kept"
STOPPED_FREE = "a curator stopped the job; it cost nothing"


class Problem(FrithError):
    """A request that is refused, with what may be said about it."""

    def __init__(self, code: ProblemCode, message: str, *, wait: int | None = None, **facts: Any):
        self.code, self.message, self.wait, self.facts = code, message, wait, facts
        super().__init__(message)

    @property
    def status(self) -> int:
        return STATUS[self.code]

    @property
    def headers(self) -> dict[str, str]:
        """Seconds to wait are constants: they tell nothing of how long anything takes here."""
        return {} if self.wait is None else {"retry-after": str(self.wait)}

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "message": self.message, **self.facts}


def unauthorized() -> Problem:
    """One answer for no token, a wrong one, a revoked one and an expired one."""
    return Problem(ProblemCode.UNAUTHORIZED, "sign in with a valid token; ask a curator for one")


def no_table() -> Problem:
    """One answer for a table that is not there and one that the caller has no grant for."""
    return Problem(ProblemCode.NOT_FOUND, "there is no such table, or you have no grant for it")


def not_found(what: str) -> Problem:
    return Problem(ProblemCode.NOT_FOUND, f"there is no such {what} of yours")


def curators_only() -> Problem:
    return Problem(ProblemCode.FORBIDDEN, "only a curator may do this")
