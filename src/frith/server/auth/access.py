"""Who may use which route: one table of every route, its scope and its roles.

The auth middleware looks every request up here, before its body is read, and refuses what is not
listed. A test walks the table: every route with every role and every scope.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from starlette.types import Scope as Request

from frith.client.kinds import ProblemCode, Role, Scope
from frith.server.problems import Problem
from frith.server.schema import Member

OPERATOR, CURATOR, ANALYST, AUDITOR = Role.OPERATOR, Role.CURATOR, Role.ANALYST, Role.AUDITOR
SCOPES: dict[Role, tuple[Scope, ...]] = {
    OPERATOR: tuple(Scope),
    CURATOR: (Scope.READ, Scope.ASK, Scope.CURATE),
    ANALYST: (Scope.READ, Scope.ASK),
    AUDITOR: (Scope.READ, Scope.AUDIT, Scope.METRICS),
}
"""The scopes that a role has; a token may have fewer."""


@dataclass(frozen=True, slots=True)
class Access:
    """What a route asks of its caller.

    With `of_table` the caller must curate the table that the path names, besides having the role.
    """

    scope: Scope
    roles: frozenset[Role]
    of_table: bool = False


def _for(scope: Scope, *roles: Role, of_table: bool = False) -> Access:
    return Access(scope, frozenset(roles), of_table)


_LOOK = _for(Scope.READ, *Role)
_ASK = _for(Scope.ASK, OPERATOR, CURATOR, ANALYST)
_ANSWER = _for(Scope.READ, OPERATOR, CURATOR, ANALYST)
_SELF = _for(Scope.READ, *Role)
_REGISTER = _for(Scope.CURATE, OPERATOR, CURATOR)
_CURATE = _for(Scope.CURATE, OPERATOR, CURATOR, of_table=True)
_MANAGE = _for(Scope.CURATE, OPERATOR)
_AUDIT = _for(Scope.AUDIT, OPERATOR, AUDITOR)

ROUTES: dict[str, Access] = {
    # who one is
    "GET /v1/openapi.json": _LOOK,
    "GET /v1/me": _LOOK,
    "GET /v1/members/{member}/tokens": _SELF,  # one's own, or anybody's as an operator
    "POST /v1/members/{member}/tokens": _SELF,
    "DELETE /v1/tokens/{token}": _SELF,
    "GET /account": _SELF,
    "POST /account/tokens": _SELF,
    "POST /account/tokens/{token}/revoke": _SELF,
    "POST /sign-out": _SELF,
    # members
    "GET /v1/members": _for(Scope.READ, OPERATOR, CURATOR, AUDITOR),
    "POST /v1/members": _MANAGE,
    "PUT /v1/members/{member}": _MANAGE,
    "GET /curate/members": _MANAGE,
    "POST /curate/members": _MANAGE,
    "POST /curate/members/{member}/tokens": _MANAGE,
    "POST /curate/members/{member}/disable": _MANAGE,
    "POST /curate/members/{member}/enable": _MANAGE,
    "POST /curate/members/tokens/{token}/revoke": _MANAGE,
    # tables, as far as a grant goes
    "GET /v1/learners": _LOOK,
    "GET /v1/tables": _LOOK,
    "GET /v1/tables/{table}": _LOOK,
    "GET /v1/tables/{table}/budget": _LOOK,
    "GET /": _LOOK,
    "GET /tables/{table}": _LOOK,
    "GET /tables/{table}/quote": _ANSWER,
    "POST /v1/tables/{table}/quotes": _ANSWER,
    # what is asked
    "POST /v1/tables/{table}/forests": _ASK,
    "POST /v1/tables/{table}/dry-runs": _ASK,
    "POST /v1/tables/{table}/counts": _ASK,
    "POST /v1/forests/{forest}/scores": _ASK,
    "POST /v1/forests/{forest}/updates": _ASK,
    "POST /v1/forests/{forest}/rules": _ASK,
    "POST /v1/jobs/{job}/cancel": _ASK,
    "POST /tables/{table}/forests": _ASK,
    "POST /forests/{forest}/scores": _ASK,
    "POST /forests/{forest}/updates": _ASK,
    "POST /forests/{forest}/rules": _ASK,
    "POST /jobs/{job}/cancel": _ASK,
    # what was answered
    "GET /v1/jobs": _LOOK,
    "GET /v1/jobs/{job}": _LOOK,
    "GET /v1/scores/{job}": _ANSWER,
    "GET /v1/counts/{job}": _ANSWER,
    "GET /v1/forests": _ANSWER,
    "GET /v1/forests/{forest}": _ANSWER,
    "GET /v1/forests/{forest}/rules": _ANSWER,
    "GET /v1/forests/{forest}/importances": _ANSWER,
    "GET /v1/forests/{forest}/effects": _ANSWER,
    "GET /v1/forests/{forest}/picture.svg": _ANSWER,
    "GET /v1/forests/{forest}/model.onnx": _ANSWER,
    "POST /v1/forests/{forest}/predictions": _ANSWER,
    "POST /v1/forests/{forest}/quotes": _ANSWER,
    "GET /v1/party": _ANSWER,
    "GET /jobs": _LOOK,
    "GET /jobs/{job}": _LOOK,
    "GET /jobs/{job}/state": _LOOK,
    "GET /forests/{forest}": _ANSWER,
    "GET /forests/{forest}/quote": _ANSWER,
    "GET /forests/{forest}/picture.svg": _ANSWER,
    "GET /forests/{forest}/forest.json": _ANSWER,
    "GET /forests/{forest}/model.onnx": _ANSWER,
    "GET /forests/{forest}/rules.csv": _ANSWER,
    "GET /forests/{forest}/effects.svg": _ANSWER,
    "GET /forests/{forest}/effects.csv": _ANSWER,
    "GET /forests/{forest}/report.html": _ANSWER,
    "GET /forests/{forest}/certificate.html": _ANSWER,
    "GET /forests/{forest}/card.md": _ANSWER,
    # what curators do
    "GET /v1/connections": _REGISTER,
    "POST /v1/tables": _REGISTER,
    "POST /v1/paid-domains": _REGISTER,
    "PUT /v1/tables/{table}/policy": _CURATE,
    "POST /v1/tables/{table}/version": _CURATE,
    "POST /v1/tables/{table}/batches": _CURATE,
    "GET /v1/tables/{table}/grants": _for(Scope.READ, OPERATOR, CURATOR, of_table=True),
    "PUT /v1/tables/{table}/grants/{member}": _CURATE,
    "DELETE /v1/tables/{table}/grants/{member}": _CURATE,
    "GET /curate": _REGISTER,
    "GET /curate/jobs": _for(Scope.READ, OPERATOR, CURATOR, AUDITOR),
    "GET /curate/register": _REGISTER,
    "POST /curate/register": _REGISTER,
    "GET /curate/tables/{table}": _CURATE,
    "POST /curate/tables/{table}/policy": _CURATE,
    "POST /curate/tables/{table}/version": _CURATE,
    "POST /curate/tables/{table}/batches": _CURATE,
    "POST /curate/tables/{table}/grants": _CURATE,
    "POST /curate/tables/{table}/grants/{member}/withdraw": _CURATE,
    # what needs a second person
    "GET /v1/proposals": _LOOK,
    "POST /v1/tables/{table}/proposals": _CURATE,
    "POST /v1/proposals/{proposal}/approve": _REGISTER,
    "POST /v1/proposals/{proposal}/reject": _REGISTER,
    "GET /curate/proposals": _for(Scope.READ, OPERATOR, CURATOR, AUDITOR),
    "POST /curate/proposals/{proposal}/approve": _REGISTER,
    "POST /curate/proposals/{proposal}/reject": _REGISTER,
    # who curates
    "GET /v1/tables/{table}/curators": _for(Scope.READ, OPERATOR, CURATOR, AUDITOR),
    "PUT /v1/tables/{table}/curators/{member}": _MANAGE,
    "DELETE /v1/tables/{table}/curators/{member}": _MANAGE,
    "POST /curate/members/{member}/curates": _MANAGE,
    "POST /curate/members/{member}/curates/{table}/end": _MANAGE,
    # what was spent
    "GET /v1/ledger": _LOOK,  # one's own entries, those of tables that one curates, or all
    "GET /v1/ledger.csv": _LOOK,
    "GET /v1/ledger/verification": _AUDIT,
    "GET /curate/ledger": _AUDIT,
    "GET /curate/ledger.csv": _AUDIT,
    "GET /curate/ledger.json": _AUDIT,
    # who did what
    "GET /v1/log": _AUDIT,
    "GET /v1/log.jsonl": _AUDIT,
    "GET /curate/log": _AUDIT,
    "GET /curate/log.jsonl": _AUDIT,
    "GET /curate/tables/{table}/log": _CURATE,
    # how the server does
    "GET /metrics": _for(Scope.METRICS, OPERATOR, AUDITOR),
}
"""Every route but those that need no credential."""


@dataclass(frozen=True, slots=True)
class Match:
    """The route of a request, what it asks for, and the parts of the path that it names."""

    route: str
    access: Access
    names: dict[str, str]


def match(method: str, path: str) -> Match | None:
    """The route that a request is for; None if there is none. A word of a path comes before a name."""
    parts = tuple(path.split("/"))
    for route, wanted in _by_shape().get((method, len(parts)), ()):
        pairs = list(zip(wanted, parts, strict=True))
        if all(part if is_name(word) else word == part for word, part in pairs):
            names = {word[1:-1]: part for word, part in pairs if is_name(word)}
            return Match(route, ROUTES[route], names)
    return None


def is_name(word: str) -> bool:
    return word.startswith("{")


@functools.cache
def _by_shape() -> dict[tuple[str, int], list[tuple[str, tuple[str, ...]]]]:
    """Routes by method and length, those with more words of their own first."""
    found: dict[tuple[str, int], list[tuple[str, tuple[str, ...]]]] = {}
    for route in ROUTES:
        method, _, path = route.partition(" ")
        words = tuple(path.split("/"))
        found.setdefault((method, len(words)), []).append((route, words))
    for routes in found.values():
        routes.sort(key=lambda each: [is_name(word) for word in each[1]])
    return found


def scopes_of(member: Member, stored: str | None) -> frozenset[Scope]:
    """What a token is good for: the scopes stored with it, as far as its member's role has them."""
    role = SCOPES[Role(member.role)]
    return frozenset(role if stored is None else [s for s in role if s in stored.split()])


def check(access: Access, member: Member, scopes: frozenset[Scope]) -> None:
    """Refuse a caller whose role or whose token is not one for this route."""
    if member.role not in access.roles:
        raise only(*(role for role in Role if role in access.roles))
    if access.scope not in scopes:
        has = ", ".join(scope for scope in Scope if scope in scopes) or "none"
        raise Problem(
            ProblemCode.FORBIDDEN,
            f"this needs a token with the scope {access.scope}, and yours has {has}",
        )


def only(*roles: Role) -> Problem:
    """The refusal of everybody but these roles."""
    words = " or ".join(f"{'a' if role is CURATOR else 'an'} {role}" for role in roles)
    return Problem(ProblemCode.FORBIDDEN, f"only {words} may do this")


def route_of(scope: Request) -> str:
    """The path of the route that the router found, with parameter names and its prefix."""
    route: Any = getattr(scope.get("route"), "path", None)
    if route is None:
        return "none"
    parts = scope["path"].split("/")
    return "/".join(parts[: len(parts) - route.count("/")]) + route
