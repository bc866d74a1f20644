"""Reports that a server has of its datasets: its list, as it tells it."""

from __future__ import annotations

from typing import Any, Final

import aiohttp
import orjson

from cli.datasets import Located, is_address, is_server, locate
from opendatafabric.errors import MalformedInput
from opendatafabric.layout import REPORTS
from opendatafabric.multihash import Multihash
from opendatafabric.report_limits import REPORT_BYTES_MAX
from storage.http.answer import HttpFolder
from sync.credentials import headers_for

_REPORT_FIELDS: Final = {"report": str, "endedAt": str, "verdict": str, "replayed": bool}
_SPAN_FIELDS: Final = {"verdict": str, "firstSeen": str, "lastSeen": str, "reports": int}


async def located_on_server(ref: str, repository: str) -> Located | None:
    """The dataset, if it is one on a server."""
    if is_address(ref) or is_server(repository):
        located = await locate(ref, repository)
        return located if is_server(located.location) else None
    return None


async def listed_by_server(located: Located) -> dict[str, Any]:
    """Its reports and the history of its verdict.

    Raises:
        ObjectNotFound: there is no such dataset there, or the server keeps no reports.
        MalformedInput: another answer than reports.
        PeerUnavailable, StorageError: it did not answer.
    """
    async with aiohttp.ClientSession() as session:
        raw = await HttpFolder(session, located.location, headers_for(located.location)).read(
            REPORTS, size_max=REPORT_BYTES_MAX
        )
    try:
        told = orjson.loads(raw)
        return {
            "reports": _checked(told["reports"], _REPORT_FIELDS),
            "history": _checked(told["history"], _SPAN_FIELDS),
        }
    except (ValueError, KeyError, TypeError):
        raise MalformedInput(f"{located.name} answers otherwise than a list of reports") from None


def last_of(told: dict[str, Any]) -> Multihash | None:
    """The newest report in a list."""
    return next((Multihash.from_text(each["report"]) for each in told["reports"]), None)


def _checked(rows: Any, fields: dict[str, type]) -> list[dict[str, Any]]:
    for row in rows:
        if not all(isinstance(row[name], kind) and str(row[name]).isprintable() for name, kind in fields.items()):
            raise ValueError
        if not isinstance(row.get("head", ""), str | None):
            raise TypeError
    return list(rows)
