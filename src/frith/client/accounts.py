"""Your account for a table, and the other accounts that you may see."""

from __future__ import annotations

from collections.abc import Mapping

from frith.client.responses import Account, BatchBudget, BudgetResponse


class TableAccount(Account):
    """Your own account of a table or a batch; curators also see everybody's."""

    renewal: str | None = None
    whole: Account | None = None
    """The table's own account; for curators only."""
    analysts: tuple[Account, ...] = ()
    """Every analyst's account; for curators only."""
    batches: Mapping[str, TableAccount] = {}
    """Your accounts for the batches that have their own budget, by batch name."""

    @classmethod
    def of(cls, budget: BudgetResponse | BatchBudget) -> TableAccount:
        if isinstance(budget, BatchBudget):
            return cls(**dict(budget.own), whole=budget.whole)
        return cls(
            **dict(budget.own),
            renewal=budget.renewal,
            whole=budget.whole,
            analysts=tuple(budget.analysts or ()),
            batches={batch.batch: cls.of(batch) for batch in budget.batches},
        )

    def __str__(self) -> str:
        beside = (self.whole, *self.analysts, *self.batches.values())
        others = [str(account) for account in beside if account and account.name != self.name]
        return "\n".join([super().__str__(), *others, *filter(None, [self.renewal])])
