"""The search of clients of the reference: their words as they are, and nothing that the caller may not see."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from catalog.facts_refresh import refresh_facts
from catalog.visibility import Visibility
from tests.repo_server.hosted import Answer, Hosted, a_chain
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow

FIELDS = """nodes {
        __typename
        ... on Dataset {
          id name owner { accountName } kind
          metadata { chain { blocks { totalCount } } }
          data { numRecordsTotal estimatedSizeBytes }
        }
      }"""


def search(words: str, count: int = 100) -> str:
    """A query with the words pasted in."""
    return f'{{\n  search {{\n    query(query: "{words}", perPage: {count}) {{\n      {FIELDS}\n    }}\n  }}\n}}'


async def ask(server: Hosted, body: Any, who: str | None = None) -> Answer:
    headers = {"Content-Type": "application/json"}
    return await server.ask("POST", "/graphql", who=who, data=orjson.dumps(body), headers=headers)


async def names(server: Hosted, words: str, who: str | None = None) -> list[str]:
    answer = await ask(server, {"query": search(words)}, who)
    assert answer.status == 200
    return [node["name"] for node in orjson.loads(answer.body)["data"]["search"]["query"]["nodes"]]


async def add(server: Hosted, name: str, chain: ChainBuilder, visibility: Visibility = Visibility.PUBLIC) -> None:
    """A dataset that was looked at."""
    entry = await server.add(name, chain, visibility)
    await refresh_facts(server.catalog.dataset_facts, entry.id, entry.dataset)


async def test_a_dataset_is_told_as_the_client_reads_it(server: Hosted, chain: ChainBuilder) -> None:
    entry = await server.repository.find(server.alias("open"))
    facts = await refresh_facts(server.catalog.dataset_facts, entry.id, entry.dataset)
    assert facts is not None
    answer = await ask(server, {"query": search("OPEN"), "variables": None})
    assert orjson.loads(answer.body) == {
        "data": {
            "search": {
                "query": {
                    "nodes": [
                        {
                            "id": str(chain.id),
                            "name": "open",
                            "owner": {"accountName": "alice" if server.settings.multi_tenant else "default"},
                            "kind": "ROOT",
                            "metadata": {"chain": {"blocks": {"totalCount": len(chain.blocks)}}},
                            "data": {"numRecordsTotal": facts.records, "estimatedSizeBytes": facts.bytes},
                        }
                    ]
                }
            }
        }
    }


async def test_what_a_caller_may_not_see_is_not_found(multi: Hosted) -> None:
    for number, visibility in enumerate(Visibility, start=1):
        await add(multi, f"weather-{visibility.value}", a_chain(number), visibility)
    await multi.add_pending("weather-pending", a_chain(9), Visibility.PUBLIC)
    everything = {"weather-private", "weather-public", "weather-unlisted"}
    assert await names(multi, "weather") == ["weather-public"]
    assert await names(multi, "weather", "bob") == ["weather-public"]
    assert set(await names(multi, "weather", "alice")) == everything
    assert await names(multi, "") == ["weather-public"]
    assert (await ask(multi, {"query": search("x")}, "nonsense")).status == 200


async def test_words_are_taken_as_they_are(multi: Hosted) -> None:
    await add(multi, "weather", a_chain())
    for words in (" weath ", "alice/we", "TESTS", "for tests weather"):
        assert await names(multi, words) == ["weather"]
    second_query = 'x", perPage: 1) { a } b(query: "y'
    for words in ("%", "_eather", "w*r", 'we"ather', second_query, "\\", "' OR 1=1 --", "天気", "}"):
        assert await names(multi, words) == []


async def test_no_more_is_told_than_was_asked_for(multi: Hosted) -> None:
    for number in range(1, 4):
        await add(multi, f"weather-{number}", a_chain(number))
    answer = await ask(multi, {"query": search("weather", 2)})
    assert len(orjson.loads(answer.body)["data"]["search"]["query"]["nodes"]) == 2


@pytest.mark.parametrize(
    "query",
    [
        "",
        "{ __schema { types { name } } }",
        'mutation { auth { login(loginMethod: "password") { accessToken } } }',
        "{ search { query(query: 7, perPage: 100) { nodes { id } } } }",
        search("x" * 1_001),
    ],
)
async def test_anything_else_is_an_error_of_graphql(multi: Hosted, query: str) -> None:
    answer = await ask(multi, {"query": query})
    told = orjson.loads(answer.body)
    assert (answer.status, told["data"]) == (200, None)
    assert told["errors"][0]["extensions"]["code"] == "unsupported-operation"


async def test_what_is_no_query_is_refused(multi: Hosted) -> None:
    for body, status in (({}, 422), ({"query": 7}, 422), ([], 422)):
        assert (await ask(multi, body)).status == status
    assert (await multi.ask("POST", "/graphql", data=b"query")).status == 415
    assert (await multi.ask("POST", "/graphql", data=b"{", headers={"Content-Type": "application/json"})).status == 400
