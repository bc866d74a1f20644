"""Everything that the stock client said in the records, said to our running server: HTTP and WebSocket, in its order.

The answers are those of the stock server: status, body, and the headers that a client can tell apart. What ours adds
(lengths, tags, ranges) it may add.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.chain.objects import objects_of
from opendatafabric.codec.block_codec import decode_block
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.metadata.events import Seed
from opendatafabric.multihash import Multihash
from repo_server.config import Tenancy
from storage.dataset import object_key
from storage.repository import DatasetEntry
from tests.repo_server.hosted import Hosted, hosted
from tests.sync.smart.recorded import PULLS, PUSHES, blocks_of, comparable
from tests.vectors.load import FOLDER

RECORDED_URL, RECORDED_TOKEN = "http://127.0.0.1:9001", "<token>"
NAMES = sorted(path.stem for path in (FOLDER / "transcripts").glob("*.jsonl"))
CHAINS: dict[str, Sequence[str]] = {
    "01-smart-pull-new": ("01-smart-pull-new",),
    "02-smart-pull-up-to-date": ("01-smart-pull-new",),
    "03-smart-pull-incremental": ("01-smart-pull-new", "03-smart-pull-incremental"),
    "04-simple-pull-new": ("04-simple-pull-new",),
    "10-push-up-to-date": ("09-push-new",),
    "12-pull-private-clone": ("09-push-new",),
    "13-push-incremental": ("09-push-new",),
    "15-push-diverged": ("09-push-new", "13-push-incremental"),
    "16-push-diverged-force": ("09-push-new", "13-push-incremental"),
}
"""The records that brought what the server held when each began; the others began with an empty server."""


def rows_of(name: str) -> list[dict[str, Any]]:
    text = (FOLDER / "transcripts" / f"{name}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def exchanges_of(name: str) -> Iterator[list[dict[str, Any]]]:
    """The lines of one request and its answer, or of one conversation, in the order of their beginnings."""
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in rows_of(name):
        groups.setdefault(row["id"], []).append(row)
    yield from groups.values()


def recorded_blocks(name: str) -> list[tuple[Multihash, bytes]]:
    """The blocks of one record, oldest first."""
    if name in {*PULLS, *PUSHES}:
        return blocks_of(name)
    exchanges = [(sent["path"], got) for sent, got in exchanges_of(name) if "/blocks/" in sent["path"]]
    return [
        (Multihash.from_text(path.rpartition("/")[2]), base64.b64decode(got["body"]["base64"]))
        for path, got in reversed(exchanges)
    ]


def objects_in(blocks: Sequence[tuple[Multihash, bytes]]) -> dict[str, int]:
    """The sizes of the objects by key; their contents were not recorded."""
    return {object_key(file): file.size for _, raw in blocks for file in objects_of(decode_block(raw))}


def plant(folder: Path, sizes: dict[str, int]) -> None:
    """Objects that nobody sent: as many bytes as there should be."""
    for key, size in sizes.items():
        path = folder / key
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(size))


async def put_dataset(server: Hosted, name: str) -> None:
    """What the recorded server held, owned by alice."""
    for record in CHAINS.get(name, ()):
        blocks = recorded_blocks(record)
        entry = await entry_for(server, alias_in(name), blocks)
        plant(entry.path, objects_in(blocks))
        head = await entry.dataset.head()
        await entry.dataset.append([decode_block(raw) for _, raw in blocks], expected_head=head)


async def entry_for(server: Hosted, alias: DatasetAlias, blocks: Sequence[tuple[Multihash, bytes]]) -> DatasetEntry:
    seed = decode_block(blocks[0][1]).block.event
    if not isinstance(seed, Seed):
        return await server.repository.find(alias)
    dataset_id: DatasetId = seed.dataset_id
    entry = await server.repository.create(alias, dataset_id)
    visibility = Visibility.PRIVATE if "iowa" in str(alias) else Visibility.PUBLIC
    record = DatasetRecord(dataset_id, entry.alias, server.accounts["alice"].id, visibility)
    await server.catalog.datasets.put(record)
    return entry


def alias_in(name: str) -> DatasetAlias:
    return DatasetAlias.from_text(rows_of(name)[0]["path"].split("/")[1])


@dataclass
class Replay:
    """Says what the client said and compares what the server answers."""

    server: Hosted
    name: str

    def ours(self, text: str) -> str:
        """``text`` with our address and token in place of the recorded ones."""
        return text.replace(RECORDED_URL, self.server.url).replace(RECORDED_TOKEN, self.server.tokens["alice"])

    def headers(self, row: dict[str, Any]) -> dict[str, str]:
        hop = {"host", "connection", "upgrade", "sec-websocket-key", "sec-websocket-version"}
        return {name: self.ours(value) for name, value in row["headers"].items() if name.lower() not in hop}

    async def request(self, sent: dict[str, Any], expected: dict[str, Any]) -> None:
        headers = self.headers(sent)
        answer = await self.server.ask(sent["method"], sent["path"], headers=headers)
        assert answer.status == expected["status"]
        assert_same_body(answer.body, expected["body"])
        for header in ("Content-Type", "Access-Control-Allow-Origin", "Content-Length"):
            if header in expected["headers"]:
                assert answer.headers[header] == expected["headers"][header]
        assert "Content-Encoding" not in answer.headers
        assert ("Content-Type" in answer.headers) == bool(answer.body)

    async def conversation(self, rows: Sequence[dict[str, Any]]) -> None:
        opened, *lines = rows
        async with AsyncExitStack() as stack:
            connecting = self.server.session.ws_connect(
                self.server.url + opened["path"], headers=self.headers(opened), max_msg_size=64 << 20
            )
            if lines[0]["kind"] == "ws-refused":
                with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                    await stack.enter_async_context(connecting)
                assert caught.value.status == lines[0]["status"]
                return
            socket = await stack.enter_async_context(connecting)
            assert socket.protocol is None
            for row in lines:
                await self.line(socket, row)

    async def line(self, socket: aiohttp.ClientWebSocketResponse, row: dict[str, Any]) -> None:
        if row["kind"] == "ws-close":
            await socket.close(code=1000)
        elif row["dir"] == "c>s":
            if '"Complete"' in row["text"]:
                await self.pretend_to_have_sent_the_objects()
            await socket.send_str(row["text"])
        else:
            assert comparable(await socket.receive_str(timeout=20)) == comparable(self.ours(row["text"]))

    async def pretend_to_have_sent_the_objects(self) -> None:
        entry = await self.server.repository.find(alias_in(self.name), include_pending=True)
        plant(entry.path, objects_in(recorded_blocks(self.name)))


def assert_same_body(found: bytes, expected: dict[str, Any]) -> None:
    if "size" in expected:
        assert len(found) == expected["size"]
    elif "base64" in expected:
        assert found == base64.b64decode(expected["base64"])
    else:
        assert found == expected["text"].encode()


@pytest.mark.parametrize("name", NAMES)
async def test_our_running_server_answers_as_the_stock_one_was_recorded(tmp_path: Path, name: str) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE) as server:
        await put_dataset(server, name)
        if name == "16-push-diverged-force":
            entry = await server.repository.find(alias_in(name))
            for key in objects_in(recorded_blocks("13-push-incremental")):
                (entry.path / key).unlink()
        replay = Replay(server, name)
        for rows in exchanges_of(name):
            if rows[0]["kind"] == "http":
                await replay.request(*rows)
            else:
                await replay.conversation(rows)
        if name in PUSHES:
            head = await server.ask("GET", f"/{alias_in(name)}/refs/head", who="alice")
            assert head.text == str(recorded_blocks(name)[-1][0])
