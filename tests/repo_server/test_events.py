"""What happens to datasets, as server-sent events over HTTP."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from catalog.events import EventType
from catalog.scopes import Scope
from catalog.visibility import Visibility
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.transfer import TransferOptions
from tests.repo_server.background.test_mirror import stored
from tests.repo_server.browsing import PASSWORD, browsing
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow

PATIENCE_S = 60


class Listening:
    """One stream, event by event."""

    def __init__(self, response: aiohttp.ClientResponse) -> None:
        self.response = response

    async def next(self) -> dict[str, Any]:
        """The next event, its name and number besides."""
        async with asyncio.timeout(PATIENCE_S):
            fields: dict[str, str] = {}
            async for raw in self.response.content:
                name, _, value = raw.decode().rstrip("\n").partition(": ")
                if raw == b"\n" and "data" in fields:
                    return {**json.loads(fields["data"]), "number": fields["id"], "name": fields["event"]}
                if name:
                    fields[name] = value
        raise EOFError

    async def ended(self) -> bool:
        """Whether nothing follows but the end."""
        async with asyncio.timeout(PATIENCE_S):
            return b"event:" not in await self.response.content.read()


@asynccontextmanager
async def listening(
    server: Hosted, path: str = "/events", *, who: str | None = None, after: str | None = None
) -> AsyncIterator[Listening]:
    headers = server.as_(who) | ({} if after is None else {"Last-Event-ID": after})
    async with server.session.get(server.url + path, headers=headers) as response:
        assert response.status == 200, await response.text()
        assert response.headers["Content-Type"] == "text/event-stream"
        yield Listening(response)


async def push(server: Hosted, chain: ChainBuilder, path: str = "alice/weather", *, public: bool = True) -> None:
    remote, token = parse_remote(f"odf+{server.url}/{path}"), server.tokens[path.partition("/")[0]]
    options = TransferOptions(visibility="Public" if public else "Private")
    async with aiohttp.ClientSession() as session:
        await push_dataset(session, await stored(chain), remote, token=token, options=options)
    async with asyncio.timeout(PATIENCE_S):  # until it is an event, so that none comes late
        while (await server.catalog.dataset_facts.heads()).get(chain.id) != str(chain.head):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


def longer() -> ChainBuilder:
    chain = a_chain()
    chain.data(b"a third slice")
    return chain


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI) as running_server:
        yield running_server


async def test_a_push_is_heard_by_who_listens_to_all_and_by_who_listens_to_the_dataset(server: Hosted) -> None:
    async with listening(server) as all_datasets:
        await push(server, a_chain())
        made = await all_datasets.next()
        assert (made["name"], made["subject"]) == ("dataset-created", "alice/weather")
        async with listening(server, "/alice/weather/events") as one_dataset:
            await push(server, longer())
            for each in (await all_datasets.next(), await one_dataset.next()):
                assert each["type"] == "org.opendatafabric.repository.head-moved"
                assert each["data"] == {
                    "datasetId": str(a_chain().id),
                    "head": str(longer().head),
                    "previousHead": str(a_chain().head),
                    "blocks": len(longer().blocks),
                    "records": 30,
                }


async def test_an_event_is_a_cloud_event_of_this_server(server: Hosted) -> None:
    async with listening(server) as stream:
        await push(server, a_chain())
        event = await stream.next()
    assert (event["specversion"], event["source"], event["id"]) == ("1.0", server.url, event["number"])
    assert event["time"].endswith("Z")


async def test_who_comes_back_is_told_what_it_missed_and_nothing_twice(server: Hosted) -> None:
    async with listening(server) as stream:
        await push(server, a_chain())
        first = await stream.next()
    await push(server, longer())
    async with listening(server, after=first["number"]) as stream:
        missed = await stream.next()
        assert missed["data"]["previousHead"] == first["data"]["head"]
    async with listening(server, after=missed["number"]) as stream:
        await server.catalog.datasets.set_visibility(a_chain().id, Visibility.UNLISTED)
        await server.catalog.datasets.set_visibility(a_chain().id, Visibility.PUBLIC)
        assert (await stream.next())["data"]["visibility"] == "unlisted"


async def test_a_browser_hears_what_its_account_may_see_for_as_long_as_it_is_logged_in(server: Hosted) -> None:
    await server.catalog.accounts.set_password(AccountName("alice"), PASSWORD)
    await push(server, a_chain(), public=False)
    async with browsing(server.url) as browser:
        await browser.log_in()
        async with browser.session.get(f"{server.url}/alice/weather/events") as response:
            stream = Listening(response)
            await push(server, longer(), public=False)
            assert (await stream.next())["name"] == "head-moved"
            await browser.submit(await browser.get("/v/login"))
            await server.catalog.datasets.set_visibility(a_chain().id, Visibility.PUBLIC)
            assert await stream.ended()


async def test_a_number_from_the_future_counts_as_the_newest(server: Hosted) -> None:
    async with listening(server, after="999999999") as stream:
        await push(server, a_chain())
        assert (await stream.next())["name"] == "dataset-created"


@pytest.mark.parametrize("after", ["x", "-1", "1.0", "٣", "9" * 30, ""])
async def test_what_is_no_number_of_an_event_is_refused(server: Hosted, after: str) -> None:
    answer = await server.ask("GET", "/events", headers={"Last-Event-ID": after})
    assert answer.status == 400


async def test_of_a_private_dataset_hears_only_who_may_read_it(server: Hosted) -> None:
    async with listening(server, who="bob") as stranger, listening(server, who="alice") as owner:
        await push(server, a_chain(), public=False)
        assert (await owner.next())["subject"] == "alice/weather"
        await push(server, a_chain(2), "alice/open")
        assert (await stranger.next())["subject"] == "alice/open"


async def test_of_an_unlisted_dataset_hears_who_knows_its_name(server: Hosted) -> None:
    await push(server, a_chain())
    await server.catalog.datasets.set_visibility(a_chain().id, Visibility.UNLISTED)
    async with listening(server) as everything, listening(server, "/alice/weather/events") as named:
        await push(server, longer())
        assert (await named.next())["data"]["head"] == str(longer().head)
        await push(server, a_chain(2), "alice/open")
        assert (await everything.next())["subject"] == "alice/open"


async def test_who_listens_hears_no_more_once_the_dataset_is_private(server: Hosted) -> None:
    await push(server, a_chain())
    async with listening(server, "/alice/weather/events") as stranger, listening(server) as everything:
        await server.catalog.datasets.set_visibility(a_chain().id, Visibility.PRIVATE)
        await push(server, longer())
        await push(server, a_chain(2), "alice/open")
        assert (await everything.next())["subject"] == "alice/open"
        await server.catalog.datasets.set_visibility(a_chain().id, Visibility.PUBLIC)
        assert (await stranger.next())["data"].get("visibility") in {"private", "public"}


async def test_one_account_may_be_listened_to(server: Hosted) -> None:
    async with listening(server, "/events?account=bob") as bob, listening(server, "/events?account=ALICE") as alice:
        await push(server, a_chain())
        assert (await alice.next())["subject"] == "alice/weather"
        await push(server, a_chain(2), "bob/open")
        assert (await bob.next())["subject"] == "bob/open"
    assert (await server.ask("GET", "/events?account=no%20name")).status == 400


async def test_a_token_that_is_revoked_ends_the_stream(server: Hosted) -> None:
    server.tokens["short"] = await server.token("alice", Scope.DATASETS_READ)
    (token,) = [each for each in await server.catalog.tokens.list() if each.scopes == {Scope.DATASETS_READ}]
    async with listening(server, who="short") as stream:
        await server.catalog.tokens.revoke(token.id)
        await push(server, a_chain())
        assert await stream.ended()


async def test_a_verdict_that_changes_is_heard(server: Hosted) -> None:
    async with listening(server) as stream:
        await push(server, a_chain())
        assert (await stream.next())["name"] == "dataset-created"
        await server.catalog.events.note(EventType.VERDICT_CHANGED, a_chain().id, {"verdict": "invalid"})
        assert (await stream.next())["data"] == {"datasetId": str(a_chain().id), "verdict": "invalid"}


async def test_listeners_take_no_room_from_requests_and_have_a_limit_of_their_own(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, requests_at_once=2, listeners_at_once=5) as server:
        async with AsyncExitStack() as streams:
            for _ in range(5):
                await streams.enter_async_context(listening(server))
            assert (await server.ask("GET", "/events")).status == 503
            assert (await server.ask("GET", "/system/info")).status == 200
        async with asyncio.timeout(PATIENCE_S):
            while (await server.ask("HEAD", "/system/health")).status != 200:
                pass


async def test_a_stopping_server_ends_the_streams(tmp_path: Path) -> None:
    async with aiohttp.ClientSession() as session:
        async with asyncio.timeout(PATIENCE_S), hosted(tmp_path, Tenancy.MULTI) as server:
            response = await session.get(f"{server.url}/events")
        assert await Listening(response).ended()
