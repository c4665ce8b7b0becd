"""Where a forest comes from: its learner and parameters, the day, the version, and the receipts."""

from __future__ import annotations

import datetime
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any

from frith._version import __version__
from frith.errors import FormatError
from frith.privacy.exact import show

_SET_ELSEWHERE = ("domain", "epsilon", "delta", "ledger", "n_jobs", "device")
"""Parameters that the forest states itself, or that are of no concern to its readers: paths, threads."""
_OF_RECEIPT = ("id", "account", "unit", "amount", "at", "hash")
"""What a reader needs to find an entry; what else its account has spent is not theirs to see."""


@dataclass(frozen=True, slots=True)
class Origin:
    """How a forest was made. Nothing here is computed from a record.

    Attributes
    ----------
    learner : str
        The class, such as ForestClassifier.
    parameters : dict
        Its parameters, without domain, epsilon and delta, which the forest states.
    version : str
        The version of frith.
    date : str
        The day, in UTC.
    receipts : tuple of dict
        The ledger's entries: number, account, unit, amount, time and hash of each.
    """

    learner: str
    parameters: dict[str, Any] = field(default_factory=dict)
    version: str = __version__
    date: str = ""
    receipts: tuple[dict[str, Any], ...] = ()

    @classmethod
    def of(
        cls,
        learner: str,
        parameters: dict[str, Any],
        receipt: Any = None,
        earlier: Origin | None = None,
    ) -> Origin:
        """The origin of a forest that is learned now, or that a receipt is about.

        `earlier` is that of a forest which this one adds to: its receipts count too.
        """
        said = [] if receipt is None else [receipt.to_json()]
        day = datetime.datetime.now(datetime.UTC).date().isoformat()
        return cls(
            learner,
            {k: _plain(v) for k, v in sorted(parameters.items()) if k not in _SET_ELSEWHERE},
            date=str(said[0]["at"])[:10] if said else day,
            receipts=(
                *(earlier.receipts if earlier else ()),
                *({name: entry[name] for name in _OF_RECEIPT} for entry in said),
            ),
        )

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"receipts": list(self.receipts)}

    @classmethod
    def from_json(cls, data: Any) -> Origin:
        """The strict reader: texts, and plain values by name."""
        if not isinstance(data, dict) or data.keys() != {*cls.__slots__}:
            raise FormatError(f"a forest's origin has {', '.join(cls.__slots__)}")
        texts = [data[name] for name in ("learner", "version", "date")]
        if not all(isinstance(text, str) for text in texts) or not _is_plain(data["parameters"]):
            raise FormatError("a forest's origin holds texts, and plain values by name")
        receipts = data["receipts"]
        if not isinstance(receipts, list) or not all(
            _is_plain(receipt) and receipt.keys() == {*_OF_RECEIPT} for receipt in receipts
        ):
            raise FormatError(f"a receipt in a forest's origin has {', '.join(_OF_RECEIPT)}")
        return cls(**data | {"receipts": tuple(receipts)})


def _is_plain(data: Any) -> bool:
    return isinstance(data, dict) and all(
        isinstance(value, str | int | float | None) for value in data.values()
    )


def _plain(value: Any) -> Any:
    """A parameter as JSON has it; what is no plain value, by its type."""
    if isinstance(value, Fraction):
        return show(value)
    if isinstance(value, str | int | float | None):
        return value
    return value.item() if hasattr(value, "item") else f"<{type(value).__name__}>"
