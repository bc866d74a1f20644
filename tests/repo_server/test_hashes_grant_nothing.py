"""Objects are stored once however many datasets have them; who knows a hash gets nothing by it, through any route."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.roles import Role
from catalog.visibility import Visibility
from opendatafabric.errors import BlockNotFound, OdfError
from opendatafabric.ipfs.cid import cid_of_object
from opendatafabric.multihash import Multihash, physical_hash
from repo_server.config import Tenancy
from storage.dataset import Dataset
from storage.memory import MemoryDerivedStore, MemoryObjectStore, MemoryRefStore
from storage.share import share_objects
from sync.intervals import plan_interval
from sync.push import push_dataset
from tests.repo_server.hosted import SMALL, Hosted, a_chain, hosted
from tests.repo_server.test_smart import location
from tests.storage.chains import ChainBuilder, dataset_id

CONTENT = b"what only alice may read" * 100
HASH = physical_hash(CONTENT)


@pytest.fixture
async def sharing(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """``secret`` has the object. ``open``, which bob may write to, has not; both share another one on the disk."""
    async with hosted(tmp_path, tenancy, ipfs_provider=True, run_worker=False) as server:
        secret = a_chain(2)
        secret.data(CONTENT)
        await server.add("open", a_chain(1))
        await server.add("secret", secret, Visibility.PRIVATE)
        await server.catalog.roles.grant(dataset_id(1), server.accounts["bob"], Role.WRITER)
        assert (await share_objects(server.repository, grace_s=-60)).count > 0
        yield server


async def secret_head(server: Hosted) -> Multihash:
    head = await (await server.repository.find(dataset_id(2))).dataset.head()
    assert head is not None
    return head


async def test_what_another_dataset_has_is_not_in_this_one(sharing: Hosted) -> None:
    head = await secret_head(sharing)
    for rest in (f"data/{HASH}", f"checkpoints/{HASH}", f"blocks/{head}", f"reports/{HASH}"):
        assert (await sharing.ask("GET", f"{sharing.path('open')}/{rest}", who="bob")).status == 404
        assert (await sharing.ask("GET", f"{sharing.path('secret')}/{rest}", who="bob")).status == 404
    assert (await sharing.ask("GET", f"{sharing.path('secret')}/data/{HASH}", who="alice")).body == CONTENT


async def test_what_both_have_is_read_through_the_one_that_may_be_read(sharing: Hosted) -> None:
    shared = physical_hash(SMALL)
    assert (await sharing.ask("GET", f"{sharing.path('open')}/data/{shared}", who="bob")).body == SMALL
    assert (await sharing.ask("GET", f"{sharing.path('secret')}/data/{shared}", who="bob")).status == 404


async def test_an_upload_is_not_here_already_because_another_dataset_has_it(sharing: Hosted) -> None:
    headers = {"Upload-Length": str(len(CONTENT))}
    begun = await sharing.ask("POST", f"{sharing.path('open')}/uploads/data/{HASH}", who="bob", headers=headers)
    assert begun.status == 201
    there = await sharing.ask("POST", f"{sharing.path('secret')}/uploads/data/{HASH}", who="alice", headers=headers)
    assert there.status == 200


async def test_an_upload_of_one_dataset_is_not_continued_through_another(sharing: Hosted) -> None:
    headers = {"Upload-Length": "100"}
    begun = await sharing.ask("POST", f"{sharing.path('secret')}/uploads/data/{HASH}", who="alice", headers=headers)
    assert begun.status == 201
    upload = begun.headers["Location"].rpartition("/")[2]
    for method in ("GET", "PATCH", "DELETE"):
        more = {"Upload-Offset": "0"}
        answer = await sharing.ask(method, f"{sharing.path('open')}/uploads/{upload}", who="bob", headers=more)
        assert answer.status in {400, 404} or (method == "DELETE" and answer.status == 204), "none of its own"
    assert (await sharing.ask("GET", begun.headers["Location"], who="alice")).headers["Upload-Offset"] == "0"


async def test_a_push_that_names_the_object_must_bring_it(sharing: Hosted) -> None:
    chain = a_chain(1)
    before = chain.head
    chain.data(CONTENT)
    objects = MemoryObjectStore()
    local = Dataset(objects, MemoryRefStore())
    for content_hash, content in chain.slices.items():
        await objects.put(f"data/{content_hash}", content)
    await local.append(chain.blocks, expected_head=None)
    await objects.delete(f"data/{HASH}")
    with pytest.raises(OdfError):
        await push_dataset(sharing.session, local, location(sharing, "open"), token=sharing.tokens["bob"])
    assert await (await sharing.repository.find(dataset_id(1))).dataset.head() == before
    assert (await sharing.ask("GET", f"{sharing.path('open')}/data/{HASH}", who="bob")).status == 404


async def test_the_gateway_to_ipfs_knows_no_hash_of_what_is_private(sharing: Hosted) -> None:
    cid = cid_of_object(HASH)
    for path in (f"/ipfs/{cid}?format=raw", f"/ipfs/{cid}", f"/ipfs/{cid}?format=car", f"/routing/v1/providers/{cid}"):
        for who in (None, "bob", "alice"):
            assert (await sharing.ask("GET", path, who=who)).status == 404


async def test_packs_that_were_kept_for_one_dataset_are_not_given_out_for_another() -> None:
    ours, theirs = a_chain(1), ChainBuilder(dataset_id(2))
    theirs.data(CONTENT)
    packs = MemoryDerivedStore(bytes_max=1_000_000)
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    for content_hash, content in ours.slices.items():
        await dataset.writable_objects().put(f"data/{content_hash}", content)
    await dataset.append(ours.blocks, expected_head=None)
    await packs.keep(f"{theirs.head}-seed", b"a pack of theirs")
    with pytest.raises(BlockNotFound):
        await plan_interval(dataset, None, theirs.head, force=False, packs=packs)
