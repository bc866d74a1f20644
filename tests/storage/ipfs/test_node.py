"""What is asked of a node, over a real one; what Kubo alone answers, from what it was seen to answer."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator

import aiohttp
import pytest

from opendatafabric.errors import (
    HashMismatch,
    LimitExceeded,
    NotFound,
    OdfError,
    ProtocolViolation,
    TransientStorageError,
    UnsupportedOperation,
)
from opendatafabric.ipfs.cid import Block, Cid, cid_of_block
from opendatafabric.ipfs.unixfs import import_file
from opendatafabric.limits import IPFS_BLOCK_BYTES_MAX
from storage.ipfs.node import IpfsNode
from storage.ipfs.rpc import KuboRpc, Patience
from tests.ipfs.node import NodeAddresses
from tests.storage.ipfs.scripted_node import ScriptedNode, scripted

pytestmark = pytest.mark.slow

ABSENT = cid_of_block(b"nobody has this")


async def pieces_of(*pieces: bytes) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


def cid_of_file(data: bytes) -> Cid:
    return import_file(data, lambda block: None).cid


async def read(node: IpfsNode, cid: Cid, start: int, length: int) -> bytes:
    return b"".join([piece async for piece in node.cat(cid, start, length)])


@pytest.fixture
async def node(ipfs_node: NodeAddresses) -> AsyncIterator[IpfsNode]:
    async with aiohttp.ClientSession() as session:
        yield IpfsNode(KuboRpc(session, ipfs_node.rpc, patience=Patience(connect_s=5, silence_s=2, work_s=30)))


async def test_a_node_tells_its_version(node: IpfsNode) -> None:
    assert (await node.version()).count(".") == 2


@pytest.mark.parametrize("size", [0, 1, 262_144, 262_145, 3_000_000])
async def test_an_added_file_has_the_cid_worked_out_here_and_is_kept(node: IpfsNode, size: int) -> None:
    data = os.urandom(size)
    cid = await node.add(pieces_of(data[:1000], data[1000:]))
    assert cid == cid_of_file(data)
    assert await node.has_pinned(cid)
    assert await read(node, cid, 0, size) == data


async def test_a_part_of_a_file_is_read(node: IpfsNode) -> None:
    data = os.urandom(600_000)
    cid = await node.add(pieces_of(data))
    assert await read(node, cid, 262_000, 1_000) == data[262_000:263_000]


async def test_a_file_that_ends_early_is_told(node: IpfsNode) -> None:
    cid = await node.add(pieces_of(b"short"))
    with pytest.raises(TransientStorageError, match="broke off"):
        await read(node, cid, 0, 6)


async def test_a_block_is_read_and_is_the_one_that_was_asked_for(node: IpfsNode) -> None:
    blocks: list[Block] = []
    data = os.urandom(600_000)
    import_file(data, blocks.append)
    await node.add(pieces_of(data))
    for block in blocks:
        assert await node.block(block.cid) == block.data


async def test_what_no_node_has_is_not_found_in_bounded_time(node: IpfsNode) -> None:
    for asking in (node.block(ABSENT), read(node, ABSENT, 0, 1)):
        with pytest.raises((NotFound, TransientStorageError)):
            await asking


async def test_what_is_unpinned_is_kept_no_longer_and_may_be_unpinned_again(node: IpfsNode) -> None:
    cid = await node.add(pieces_of(os.urandom(10)))
    await node.unpin(cid)
    assert not await node.has_pinned(cid)
    await node.unpin(cid)
    await node.pin(cid)
    assert await node.has_pinned(cid)


async def test_a_key_is_made_once_and_its_name_leads_to_what_was_published_last(node: IpfsNode) -> None:
    first, second = [await node.add(pieces_of(os.urandom(10))) for _ in range(2)]
    name = await node.name_of_key("odf-test")
    assert await node.name_of_key("odf-test") == name
    for root in (first, second):
        await node.publish("odf-test", root, lifetime_s=3600)
        assert await node.resolve(name) == f"/ipfs/{root}"


async def test_a_name_that_nobody_published_leads_nowhere(node: IpfsNode) -> None:
    with pytest.raises((NotFound, TransientStorageError)):
        await node.resolve(await node.name_of_key("odf-never-published"))


async def test_a_node_without_pinning_services_says_so(node: IpfsNode, ipfs_node: NodeAddresses) -> None:
    with pytest.raises(OdfError) as raised:
        await node.pin_remotely("nowhere", cid_of_file(b"x"), "name")
    assert ipfs_node.is_kubo or isinstance(raised.value, UnsupportedOperation)


# --- as Kubo was seen to answer


async def test_another_block_than_asked_for_is_refused() -> None:
    async with scripted(ScriptedNode({"block/get": (200, b"another block")})) as rpc:
        with pytest.raises(HashMismatch):
            await IpfsNode(rpc).block(ABSENT)


@pytest.mark.parametrize("extra", [0, 1])
async def test_a_block_is_taken_up_to_the_limit(extra: int) -> None:
    data = bytes(IPFS_BLOCK_BYTES_MAX + extra)
    async with scripted(ScriptedNode({"block/get": (200, data)})) as rpc:
        if extra:
            with pytest.raises(LimitExceeded):
                await IpfsNode(rpc).block(cid_of_block(data))
        else:
            assert await IpfsNode(rpc).block(cid_of_block(data)) == data


async def test_more_than_was_asked_for_is_not_taken() -> None:
    async with scripted(ScriptedNode({"cat": (200, b"123456")})) as rpc:
        with pytest.raises(ProtocolViolation):
            await read(IpfsNode(rpc), ABSENT, 0, 5)


async def test_the_size_of_an_added_file_may_come_as_text() -> None:
    answer = b'{"Name":"object","Hash":"%s","Size":"9"}\n' % ABSENT.text.encode()
    async with scripted(ScriptedNode({"add": (200, answer)})) as rpc:
        assert await IpfsNode(rpc).add(pieces_of(b"x")) == ABSENT


@pytest.mark.parametrize("answer", [b"", b'{"Name":"object"}\n', b'{"Hash":7}\n'])
async def test_an_add_that_names_no_cid_breaks_the_protocol(answer: bytes) -> None:
    async with scripted(ScriptedNode({"add": (200, answer)})) as rpc:
        with pytest.raises(ProtocolViolation):
            await IpfsNode(rpc).add(pieces_of(b"x"))


ROOT_LINE = b'{"Root":{"Cid":{"/":"%s"},"PinErrorMsg":"%s"}}\n'
STATS_LINE = b'{"Stats":{"BlockCount":1,"BlockBytesCount":15}}\n'


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (ROOT_LINE % (ABSENT.text.encode(), b"ipld: could not find bafk"), NotFound),
        (ROOT_LINE % (cid_of_file(b"other").text.encode(), b"") + STATS_LINE, HashMismatch),
        (ROOT_LINE % (ABSENT.text.encode(), b"") + ROOT_LINE % (cid_of_file(b"o").text.encode(), b""), HashMismatch),
        (STATS_LINE, TransientStorageError),
        (b"", TransientStorageError),
        (b'{"Root":{"Cid":"x"}}\n', ProtocolViolation),
    ],
)
async def test_an_import_counts_only_with_the_root_and_its_pin(answer: bytes, error: type[OdfError]) -> None:
    async with scripted(ScriptedNode({"dag/import": (200, answer)})) as rpc:
        with pytest.raises(error):
            await IpfsNode(rpc).import_car(pieces_of(b"car"), roots=[ABSENT])


async def test_an_import_is_sent_with_every_option_that_a_node_could_have_set_otherwise() -> None:
    node = ScriptedNode({"dag/import": (200, ROOT_LINE % (ABSENT.text.encode(), b"") + STATS_LINE)})
    async with scripted(node) as rpc:
        await IpfsNode(rpc).import_car(pieces_of(b"car"), roots=[ABSENT])
    assert dict(node.requests[0].query) == {"pin-roots": "true", "stats": "true", "cid-base": "base32"}


async def test_names_are_kubos_base36() -> None:
    name = "k51qzi5uqu5dh0bz580fzqxbaxlilmuhh8jz178ym6saqo5dg27d6fog9pnr30"
    node = ScriptedNode(
        {"key/list": (200, b'{"Keys":[{"Name":"self","Id":"k51"},{"Name":"a","Id":"%s"}]}' % name.encode())}
    )
    async with scripted(node) as rpc:
        assert await IpfsNode(rpc).name_of_key("a") == name


async def test_a_pinning_service_is_asked_without_waiting_for_it() -> None:
    node = ScriptedNode({"pin/remote/add": (200, b'{"Status":"queued"}'), "pin/remote/rm": (200, b"")})
    async with scripted(node) as rpc:
        await IpfsNode(rpc).pin_remotely("service", ABSENT, "weather")
        await IpfsNode(rpc).unpin_remotely("service", ABSENT)
    assert node.requests[0].query["background"] == "true"
    assert node.requests[0].query["name"] == "weather"
    assert node.requests[1].query.getall("status") == ["queued", "pinning", "pinned", "failed"]


async def test_a_name_that_is_no_text_breaks_the_protocol() -> None:
    async with scripted(
        ScriptedNode(
            {"name/resolve": (200, b'{"Path":["x"]}'), "key/list": (200, b'{"Keys":7}'), "key/gen": (200, b"{}")}
        )
    ) as rpc:
        with pytest.raises(ProtocolViolation):
            await IpfsNode(rpc).resolve("k51")
        with pytest.raises(ProtocolViolation):
            await IpfsNode(rpc).name_of_key("a")
