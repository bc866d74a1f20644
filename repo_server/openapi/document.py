"""The OpenAPI document (3.1) of a server: made of its table of routes, so that it cannot say what is not so."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Final

from repo_server.openapi.answers import ANSWERS
from repo_server.openapi.described import (
    HTML,
    JSON,
    STRING,
    TEXT,
    Answer,
    Body,
    Content,
    Operation,
    Parameter,
    Tag,
    operation_of,
)
from repo_server.openapi.examples import as_curl, example_of
from repo_server.openapi.parameters import path_parameter
from repo_server.openapi.schemas import Components
from repo_server.openapi.statuses import SAID, looks_at_tokens, may_be_anonymous, statuses_of
from repo_server.problems import PROBLEM
from repo_server.rate_limits import Limited
from repo_server.repeating import KEY
from repo_server.route import Route, Served

VERSION: Final = "3.1.0"
SAMPLES: Final = "x-codeSamples"
_IN_PATH: Final = re.compile(r"\{(\w+)(?::[^}]*)?\}")
_UNDESCRIBED: Final = Operation(Tag.REPOSITORY, ())
_TAGS: Final = {
    Tag.CORE: "what a node is, who one is, datasets by id",
    Tag.TRANSFER: "blocks, objects and heads: the simple and the smart transfer protocol",
    Tag.QUERY: "asking datasets",
    Tag.KAMU: "what the reference has beside the protocol",
    Tag.REPOSITORY: "what this repository has of its own",
    Tag.IPFS: "the gateway to what is published to IPFS",
    Tag.PAGES: "pages for people, and their forms",
}
_PROBLEM_SCHEMA: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "code", "message", "retryable"],
    "properties": {
        "type": {"type": "string", "description": "leads to what the code means; the same on every server"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "instance": {"type": "string", "description": "the number of the request"},
        "code": {"type": "string"},
        "message": {"type": "string", "description": "as `detail`, for clients of the reference"},
        "retryable": {"type": "boolean"},
        "expected": {"type": "string"},
        "found": {"type": "string"},
        "hint": {"type": "string"},
        "rule": {"type": "string"},
        "sequence_number": {"type": "string"},
    },
}
_MESSAGE_SCHEMA: Final = {"type": "object", "required": ["message"], "properties": {"message": {"type": "string"}}}
_OF_OURS: Final[Content] = {PROBLEM: {"$ref": "#/components/schemas/Problem"}}
_OF_PAGES: Final[Content] = {**_OF_OURS, HTML: STRING}
"""People who look with a browser get refusals as pages."""
_OF_REFERENCE: Final[Content] = {**_OF_OURS, JSON: {"$ref": "#/components/schemas/Message"}, TEXT: STRING}


_REPEATING: Final = (Parameter(KEY, "sent again with the same key, it is done once", place="header"),)


@lru_cache(4)
def openapi_document(routes: tuple[Served, ...], base_url: str, software: str) -> dict[str, Any]:
    """The document of a server that has ``routes`` and is called ``base_url``."""
    components = Components()
    components.schemas |= {"Problem": _PROBLEM_SCHEMA, "Message": _MESSAGE_SCHEMA}
    paths: dict[str, dict[str, Any]] = {}
    for each in routes:
        operations = paths.setdefault(plain_path(each.path), {})
        operations[each.route.method.lower()] = _operation(each, components) | _sample(each, base_url)
    return {
        "openapi": VERSION,
        "info": {"title": "ODF Repository", "version": software, "license": {"name": "Apache-2.0"}},
        "servers": [{"url": base_url or "/"}],
        "tags": [{"name": tag.value, "description": text} for tag, text in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": dict(sorted(components.schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def plain_path(path: str) -> str:
    """A path of the router as OpenAPI has it."""
    return _IN_PATH.sub(r"{\1}", path)


def operation_id(method: str, path: str) -> str:
    """Such as ``getSystemHealth``, ``putDatasetGate``."""
    words = re.findall(r"[A-Za-z0-9]+", plain_path(path))
    return method.lower() + "".join(word[0].upper() + word[1:] for word in words)


def _operation(served: Served, components: Components) -> dict[str, Any]:
    route = served.route
    operation = operation_of(route.handler) or _UNDESCRIBED
    told: dict[str, Any] = {
        "operationId": operation_id(route.method, served.path),
        "summary": route.purpose,
        "tags": [operation.tag.value],
        "parameters": [
            *_path_parameters(served.path),
            *(_parameter(each, components) for each in operation.parameters),
            *(_parameter(each, components) for each in _REPEATING if route.repeats is not None),
        ],
        "responses": _responses(route, operation, components),
        "security": _security(route),
    }
    if operation.body is not None:
        told["requestBody"] = _body(operation.body, components)
    _show_answer(told["responses"], f"{route.method} {plain_path(served.path)}")
    return told


def _show_answer(responses: dict[str, Any], called: str) -> None:
    """Put what the example was answered beside the form that it has."""
    answer = ANSWERS.get(called, {})
    forms = responses.get(str(answer.get("status")), {}).get("content", {})
    if answer.get("mediaType") in forms and "body" in answer:
        forms[answer["mediaType"]]["example"] = answer["body"]


def _sample(served: Served, base_url: str) -> dict[str, Any]:
    example = example_of(served)
    return {} if example is None else {SAMPLES: [{"lang": "Shell", "source": as_curl(example, base_url)}]}


def _path_parameters(path: str) -> Iterable[dict[str, Any]]:
    for name in _IN_PATH.findall(path):
        known = path_parameter(name)
        told = {"name": name, "in": "path", "required": True, "description": known.says}
        yield {**told, "schema": dict(known.schema), "example": known.example}


def _parameter(parameter: Parameter, components: Components) -> dict[str, Any]:
    told: dict[str, Any] = {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.required,
        "description": parameter.says,
        "schema": components.schema(parameter.schema),
    }
    return told if parameter.value is None else {**told, "example": parameter.value}


def _body(body: Body, components: Components) -> dict[str, Any]:
    content = _content(body.content, components)
    if body.example is not None:
        for media_type in content.values():
            media_type["example"] = body.example
    return {"required": body.required, "content": content}


def _responses(route: Route, operation: Operation, components: Components) -> dict[str, Any]:
    with_body = operation.body is not None or route.repeats is not None
    refusals = {*statuses_of(route.needs, with_body=with_body), *operation.refuses}
    if route.repeats is not None:
        refusals.add(HTTPStatus.CONFLICT)
    if route.counts_as is not Limited.NOT:
        refusals.add(HTTPStatus.TOO_MANY_REQUESTS)
    told = {str(status.value): _refusal(status, route, components) for status in sorted(refusals)}
    for answer in operation.answers:
        told[str(answer.status.value)] = _response(answer, components)
    return dict(sorted(told.items()))


def _refusal(status: HTTPStatus, route: Route, components: Components) -> dict[str, Any]:
    forms = _OF_REFERENCE if route.of_reference else _OF_PAGES if route.method == "GET" else _OF_OURS
    return {"description": SAID[status], "content": _content(forms, components)}


def _response(answer: Answer, components: Components) -> dict[str, Any]:
    told: dict[str, Any] = {"description": answer.says or answer.status.phrase}
    return {**told, "content": _content(answer.content, components)} if answer.content else told


def _content(content: Content, components: Components) -> dict[str, Any]:
    return {media_type: {"schema": components.schema(schema)} for media_type, schema in content.items()}


def _security(route: Route) -> list[dict[str, list[str]]]:
    if not looks_at_tokens(route.needs):
        return []
    return [*([{}] if may_be_anonymous(route.needs) else []), {"token": []}]
