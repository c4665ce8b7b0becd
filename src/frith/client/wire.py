"""HTTP requests to a server: the token, retries, and problems as exceptions."""

from __future__ import annotations

import ipaddress
import os
import re
import ssl
from collections.abc import Iterator
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, quote, urlsplit

from frith.client.documents import NEEDS_CLIENT
from frith.client.kinds import ProblemCode
from frith.client.requests import RequestDocument
from frith.errors import RemoteBudgetExceeded, RemoteError

if TYPE_CHECKING:
    import httpx2

TOKEN = "FRITH_TOKEN"
_PAUSES = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2)  # seconds before each retry
_LONGEST = 30.0  # seconds that a server may make us wait in total
_BUSY = (429, 503)
_VISIBLE = re.compile(r"[!-~]+\Z")


class Wire:
    """A connection that sends the token with every request, and never shows it.

    It retries only requests that may safely arrive twice: those that only read, and those with an
    idempotency key.
    """

    def __init__(
        self, url: str, token: str | None, *, timeout: float, verify: Any, insecure: bool
    ) -> None:
        try:
            import httpx2
        except ImportError:
            raise ImportError(NEEDS_CLIENT) from None
        parts = read_url(url, insecure)
        self.url = parts.geturl()
        self._client = httpx2.Client(
            base_url=f"{self.url}/v1/",
            headers={"authorization": f"Bearer {read_token(token)}", "accept": "application/json"},
            timeout=timeout,
            verify=_trusted(verify),
            trust_env=not is_loopback(
                parts
            ),  # send no request that stays on this machine through a proxy
        )

    def get(self, *path: str, retry: bool = True) -> Any:
        return self._ask("GET", path, retry=retry)

    def get_all(self, path: str, key: str, size: int, **query: str | None) -> Iterator[Any]:
        """All items of a list that comes in pages of `size`; `key` is the parameter for the last id."""
        params = {name: value for name, value in query.items() if value is not None}
        params["limit"] = str(size)
        while True:
            page = self._ask("GET", (path,), retry=True, params=params)
            yield from page
            if len(page) < size:
                return
            params[key] = str(page[-1]["id"])

    def post(
        self,
        *path: str,
        body: RequestDocument | None = None,
        key: str | None = None,
        retry: bool = False,
    ) -> Any:
        headers = {} if key is None else {"idempotency-key": key}
        retry = retry or key is not None
        return self._ask("POST", path, retry=retry, json=_json(body), headers=headers)

    def put(self, *path: str, body: RequestDocument | None = None) -> Any:
        return self._ask("PUT", path, retry=False, json=_json(body))

    def delete(self, *path: str) -> None:
        self._ask("DELETE", path, retry=False)

    def close(self) -> None:
        self._client.close()

    def _ask(self, method: str, path: tuple[str, ...], *, retry: bool, **request: Any) -> Any:
        place = "/".join(quote(part, safe="") for part in path)
        left = _LONGEST
        for pause in _PAUSES if retry else ():
            answer = self._try(method, place, request)
            wait = _wait_for(answer, pause)
            if wait is None or wait > left:
                return self._read(answer)
            left -= wait
            sleep(wait)
        return self._read(self._try(method, place, request))

    def _try(self, method: str, place: str, request: Any) -> httpx2.Response | Exception:
        import httpx2

        try:
            return self._client.request(method, place, **request)
        except httpx2.RequestError as error:  # the request or its response did not arrive
            return error

    def _read(self, answer: httpx2.Response | Exception) -> Any:
        if isinstance(answer, Exception):
            raise self._unreachable(answer) from None
        if answer.status_code == 204:
            return None
        try:
            said = answer.json()
        except ValueError:
            said = None
        if answer.is_success and said is not None:
            return said
        raise self._problem(answer.status_code, said)

    def _problem(self, status: int, said: Any) -> RemoteError:
        """The exception for a problem document; any other body is not from a private database."""
        if not isinstance(said, dict) or not {"code", "message"} <= said.keys():
            return RemoteError(
                f"{self.url} does not answer like a private database (status {status}); check the "
                "URL",
                code=ProblemCode.NOT_FRITH,
                status=status,
            )
        code, message = str(said.pop("code")), str(said.pop("message"))
        kind = RemoteBudgetExceeded if code == ProblemCode.OVER_BUDGET else RemoteError
        return kind(message, code=code, status=status, facts=said)

    def _unreachable(self, error: Exception) -> RemoteError:
        import httpx2

        if _is_about_tls(error):
            what = f"the certificate of {self.url} is not trusted"
            todo = "give the file of the authority that signed it as verify= (--ca)"
        elif isinstance(error, httpx2.TimeoutException):
            what = f"{self.url} did not answer in time"
            todo = "try again, or pass a longer timeout="
        else:
            what = f"{self.url} cannot be reached"
            todo = "check the URL, and whether `frith serve` is running there"
        return RemoteError(f"{what}; {todo}", code=ProblemCode.UNREACHABLE)


def _json(body: RequestDocument | None) -> Any:
    return None if body is None else body.model_dump(mode="json", exclude_unset=True)


def read_url(url: str, insecure: bool = False) -> SplitResult:
    """Parse a URL, and refuse one that a token must not be sent to.

    >>> read_url("https://data.example.org/frith/").geturl()
    'https://data.example.org/frith'
    """
    parts = urlsplit(str(url).strip())
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("the URL of a server looks like https://data.example.org")
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise ValueError("the URL of a server has no user, ? or #; pass the token as token=")
    if parts.scheme == "http" and not insecure and not is_loopback(parts):
        raise ValueError(
            f"over http anybody on the way to {parts.hostname} could read the token; use https, or pass "
            "insecure=True (--insecure) if the network itself is safe"
        )
    return parts._replace(path=parts.path.rstrip("/"))


def is_loopback(parts: SplitResult) -> bool:
    """Whether requests stay on this machine."""
    if parts.hostname == "localhost":
        return True
    try:
        return ipaddress.ip_address(parts.hostname or "").is_loopback
    except ValueError:
        return False


def read_token(token: str | None) -> str:
    """The given token, or else FRITH_TOKEN. No message quotes it."""
    text = (os.environ.get(TOKEN, "") if token is None else token).strip()
    if not text:
        raise ValueError(f"no token: pass token=, or set {TOKEN}; a curator can make you one")
    if not _VISIBLE.match(text):
        raise ValueError("the token has spaces or signs that no token has; copy all of it")
    return text


def _trusted(verify: Any) -> Any:
    """True for the usual authorities, or a context that trusts the given file."""
    if isinstance(verify, str | Path):
        return ssl.create_default_context(cafile=str(verify))
    return verify


def _wait_for(answer: httpx2.Response | Exception, pause: float) -> float | None:
    """Seconds to wait before a retry; None if the response needs none."""
    if isinstance(answer, Exception):
        return None if _is_about_tls(answer) else pause
    if answer.status_code not in _BUSY:
        return None
    asked = answer.headers.get("retry-after", "")
    return max(pause, float(asked)) if asked.isdigit() else pause


def _is_about_tls(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        error = error.__cause__ or error.__context__
    return False
