"""The gateway to IPFS over real sockets: every block and archive proves itself, and only what is public is there."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import aiohttp
import pytest

from catalog.visibility import Visibility
from opendatafabric.errors import NotFound
from opendatafabric.ipfs.car import read_car
from opendatafabric.ipfs.cid import Cid, Codec, cid_of_block, cid_of_object
from opendatafabric.ipfs.ipns import IpnsName, verify_record
from opendatafabric.ipfs.walk import Scope, resolve, run, walk_dag
from opendatafabric.multihash import physical_hash
from repo_server.app import running
from repo_server.config import Tenancy
from tests.repo_server.hosted import LARGE, SMALL, Answer, Hosted, a_chain, hash_of, hosted
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow

RAW, CAR, RECORD = "application/vnd.ipld.raw", "application/vnd.ipld.car", "application/vnd.ipfs.ipns-record"
BIG = bytes(range(256)) * 12_000
PUBLISHED_S_MAX = 90
"""On a busy machine publishing takes its time, and what failed for now is tried again after half a minute."""

ABSENT = cid_of_block(b"nobody has this")


class Gateway:
    """A server that provides for IPFS, with the public dataset ``open`` and the private one ``secret``."""

    def __init__(self, server: Hosted) -> None:
        self.server = server
        self.chain = a_chain()
        self.chain.data(BIG)
        self.secret = a_chain(2)
        self.secret.info("only for alice")
        self.root = ABSENT
        self.name = ""

    async def get(self, path: str, **headers: str) -> Answer:
        return await self.server.ask(
            "GET", path, headers={key.replace("_", "-"): each for key, each in headers.items()}
        )

    async def block(self, cid: Cid) -> bytes:
        answer = await self.get(f"/ipfs/{cid}?format=raw")
        assert answer.status == 200, answer.text
        cid.check(answer.body)
        return answer.body

    async def car(self, path: str) -> tuple[Cid, list[Cid], dict[Cid, bytes]]:
        """Root, CIDs in their order, and checked blocks of an archive."""
        answer = await self.get(path)
        assert answer.status == 200, answer.text
        roots, blocks = read_car(answer.body)
        return roots[0], [block.cid for block in blocks], {block.cid: block.data for block in blocks}

    async def published(self, head: object) -> dict[str, str]:
        """What the dataset says of itself once ``head`` is published."""
        async with asyncio.timeout(PUBLISHED_S_MAX):
            while True:  # it is made beside the requests
                answer = await self.get(self.server.path("open") + "/ipfs")
                if answer.status == 200 and json.loads(answer.body)["head"] == str(head):
                    found: dict[str, str] = json.loads(answer.body)
                    return found
                await asyncio.sleep(0.02)


@pytest.fixture
async def gateway(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Gateway]:
    async with hosted(tmp_path, tenancy) as server:
        made = Gateway(server)
        await server.add("open", made.chain)
        await server.add("secret", made.secret, Visibility.PRIVATE)
        settings = server.settings.model_copy(update={"ipfs_provider": True})
        async with running(settings) as server.url:
            server.settings = settings
            said = await made.published(made.chain.head)
            made.root, made.name = Cid.from_text(said["root"]), said["name"]
            yield made


async def test_every_block_of_the_tree_is_served_raw_and_proves_itself(gateway: Gateway) -> None:
    _, order, blocks = await gateway.car(f"/ipfs/{gateway.root}?format=car")
    for cid in order:
        assert await gateway.block(cid) == blocks[cid]
    files = {data for cid, data in blocks.items() if cid.codec is Codec.RAW}
    assert {SMALL, *(block.raw for block in gateway.chain.blocks)} <= files


async def test_a_raw_block_has_the_headers_of_the_specification(gateway: Gateway) -> None:
    answer = await gateway.get(f"/ipfs/{gateway.root}", Accept=RAW)
    assert answer.headers["Content-Type"] == RAW
    assert answer.headers["ETag"] == f'"{gateway.root}.raw"'
    assert answer.headers["Cache-Control"] == "public, max-age=29030400, immutable"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{gateway.root}.bin"'
    assert answer.headers["Vary"] == "Accept"
    assert answer.headers["X-Ipfs-Path"] == f"/ipfs/{gateway.root}"


async def test_a_block_that_the_caller_has_is_not_sent_again(gateway: Gateway) -> None:
    for query, tag in (("raw", f'"{gateway.root}.raw"'), ("car", None)):
        first = await gateway.get(f"/ipfs/{gateway.root}?format={query}")
        again = await gateway.get(f"/ipfs/{gateway.root}?format={query}", If_None_Match=tag or first.headers["ETag"])
        assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("content", [SMALL, LARGE, BIG], ids=["small", "large", "over 2 MiB"])
async def test_every_object_is_served_by_the_cid_of_its_physical_hash(gateway: Gateway, content: bytes) -> None:
    cid = cid_of_object(hash_of(content, gateway.chain))
    for text in (cid.text, cid.base16):
        answer = await gateway.get(f"/ipfs/{text}?format=raw")
        assert (answer.status, answer.body) == (200, content)


async def test_every_metadata_block_is_served_by_the_cid_of_its_hash(gateway: Gateway) -> None:
    for block in gateway.chain.blocks:
        assert await gateway.block(cid_of_object(block.hash)) == block.raw


async def test_the_probe_of_other_nodes_is_answered(gateway: Gateway) -> None:
    for method in ("HEAD", "GET"):
        answer = await gateway.server.ask(method, "/ipfs/bafkqaaa?format=raw")
        assert (answer.status, answer.body) == (200, b"")


async def test_a_head_request_gives_the_size_of_a_block_alone(gateway: Gateway) -> None:
    answer = await gateway.server.ask("HEAD", f"/ipfs/{gateway.root}?format=raw")
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == str(len(await gateway.block(gateway.root)))


@pytest.mark.parametrize("scope", list(Scope), ids=lambda scope: scope.value)
@pytest.mark.parametrize("below", ["", "/refs/head", "/blocks", "/data/BIG"])
async def test_an_archive_has_the_way_and_then_the_tree_depth_first(gateway: Gateway, scope: Scope, below: str) -> None:
    below = below.replace("BIG", str(hash_of(BIG, gateway.chain)))
    _, _, everything = await gateway.car(f"/ipfs/{gateway.root}?format=car")
    way: list[Cid] = []

    def looked_at(cid: Cid) -> bytes:
        way.append(cid)
        return everything[cid]

    target = run(resolve(gateway.root, below.split("/")[1:]), looked_at)
    run(walk_dag(target, scope), looked_at)
    root, order, _ = await gateway.car(f"/ipfs/{gateway.root}{below}?format=car&dag-scope={scope.value}")
    assert (root, order) == (target, way)


@pytest.mark.parametrize(("asked", "start", "end"), [("0:*", 0, None), ("300000:300001", 300_000, 300_002)])
async def test_an_archive_of_some_bytes_has_their_leaves_alone(
    gateway: Gateway, asked: str, start: int, end: int | None
) -> None:
    path = f"/ipfs/{gateway.root}/data/{hash_of(BIG, gateway.chain)}?format=car&dag-scope=entity"
    _, order, _ = await gateway.car(f"{path}&entity-bytes={asked}")
    leaves = [cid for cid in order if cid.codec is Codec.RAW]
    chunks = [BIG[i : i + 262_144] for i in range(0, len(BIG), 262_144)]
    touched = chunks[start // 262_144 : None if end is None else (end - 1) // 262_144 + 1]
    assert leaves == [cid_of_block(chunk) for chunk in touched]


async def test_bytes_from_the_end_of_a_file_can_be_asked_for(gateway: Gateway) -> None:
    path = f"/ipfs/{gateway.root}/data/{hash_of(BIG, gateway.chain)}?format=car&dag-scope=entity"
    _, order, _ = await gateway.car(f"{path}&entity-bytes=-1:*")
    assert [cid for cid in order if cid.codec is Codec.RAW] == [cid_of_block(BIG[len(BIG) // 262_144 * 262_144 :])]


async def test_an_archive_says_how_it_is_ordered(gateway: Gateway) -> None:
    answer = await gateway.get(f"/ipfs/{gateway.root}", Accept=f"{CAR}; version=1; order=dfs; dups=y")
    assert answer.headers["Content-Type"] == f"{CAR}; version=1; order=dfs; dups=y"
    assert answer.headers["Accept-Ranges"] == "none"


async def test_an_archive_of_a_path_that_leads_nowhere_proves_it(gateway: Gateway) -> None:
    root, order, blocks = await gateway.car(f"/ipfs/{gateway.root}/blocks/absent?format=car")
    assert root.text == "bafkqaaa"
    with pytest.raises(NotFound, match="absent"):
        run(resolve(gateway.root, ["blocks", "absent"]), blocks.__getitem__)
    assert len(order) == 2
    assert (await gateway.get(f"/ipfs/{ABSENT}/absent?format=car")).status == 404


async def test_files_are_read_by_path_as_the_reference_asks_for_them(gateway: Gateway) -> None:
    base = f"/ipfs/{gateway.root}"
    assert (await gateway.get(f"{base}/refs/head")).text == str(gateway.chain.head)
    for block in gateway.chain.blocks:
        assert (await gateway.get(f"{base}/blocks/{block.hash}")).body == block.raw
    for content in (SMALL, LARGE, BIG):
        answer = await gateway.get(f"{base}/data/{hash_of(content, gateway.chain)}")
        assert answer.body == content
        assert answer.headers["Content-Type"] == "application/octet-stream"
        assert answer.headers["Content-Disposition"].startswith("attachment")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_a_part_of_a_file_can_be_asked_for(gateway: Gateway) -> None:
    path = f"/ipfs/{gateway.root}/data/{hash_of(LARGE, gateway.chain)}"
    answer = await gateway.get(path, Range="bytes=1000-1999")
    assert (answer.status, answer.body) == (206, LARGE[1000:2000])


async def test_a_folder_is_given_out_as_blocks_alone(gateway: Gateway) -> None:
    assert (await gateway.get(f"/ipfs/{gateway.root}")).status == 406
    assert (await gateway.get(f"/ipfs/{gateway.root}/blocks/")).status == 406


def said(refusal: Answer, cid: Cid) -> dict[str, object]:
    """What a refusal says, but for what was asked for and the number of the request."""
    return {**json.loads(refusal.text.replace(str(cid), "")), "instance": None}


async def test_nothing_of_a_private_dataset_is_there_as_if_it_did_not_exist(gateway: Gateway) -> None:
    hidden = gateway.secret.blocks[-1]
    for cid in (cid_of_object(hidden.hash), cid_of_block(hidden.raw)):
        for form in ("raw", "car"):
            answer = await gateway.get(f"/ipfs/{cid}?format={form}")
            absent = await gateway.get(f"/ipfs/{ABSENT}?format={form}")
            assert (answer.status, said(answer, cid)) == (404, said(absent, ABSENT))
        assert (await gateway.get(f"/routing/v1/providers/{cid}")).status == 404


async def test_a_dataset_that_becomes_private_is_gone_at_once(gateway: Gateway) -> None:
    await gateway.server.catalog.datasets.set_visibility(gateway.chain.id, Visibility.PRIVATE)
    for path in (f"/ipfs/{gateway.root}?format=raw", f"/ipns/{gateway.name}?format=ipns-record"):
        assert (await gateway.get(path)).status == 404


async def test_an_object_that_is_also_in_a_public_dataset_is_there(gateway: Gateway) -> None:
    shared = hash_of(SMALL, gateway.secret)  # the same bytes lie in both datasets
    assert await gateway.block(cid_of_object(shared)) == SMALL


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/ipfs/nonsense?format=raw", 400),
        (f"/ipfs/{ABSENT}", 404),
        ("/ipfs/ROOT/absent", 404),
        ("/ipfs/ROOT/refs/head/more", 404),
        ("/ipfs/ROOT?format=tar", 406),
        ("/ipfs/ROOT?format=ipns-record", 400),
        ("/ipfs/ROOT?format=car&dag-scope=some", 400),
        ("/ipfs/ROOT?format=car&dag-scope=entity&entity-bytes=1", 400),
        ("/ipns/nonsense", 400),
        ("/ipns/example.org", 400),
        (f"/ipns/{IpnsName(bytes(32))}", 404),
        ("/routing/v1/providers/nonsense", 400),
        (f"/routing/v1/ipns/{IpnsName(bytes(32))}", 404),
    ],
)
async def test_what_cannot_be_given_out_is_refused(gateway: Gateway, path: str, status: int) -> None:
    assert (await gateway.get(path.replace("ROOT", str(gateway.root)))).status == status


async def test_a_later_version_of_archives_is_not_served(gateway: Gateway) -> None:
    assert (await gateway.get(f"/ipfs/{gateway.root}", Accept=f"{CAR}; version=2")).status == 406


async def test_a_name_has_a_signed_record_in_every_form_of_the_name(gateway: Gateway) -> None:
    name = IpnsName.from_text(gateway.name)
    for path in (f"/ipns/{name}?format=ipns-record", f"/routing/v1/ipns/{name.cid}", f"/routing/v1/ipns/{name}"):
        answer = await gateway.get(path)
        assert answer.headers["Content-Type"] == RECORD
        record = verify_record(name, answer.body, now=datetime.now(UTC))
        assert record.value == f"/ipfs/{gateway.root}"
    again = await gateway.get(path, If_None_Match=answer.headers["ETag"])
    assert again.status == 304


async def test_a_name_leads_to_files_and_may_not_be_kept_for_long(gateway: Gateway) -> None:
    answer = await gateway.get(f"/ipns/{gateway.name}/refs/head")
    assert answer.text == str(gateway.chain.head)
    assert answer.headers["Cache-Control"] == "public, max-age=60"
    assert answer.headers["X-Ipfs-Path"] == f"/ipns/{gateway.name}/refs/head"


async def test_the_server_names_itself_as_the_provider_of_what_it_has(gateway: Gateway) -> None:
    answer = await gateway.get(f"/routing/v1/providers/{gateway.root}?filter-protocols=transport-ipfs-gateway-http")
    (provider,) = json.loads(answer.body)["Providers"]
    port = gateway.server.url.rpartition(":")[2]
    assert provider["Addrs"] == [f"/ip4/127.0.0.1/tcp/{port}/http"]
    assert (provider["Schema"], provider["Protocols"]) == ("peer", ["transport-ipfs-gateway-http"])
    assert provider["ID"].startswith("12D3Koo")
    lines = await gateway.get(f"/routing/v1/providers/{gateway.root}", Accept="application/x-ndjson")
    assert json.loads(lines.body) == provider


async def test_it_names_nobody_for_what_it_has_not_or_over_other_protocols(gateway: Gateway) -> None:
    for asked in (f"{ABSENT}", f"{gateway.root}?filter-protocols=transport-bitswap"):
        answer = await gateway.get(f"/routing/v1/providers/{asked}")
        assert (answer.status, json.loads(answer.body)) == (404, {"Providers": []})


async def test_without_the_setting_nothing_is_given_out(server: Hosted, chain: ChainBuilder) -> None:
    assert (await server.ask("GET", f"/ipfs/{cid_of_object(chain.head)}?format=raw")).status == 404
    answer = await server.ask("GET", server.path("open") + "/ipfs")
    assert (answer.status, "ODF_IPFS_PROVIDER" in answer.text) == (404, True)
    assert not (server.settings.repo / ".ipns-key").exists()


async def test_an_archive_that_meets_damage_is_cut_off_and_not_ended(gateway: Gateway) -> None:
    entry = await gateway.server.repository.find(gateway.server.alias("open"))
    path = entry.path / "data" / str(physical_hash(BIG))
    path.write_bytes(BIG[:-1] + b"!")
    with pytest.raises(aiohttp.ClientPayloadError):
        await gateway.get(f"/ipfs/{gateway.root}?format=car")


async def test_an_object_under_another_hash_is_not_given_out(gateway: Gateway) -> None:
    entry = await gateway.server.repository.find(gateway.server.alias("open"))
    path = entry.path / "data" / str(physical_hash(LARGE))
    path.write_bytes(bytes(len(LARGE)))
    leaf = cid_of_block(LARGE[:262_144])
    assert (await gateway.get(f"/ipfs/{leaf}?format=raw")).status == 500
