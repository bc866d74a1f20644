"""The AsyncAPI document (3.0) of a server: what is no exchange of request and answer, the conversations of the smart
protocol over WebSockets, the streams of server-sent events, and what is sent to webhooks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from yarl import URL

from catalog.events import EventType
from repo_server.event_states import TEST_TYPE, ToldEvent
from repo_server.openapi.described import STRING
from repo_server.openapi.document import operation_id, plain_path
from repo_server.openapi.parameters import path_parameter
from repo_server.openapi.schemas import Components
from repo_server.route import Served
from repo_server.run_states import RunState
from repo_server.webhooks.message_signatures import EVENT_TYPE
from sync.smart import messages

VERSION: Final = "3.0.0"
_PAYLOAD: Final = {
    "description": "an array of byte values; base64 only where both ends said that they read it",
    "oneOf": [
        {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}},
        {"type": "string", "contentEncoding": "base64"},
    ],
}


@dataclass(frozen=True, slots=True)
class Talk:
    """What may come from the client and from the server; messages carry no names, their place says what they are."""

    protocol: str
    from_client: Mapping[str, Any]
    from_server: Mapping[str, Any]


def _named(*types: type[messages.Message]) -> dict[str, Any]:
    return {each.__name__: each for each in types}


TALKS: Final[Mapping[str, Talk]] = {
    "/pull": Talk(
        "ws",
        _named(messages.PullRequest, messages.PullMetadataRequest, messages.PullObjectsRequest),
        _named(messages.PullAccepted, messages.PullMetadata, messages.PullStrategies, messages.Refused),
    ),
    "/push": Talk(
        "ws",
        _named(
            messages.PushRequest,
            messages.PushMetadata,
            messages.PushObjectsRequest,
            messages.Progress,
            messages.PushComplete,
        ),
        _named(
            messages.Accepted,
            messages.PushObjectsAccepted,
            messages.ProgressRequest,
            messages.PushConfirmed,
            messages.Refused,
        ),
    ),
    "/events": Talk("http", {}, {each.value: ToldEvent for each in EventType}),
    "/verify/{run}/events": Talk("http", {}, {"state": RunState}),
}
"""By the path of the route."""


_WEBHOOKS: Final = "webhooks"


@lru_cache(4)
def asyncapi_document(routes: tuple[Served, ...], base_url: str, software: str) -> dict[str, Any]:
    """The document of a server that has ``routes`` and is called ``base_url``."""
    components = Components()
    talks = [(each, TALKS[each.route.path]) for each in routes if each.route.path in TALKS]
    channels = {_name(each): _channel(each, talk, components) for each, talk in talks}
    channels[_WEBHOOKS] = _webhooks(components)
    components.schemas["MetadataBlocksBatch"]["properties"]["payload"] = _PAYLOAD
    address = URL(base_url or "http://localhost")
    return {
        "asyncapi": VERSION,
        "info": {"title": "ODF Repository", "version": software, "license": {"name": "Apache-2.0"}},
        "defaultContentType": "application/json",
        "servers": {"here": {"host": address.authority, "protocol": address.scheme}},
        "channels": channels,
        "operations": {name: each for served, talk in talks for name, each in _operations(served, talk)}
        | {"sendToWebhooks": _operation("send", _WEBHOOKS, channels[_WEBHOOKS]["messages"])},
        "components": {"schemas": dict(sorted(components.schemas.items()))},
    }


def _name(served: Served) -> str:
    return operation_id("GET", served.path)


def _channel(served: Served, talk: Talk, components: Components) -> dict[str, Any]:
    parameters = re.findall(r"\{(\w+)\}", plain_path(served.path))
    return {
        "address": plain_path(served.path),
        "title": served.route.purpose,
        "parameters": {name: {"description": path_parameter(name).says} for name in parameters},
        "messages": {
            name: {"name": name, "payload": components.schema(schema)}
            for name, schema in {**talk.from_client, **talk.from_server}.items()
        },
        "bindings": {talk.protocol: {"method": "GET"}},
    }


def _operations(served: Served, talk: Talk) -> Iterable[tuple[str, dict[str, Any]]]:
    channel = _name(served)
    for action, names in (("receive", talk.from_client), ("send", talk.from_server)):
        if names:
            yield (
                f"{action}On{channel[0].upper()}{channel[1:]}",
                _operation(action, channel, names),
            )


def _operation(action: str, channel: str, names: Iterable[str]) -> dict[str, Any]:
    return {
        "action": action,
        "channel": {"$ref": f"#/channels/{channel}"},
        "messages": [{"$ref": f"#/channels/{channel}/messages/{name}"} for name in names],
    }


def _webhooks(components: Components) -> dict[str, Any]:
    """Where receivers are is theirs to say: the channel has no address."""
    headers = dict.fromkeys(("Content-Digest", "Signature-Input", "Signature"), STRING)
    return {
        "address": None,
        "title": "what happens, sent to webhooks and signed (RFC 9421)",
        "messages": {
            name: {
                "name": name,
                "contentType": EVENT_TYPE,
                "headers": {"type": "object", "properties": headers},
                "payload": components.schema(ToldEvent),
            }
            for name in (*(each.value for each in EventType), TEST_TYPE)
        },
        "bindings": {"http": {}},
    }
