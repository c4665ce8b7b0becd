"""Structured logs: events, routes, members and states. No bodies, values or durations."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog


def set_up_logs(stream: Any = None) -> None:
    """Write one JSON object a line to `stream` or stderr; libraries log errors only.

    A line and its end are written at once: a server and its workers share the stream.
    """
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            structlog.processors.JSONRenderer(),
        ],
        logger_factory=structlog.WriteLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=stream is None,  # one that is given may be replaced
    )
    logging.basicConfig(level=logging.ERROR, stream=stream or sys.stderr, force=True)
