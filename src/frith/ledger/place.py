"""Whose account an account is, on a server: a table's, a batch's or a member's, in a period."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Place:
    """The parts of an account's name. Each is a column, so that lists need not read names back."""

    table: str
    batch: str | None = None
    """A batch that has its own accounts; None for the table's."""
    period: int | None = None
    """The renewal period, from 0; None where the budget does not renew."""
    member: str | None = None
    """The member whose share this is; None for what all of them may spend."""

    @property
    def name(self) -> str:
        """The account's name. Names of tables, batches and members hold none of `+`, `@` and `/`."""
        batch = "" if self.batch is None else f"+{self.batch}"
        period = "" if self.period is None else f"@{self.period}"
        return f"{self.table}{batch}{period}" + ("" if self.member is None else f"/{self.member}")

    def of(self, member: str) -> Place:
        """The member's own account beside this one."""
        return replace(self, member=member)
