"""The server process dies without warning at every step of a push: the dataset is what it was, or what it was to be."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from catalog.catalog import open_catalog
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import DatasetNotFound, OdfError
from opendatafabric.layout import data_key
from opendatafabric.multihash import Multihash
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage.repository import Repository
from sync import push
from sync.remote import parse_remote
from sync.smart.channels import Channel
from sync.smart.driver import Conversation
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import fill, history
from tests.sync.smart_server import memory_dataset

pytestmark = pytest.mark.slow

ALIAS = DatasetAlias.from_text("alice/weather")
STEPS_OF_A_PUSH = 9
PROGRAM = """
import asyncio, sys
from pathlib import Path
from repo_server.app import serve
from repo_server.config import Settings
settings = Settings(repo=Path(sys.argv[1]), port=0, access_log=False)
asyncio.run(serve(settings, on_ready=lambda address: print(address, flush=True)))
"""


@dataclass
class Killable:
    """A server process and the address it took."""

    process: subprocess.Popen[str]
    address: str

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def started(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder)], stdout=subprocess.PIPE, text=True)


@asynccontextmanager
async def server_over(folder: Path) -> AsyncIterator[Killable]:
    process = await asyncio.to_thread(started, folder)
    assert process.stdout is not None
    address = (await asyncio.to_thread(process.stdout.readline)).strip()
    try:
        yield Killable(process, address)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class KillingChannel:
    """Carries ``texts_left`` texts; instead of the next one the server dies."""

    def __init__(self, channel: Channel, server: Killable, texts_left: int) -> None:
        self._channel, self._server, self._texts_left = channel, server, texts_left
        self.peer_reads_base64 = channel.peer_reads_base64
        self.close = channel.close

    async def receive(self) -> str:
        self._count()
        return await self._channel.receive()

    async def send(self, text: str) -> None:
        self._count()
        await self._channel.send(text)

    def _count(self) -> None:
        if self._texts_left == 0:
            self._server.kill()
        self._texts_left -= 1


def killing(opened: Any, server: Killable, texts: int) -> Any:
    @asynccontextmanager
    async def opener(*args: Any) -> AsyncIterator[Conversation]:
        async with opened(*args) as conversation:
            conversation.channel = KillingChannel(conversation.channel, server, texts)
            yield conversation

    return opener


async def token_in(folder: Path) -> str:
    async with open_catalog(Settings(repo=folder).database_url) as catalog:
        return await catalog.tokens.create(await catalog.accounts.find_or_create(AccountName("alice")))


async def push_to(server: Killable, builder: ChainBuilder, token: str) -> None:
    local = memory_dataset()
    await fill(local, builder)
    async with aiohttp.ClientSession() as session:
        await push.push_dataset(session, local, parse_remote(f"odf+{server.address}/{ALIAS}"), token=token)


async def head_in(folder: Path) -> Multihash | None:
    try:
        return await (await Repository.open(folder).find(ALIAS)).dataset.head()
    except DatasetNotFound:
        return None


async def assert_complete(folder: Path, builder: ChainBuilder) -> None:
    dataset = (await Repository.open(folder).find(ALIAS)).dataset
    assert [block async for batch in dataset.walk(builder.head) for block in batch] == builder.blocks[::-1]
    for name, content in builder.slices.items():
        assert await dataset.objects.read(data_key(name)) == content


@pytest.mark.parametrize("texts", range(STEPS_OF_A_PUSH))
async def test_a_new_dataset_is_there_whole_or_not_at_all(
    tmp_path: Path, texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    Repository.init(tmp_path)
    token, builder = await token_in(tmp_path), history()
    async with server_over(tmp_path) as server:
        with monkeypatch.context() as patched:
            patched.setattr(push, "open_conversation", killing(push.open_conversation, server, texts))  # type: ignore[attr-defined]
            with pytest.raises(OdfError):
                await push_to(server, builder, token)
    assert await head_in(tmp_path) in (None, builder.head)
    async with server_over(tmp_path) as server:
        await push_to(server, builder, token)
    await assert_complete(tmp_path, builder)


@pytest.mark.parametrize("texts", range(STEPS_OF_A_PUSH))
async def test_a_dataset_keeps_its_head_or_has_the_new_one(
    tmp_path: Path, texts: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    Repository.init(tmp_path)
    token, old = await token_in(tmp_path), history()
    new = old.fork(len(old.blocks))
    new.data(b"new")
    async with server_over(tmp_path) as server:
        await push_to(server, old, token)
        with monkeypatch.context() as patched:
            patched.setattr(push, "open_conversation", killing(push.open_conversation, server, texts))  # type: ignore[attr-defined]
            with pytest.raises(OdfError):
                await push_to(server, new, token)
    survivor = old if await head_in(tmp_path) == old.head else new
    await assert_complete(tmp_path, survivor)
    async with server_over(tmp_path) as server:
        await push_to(server, new, token)
    await assert_complete(tmp_path, new)
