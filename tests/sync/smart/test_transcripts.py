"""Recorded conversations replayed against our ends: each says what the stock one said, in the same places."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.chain.state import ChainState
from opendatafabric.codec.block_codec import decode_block
from opendatafabric.codec.block_pack import pack_blocks
from opendatafabric.layout import block_key
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset, object_key
from storage.memory import MemoryObjectStore, MemoryRefStore
from sync.packed import PackedBlocks
from sync.plan import plan_transfer
from sync.smart.driver import Conversation, World, run_script
from sync.smart.messages import HeaderRow, MetadataBlocksBatch, TransferUrl
from sync.smart.pull import AppendPack, DownloadObjects, ExaminePack, TakePlan, pull_client
from sync.smart.push import PackPush, StartUploads, UploadsOrAsked, push_client
from sync.smart.serve import serve_pull, serve_push
from sync.transfer import DatasetTarget
from tests.sync.smart.recorded import CLIENT, PULLS, PUSHES, SERVER, blocks_of, conversation, said_by
from tests.sync.smart.replay import RecordedPeer

AIRPORTS, IOWA = "us.faa.airports", "iowa.electricity"
BEFORE = {
    "01-smart-pull-new": ("01-smart-pull-new",),
    "02-smart-pull-up-to-date": ("01-smart-pull-new",),
    "03-smart-pull-incremental": ("01-smart-pull-new", "03-smart-pull-incremental"),
    "12-pull-private-clone": ("12-pull-private-clone",),
    "09-push-new": (),
    "13-push-incremental": ("09-push-new",),
    "16-push-diverged-force": ("09-push-new", "13-push-incremental"),
}
"""The conversations that brought what the server holds when each begins."""


class RecordedUrls:
    """Addresses as the stock server gave them."""

    def __init__(self, dataset: str) -> None:
        self._dataset = dataset

    def download_url(self, file: ObjectFile) -> TransferUrl:
        return TransferUrl(url=self._url(file), headers=(HeaderRow(name="x-odf-smtp-version", value="1"),))

    def upload_url(self, file: ObjectFile) -> TransferUrl:
        token = HeaderRow(name="authorization", value="Bearer <token>")
        return TransferUrl(url=self._url(file), headers=(HeaderRow(name="x-odf-smtp-version", value="1"), token))

    def _url(self, file: ObjectFile) -> str:
        return f"http://127.0.0.1:9001/{self._dataset}/{object_key(file)}"


class UrlsWithToken(RecordedUrls):
    """Addresses to a client that was known when it pulled."""

    def download_url(self, file: ObjectFile) -> TransferUrl:
        return self.upload_url(file)


def urls_of(name: str) -> RecordedUrls:
    if "airports" in conversation_text(name):
        return RecordedUrls(AIRPORTS)
    return UrlsWithToken(IOWA)


def conversation_text(name: str) -> str:
    return " ".join(line.text for line in conversation(name))


class AllArrived(MemoryObjectStore):
    """A store in which objects turn up in the moment they are asked for a second time: uploads are not recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, int] = {}
        self.asked: set[str] = set()

    async def stat(self, key: str) -> Any:
        if key in self.asked and key in self.sizes:
            self.objects.setdefault(key, bytes(self.sizes[key]))
        self.asked.add(key)
        return await super().stat(key)


def recorded_dataset(names: Sequence[str]) -> Dataset:
    """What a server holds after these conversations; its objects have the right size and no content."""
    objects, refs = AllArrived(), MemoryRefStore()
    for name in names:
        for block_hash, raw in blocks_of(name):
            objects.objects[block_key(block_hash)] = raw
            objects.objects |= {object_key(file): bytes(file.size) for file in objects_of(decode_block(raw))}
            refs.heads["head"] = block_hash
    return Dataset(objects, refs)


@pytest.mark.parametrize("name", PULLS)
async def test_our_server_answers_a_pull_as_the_stock_one(name: str) -> None:
    peer = RecordedPeer(conversation(name), we_are=SERVER)
    outcome = await serve_pull(peer, recorded_dataset(BEFORE[name]), urls_of(name))
    assert peer.at_end()
    assert outcome.error is None


@pytest.mark.parametrize("name", PUSHES)
async def test_our_server_takes_a_push_as_the_stock_one(name: str) -> None:
    peer = RecordedPeer(conversation(name), we_are=SERVER)
    dataset = recorded_dataset(BEFORE[name])
    assert isinstance(dataset.objects, AllArrived)
    if name == "16-push-diverged-force":
        forget_objects_of(dataset, "13-push-incremental")
    new_blocks = blocks_of(name)
    dataset.objects.sizes = {
        object_key(file): file.size for _, raw in new_blocks for file in objects_of(decode_block(raw))
    }
    outcome = await serve_push(peer, DatasetTarget(dataset), urls_of(name))
    assert peer.at_end()
    assert outcome.error is None
    assert await dataset.head() == outcome.new_head == new_blocks[-1][0]


def forget_objects_of(dataset: Dataset, name: str) -> None:
    assert isinstance(dataset.objects, AllArrived)
    for _, raw in blocks_of(name):
        for file in objects_of(decode_block(raw)):
            dataset.objects.objects.pop(object_key(file), None)


@pytest.mark.parametrize("name", PULLS)
async def test_our_client_pulls_as_the_stock_one(name: str) -> None:
    request = json.loads(said_by(name, CLIENT)[0])
    peer = RecordedPeer(conversation(name), we_are=CLIENT)
    known = recorded_dataset(() if request["begin_after"] is None else BEFORE["02-smart-pull-up-to-date"])

    async def take_plan(_: TakePlan) -> bool:
        return True

    async def examine(effect: ExaminePack) -> Sequence[ObjectFile]:
        base = effect.pack.first().prev_block_hash
        return effect.pack.examine(await known.chain_state(base)).files

    async def download(_: DownloadObjects) -> Sequence[ObjectFile]:
        return ()

    async def append(effect: AppendPack) -> Multihash:
        return list(effect.pack.blocks())[-1].hash

    world: World = {TakePlan: take_plan, ExaminePack: examine, DownloadObjects: download, AppendPack: append}
    begin_after = request["begin_after"] and Multihash.from_text(request["begin_after"])
    head = await run_script(pull_client(begin_after=begin_after), Conversation(peer), world)
    assert peer.at_end()
    assert peer.closed == (1000, "Client pull flow succeeded")
    assert head == (None if name == "02-smart-pull-up-to-date" else blocks_of(name)[-1][0])


@pytest.mark.parametrize("name", PUSHES)
async def test_our_client_pushes_as_the_stock_one(name: str) -> None:
    request = json.loads(said_by(name, CLIENT)[0])
    peer = RecordedPeer(conversation(name), we_are=CLIENT)
    raw_blocks = blocks_of(name)
    blocks = [decode_block(raw) for _, raw in raw_blocks]

    async def pack(_: PackPush) -> MetadataBlocksBatch:
        return MetadataBlocksBatch(num_blocks=len(blocks), payload=pack_blocks(raw_blocks))

    async def start(_: StartUploads) -> None:
        return None

    async def no_uploads(_: UploadsOrAsked) -> int | None:
        return None

    world: World = {PackPush: pack, StartUploads: start, UploadsOrAsked: no_uploads}
    script = push_client(
        current_head=request["current_head"] and Multihash.from_text(request["current_head"]),
        plan=plan_transfer(blocks),
        files=[file for block in blocks for file in objects_of(block)],
        force=request["force_update_if_diverged"],
    )
    await run_script(script, Conversation(peer), world)
    assert peer.at_end()
    assert peer.closed == (1000, "Client push flow succeeded")


@pytest.mark.parametrize("name", [name for name in (*PULLS, *PUSHES) if "up-to-date" not in name])
async def test_recorded_blocks_are_what_we_would_have_packed(name: str) -> None:
    blocks = blocks_of(name)
    ours = PackedBlocks(pack_blocks(blocks), count_max=len(blocks))
    assert [block.raw for block in ours.blocks()] == [raw for _, raw in blocks]
    begin = ours.first().prev_block_hash
    known = recorded_dataset(BEFORE[name]) if begin else None
    state = await known.chain_state(begin) if known else ChainState.empty()
    assert ours.examine(state, canonical_only=True).head == blocks[-1][0]
