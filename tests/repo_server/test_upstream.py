"""A server in front of another one: what is asked for is fetched, proved, kept, and served when the other is down."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import aiohttp
import pytest

from catalog.visibility import Visibility
from opendatafabric.layout import block_key, data_key
from repo_server.app import running
from repo_server.config import Tenancy
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from sync.pull import pull_dataset
from sync.remote import parse_remote
from sync.transfer import DatasetTarget
from tests.repo_server.hosted import LARGE, SMALL, Hosted, a_chain, hash_of, hosted
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow


class Pair:
    """``there`` holds datasets; ``here`` is asked for them. ``there`` may be stopped."""

    def __init__(self, folder: Path, stack: AsyncExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._running = AsyncExitStack()
        self.chain = a_chain()

    async def start(self) -> None:
        self.there = await self._running.enter_async_context(hosted(self._folder / "there", Tenancy.MULTI))
        self.entry = await self.there.add("weather", self.chain)
        await self.there.add("secret", a_chain(2), Visibility.PRIVATE)
        self.here = await self.front(self._folder / "here", upstream_fresh_s=0)

    async def front(self, folder: Path, **options: object) -> Hosted:
        server = hosted(folder, Tenancy.MULTI, upstream=self.there.url, **options)
        return await self._stack.enter_async_context(server)

    async def stop(self) -> None:
        await self._running.aclose()


@pytest.fixture
async def pair(tmp_path: Path) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        made = Pair(tmp_path, stack)
        await made.start()
        yield made
        await made.stop()


async def pulled(server: Hosted, scheme: str, token: str | None = None, name: str = "weather") -> Dataset:
    """What a client gets from that server."""
    copy = Dataset(MemoryObjectStore(), MemoryRefStore())
    async with aiohttp.ClientSession() as session:
        remote = parse_remote(f"{scheme}{server.url.removeprefix('http')}/alice/{name}")
        await pull_dataset(session, remote, DatasetTarget(copy), token=token)
    return copy


async def assert_holds(copy: Dataset, chain: ChainBuilder) -> None:
    assert await copy.head() == chain.head
    for block in chain.blocks:
        assert await copy.read_raw_block(block.hash) == block.raw
    for name, content in chain.slices.items():
        assert await copy.objects.read(data_key(name)) == content


@pytest.mark.parametrize("scheme", ["http", "odf+http"])
async def test_a_dataset_of_the_other_server_is_pulled_from_this_one_and_again_when_the_other_is_down(
    pair: Pair, scheme: str
) -> None:
    await assert_holds(await pulled(pair.here, scheme), pair.chain)
    await pair.stop()
    await assert_holds(await pulled(pair.here, scheme), pair.chain)


async def test_what_was_kept_is_served_after_a_restart_while_the_other_is_down(pair: Pair, tmp_path: Path) -> None:
    async with hosted(tmp_path / "front", Tenancy.MULTI, upstream=pair.there.url) as front:
        await assert_holds(await pulled(front, "odf+http"), pair.chain)
        settings = front.settings
    await pair.stop()
    async with running(settings) as url, aiohttp.ClientSession() as session:
        async with session.get(f"{url}/alice/weather/refs/head") as answer:
            assert await answer.text() == str(pair.chain.head)
            assert "upstream-does-not-answer" in answer.headers["Cache-Status"]
        async with session.get(f"{url}/alice/weather/data/{hash_of(LARGE, pair.chain)}") as answer:
            assert await answer.read() == LARGE


async def test_a_head_is_as_old_as_the_settings_allow_and_says_so(pair: Pair, tmp_path: Path) -> None:
    lasting = await pair.front(tmp_path / "lasting", upstream_fresh_s=3_600)
    old_head = pair.chain.head
    for server in (pair.here, lasting):
        answer = await server.ask("GET", "/alice/weather/refs/head")
        assert (answer.text, answer.headers["Age"]) == (str(old_head), "0")
    await pair.entry.dataset.append([pair.chain.info("newer")], expected_head=old_head)
    assert (await pair.here.ask("GET", "/alice/weather/refs/head")).text == str(pair.chain.head)
    answer = await lasting.ask("GET", "/alice/weather/refs/head")
    assert answer.text == str(old_head)
    assert answer.headers["Cache-Status"].startswith("odf; hit; ttl=3")


async def test_while_the_other_is_down_the_last_head_is_told_as_such(pair: Pair) -> None:
    fresh = await pair.here.ask("GET", "/alice/weather/refs/head")
    assert "detail" not in fresh.headers["Cache-Status"]
    await pair.stop()
    stale = await pair.here.ask("GET", "/alice/weather/refs/head")
    assert (stale.status, stale.text) == (200, str(pair.chain.head))
    assert "detail=upstream-does-not-answer" in stale.headers["Cache-Status"]


async def test_what_was_never_asked_for_cannot_be_had_while_the_other_is_down(pair: Pair) -> None:
    assert (await pair.here.ask("GET", "/alice/weather/refs/head")).status == 200
    await pair.stop()
    kept, never = pair.chain.blocks[0], hash_of(SMALL, pair.chain)
    assert (await pair.here.ask("GET", f"/alice/weather/{block_key(kept.hash)}")).body == kept.raw
    assert (await pair.here.ask("GET", f"/alice/weather/data/{never}")).status == 503
    assert (await pair.here.ask("GET", "/alice/another/refs/head")).status == 503


async def test_ranges_of_what_lies_there_are_served(pair: Pair) -> None:
    path = f"/alice/weather/data/{hash_of(LARGE, pair.chain)}"
    for _ in range(2):
        answer = await pair.here.ask("GET", path, headers={"Range": "bytes=300-309"})
        assert (answer.status, answer.body) == (206, LARGE[300:310])
    assert (await pair.here.ask("HEAD", path)).headers["Content-Length"] == str(len(LARGE))


async def test_what_is_not_there_or_private_is_not_here(pair: Pair) -> None:
    for path in ("/alice/nothing/refs/head", "/alice/secret/refs/head", f"/alice/weather/data/{a_chain(3).head}"):
        assert (await pair.here.ask("GET", path)).status == 404


async def test_what_a_token_gives_is_not_public_here(pair: Pair, tmp_path: Path) -> None:
    front = await pair.front(tmp_path / "trusted", upstream_token=pair.there.tokens["alice"])
    assert (await front.ask("GET", "/alice/secret/refs/head")).status == 404
    assert (await front.ask("GET", "/alice/secret/refs/head", who="bob")).status == 404
    assert (await front.ask("GET", "/alice/secret/refs/head", who="root")).text == str(a_chain(2).head)
    assert pair.there.tokens["alice"] not in str(await front.ask("GET", "/alice/secret/refs/head", who="root"))


async def test_what_lies_here_goes_first(pair: Pair) -> None:
    own = a_chain(7)
    own.info("another dataset of the same name")
    await pair.here.add("weather", own)
    answer = await pair.here.ask("GET", "/alice/weather/refs/head")
    assert answer.text == str(own.head)
    assert "Cache-Status" not in answer.headers


async def test_nothing_is_written_to_what_lies_elsewhere(pair: Pair) -> None:
    sent = f"/alice/weather/data/{hash_of(SMALL, pair.chain)}"
    assert (await pair.here.ask("PUT", sent, who="alice", data=SMALL)).status == 403
    assert (await pair.here.ask("PUT", sent, who="root", data=SMALL)).status == 501
    for rest, body in (("roles/bob", b'{"role": "reader"}'), ("visibility", b'{"visibility": "private"}')):
        place, headers = f"/alice/weather/{rest}", {"Content-Type": "application/json"}
        assert (await pair.here.ask("PUT", place, who="root", data=body, headers=headers)).status == 501


async def test_other_bytes_than_were_asked_for_are_not_passed_on(pair: Pair) -> None:
    name = hash_of(SMALL, pair.chain)
    damaged = pair.entry.folder / data_key(name)
    sound = damaged.read_bytes()
    damaged.write_bytes(b"another slice")
    assert (await pair.here.ask("GET", f"/alice/weather/data/{name}")).status == 503
    damaged.write_bytes(sound)
    assert (await pair.here.ask("GET", f"/alice/weather/data/{name}")).body == SMALL


async def test_an_object_that_does_not_fit_is_passed_on_and_cut_off_when_it_turns_out_wrong(
    pair: Pair, tmp_path: Path
) -> None:
    front = await pair.front(tmp_path / "small", upstream_cache_bytes_max=1_000)
    name = hash_of(LARGE, pair.chain)
    path = f"/alice/weather/data/{name}"
    assert (await front.ask("GET", path)).body == LARGE
    assert (await front.ask("GET", path, headers={"Range": "bytes=-10"})).body == LARGE[-10:]
    (pair.entry.folder / data_key(name)).write_bytes(b"X" + LARGE[1:])
    with pytest.raises(aiohttp.ClientError):
        await front.ask("GET", path)


async def test_many_clients_at_once_are_served(pair: Pair) -> None:
    for copy in await asyncio.gather(*(pulled(pair.here, "odf+http") for _ in range(8))):
        await assert_holds(copy, pair.chain)
