"""Requests that are sent again under an idempotency key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import orjson
import pytest
from aiohttp import web

from catalog.repeats import RepeatKey
from repo_server.config import Tenancy
from repo_server.repeating import print_of
from repo_server.routes import served
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted

pytestmark = pytest.mark.slow


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI) as running_server:
        yield running_server


async def post(server: Hosted, path: str, body: object, *, key: str = "k-1", who: str = "root") -> Answer:
    headers = {"Idempotency-Key": key, "Content-Type": "application/json"}
    return await server.ask("POST", path, who=who, data=orjson.dumps(body), headers=headers)


async def make(server: Hosted, name: str, key: str = "k-1") -> Answer:
    return await post(server, "/accounts", {"accountName": name}, key=key)


async def test_what_is_sent_twice_is_done_once_and_answered_alike(server: Hosted) -> None:
    first, second = await make(server, "carol"), await make(server, "carol")
    assert (first.status, second.status) == (201, 201)
    assert first.body == second.body
    assert first.headers.get("Location") == second.headers.get("Location")
    assert ("Idempotent-Replayed" in first.headers, second.headers["Idempotent-Replayed"]) == (False, "true")


async def test_without_a_key_it_is_another_request(server: Hosted) -> None:
    body = orjson.dumps({"accountName": "carol"})
    for status in (201, 409):
        answer = await server.ask(
            "POST", "/accounts", who="root", data=body, headers={"Content-Type": "application/json"}
        )
        assert answer.status == status


async def test_a_key_stands_for_one_request(server: Hosted) -> None:
    await make(server, "carol")
    answer = await make(server, "dave")
    assert (answer.status, orjson.loads(answer.body)["code"]) == (422, "key-used")
    assert (await make(server, "dave", "k-2")).status == 201


async def test_what_was_refused_may_be_sent_again_with_its_key(server: Hosted) -> None:
    assert (await post(server, "/accounts", {"accountName": "carol", "colour": "red"})).status == 400
    assert (await make(server, "carol")).status == 201


async def test_keys_of_others_are_not_met(server: Hosted) -> None:
    await server.add("weather", a_chain())
    first = await post(server, "/alice/weather/verify", {}, who="alice")
    assert first.status == 202
    assert (await post(server, "/accounts", {"accountName": "carol"}, who="root")).status == 201


async def test_a_token_is_not_kept_to_be_given_again(server: Hosted) -> None:
    wanted = {"scopes": ["datasets:read"]}
    first = await post(server, "/accounts/me/tokens", wanted, who="alice")
    again = await post(server, "/accounts/me/tokens", wanted, who="alice")
    assert (first.status, again.status) == (201, 409)
    token = orjson.loads(first.body)["token"]
    assert token.encode() not in again.body
    kept = b"".join(file.read_bytes() for file in server.repository.root.glob(".catalog*"))
    assert token.encode() not in kept


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "ä"])
async def test_what_is_no_key_is_refused(server: Hosted, key: str) -> None:
    assert (await make(server, "carol", key)).status == 400
    assert (await make(server, "carol")).status == 201


async def test_of_many_at_once_one_is_done(server: Hosted) -> None:
    answers = await asyncio.gather(*(make(server, "carol") for _ in range(8)))
    assert {answer.status for answer in answers} <= {201, 409}
    done = [answer for answer in answers if answer.status == 201 and "Idempotent-Replayed" not in answer.headers]
    assert len(done) == 1


async def test_one_that_is_being_done_is_not_begun_again(server: Hosted) -> None:
    asked = print_of("POST", "/accounts", orjson.dumps({"accountName": "carol"}))
    await server.catalog.repeats.begin(RepeatKey(server.accounts["root"].id, "k-1", asked))
    answer = await make(server, "carol")
    assert (answer.status, orjson.loads(answer.body)["code"]) == (409, "conflict")


def test_every_request_that_makes_something_says_what_becomes_of_its_answer() -> None:
    ours = {each.route.path for each in served(Tenancy.MULTI) if each.route.repeats is not None}
    assert ours >= {"/accounts", "/accounts/me/tokens", "/verify", "/publishers", "/transfer", "/undo"}
    assert not [each.path for each in served(Tenancy.MULTI) if each.route.repeats and each.route.method != "POST"]


async def test_a_request_that_failed_is_nobodys(server: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fail(*_: object, **__: object) -> web.Response:
        raise RuntimeError("broken")

    with monkeypatch.context() as broken:
        broken.setattr(type(server.catalog.accounts), "create", fail)
        assert (await make(server, "carol")).status == 500
    assert (await make(server, "carol")).status == 201
