"""HTML forms, read after their origin and CSRF token are checked.

Not Starlette's forms: they also accept multipart bodies and files, which no page here sends, and do
not limit the number of fields of the form that is sent.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar
from urllib.parse import parse_qs

from fastapi import Depends, Request

from frith.client.documents import Text
from frith.client.kinds import ProblemCode
from frith.client.requests import RequestDocument
from frith.errors import FormatError
from frith.server.auth.sessions import check_csrf
from frith.server.problems import Problem, invalid

R = TypeVar("R", bound=RequestDocument)
_MAX_FIELDS = 20_000  # a grant's form has one for every attribute


@dataclass(frozen=True)
class Form:
    """The fields of a form; an empty field counts as not given."""

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
"""The form of a page that was opened, not submitted."""


def read_document(kind: type[R], data: dict[str, Any]) -> R:
    """The document that the API takes, with the same limits."""
    try:
        return kind.read(data)
    except FormatError as error:
        raise invalid(str(error)) from None


class _Reason(RequestDocument):
    reason: Text


def read_reason(form: Form) -> str:
    """The reason that a form gives."""
    return read_document(_Reason, {"reason": form.text("reason")}).reason


async def read_form(request: Request) -> Form:
    """The fields; refused if another site sent them."""
    origin = request.headers.get("origin")
    if origin is not None and origin.partition("://")[2] != request.headers.get("host"):
        raise Problem(ProblemCode.FORBIDDEN, "this form was sent by another site")
    text = (await request.body()).decode("utf-8", "replace")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MAX_FIELDS)
    except ValueError:
        raise invalid("the form has too many fields") from None
    return Form({k: [v.replace("\0", "") for v in values] for k, values in fields.items()})


async def _checked(request: Request) -> Form:
    form = await read_form(request)
    check_csrf(request.state.signed_in, form.text("csrf"))
    return form


PostedForm = Annotated[Form, Depends(_checked)]
"""A form of a signed-in browser. Routes name it first, so that a forged one does nothing."""
