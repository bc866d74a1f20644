"""Events as others are told them: CloudEvents 1.0 in JSON."""

from __future__ import annotations

import uuid
from typing import Any, Final, NotRequired

from typing_extensions import TypedDict

from catalog.events import Event
from repo_server.moments import moment

TYPES_START: Final = "org.opendatafabric.repository."
TEST_TYPE: Final = "webhook-test"


class EventData(TypedDict):
    """What happened; which fields there are follows from the type."""

    datasetId: NotRequired[str]
    webhook: NotRequired[str]
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
    told = _told(str(event.id), event.type.value, event.at, source)
    told["data"] = {"datasetId": str(event.dataset_id), **event.details}
    return told if event.alias is None else {**told, "subject": event.alias}


def told_test(webhook_id: str, now: float, *, source: str) -> dict[str, Any]:
    """That somebody tries whether a webhook would be told."""
    return _told(f"test-{uuid.uuid4()}", TEST_TYPE, now, source) | {"data": {"webhook": webhook_id}}


def _told(number: str, type_: str, at: float, source: str) -> dict[str, Any]:
    return {
        "specversion": "1.0",
        "id": number,
        "source": source,
        "type": f"{TYPES_START}{type_}",
        "time": moment(at),
        "datacontenttype": "application/json",
    }
