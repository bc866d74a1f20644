"""The examples on the page of the API: every one is run, and comes out as it is documented."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from repo_server.config import Tenancy
from repo_server.needs import OfNode, Who
from repo_server.openapi.described import operation_of
from repo_server.openapi.examples import as_curl, example_of
from repo_server.openapi.parameters import EXAMPLE_BLOCK, PATH_PARAMETERS
from repo_server.route import Served
from repo_server.routes import served
from tests.repo_server.hosted import SMALL, Hosted, a_chain, hash_of, hosted

CHAIN = a_chain()
SHOWN = [each for each in served(Tenancy.MULTI) if example_of(each) is not None]


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False) as running:
        await running.add("weather", CHAIN)
        await running.ask("POST", "/alice/weather/verify", who="alice")
        async with asyncio.timeout(60):
            while (await running.ask("GET", "/alice/weather")).status != 200:
                pass  # until its chain is read
        yield running


def test_what_examples_name_is_what_the_tests_have() -> None:
    assert PATH_PARAMETERS["did"].example == str(CHAIN.id)
    assert PATH_PARAMETERS["hash"].example == str(hash_of(SMALL, CHAIN))
    assert str(CHAIN.blocks[0].hash) == EXAMPLE_BLOCK


async def test_every_example_comes_out_as_documented(server: Hosted) -> None:
    failed = [line for each in SHOWN if (line := await ran(server, each)) is not None]
    assert not failed


async def ran(server: Hosted, each: Served) -> str | None:
    """Run the example as it is typed; what went wrong."""
    example, operation, needs = example_of(each), operation_of(each.route.handler), each.route.needs
    assert example is not None
    assert operation is not None
    words = shlex.split(as_curl(example, server.url))
    assert words[0] == "curl"
    assert example.target in words[-1] or example.needs_token
    who = "root" if isinstance(needs, OfNode) and needs.who is Who.ADMIN else "alice"
    answer = await server.ask(
        example.method, example.target, who=who if example.needs_token else None, data=example.body,
        headers=example.headers,
    )  # fmt: skip
    expected = {told.status.value for told in operation.answers}
    return None if answer.status in expected else f"{example.method} {example.target}: {answer.status} {answer.text}"


def test_a_form_and_a_token_stand_in_the_command() -> None:
    told = {(each.route.method, each.path): example_of(each) for each in SHOWN}
    device = told["POST", "/platform/token/device/authorization"]
    gate = told["PUT", "/{account}/{name}/gate"]
    assert device is not None
    assert gate is not None
    assert "client_id=kamu" in as_curl(device, "http://host")
    assert as_curl(gate, "http://host").endswith('-H "Authorization: Bearer $TOKEN"')


async def test_the_page_shows_every_route_and_every_example(server: Hosted) -> None:
    text = (await server.ask("GET", "/openapi")).text
    assert "getAccountNameRefsRef" in text
    assert text.count("<pre tabindex") >= len(SHOWN)
    assert 'href="#schema-Problem"' in text
