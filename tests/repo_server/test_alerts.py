"""``/alert`` of a dataset: set by writers, shown without its secrets, public unless an administrator set it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.events import EventType
from repo_server.config import Tenancy
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.storage.chains import dataset_id

URL = "https://me:s3cr3t@chat.example.org/hooks/s3cr3t?token=s3cr3t"


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, tenancy, run_worker=False) as running:
        await running.add("open", a_chain(1))
        yield running


async def ask(server: Hosted, method: str, body: Any = None, *, who: str | None = "alice") -> Answer:
    headers = {"Content-Type": "application/json"} if body is not None else {}
    data = None if body is None else orjson.dumps(body)
    return await server.ask(method, f"{server.path('open')}/alert", who=who, data=data, headers=headers)


async def test_an_address_is_set_shown_without_its_secrets_and_removed(server: Hosted) -> None:
    assert (await ask(server, "GET")).status == 404
    answers = [await ask(server, "PUT", {"url": URL}), await ask(server, "GET")]
    for answer in answers:
        assert (answer.status, orjson.loads(answer.body)) == (200, {"host": "chat.example.org", "publicOnly": True})
        assert "s3cr3t" not in answer.text
    webhook = await server.catalog.webhooks.alert_of(dataset_id(1))
    assert webhook is not None
    assert (webhook.wanted.url, webhook.wanted.trusted) == (URL, False)
    assert webhook.wanted.types == {EventType.VERDICT_CHANGED}
    assert ((await ask(server, "DELETE")).status, (await ask(server, "GET")).status) == (204, 404)


async def test_what_an_administrator_sets_may_lie_anywhere(server: Hosted) -> None:
    answer = await ask(server, "PUT", {"url": "http://127.0.0.1:9/"}, who="root")
    assert orjson.loads(answer.body) == {"host": "127.0.0.1", "publicOnly": False}


async def test_what_is_no_web_address_is_refused(server: Hosted) -> None:
    bodies: list[Any] = [{}, {"url": 5}, {"url": URL, "more": 1}, {"url": "ftp://host/"}, {"url": "https://"}]
    bodies += [{"url": "https://[x/"}, {"url": "https://host/" + "x" * 2_000}]
    assert [(await ask(server, "PUT", body)).status for body in bodies] == [400] * len(bodies)


async def test_writers_alone_see_and_set_it(server: Hosted) -> None:
    await ask(server, "PUT", {"url": URL})
    for who in (None, "bob"):
        assert [(await ask(server, method, {"url": URL}, who=who)).status for method in ("GET", "PUT", "DELETE")] == [
            403
        ] * 3
