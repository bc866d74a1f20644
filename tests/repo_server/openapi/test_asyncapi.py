"""The AsyncAPI document: every conversation and stream of a server, with messages as they are on the wire."""

from __future__ import annotations

from typing import Any

import jsonschema
import orjson
import pytest

from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from repo_server.openapi.asyncapi import TALKS, asyncapi_document
from repo_server.openapi.described import operation_of
from repo_server.routes import DATASET_ROUTES, served
from sync.smart.messages import (
    MetadataBlocksBatch,
    PullMetadata,
    PullRequest,
    Refusal,
    Refused,
    TwoHeads,
)
from sync.smart.wire import write_message
from tests.repo_server.hosted import Hosted

DOCUMENT = asyncapi_document(served(Tenancy.MULTI), "http://127.0.0.1:8080", "0")


def references(value: Any) -> list[str]:
    if isinstance(value, list):
        return [found for each in value for found in references(each)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [found for each in value.values() for found in references(each)]


def test_every_reference_leads_somewhere() -> None:
    for reference in references(DOCUMENT):
        found: Any = DOCUMENT
        for step in reference.removeprefix("#/").split("/"):
            assert step in found, reference
            found = found[step]


def test_every_websocket_and_stream_of_the_table_is_in_it() -> None:
    def is_talk(handler: object) -> bool:
        operation = operation_of(handler)
        assert operation is not None
        answers = operation.answers
        return any(each.status == 101 or "text/event-stream" in each.content for each in answers)

    assert {route.path for route in DATASET_ROUTES if is_talk(route.handler)} <= set(TALKS)


def test_a_channel_has_the_address_of_its_route_and_tells_who_sends_what() -> None:
    channel = DOCUMENT["channels"]["getAccountNamePull"]
    assert channel["address"] == "/{account}/{name}/pull"
    sent = DOCUMENT["operations"]["sendOnGetAccountNamePull"]["messages"]
    assert {each["$ref"].rpartition("/")[2] for each in sent} == {
        "PullAccepted", "PullMetadata", "PullStrategies", "Refused",
    }  # fmt: skip


@pytest.mark.parametrize(
    "message",
    [
        PullRequest(begin_after=physical_hash(b"x"), force_update_if_diverged=False),
        PullMetadata(blocks=MetadataBlocksBatch(num_blocks=1, payload=b"\x1f\x8b")),
        Refused(Err=Refusal(InvalidHead=TwoHeads(actual_head=physical_hash(b"x")))),
    ],
    ids=lambda message: type(message).__name__,
)
def test_messages_on_the_wire_are_as_the_document_says(message: Any) -> None:
    schema = {"$ref": f"#/components/schemas/{type(message).__name__}", "components": DOCUMENT["components"]}
    jsonschema.validate(orjson.loads(write_message(message)), schema)


async def test_a_server_gives_out_its_document(multi: Hosted) -> None:
    told = orjson.loads((await multi.ask("GET", "/asyncapi.json")).body)
    assert told["servers"]["here"]["host"] == multi.url.removeprefix("http://")
