"""The curator's methods: tables, budgets, grants, members and tokens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from frith.client import requests, responses
from frith.client.kinds import Role
from frith.client.responses import Grant, Listing, Member, TableInfo, Token, VerificationResponse
from frith.client.wire import Wire
from frith.domain import Domain, Person
from frith.ledger import Fault, Verification
from frith.privacy.exact import exact, show

_POLICY = tuple(requests.PolicyRequest.model_fields)


class Curating:
    """Methods for curators; the server refuses everybody else."""

    _wire: Wire

    def register(
        self,
        name: str,
        domain: Domain | str | Path,
        *,
        connection: str,
        table: str | None = None,
        query: str | None = None,
        epsilon: Any,
        title: str = "",
        signed: bool = False,
        **policy: Any,
    ) -> TableInfo:
        """Register a table with its reviewed domain and its policy. Reads no record.

        Parameters
        ----------
        name : str
            The table's name, which analysts use.
        domain : Domain, str or Path
            Its public facts, or the path of a domain file.
        connection : str
            The name of one of `connections()`.
        table : str or None, default=None
            What to read there: a file of a folder, or a table of a database as schema.table.
        query : str or None, default=None
            A SELECT instead, if the connection takes queries.
        epsilon : int, float, str or Fraction
            Its total budget.
        title : str, default=""
            One line about it.
        signed : bool, default=False
            True states that each row of a query depends on one record alone.
        **policy : Any
            delta, analyst_epsilon, request_epsilon, least_epsilon, learners, renewal_days and
            approval_epsilon of the table's policy.
        """
        if not isinstance(domain, Domain):
            domain = Domain.load(domain)
        body = {
            "name": name,
            "connection": connection,
            "table": table,
            "query": query,
            "domain": json.dumps(domain.to_json()),
            "policy": _policy({"epsilon": epsilon, **policy}),
            "title": title,
            "signed": signed,
        }
        return TableInfo.read(self._wire.post("tables", body=requests.TableRequest.read(body)))

    def register_paid(
        self,
        name: str,
        label: str,
        columns: Mapping[str, str | Sequence[str]],
        *,
        connection: str,
        table: str | None = None,
        query: str | None = None,
        price: Any,
        epsilon: Any,
        records: int | None = None,
        person: Person | None = None,
        title: str = "",
        signed: bool = False,
        **policy: Any,
    ) -> TableInfo:
        """Register a table without public bounds: its budget pays for its domain, once and for good.

        Parameters
        ----------
        name : str
            The table's name, which analysts use.
        label : str
            The column to predict.
        columns : mapping of str to str or list
            What each column is, the label among them: "number", "date", or a public list of values.
        connection : str
            The name of one of `connections()`.
        table : str or None, default=None
            What to read there: a file of a folder, or a table of a database as schema.table.
        query : str or None, default=None
            A SELECT instead, if the connection takes queries.
        price : int, float, str or Fraction
            The epsilon that the domain costs, out of the table's `epsilon`. A draft that fails costs it too.
        epsilon : int, float, str or Fraction
            Its total budget.
        records : int or None, default=None
            The number of records, if it is public.
        person : Person or None, default=None
            The column that names the protected person, and the most records of each that count.
        title : str, default=""
            One line about it.
        signed : bool, default=False
            True states that each row of a query depends on one record alone.
        **policy : Any
            The rest of the table's policy, as for `register`.
        """
        who = (
            {}
            if person is None
            else {"person": person.column, "records_per_person": person.records}
        )
        body = {
            "name": name,
            "label": label,
            "columns": {c: k if isinstance(k, str) else list(k) for c, k in columns.items()},
            "connection": connection,
            "table": table,
            "query": query,
            "epsilon": show(exact(price)),
            "records": records,
            "policy": _policy({"epsilon": epsilon, **policy}),
            "title": title,
            "signed": signed,
        }
        request = requests.PaidTableRequest.read(body | who)
        return TableInfo.read(self._wire.post("paid-domains", body=request))

    def connections(self) -> Listing[responses.ConnectionInfo]:
        """Where tables can be registered from, as the operator declared it."""
        return Listing(map(responses.ConnectionInfo.read, self._wire.get("connections")))

    def set_policy(self, table: str, **changes: Any) -> TableInfo:
        """Change parts of a table's policy and keep the rest; None removes a cap."""
        old = self._wire.get("tables", table)["policy"]
        policy = {name: old.get(name) for name in _POLICY} | changes
        return TableInfo.read(self._wire.put("tables", table, "policy", body=_policy(policy)))

    def raise_version(self, table: str) -> TableInfo:
        """State that the records have changed: a repeated request is now a new one."""
        return TableInfo.read(self._wire.post("tables", table, "version"))

    def add_batch(
        self,
        to: str,
        name: str,
        *,
        connection: str,
        table: str | None = None,
        query: str | None = None,
        disjoint: bool = False,
    ) -> TableInfo:
        """Register further records of the table `to`, from a connection as in `register`.

        `disjoint` declares that all their people are new.
        """
        source = {"connection": connection, "table": table, "query": query}
        body = requests.BatchRequest.read({"name": name, "disjoint": disjoint} | source)
        return TableInfo.read(self._wire.post("tables", to, "batches", body=body))

    def grants(self, table: str) -> Listing[Grant]:
        """Who may ask about a table."""
        return Listing(map(Grant.read, self._wire.get("tables", table, "grants")))

    def grant(
        self,
        table: str,
        member: str,
        columns: Sequence[str] | None = None,
        epsilon: Any = None,
    ) -> Grant:
        """Let an analyst ask about a table, or about some attributes, with an optional cap of their own."""
        cap = None if epsilon is None else show(exact(epsilon))
        columns = None if columns is None else list(columns)
        body = requests.GrantRequest.read({"columns": columns, "epsilon": cap})
        return Grant.read(self._wire.put("tables", table, "grants", member, body=body))

    def withdraw(self, table: str, member: str) -> None:
        """Withdraw a grant; what was spent under it stays spent."""
        self._wire.delete("tables", table, "grants", member)

    def members(self) -> Listing[Member]:
        """All members."""
        return Listing(map(Member.read, self._wire.get("members")))

    def add_member(
        self,
        name: str,
        role: str = Role.ANALYST,
        *,
        subject: str | None = None,
        owner: str | None = None,
        days: int | None = None,
    ) -> Member:
        """Add a member; `subject` is their `sub` at the OIDC issuer.

        With an `owner` it is a service account, which ends after `days` days.
        """
        asked = {"name": name, "role": role, "subject": subject, "owner": owner, "days": days}
        body = requests.MemberRequest.read(asked)
        return Member.read(self._wire.post("members", body=body))

    def disable(self, member: str) -> Member:
        """Disable a member; all their tokens end at once, and so does what was made with them."""
        return self._change(member, disabled=True)

    def enable(self, member: str) -> Member:
        """Enable a member again; they need new tokens."""
        return self._change(member, disabled=False)

    def change_role(self, member: str, role: str) -> Member:
        """Give a member another role; what the old one curated, the new one may not."""
        return self._change(member, role=role)

    def change_owner(self, member: str, owner: str) -> Member:
        """Hand a service account over to another person."""
        return self._change(member, owner=owner)

    def curators(self, table: str) -> Listing[str]:
        """Who curates a table."""
        return Listing(self._wire.get("tables", table, "curators"))

    def add_curator(self, table: str, member: str) -> None:
        """Let a member curate a table."""
        self._wire.put("tables", table, "curators", member)

    def remove_curator(self, table: str, member: str) -> None:
        """Let a member curate a table no longer; the last curator stays."""
        self._wire.delete("tables", table, "curators", member)

    def _change(self, member: str, **changes: Any) -> Member:
        body = requests.MemberChangeRequest.read(changes)
        return Member.read(self._wire.put("members", member, body=body))

    def tokens(self, member: str) -> Listing[Token]:
        """A member's tokens, without their texts. Analysts may see their own."""
        return Listing(map(Token.read, self._wire.get("members", member, "tokens")))

    def create_token(
        self,
        member: str,
        note: str = "",
        days: int | None = None,
        scopes: Sequence[str] | None = None,
    ) -> responses.IssuedToken:
        """Make a token; its text is in `.token`, only now. Analysts may make their own.

        It ends with your own token at the latest, and has no scope that yours lacks. Others get one
        from you only if they have none, or if they are a service account of yours.
        """
        given = None if scopes is None else list(scopes)
        body = requests.TokenRequest.read({"note": note, "days": days, "scopes": given})
        return responses.IssuedToken.read(self._wire.post("members", member, "tokens", body=body))

    def revoke_token(self, token: str | Token) -> None:
        """Revoke a token at once, and all that was made with it. Analysts may revoke their own."""
        self._wire.delete("tokens", token if isinstance(token, str) else token.id)

    def verify_ledger(self) -> Verification:
        """Verify the ledger's chain of hashes, and read stored requests again.

        `problems` are entries that were changed; `flagged` are charges that frith would refuse today.
        """
        found = VerificationResponse.read(self._wire.get("ledger", "verification"))
        faults = tuple(Fault(text) for text in found.problems)
        return Verification(found.entries, found.head, faults, tuple(found.flagged))


def _policy(given: dict[str, Any]) -> requests.PolicyRequest:
    """A policy as the server reads it: amounts as exact text, caps of None left out."""
    for name in given:
        if name not in _POLICY:
            raise ValueError(f"a policy has no {name}; it has {', '.join(_POLICY)}")
    given = {name: value for name, value in given.items() if value is not None}
    amounts = {name: show(exact(given[name])) for name in requests.POLICY_AMOUNTS if name in given}
    return requests.PolicyRequest.read(given | amounts)
