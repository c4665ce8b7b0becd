"""Notifies a webhook about tables whose budget is nearly used up, once for each account."""

from __future__ import annotations

import json

import structlog
from sqlalchemy import select

from frith.server.budget import alerts
from frith.server.context import Context
from frith.server.run.sinks import post
from frith.server.schema import RegisteredTable

log = structlog.get_logger("frith.budget")


def tell_alerts(context: Context) -> None:
    """Log and send new alerts. If the webhook does not accept one, the next call tries again.

    Two servers may both send an alert; none is left out.
    """
    with context.database.read() as session:
        found = alerts.find_near(context, session, session.scalars(select(RegisteredTable)))
        told = alerts.told(session)
    new = [alert for alert in found if alert.account not in told]
    sent = [alert for alert in new if _send(context.settings.alert_webhook, alert)]
    ended = told - {alert.account for alert in found}
    if sent or ended:
        with context.database.write() as session:
            alerts.note_told(session, sent, ended)


def _send(url: str, alert: alerts.Alert) -> bool:
    log.warning("a budget is nearly used up", table=alert.table)
    try:
        if url:
            post(url, json.dumps(alert.to_json()))
    except Exception as error:  # noqa: BLE001 - what it says may quote a URL with a password
        log.error("an alert cannot be sent", error=type(error).__name__)
        return False
    return True
