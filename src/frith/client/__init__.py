"""The analyst's and the curator's side of a private database: `frith.connect(url, token)`.

Asking needs the `client` extra, so names are imported on first use; `kinds` needs no extra.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from frith.client.accounts import TableAccount
    from frith.client.database import RemoteDatabase, connect
    from frith.client.jobs import Job
    from frith.client.responses import (  # fmt: skip
        Account,
        Grant,
        LearnerInfo,
        Listing,
        Member,
        Quote,
        TableInfo,
        Token,
    )

_HOMES = {
    "Job": "jobs", "RemoteDatabase": "database", "TableAccount": "accounts", "connect": "database",
}  # fmt: skip
__all__ = [
    "Account", "Grant", "Job", "LearnerInfo", "Listing", "Member", "Quote", "RemoteDatabase",
    "TableAccount", "TableInfo", "Token", "connect",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = importlib.import_module(f"frith.client.{_HOMES.get(name, 'responses')}")
    return getattr(home, name)
