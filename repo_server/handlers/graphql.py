"""The one GraphQL query that clients of the reference send: their ``search``. There is no other GraphQL here.

They paste the words into the query as they are, quotes and all, so it is not parsed as GraphQL: the words are what
stands between the opening of the argument and what always follows it.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import Any, Final, NotRequired

from aiohttp import web
from typing_extensions import TypedDict

from catalog.dataset_lists import ListedDataset
from opendatafabric.limits import IDENTIFIER_CHARS_MAX
from repo_server.body import read_json
from repo_server.gate import CALLER, Refused
from repo_server.openapi.described import JSON, Body, Tag, describes, json
from repo_server.problems import json_response, plain
from repo_server.searching import datasets_with
from repo_server.services import SERVICES, Services

_SEARCH: Final = re.compile(
    r'\bsearch\s*\{\s*query\s*\(\s*query\s*:\s*"(?P<words>.*)"\s*,\s*perPage\s*:\s*(?P<count>\d{1,6})', re.DOTALL
)
_EXAMPLE: Final = '{ search { query(query: "weather", perPage: 100) { nodes { ... on Dataset { id name } } } } }'


class GraphQlWanted(TypedDict):
    """A query; what else there may be is not looked at."""

    query: str
    variables: NotRequired[dict[str, Any] | None]
    operationName: NotRequired[str | None]


class GraphQlAnswer(TypedDict):
    """What was found, or why nothing was looked for."""

    data: dict[str, Any] | None
    errors: NotRequired[list[dict[str, Any]]]


@describes(Tag.KAMU, json(GraphQlAnswer), body=Body({JSON: GraphQlWanted}, {"query": _EXAMPLE}), shown=True)
async def post_graphql(request: web.Request) -> web.StreamResponse:
    """``POST /graphql``: search."""
    services = request.app[SERVICES]
    query = (await read_json(request, services.settings)).get("query")
    if not isinstance(query, str):
        raise Refused(plain("missing field `query`", HTTPStatus.UNPROCESSABLE_ENTITY))
    asked = _SEARCH.search(query)
    if asked is None:
        return json_response(_refusal("this server answers no GraphQL but the search of clients"))
    words = asked["words"]
    if len(words) > IDENTIFIER_CHARS_MAX:
        return json_response(_refusal(f"a search has at most {IDENTIFIER_CHARS_MAX} characters"))
    found = await datasets_with(services, request[CALLER], words, int(asked["count"]))
    return json_response({"data": {"search": {"query": {"nodes": [_node(services, each) for each in found]}}}})


def _node(services: Services, found: ListedDataset) -> dict[str, Any]:
    alias = services.directory.with_account(found.alias)
    return {
        "id": str(found.id),
        "name": alias.name[:],
        "owner": {"accountName": str(alias.account or "")},
        "kind": "DERIVATIVE" if found.kind == "derivative" else "ROOT",
        "metadata": {"chain": {"blocks": {"totalCount": found.blocks}}},
        "data": {"numRecordsTotal": found.records, "estimatedSizeBytes": found.bytes},
    }


def _refusal(text: str) -> dict[str, Any]:
    error = {"message": text, "extensions": {"code": "unsupported-operation"}}
    return {"data": None, "errors": [error]}
