"""Answers to the examples on the page of the API, as they once came; a test asks again and compares.

They are cut to what shows the form. What differs from time to time (moments, ids, tokens, addresses) stands for its
like.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import orjson

RECORDED: Final = Path(__file__).with_name("answers.json")
ADDRESS: Final = "https://data.example.org"
_BYTES_MAX: Final = 16_000
"""Longer ones are documents of their own, such as that of the API."""

_ITEMS_MAX: Final = 2
_FIELDS_MAX: Final = 40
_DEPTH_MAX: Final = 5
_CHARS_MAX: Final = 160
_LINES_MAX: Final = 3
_MOMENT: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_WRITTEN_BEFORE: Final = "2026-11-22"
"""What a dataset in the examples says of its times is older; later moments are those of the run."""

_NEW_EACH_TIME: Final = {
    **dict.fromkeys(("secret", "uploadUrl", "uploadToken", "newHead", "logicalHash"), "…"),
    "toldUpTo": 0,
}
"""What stands for values that nobody can know before."""

_LIKE: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11"),
    (re.compile(r"\bka_[0-9A-Za-z]{58}"), "ka_" + "0" * 58),
)


def shown_answer(status: int, media_type: str | None, body: bytes, address: str, known: str) -> dict[str, Any]:
    """What is shown of an answer of the server at ``address``; ids in ``known`` are told as they are."""
    told: dict[str, Any] = {"status": status}
    kind = (media_type or "").partition(";")[0]
    if not body or not kind:
        return told
    told["mediaType"] = kind
    if len(body) > _BYTES_MAX:
        return told
    if kind.endswith(("/json", "+json")):
        told["body"] = _cut(orjson.loads(_alike(body.decode(), address, known)), 0)
    elif kind in {"text/plain", "text/csv", "application/x-ndjson", "application/xml"}:
        told["body"] = "".join(_alike(body.decode(), address, known).splitlines(keepends=True)[:_LINES_MAX])
    return told


def _alike(text: str, address: str, known: str) -> str:
    text = text.replace(address, ADDRESS)
    text = _MOMENT.sub(lambda found: found[0] if found[0] < _WRITTEN_BEFORE else "2027-01-31T06:00:00Z", text)
    for pattern, like in _LIKE:
        text = pattern.sub(like, text)
    others = {each for each in re.findall(r"did:odf:fed01[0-9a-f]{64}", text) if each not in known}
    for each in others:
        text = text.replace(each, "did:odf:fed01" + "a" * 64)
    return text


def _cut(value: Any, depth: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= _CHARS_MAX else f"{value[:_CHARS_MAX]}…"
    if depth >= _DEPTH_MAX and isinstance(value, list | dict):
        return type(value)()
    if isinstance(value, list):
        return [_cut(each, depth + 1) for each in value[:_ITEMS_MAX]]
    if isinstance(value, dict):
        cut = {name: _cut(each, depth + 1) for name, each in list(value.items())[:_FIELDS_MAX]}
        return {name: _NEW_EACH_TIME.get(name, each) for name, each in cut.items()}
    return value


ANSWERS: Final[Mapping[str, Mapping[str, Any]]] = orjson.loads(RECORDED.read_bytes())
"""By ``METHOD /path`` of the route as OpenAPI has it."""
