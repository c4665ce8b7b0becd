"""Where a forest comes from: its learner and parameters, the day, the version, and the receipt."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from frith._version import __version__
from frith.errors import FormatError
from frith.privacy.exact import show

_SET_ELSEWHERE = ("domain", "epsilon", "delta", "ledger", "n_jobs")
"""Parameters that the forest states itself, or that are of no concern to its readers: paths, threads."""
_OF_RECEIPT = ("id", "account", "unit", "amount", "at", "hash")
"""What a reader needs to find an entry; what else its account has spent is not theirs to see."""


@dataclass(frozen=True, slots=True)
class Origin:
    """How a forest was made. Nothing here is computed from a record.

    Attributes
    ----------
    learner : the class, such as ForestClassifier
    parameters : what it was given, without domain, epsilon and delta, which the forest states
    version : of frith
    date : the day, in UTC
    receipt : the ledger's entry: its number, account, unit, amount, time and hash; None without one
    """

    learner: str
    parameters: dict[str, Any] = field(default_factory=dict)
    version: str = __version__
    date: str = ""
    receipt: dict[str, Any] | None = None

    @classmethod
    def of(cls, learner: str, parameters: dict[str, Any], receipt: Any = None) -> Origin:
        """The origin of a forest that is learned now, or that a receipt is about."""
        said = None if receipt is None else receipt.to_json()
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        return cls(
            learner,
            {k: _plain(v) for k, v in sorted(parameters.items()) if k not in _SET_ELSEWHERE},
            date=day if said is None else str(said["at"])[:10],
            receipt=said and {name: said[name] for name in _OF_RECEIPT},
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Origin:
        """The strict reader: texts, and plain values by name."""
        if not isinstance(data, dict) or data.keys() != {*cls.__slots__}:
            raise FormatError(f"a forest's origin has {', '.join(cls.__slots__)}")
        texts = [data[name] for name in ("learner", "version", "date")]
        receipt = {} if data["receipt"] is None else data["receipt"]
        is_plain = all(isinstance(d, dict) for d in (data["parameters"], receipt)) and all(
            isinstance(v, str | int | float | None)
            for d in (data["parameters"], receipt)
            for v in d.values()
        )
        if not is_plain or not all(isinstance(text, str) for text in texts):
            raise FormatError("a forest's origin holds texts, and plain values by name")
        if receipt and receipt.keys() != {*_OF_RECEIPT}:
            raise FormatError(f"the receipt of a forest has {', '.join(_OF_RECEIPT)}")
        return cls(**data)


def _plain(value: Any) -> Any:
    """A parameter as JSON has it; what is no plain value, by its type."""
    if isinstance(value, Fraction):
        return show(value)
    if isinstance(value, str | int | float | None):
        return value
    return value.item() if hasattr(value, "item") else f"<{type(value).__name__}>"
