"""Requests that stand on the page of the API, made of what operations say of themselves. A test runs every one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final
from urllib.parse import quote, urlencode

import orjson

from repo_server.needs import Needs, OfNode
from repo_server.openapi.described import FORM, Body, Operation, operation_of
from repo_server.openapi.parameters import path_parameter
from repo_server.openapi.statuses import may_be_anonymous
from repo_server.route import Served

_IN_PATH: Final = re.compile(r"\{(\w+)(?::[^}]*)?\}")


@dataclass(frozen=True, slots=True)
class Example:
    """A request; with ``needs_token`` it is one of whoever may do it."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes | None
    needs_token: bool


def example_of(served: Served) -> Example | None:
    """The example of a route that shows one."""
    operation = operation_of(served.route.handler)
    if operation is None or operation.shown is None:
        return None
    media_type, body = _body(operation.body)
    headers = {each.name: str(each.value) for each in _given(operation, "header")}
    return Example(
        served.route.method,
        _path(served.path, operation.shown) + _query(operation),
        headers if media_type is None else {**headers, "Content-Type": media_type},
        body,
        needs_token=_needs_token(served.route.needs, operation),
    )


def as_curl(example: Example, base_url: str) -> str:
    """The example as it is typed."""
    words = ["curl"] if example.method == "GET" else ["curl", "-X", example.method]
    for name, value in example.headers.items():
        words += ["-H", f"{name}: {value}"]
    if example.body is not None:
        words += ["-d", example.body.decode()]
    token = ' -H "Authorization: Bearer $TOKEN"' if example.needs_token else ""
    return shlex.join([*words, base_url + example.target]) + token


def _needs_token(needs: Needs, operation: Operation) -> bool:
    """Also where some settings let everybody through, or where it is all that is asked about."""
    is_open_at_times = isinstance(needs, OfNode) and needs.unless is not None
    return not may_be_anonymous(needs) or is_open_at_times or HTTPStatus.UNAUTHORIZED in operation.refuses


def _path(path: str, values: Mapping[str, str]) -> str:
    return _IN_PATH.sub(lambda found: quote(values.get(found[1], path_parameter(found[1]).example), safe=":/="), path)


def _query(operation: Operation) -> str:
    given = [(each.name, each.value) for each in _given(operation, "query")]
    return f"?{urlencode(given)}" if given else ""


def _given(operation: Operation, place: str) -> list[Any]:
    return [each for each in operation.parameters if each.place == place and each.value is not None]


def _body(body: Body | None) -> tuple[str | None, bytes | None]:
    if body is None or body.example is None:
        return None, None
    media_type = next(iter(body.content))
    if isinstance(body.example, str):
        return media_type, body.example.encode()
    return media_type, urlencode(body.example).encode() if media_type == FORM else orjson.dumps(body.example)
