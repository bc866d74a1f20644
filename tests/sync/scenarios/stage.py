"""What transfer scenarios are played with: chains, both ends, and channels that break on demand."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pytest

from opendatafabric import limits
from opendatafabric.layout import data_key
from storage import backoff
from storage.dataset import Dataset
from sync import pull, push
from sync.remote import Protocol, RemoteLocation
from sync.smart.channels import Channel, ChannelClosed
from sync.smart.driver import Conversation
from sync.transfer import DatasetTarget, TransferOptions, TransferResult
from tests.storage.chains import ChainBuilder, dataset_id
from tests.sync.smart_server import SmartServer, memory_dataset, unchanged


def history(*, number: int = 1, slices: int = 2) -> ChainBuilder:
    """A chain with a description and slices."""
    builder = ChainBuilder(dataset_id(number))
    builder.info("first")
    for index in range(slices):
        builder.data(f"slice {index}".encode())
    return builder


async def fill(dataset: Dataset, builder: ChainBuilder) -> None:
    """Make ``dataset`` hold exactly what ``builder`` has."""
    await dataset.writable_objects().put_many({data_key(name): data for name, data in builder.slices.items()})
    head = await dataset.head()
    await dataset.append(builder.blocks, expected_head=head, force=True)


async def assert_holds(dataset: Dataset, builder: ChainBuilder) -> None:
    """The head is right, and everything below it is there byte for byte."""
    assert await dataset.head() == builder.head
    assert [block async for batch in dataset.walk(builder.head) for block in batch] == builder.blocks[::-1]
    for name, data in builder.slices.items():
        assert await dataset.objects.read(data_key(name)) == data


async def keys_of(dataset: Dataset) -> set[str]:
    """Everything that is stored, whether or not anything refers to it."""
    return {info.key async for info in dataset.writable_objects().list() if not info.key.startswith("info/")}


@dataclass
class World:
    """A client, and a server wherever it may be. ``remote`` is what the server serves under ``location``."""

    session: Any
    remote: Dataset
    location: RemoteLocation
    watched: list[tuple[str, str, str | None]]
    """Method, path below the dataset and ``Range`` of every request the client made."""

    reset_remote: Callable[[], Awaitable[tuple[RemoteLocation, Dataset]]]
    """Begin again with a server that has nothing."""

    token: str | None = None
    local: Dataset = field(default_factory=memory_dataset)

    @property
    def objects_requested(self) -> list[str]:
        return [key for _, key, _ in self.watched if key.startswith(("data/", "checkpoints/"))]

    @property
    def conversations(self) -> int:
        return sum(key in {"pull", "push"} for _, key, _ in self.watched)

    async def push(self, **options: Any) -> TransferResult:
        return await push.push_dataset(
            self.session, self.local, self.location, token=self.token, options=TransferOptions(**options)
        )

    async def pull(self, **options: Any) -> TransferResult:
        return await self._pull(self.location, options)

    async def simple_pull(self, **options: Any) -> TransferResult:
        return await self._pull(replace(self.location, protocol=Protocol.SIMPLE), options)

    async def _pull(self, location: RemoteLocation, options: dict[str, Any]) -> TransferResult:
        target = DatasetTarget(self.local)
        return await pull.pull_dataset(
            self.session, location, target, token=self.token, options=TransferOptions(**options)
        )

    def another_client(self) -> Self:
        """The same server, and a client that has nothing."""
        other = copy(self)
        other.local = memory_dataset()
        return other

    async def begin_again(self) -> None:
        """Neither side has anything."""
        self.local = memory_dataset()
        self.location, self.remote = await self.reset_remote()
        self.watched.clear()


class Stage(World):
    """A world whose server is ours to look into and to tamper with."""

    def __init__(
        self,
        server: SmartServer,
        session: Any,
        local: Dataset | None = None,
        watched: list[tuple[str, str, str | None]] | None = None,
    ) -> None:
        watched = [] if watched is None else watched
        super().__init__(
            session, server.dataset, server.location, watched, self._reset, local=local or memory_dataset()
        )
        self.server = server

    async def _reset(self) -> tuple[RemoteLocation, Dataset]:
        self.server.dataset = memory_dataset()
        return self.server.location, self.server.dataset


class CutChannel:
    """Carries ``texts_left`` texts of either direction, then breaks."""

    def __init__(self, channel: Channel, texts_left: int) -> None:
        self._channel = channel
        self.texts_left = texts_left
        self.was_cut = False
        self.peer_reads_base64 = channel.peer_reads_base64

    async def receive(self) -> str:
        await self._count()
        return await self._channel.receive()

    async def send(self, text: str) -> None:
        await self._count()
        await self._channel.send(text)

    async def close(self, code: int, reason: str) -> None:
        await self._channel.close(code, reason)

    async def _count(self) -> None:
        if self.texts_left == 0:
            self.was_cut = True
            await self._channel.close(1001, "")
            raise ChannelClosed(1006, "")
        self.texts_left -= 1


@dataclass
class Cutter:
    """Puts a CutChannel around the end of ``side``. Clients give up at once, unless ``once``: then the second
    conversation is left in peace."""

    world: World
    side: str
    monkeypatch: pytest.MonkeyPatch
    once: bool = False
    cut: CutChannel | None = None

    def arm(self, texts: int) -> None:
        """Cut the next conversation after so many texts."""
        self.cut = None
        self.monkeypatch.setattr(backoff, "WAIT_S_MAX", 0.0)
        if not self.once:
            self.monkeypatch.setattr(limits, "CONVERSATIONS_MAX", 1)
        if self.side == "server":
            self._server.wrap = lambda channel: self._wrapped(channel, texts)
        for module in (pull, push):
            opened = getattr(module, "open_conversation")  # noqa: B009  mypy does not take it for exported
            self.monkeypatch.setattr(module, "open_conversation", self._opener(opened, texts))

    def disarm(self) -> None:
        if self.side == "server":
            self._server.wrap = unchanged
        self.monkeypatch.undo()

    @property
    def _server(self) -> SmartServer:
        assert isinstance(self.world, Stage)
        return self.world.server

    def _wrapped(self, channel: Channel, texts: int) -> Channel:
        if self.cut is not None:
            return channel
        self.cut = CutChannel(channel, texts)
        return self.cut

    def _opener(self, opened: Any, texts: int) -> Any:
        @asynccontextmanager
        async def opener(*args: Any) -> AsyncIterator[Conversation]:
            async with opened(*args) as conversation:
                if self.side == "client":
                    conversation.channel = self._wrapped(conversation.channel, texts)
                yield conversation

        return opener


def every_cut(cutter: Cutter, texts_max: int = 40) -> Iterator[int]:
    """Arm the cutter for 0, 1, 2 … texts until a conversation ended before it was cut."""
    for texts in range(texts_max):
        cutter.arm(texts)
        yield texts
        cutter.disarm()
        if cutter.cut is not None and not cutter.cut.was_cut:
            return
    raise AssertionError("the conversation never came to its end")
