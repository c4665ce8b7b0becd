"""`python -m frith.server.run.health`: asks the server of these settings whether it is alive.

For the health check of a container. The server is asked where it listens, over TLS if it has a
certificate, which is not checked: it names the server's public address, and this is the same machine.
"""

from __future__ import annotations

import http.client
import ssl
import sys
import urllib.request

from frith.server.settings import Settings, load_settings

_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}
_WAIT_SECONDS = 2


def is_alive(settings: Settings) -> bool:
    """Whether the server answers."""
    plain = f"[{settings.host}]" if ":" in settings.host else settings.host
    host = _EVERYWHERE.get(settings.host, plain)
    scheme = "https" if settings.tls_certificate else "http"
    unchecked = ssl.create_default_context()
    unchecked.check_hostname, unchecked.verify_mode = False, ssl.CERT_NONE
    ask = urllib.request.Request(f"{scheme}://{host}:{settings.port}/health", method="HEAD")
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unchecked)
    )
    try:
        return bool(direct.open(ask, timeout=_WAIT_SECONDS).status == 200)
    except (OSError, http.client.HTTPException):  # the latter: TLS answered a plain request
        return False


if __name__ == "__main__":
    sys.exit(0 if is_alive(load_settings()) else 1)
