"""Telling others when the verdict on a dataset changes: by POST to the address that its owner gave.

The address may be anybody's. That of a stranger leads to public hosts only, whatever names and redirects say; what
comes back is not read. Only the host of an address is ever logged: the rest may be a secret.
"""

from __future__ import annotations

import asyncio
import logging
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import urlsplit

import aiohttp

from catalog.alerts import ATTEMPTS_MAX, Alert, Alerts
from catalog.reports import KeptReport
from opendatafabric.errors import OdfError
from storage.public_addresses import Sockets

LOG: Final = logging.getLogger("odf.worker")
LOOK_EVERY_S: Final = 2.0
_TIMEOUT: Final = aiohttp.ClientTimeout(total=20, sock_connect=10)


def change_told(alias: str | None, before: KeptReport | None, report: KeptReport) -> dict[str, Any] | None:
    """What is told of a new report; ``None`` when it says what the one before said. The first one counts as a change
    unless it says that all is well."""
    old = None if before is None else before.verdict
    if report.verdict == old or (old is None and report.verdict == "valid"):
        return None
    return {
        "event": "verdict-changed",
        "datasetId": str(report.dataset_id),
        "alias": alias,
        "head": None if report.head is None else str(report.head),
        "verdictBefore": old,
        "verdict": report.verdict,
        "report": str(report.hash),
    }


class Alerting:
    """Tells what is to be told in one catalog."""

    def __init__(self, alerts: Alerts, *, look_every_s: float = LOOK_EVERY_S) -> None:
        self._alerts, self._look_every_s = alerts, look_every_s

    async def tell_for_ever(self) -> None:
        """Whatever comes, until it is cancelled."""
        while True:
            try:
                while await self.tell_one():
                    pass
            except OdfError as error:
                LOG.warning("alerts cannot be looked for: %s", error)
            await asyncio.sleep(self._look_every_s)

    async def tell_one(self) -> bool:
        """One that is due; whether there was one."""
        alert = await self._alerts.take_due()
        if alert is None:
            return False
        failure = await _told(alert)
        if failure is None or alert.attempts >= ATTEMPTS_MAX:
            await self._alerts.done(alert)
        if failure is not None:
            host = urlsplit(alert.webhook.url).hostname
            LOG.warning("an alert was not taken by %s: %s (attempt %d)", host, failure, alert.attempts)
        return True


async def _told(alert: Alert) -> str | None:
    """Why it was not; ``None`` when it was."""
    sockets = Sockets(private_places=not alert.webhook.foreign)
    headers = {"Content-Type": "application/json"}
    try:
        async with (
            aiohttp.ClientSession(connector=sockets.connector(), timeout=_TIMEOUT) as session,
            session.post(alert.webhook.url, data=alert.body, headers=headers, allow_redirects=False) as answer,
        ):
            taken = answer.status < HTTPStatus.MULTIPLE_CHOICES
            return None if taken else f"it answered {answer.status}"
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        return "its address is not public" if sockets.refused else type(error).__name__
