"""The page of the API: what the OpenAPI document says, for people. It needs no script."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from repo_server.openapi.document import SAMPLES
from repo_server.pages.frame import Frame
from repo_server.pages.templates import render


@dataclass(frozen=True, slots=True)
class Form:
    """A form that a body may have: the media type, and the name of its schema if it has one."""

    media_type: str
    schema: str | None
    text: str


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """A status, what it says, and its forms."""

    status: str
    says: str
    forms: list[Form]


@dataclass(frozen=True, slots=True)
class ShownOperation:
    """A route as the page has it."""

    id: str
    method: str
    path: str
    summary: str
    token: str
    parameters: list[Mapping[str, Any]]
    body: list[Form]
    answers: list[ShownAnswer]
    sample: str | None
    answer: str | None


def api_page(document: Mapping[str, Any], frame: Frame) -> str:
    """The whole page."""
    groups = [(tag, list(_operations(document, tag["name"]))) for tag in document["tags"]]
    schemas = [(name, _text(schema)) for name, schema in document["components"]["schemas"].items()]
    return render(
        "api.html",
        frame=frame,
        version=document["info"]["version"],
        address=document["servers"][0]["url"],
        groups=[(tag, operations) for tag, operations in groups if operations],
        schemas=schemas,
    )


def _operations(document: Mapping[str, Any], tag: str) -> Iterator[ShownOperation]:
    for path, operations in document["paths"].items():
        for method, told in operations.items():
            if tag in told["tags"]:
                yield _operation(method.upper(), path, told)


def _operation(method: str, path: str, told: Mapping[str, Any]) -> ShownOperation:
    samples = told.get(SAMPLES)
    return ShownOperation(
        id=told["operationId"],
        method=method,
        path=path,
        summary=told["summary"],
        token=_token(told["security"]),
        parameters=[{**each, "text": _text(each["schema"])} for each in told["parameters"]],
        body=list(_forms(told.get("requestBody", {}).get("content", {}))),
        answers=[
            ShownAnswer(status, each["description"], list(_forms(each.get("content", {}))))
            for status, each in told["responses"].items()
        ],
        sample=samples[0]["source"] if samples else None,
        answer=next(_answers(told["responses"]), None),
    )


def _answers(responses: Mapping[str, Any]) -> Iterator[str]:
    for status, told in responses.items():
        for media_type, form in told.get("content", {}).items():
            if "example" in form:
                body = form["example"] if isinstance(form["example"], str) else _text(form["example"])
                yield f"{status} {media_type}\n{body}"


def _token(security: Iterable[Mapping[str, Any]]) -> str:
    ways = list(security)
    return "not looked at" if not ways else "may be given" if {} in ways else "needed"


def _forms(content: Mapping[str, Any]) -> Iterator[Form]:
    for media_type, told in content.items():
        reference = told["schema"].get("$ref")
        name = None if reference is None else reference.rpartition("/")[2]
        yield Form(media_type, name, _text(told["schema"]))


def _text(schema: Any) -> str:
    return orjson.dumps(schema, option=orjson.OPT_INDENT_2).decode()
