"""An OpenID Connect issuer: what it signed, with its keys, for our audience, and not expired.

Not PyJWT's PyJWKClient: every caller waits for its lock while it fetches from a slow issuer, and it
asks a failing issuer again with every request.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from frith.client.kinds import ProblemCode
from frith.server.problems import Problem, unauthorized
from frith.server.settings import Settings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures with a public key; never a shared secret, never none."""
_RSA_BITS = 2048
_LEEWAY = 30  # seconds that clocks may differ by
_LIFETIME = 600  # seconds that keys are trusted before they are fetched again
_REFRESH = 60  # seconds between two fetches
_SECONDS = 5


@dataclass(frozen=True)
class _Keys:
    """The issuer's keys by id, and when they were fetched."""

    by_name: dict[str, jwt.PyJWK] = field(default_factory=dict)
    at: float = -float("inf")


class Issuer:
    """Checks tokens against the issuer's keys, which it fetches when needed and trusts for a while."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.monotonic):
        self._issuer, self._audience = settings.oidc_issuer, settings.oidc_audience
        self._jwks, self._now = settings.oidc_jwks, now
        self._keys, self._asked = _Keys(), -float("inf")
        self._fetching = threading.Lock()
        self._services: dict[str, Any] = {}
        self._services_at = self._services_asked = -float("inf")
        self._discovering = threading.Lock()

    def bearer(self, token: str) -> dict[str, Any]:
        """The claims of a valid bearer token, or `unauthorized`."""
        return self.claims(token, self._audience)

    def subject(self, token: str) -> str:
        """The `sub` of a valid bearer token, or `unauthorized`."""
        return str(self.bearer(token)["sub"])

    def claims(
        self, token: str, audience: str, require: Sequence[str] = ("exp", "iss", "aud", "sub")
    ) -> dict[str, Any]:
        """The claims of a token that the issuer signed for this audience, or `unauthorized`."""
        if not audience:
            raise unauthorized()
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(str(header.get("kid", "")))
            if key is None or header.get("alg") not in ALGORITHMS:
                raise unauthorized()
            return jwt.decode(
                token,
                key,
                algorithms=[str(header["alg"])],
                issuer=self._issuer,
                audience=audience,
                leeway=_LEEWAY,
                options={"require": list(require)},
            )
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError):
            raise unauthorized() from None

    def endpoint(self, name: str) -> str:
        """The address of one of the issuer's services, from its discovery document."""
        place = str(self._discovered(name).get(name, ""))
        if not place.startswith(("https://", "http://")):
            raise Problem(ProblemCode.NOT_OFFERED, "the issuer does not offer this")
        return place

    def _discovered(self, name: str) -> dict[str, Any]:
        """The discovery document; one thread fetches it at a time, at most once a minute."""
        known = self._fresh_services()
        if name in known:
            return known
        with self._discovering:
            now, known = self._now(), self._fresh_services()
            if name not in known and now - self._services_asked >= _REFRESH:
                self._services_asked = now
                found = self._discover()
                if found.get("issuer") == self._issuer:
                    self._services, self._services_at = found, now
                    return found
            if not known:
                raise Problem(
                    ProblemCode.UNAVAILABLE, "the issuer cannot be reached", wait=_REFRESH
                )
            return known

    def _fresh_services(self) -> dict[str, Any]:
        return self._services if self._now() - self._services_at < _LIFETIME else {}

    def _discover(self) -> dict[str, Any]:
        try:
            found = _get(self._discovery)
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _key(self, kid: str) -> jwt.PyJWK | None:
        """The key with this id; old keys and an unknown id make us fetch them again.

        One thread fetches at a time. Others wait only if they have no fresh keys.
        """
        keys = self._fresh()
        if kid not in keys and self._fetching.acquire(blocking=not keys):
            try:
                self._fetch()
            finally:
                self._fetching.release()
            keys = self._fresh()
        return keys.get(kid)

    def _fresh(self) -> dict[str, jwt.PyJWK]:
        """The keys that are still trusted: a withdrawn key expires soon."""
        keys = self._keys
        return keys.by_name if self._now() - keys.at < _LIFETIME else {}

    def _fetch(self) -> None:
        """Fetch the keys, at most once a minute; if that fails, the keys keep their age."""
        now = self._now()
        if now - self._asked < _REFRESH:
            return
        self._asked = now
        try:
            url = self._jwks or _get(self._discovery)["jwks_uri"]
            found = jwt.PyJWKSet.from_dict(_get(url)).keys
        except (OSError, ValueError, KeyError, jwt.PyJWTError):
            return
        self._keys = _Keys({str(key.key_id): key for key in found if _signs(key)}, now)

    @property
    def _discovery(self) -> str:
        return self._issuer.rstrip("/") + "/.well-known/openid-configuration"


def _signs(key: jwt.PyJWK) -> bool:
    """Whether it is a key for signatures, and long enough to trust."""
    is_long = not isinstance(key.key, RSAPublicKey) or key.key.key_size >= _RSA_BITS
    return key.public_key_use in (None, "sig") and is_long


def _get(url: str) -> Any:
    if not url.startswith(("https://", "http://")):
        raise ValueError("keys are fetched over HTTP")
    with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
        return json.loads(answer.read(1_000_000))
