"""What a browser's form sends: read once, after its origin and its CSRF text were checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Depends, Request
from pydantic import BaseModel, ValidationError

from frith.server.auth.sessions import check_csrf
from frith.server.problems import Problem

Asked = TypeVar("Asked", bound=BaseModel)
_MOST_FIELDS = 20_000  # a grant names every attribute


@dataclass(frozen=True)
class Sent:
    """The fields of a form; what was left empty was not given."""

    fields: dict[str, list[str]] = field(default_factory=dict)

    def text(self, name: str, default: str = "") -> str:
        return self.fields.get(name, [default])[0].strip()

    def all(self, name: str) -> list[str]:
        return self.fields.get(name, [])

    def has(self, name: str) -> bool:
        return name in self.fields

    def given(self, *names: str) -> dict[str, str]:
        return {name: self.text(name) for name in names if self.text(name)}


NOTHING = Sent()
"""Of a page that is opened, not sent."""


def as_asked(kind: type[Asked], data: dict[str, Any]) -> Asked:
    """The same document that the API takes, with the same limits."""
    try:
        return kind(**data)
    except ValidationError as error:
        first = error.errors()[0]
        where = str(first["loc"][0]).replace("_", " ") if first["loc"] else "the form"
        raise Problem("invalid", f"{where}: {first['msg']}") from None


async def read_form(request: Request) -> Sent:
    """The fields, unless another site sent them."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise Problem("forbidden", "this form was sent by another site")
    text = (await request.body()).decode("utf-8", "replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise Problem("invalid", "the form has too many fields") from None
    return Sent({k: [v.replace("\0", "") for v in values] for k, values in fields.items()})


async def _checked(request: Request) -> Sent:
    sent = await read_form(request)
    check_csrf(request.state.signed_in, sent.text("csrf"))
    return sent


Posted = Annotated[Sent, Depends(_checked)]
"""A form of a signed-in browser. Routes name it first: nothing is done for a forged one."""
