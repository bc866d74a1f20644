"""Events as others are told them: CloudEvents 1.0 in JSON."""

from __future__ import annotations

from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from catalog.events import Event
from repo_server.moments import moment

TYPES_START: Final = "org.opendatafabric.repository."


class EventData(TypedDict):
    """What happened; which fields there are follows from the type."""

    datasetId: str
    head: NotRequired[str | None]
    previousHead: NotRequired[str | None]
    blocks: NotRequired[int]
    records: NotRequired[int]
    previousAlias: NotRequired[str]
    visibility: NotRequired[str]
    verdict: NotRequired[str]
    verdictBefore: NotRequired[str | None]
    report: NotRequired[str]


class ToldEvent(TypedDict):
    """One event. ``subject`` is how the dataset was called then."""

    specversion: str
    id: str
    source: str
    type: str
    time: str
    subject: NotRequired[str]
    datacontenttype: str
    data: EventData


def told_event(event: Event, *, source: str) -> dict[str, Any]:
    """``event`` as ``source``, the address of this server, tells it."""
    told = {
        "specversion": "1.0",
        "id": str(event.id),
        "source": source,
        "type": f"{TYPES_START}{event.type}",
        "time": moment(event.at),
        "datacontenttype": "application/json",
        "data": {"datasetId": str(event.dataset_id), **event.details},
    }
    return told if event.alias is None else {**told, "subject": event.alias}
