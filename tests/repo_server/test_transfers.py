"""Whole transfers between our client and the real server, by name, token and tenancy: what may happen to each."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from catalog.visibility import Visibility
from opendatafabric import limits
from opendatafabric.errors import (
    AccessDenied,
    AuthenticationRequired,
    ChainsDiverged,
    DatasetNotFound,
    OdfError,
    RefCollision,
)
from opendatafabric.layout import data_key
from storage.dataset import Dataset
from sync import pull, push
from sync.remote import RemoteLocation, parse_remote
from sync.smart.driver import Conversation
from sync.smart.push import UploadsOrAsked
from sync.transfer import DatasetTarget, TransferOptions, TransferResult
from tests.repo_server.hosted import Hosted
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import CutChannel, assert_holds, fill, history
from tests.sync.smart_server import memory_dataset

STEPS_OF_A_PUSH = 9
"""Texts of a push with objects, until the confirmation."""


@dataclass
class Client:
    """A dataset of ours, and the one called ``name`` at the server."""

    server: Hosted
    name: str = "weather"
    who: str | None = "alice"
    local: Dataset = field(default_factory=memory_dataset)

    @property
    def location(self) -> RemoteLocation:
        return parse_remote(f"odf+{self.server.url}{self.server.path(self.name)}")

    @property
    def token(self) -> str | None:
        return None if self.who is None else self.server.tokens[self.who]

    async def push(self, **options: Any) -> TransferResult:
        return await push.push_dataset(
            self.server.session, self.local, self.location, token=self.token, options=TransferOptions(**options)
        )

    async def pull(self, **options: Any) -> TransferResult:
        target = DatasetTarget(self.local)
        return await pull.pull_dataset(
            self.server.session, self.location, target, token=self.token, options=TransferOptions(**options)
        )

    async def remote(self) -> Dataset:
        return (await self.server.repository.find(self.server.alias(self.name))).dataset

    async def assert_remote_holds(self, builder: ChainBuilder) -> None:
        """The server has the head of ``builder`` and everything below it, byte for byte."""
        remote = await self.remote()
        assert await remote.head() == builder.head
        assert [block async for batch in remote.walk(builder.head) for block in batch] == builder.blocks[::-1]
        for name, content in builder.slices.items():
            assert await remote.objects.read(data_key(name)) == content

    async def is_visible(self) -> bool:
        """Whether anybody could know of the dataset."""
        answer = await self.server.ask("GET", f"{self.server.path(self.name)}/refs/head", who="alice")
        return answer.status == 200


async def pushed(server: Hosted, builder: ChainBuilder, **options: Any) -> Client:
    client = Client(server)
    await fill(client.local, builder)
    await client.push(**options)
    return client


async def test_a_new_dataset_is_made_by_its_push(server: Hosted) -> None:
    builder = history()
    client = await pushed(server, builder)
    await client.assert_remote_holds(builder)


async def test_what_was_pushed_comes_back_byte_for_byte(server: Hosted) -> None:
    builder = history()
    await pushed(server, builder)
    other = Client(server)
    await other.pull()
    await assert_holds(other.local, builder)


async def test_a_dataset_of_metadata_alone_travels(server: Hosted) -> None:
    builder = history(slices=0)
    client = await pushed(server, builder)
    assert await (await client.remote()).head() == builder.head


async def test_a_second_push_has_nothing_to_do(server: Hosted) -> None:
    client = await pushed(server, history())
    assert (await client.push()).up_to_date


async def test_new_blocks_are_added(server: Hosted) -> None:
    builder = history()
    client = await pushed(server, builder)
    builder.data(b"new")
    await fill(client.local, builder)
    result = await client.push()
    assert (result.plan.num_blocks, result.objects_moved) == (1, 1)
    await client.assert_remote_holds(builder)


async def test_a_diverged_push_is_refused_and_replaces_when_forced(server: Hosted) -> None:
    builder = history()
    client = await pushed(server, builder)
    ours = builder.fork(3)
    ours.data(b"ours")
    await fill(client.local, ours)
    with pytest.raises(ChainsDiverged):
        await client.push()
    await client.assert_remote_holds(builder)
    await client.push(force=True)
    await client.assert_remote_holds(ours)


async def test_a_private_dataset_is_there_for_its_owner_alone(server: Hosted) -> None:
    await pushed(server, history(), visibility="Private")
    await Client(server).pull()
    for who in (None, "bob"):
        with pytest.raises(DatasetNotFound):
            await Client(server, who=who).pull()


async def test_a_public_dataset_is_there_for_everybody_and_changed_by_few(server: Hosted) -> None:
    builder = history()
    await pushed(server, builder, visibility="Public")
    await Client(server, who=None).pull()
    builder.info("by somebody else")
    stranger = Client(server, who="bob")
    await fill(stranger.local, builder)
    with pytest.raises(AccessDenied):
        await stranger.push()
    nobody = Client(server, who=None, local=stranger.local)
    with pytest.raises((AccessDenied, AuthenticationRequired)):
        await nobody.push()


async def test_an_id_that_is_taken_is_told(server: Hosted) -> None:
    client = await pushed(server, history())
    again = Client(server, name="weather-again", local=client.local)
    with pytest.raises(RefCollision):
        await again.push()
    assert not await again.is_visible()


async def test_under_a_taken_name_another_dataset_is_refused(server: Hosted) -> None:
    builder = history()
    await pushed(server, builder)
    other = Client(server)
    await fill(other.local, history(number=2))
    for force in (False, True):
        with pytest.raises(OdfError):
            await other.push(force=force)
    await other.assert_remote_holds(builder)


async def test_of_two_writers_one_wins_and_the_other_is_told(server: Hosted) -> None:
    builder = history()
    await pushed(server, builder)
    writers = []
    for content in (b"one", b"two"):
        ours = builder.fork(len(builder.blocks))
        ours.data(content)
        writers.append((Client(server), ours))
        await fill(writers[-1][0].local, ours)
    results = await asyncio.gather(*(client.push() for client, _ in writers), return_exceptions=True)
    won = [ours for (_, ours), result in zip(writers, results, strict=True) if isinstance(result, TransferResult)]
    assert len(won) == 1
    assert [isinstance(result, OdfError) for result in results].count(True) == 1
    await writers[0][0].assert_remote_holds(won[0])


@pytest.mark.parametrize("texts", range(STEPS_OF_A_PUSH))
async def test_a_push_cut_at_any_step_shows_nothing_and_is_finished_by_a_retry(
    multi: Hosted, texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = history()
    client = Client(multi)
    await fill(client.local, builder)
    with monkeypatch.context() as patched:
        patched.setattr(limits, "CONVERSATIONS_MAX", 1)
        patched.setattr(push, "open_conversation", cutting(push.open_conversation, texts))  # type: ignore[attr-defined]
        with pytest.raises(OdfError):
            await client.push()
    if await client.is_visible():
        await client.assert_remote_holds(builder)
    await client.push()
    await client.assert_remote_holds(builder)


async def test_the_catalog_knows_whose_a_pushed_dataset_is(server: Hosted) -> None:
    builder = history()
    await pushed(server, builder, visibility="Public")
    record = await server.catalog.datasets.find(builder.id)
    assert record is not None
    assert (record.owner_id, record.visibility) == (server.accounts["alice"].id, Visibility.PUBLIC)


async def revoke_tokens(server: Hosted) -> None:
    for info in await server.catalog.tokens.list(server.accounts["alice"]):
        await server.catalog.tokens.revoke(info.id)


async def disable_account(server: Hosted) -> None:
    await server.catalog.accounts.disable(server.accounts["alice"].name)


@pytest.mark.parametrize("end", [revoke_tokens, disable_account])
@pytest.mark.parametrize("is_new", [True, False])
async def test_a_push_whose_token_ends_while_it_runs_publishes_nothing(
    multi: Hosted, end: Callable[[Hosted], Awaitable[None]], is_new: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = history()
    client = Client(multi) if is_new else await pushed(multi, builder)
    before = None if is_new else builder.head
    builder.data(b"the last")
    await fill(client.local, builder)

    original = push._SmartPush._uploads_or_asked

    async def end_after_the_objects(pushing: push._SmartPush, effect: UploadsOrAsked) -> int | None:
        asked = await original(pushing, effect)
        if asked is None:
            await end(multi)
        return asked

    monkeypatch.setattr(limits, "CONVERSATIONS_MAX", 1)
    monkeypatch.setattr(push._SmartPush, "_uploads_or_asked", end_after_the_objects)
    with pytest.raises(OdfError):
        await client.push()
    entry = await multi.repository.find(multi.alias(client.name), include_pending=True)
    assert entry.pending is is_new
    assert (None if is_new else await entry.dataset.head()) == before


def cutting(opened: Any, texts: int) -> Any:
    """Conversations that break after so many texts."""

    @asynccontextmanager
    async def opener(*args: Any) -> AsyncIterator[Conversation]:
        async with opened(*args) as conversation:
            conversation.channel = CutChannel(conversation.channel, texts)
            yield conversation

    return opener
