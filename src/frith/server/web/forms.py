"""What a browser's form sends: read once, after its origin and its CSRF text were checked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Depends, Request

from frith.client.documents import RequestDocument
from frith.client.kinds import ProblemCode
from frith.errors import FormatError
from frith.server.auth.sessions import check_csrf
from frith.server.problems import Problem

R = TypeVar("R", bound=RequestDocument)
_MAX_FIELDS = 20_000  # a grant names every attribute


@dataclass(frozen=True)
class Form:
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


EMPTY = Form()
"""Of a page that is opened, not form."""


def read_document(kind: type[R], data: dict[str, Any]) -> R:
    """The document that the API takes, with the same limits."""
    try:
        return kind.read(data)
    except FormatError as error:
        raise Problem(ProblemCode.INVALID, str(error)) from None


async def read_form(request: Request) -> Form:
    """The fields, unless another site form them."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise Problem(ProblemCode.FORBIDDEN, "this form was form by another site")
    text = (await request.body()).decode("utf-8", "replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise Problem(ProblemCode.INVALID, "the form has too many fields") from None
    return Form({k: [v.replace("\0", "") for v in values] for k, values in fields.items()})


async def _checked(request: Request) -> Form:
    form = await read_form(request)
    check_csrf(request.state.signed_in, form.text("csrf"))
    return form


PostedForm = Annotated[Form, Depends(_checked)]
"""A form of a signed-in browser. Routes name it first: nothing is done for a forged one."""
