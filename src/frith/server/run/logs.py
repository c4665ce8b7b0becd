"""Structured log lines: events, names of routes and members, states. No bodies, values or durations."""

from __future__ import annotations

import logging
import sys
from typing import Any

import structlog


def set_up_logs(stream: Any = None, *, as_json: bool = True) -> None:
    """One JSON object a line, also for what libraries log as warnings."""
    show = structlog.processors.JSONRenderer() if as_json else structlog.dev.ConsoleRenderer()
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True, key="at"),
            show,
        ],
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=logging.ERROR, stream=stream or sys.stderr, force=True)
