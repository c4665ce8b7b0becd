"""Pictures and files about a forest: how pages find it, and what headers they send."""

from __future__ import annotations

from fastapi.responses import Response

from frith.server.jobs import forests
from frith.server.jobs.forests import Released
from frith.server.web.page_request import PageRequest

IMAGE = {"content-security-policy": "default-src 'none'; style-src 'unsafe-inline'"}
"""For pictures: no script runs in them, but their inline style applies."""


def find(page: PageRequest, forest: str) -> Released:
    with page.read() as session:
        return forests.find_forest(page.context, session, forest, page.member)


def download(answer: Response, name: str) -> Response:
    answer.headers["content-disposition"] = f'attachment; filename="forest-{name}"'
    return answer
