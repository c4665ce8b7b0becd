"""Wire documents: the base of `requests` and `responses`, and the types of their fields.

Each document is declared once. The server checks, sends and describes (OpenAPI) these models; the
client and the command line write and read the same ones, so the `client` extra needs pydantic too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from fractions import Fraction
from typing import Annotated, Any, Self

from frith.domain import Domain
from frith.errors import FormatError
from frith.ledger import Receipt
from frith.ledger.entries import FIELDS
from frith.privacy.exact import exact, show

NEEDS_CLIENT = "asking a private database needs more packages: pip install 'frith[client]'"
try:
    from pydantic import (
        BaseModel,
        BeforeValidator,
        ConfigDict,
        Field,
        InstanceOf,
        PlainSerializer,
        ValidationError,
        WithJsonSchema,
    )  # fmt: skip
except ImportError:
    raise ImportError(NEEDS_CLIENT) from None

NAME = r"^[a-z0-9][a-z0-9_-]{0,62}$"
AMOUNT = r"^([0-9]{1,9}(\.[0-9]{1,18})?(e-?[0-9]{1,2})?|[0-9]{1,9}/[0-9]{1,3})$"
"""How callers write amounts: 0.5, 1e-6, 1/3. Short, so that no exponent makes a giant number.

Denominators have at most three digits: with longer ones, sums in the ledger would grow longer with
every request, without end.
"""
_PATTERNS = {NAME: "at most 63 lower-case letters, digits, - and _, the first no - or _"}
Name = Annotated[str, Field(pattern=NAME, max_length=63)]
Amount = (
    Annotated[str, Field(pattern=AMOUNT, max_length=40)]
    | Annotated[float, Field(strict=True, ge=0, le=1e9)]
)
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
Text = Annotated[str, Field(max_length=200, pattern=r"^[^\x00-\x1f\x7f]*$")]
Source = Annotated[str, Field(max_length=4000, pattern=r"^[^\x00]*$")]
Scalar = bool | int | float | Annotated[str, Field(max_length=1000)] | None


def _reader(read: Callable[[Any], Any]) -> BeforeValidator:
    return BeforeValidator(lambda value: read(value) if isinstance(value, dict) else value)


_RECEIPT = {
    f.name: {
        "type": {"int": "integer", "str | None": ["string", "null"]}.get(str(f.type), "string")
    }
    for f in fields(Receipt)
    if f.name in FIELDS
}
Exact = Annotated[Fraction, BeforeValidator(exact), PlainSerializer(show, return_type=str)]
"""An exact amount, spelled as text."""
DomainDocument = Annotated[
    InstanceOf[Domain],
    _reader(Domain.from_json),
    PlainSerializer(Domain.to_json),
    WithJsonSchema({"type": "object"}),
]
ReceiptDocument = Annotated[
    InstanceOf[Receipt],
    _reader(Receipt.from_json),
    PlainSerializer(Receipt.to_json),
    WithJsonSchema({"type": "object", "properties": _RECEIPT, "required": list(_RECEIPT)}),
]


class Document(BaseModel):
    """A JSON object; unknown fields of a response are ignored, because a newer server may send more."""

    model_config = ConfigDict(frozen=True)

    @classmethod
    def read(cls, data: Any) -> Self:
        """The document, or a `FormatError` that names the first wrong field."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise FormatError(first_problem(error.errors())) from None

    def to_json(self) -> dict[str, Any]:
        return self.model_dump(mode="json")


def first_problem(errors: Sequence[Any]) -> str:
    """Where the first error is and what is wrong, without the value."""
    where = ".".join(str(part) for part in errors[0]["loc"])
    pattern = errors[0].get("ctx", {}).get("pattern")
    return f"{where}: {_PATTERNS.get(pattern, errors[0]['msg'])}"
