"""A dataset kept by a pinning service: asked for once, replaced when it moved, believed when it says so alone."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from catalog.catalog import open_catalog
from catalog.ipfs import IpfsTables
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import MalformedIdentifier, RefNotFound, StorageError, TransientStorageError
from opendatafabric.layout import data_key
from storage.dataset import Dataset
from storage.ipfs.pinning import PinningService
from storage.memory import MemoryObjectStore, MemoryRefStore
from sync.ipfs_pin import PinState, PinTarget, parse_pin_target, pin_by_service
from tests.ipfs.pinning_service import TOKEN, FakeService, served
from tests.storage.chains import ChainBuilder, dataset_id

ORIGIN = "/dns4/here.example.org/tcp/4001"


class Pinned:
    """A dataset in memory and the service that is to keep it."""

    def __init__(self, fake: FakeService, service: PinningService, index: IpfsTables) -> None:
        self.fake, self.service, self.index = fake, service, index
        self.chain = ChainBuilder(dataset_id(1))
        self.dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
        self.state = PinState()
        self._stored = 0

    async def append(self, content: bytes) -> None:
        self.chain.data(content)
        objects = self.dataset.writable_objects()
        await objects.put_many({data_key(name): data for name, data in self.chain.slices.items()})
        await self.dataset.append(self.chain.blocks[self._stored :], expected_head=await self.dataset.head())
        self._stored = len(self.chain.blocks)

    async def run(self) -> None:
        async def keep(state: PinState) -> None:
            self.state = PinState.from_plain(state.to_plain())

        target = PinTarget("pin+http://unused", (ORIGIN,))
        state = await pin_by_service(
            self.chain.id, self.dataset, target, self.state, service=self.service, index=self.index, keep=keep
        )
        assert state == self.state

    @property
    def kept(self) -> list[str]:
        return [pin["cid"] for pin in self.fake.pins.values()]


@pytest.fixture
async def pinned(tmp_path: Path) -> AsyncIterator[Pinned]:
    fake = FakeService()
    async with (
        served(fake) as address,
        aiohttp.ClientSession() as session,
        open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as catalog,
    ):
        made = Pinned(fake, PinningService(session, address, token=TOKEN), catalog.ipfs)
        await made.append(b"the first slice")
        yield made


async def test_the_service_is_told_the_root_and_where_it_is(pinned: Pinned) -> None:
    await pinned.run()
    assert pinned.kept == [str(pinned.state.root)]
    (pin,) = pinned.fake.pins.values()
    assert pin["origins"] == [ORIGIN]


async def test_what_is_kept_already_is_not_asked_for_again(pinned: Pinned) -> None:
    await pinned.run()
    await pinned.run()
    assert [asked.split()[0] for asked in pinned.fake.asked] == ["POST", "GET"]


async def test_a_dataset_that_moved_takes_the_place_of_what_was_kept(pinned: Pinned) -> None:
    await pinned.run()
    await pinned.append(b"the second slice")
    await pinned.run()
    assert pinned.kept == [str(pinned.state.root)]


async def test_a_service_that_is_not_done_is_asked_until_it_is(pinned: Pinned) -> None:
    pinned.fake.status = "queued"
    for status in ("queued", "pinning"):
        with pytest.raises(TransientStorageError):
            await pinned.run()
        pinned.fake.statuses = dict.fromkeys(pinned.fake.statuses, status)
    pinned.fake.statuses = dict.fromkeys(pinned.fake.statuses, "pinned")
    await pinned.run()
    assert len(pinned.fake.pins) == 1


async def test_what_a_service_gave_up_is_asked_for_anew_in_its_place(pinned: Pinned) -> None:
    pinned.fake.status = "failed"
    with pytest.raises(StorageError, match="could not get"):
        await pinned.run()
    pinned.fake.status = "pinned"
    await pinned.run()
    assert pinned.kept == [str(pinned.state.root)]


async def test_what_was_taken_away_at_the_service_is_asked_for_anew(pinned: Pinned) -> None:
    await pinned.run()
    pinned.fake.pins.clear()
    await pinned.run()
    assert pinned.kept == [str(pinned.state.root)]
    pinned.fake.pins.clear()
    await pinned.append(b"the second slice")
    await pinned.run()
    assert pinned.kept == [str(pinned.state.root)]


async def test_a_dataset_without_a_head_cannot_be_pinned(pinned: Pinned) -> None:
    pinned.dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    pinned.chain = ChainBuilder(dataset_id(2))
    with pytest.raises(RefNotFound):
        await pinned.run()


def test_origins_go_behind_the_address() -> None:
    url = "pin+https://a/psa"
    assert parse_pin_target(url) == PinTarget(url)
    assert parse_pin_target(f"{url}?origin={ORIGIN}&origin=/ip4/1.2.3.4") == PinTarget(url, (ORIGIN, "/ip4/1.2.3.4"))
    with pytest.raises(MalformedIdentifier):
        parse_pin_target(f"{url}?token=secret")


def test_a_state_survives_being_written_down() -> None:
    assert PinState.from_plain(PinState().to_plain()) == PinState() == PinState.from_plain({})
