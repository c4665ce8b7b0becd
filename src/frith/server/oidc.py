"""Bearer tokens of an OpenID Connect issuer: signed by its keys, for our audience, not expired."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections.abc import Callable
from typing import Any

import jwt

from frith.server.problems import unauthorized
from frith.server.settings import Settings

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "ES256", "ES384", "EdDSA")
"""Signatures with a public key; never a shared secret, never none."""
_LEEWAY = 30  # seconds that clocks may differ by
_REFRESH = 60  # seconds between two looks at the issuer's keys
_SECONDS = 5


class Issuer:
    """Checks tokens against an issuer's keys, which are fetched when first needed."""

    def __init__(self, settings: Settings, now: Callable[[], float] = time.monotonic):
        self._issuer, self._audience = settings.oidc_issuer, settings.oidc_audience
        self._jwks, self._now = settings.oidc_jwks, now
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched = -float("inf")
        self._lock = threading.Lock()

    def subject(self, token: str) -> str:
        """The `sub` of a valid token, or `unauthorized`."""
        try:
            header = jwt.get_unverified_header(token)
            key = self._key(str(header.get("kid", "")))
            if key is None or header.get("alg") not in ALGORITHMS:
                raise unauthorized()
            claims = jwt.decode(
                token,
                key,
                algorithms=[str(header["alg"])],
                issuer=self._issuer,
                audience=self._audience,
                leeway=_LEEWAY,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, ValueError, TypeError, ArithmeticError, RecursionError):
            raise unauthorized() from None
        return str(claims["sub"])

    def _key(self, kid: str) -> jwt.PyJWK | None:
        """A key by its name; an unknown name makes us look again, but not often."""
        with self._lock:
            if kid not in self._keys and self._now() - self._fetched >= _REFRESH:
                self._fetched = self._now()
                self._keys = self._fetch()
            return self._keys.get(kid)

    def _fetch(self) -> dict[str, jwt.PyJWK]:
        try:
            url = self._jwks or _get(self._discovery)["jwks_uri"]
            found = jwt.PyJWKSet.from_dict(_get(url)).keys
        except (OSError, ValueError, KeyError, jwt.PyJWTError):
            return self._keys
        return {str(key.key_id): key for key in found}

    @property
    def _discovery(self) -> str:
        return self._issuer.rstrip("/") + "/.well-known/openid-configuration"


def _get(url: str) -> Any:
    if not url.startswith(("https://", "http://")):
        raise ValueError("keys are fetched over HTTP")
    with urllib.request.urlopen(url, timeout=_SECONDS) as answer:
        return json.loads(answer.read(1_000_000))
