"""What the OpenAPI document says of an answer: every answer that tests ask for is held against it."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from http import HTTPStatus
from typing import Any

import jsonschema
import orjson

from repo_server.config import Settings, Tenancy
from repo_server.openapi.document import openapi_document, plain_path
from repo_server.problems import PROBLEM
from repo_server.routes import served

NOT_OF_A_ROUTE = {HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.INTERNAL_SERVER_ERROR}
"""A wrong method is answered by the router; failures of ours are tested for, and nobody is promised them."""


class Documented:
    """An OpenAPI document, to look answers up in."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self._components = closed(document["components"])
        paths = sorted(document["paths"].items(), key=lambda each: (each[0].startswith("/{"), each[0].count("{")))
        self._paths = [(_pattern(path), operations) for path, operations in paths]

    def check(self, method: str, path: str, status: int, content_type: str | None, body: bytes) -> None:
        """Fail unless the answer is one that the document tells of."""
        found = self._operation(method, path)
        if found is None or status in NOT_OF_A_ROUTE:
            return
        what = f"{method} {path}: {status}"
        told = found["responses"].get(str(status))
        assert told is not None, f"{what} is not documented: add it to @describes above the handler"
        content = told.get("content", {})
        is_document = bool(body) or content.keys() != {PROBLEM}
        assert is_document or method == "HEAD", f"{what} says nothing where a problem document is promised"
        if body and method != "HEAD":
            media_type = (content_type or "").partition(";")[0]
            assert media_type in content, f"{what} in {media_type} is not documented, only {sorted(content)}"
            if media_type.endswith(("/json", "+json")):
                self._check_json(content[media_type]["schema"], body, what)

    def _check_json(self, schema: dict[str, Any], body: bytes, what: str) -> None:
        validator = jsonschema.Draft202012Validator({**closed(schema), "components": self._components})
        errors = [f"{error.message} at {error.json_path}" for error in validator.iter_errors(orjson.loads(body))]
        assert not errors, f"{what} is not as documented: {errors[0]}"

    def _operation(self, method: str, path: str) -> dict[str, Any] | None:
        asked = "get" if method == "HEAD" else method.lower()
        for pattern, operations in self._paths:
            if asked in operations and pattern.fullmatch(path):
                found: dict[str, Any] = operations[asked]
                return found
        return None


@cache
def documented_for(tenancy: Tenancy, *, with_ipfs: bool) -> Documented:
    """The document of a server of that kind."""
    return Documented(openapi_document(served(tenancy, with_ipfs=with_ipfs), "http://127.0.0.1", "0"))


def documented(settings: Settings) -> Documented:
    """The document of a server with these settings."""
    return documented_for(settings.tenancy, with_ipfs=settings.ipfs_provider)


@lru_cache(1_000)
def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", plain_path(path))
    wild = {number: ".*" if name == "path" else "[^/]+" for number, name in enumerate(parts) if number % 2}
    return re.compile("".join(wild.get(number) or re.escape(part) for number, part in enumerate(parts)))


def closed(schema: Any) -> Any:
    """The same schema where objects have the fields that it names, and no others."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    told = {name: closed(value) for name, value in schema.items()}
    if isinstance(told.get("properties"), dict) and "additionalProperties" not in told and told.get("type") == "object":
        told["additionalProperties"] = False
    return told
