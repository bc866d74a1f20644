"""Segments in a bucket: beside the blocks, seen by every server, gone with the dataset, never a reason to fail."""

from __future__ import annotations

import pytest

from storage.dataset import Dataset
from storage.memory import MemoryDerivedStore
from storage.protocols import ObjectReader
from storage.s3.location import S3Location
from storage.s3.objects import S3ObjectStore
from storage.s3.refs import S3RefStore
from storage.s3.segments import S3DerivedStore, S3SegmentedStore
from tests.storage.chains import ChainBuilder, chain
from tests.storage.s3.test_objects import client_of, names_in
from tests.suites.object_store import ObjectStoreSuite, keys_in

MEBIBYTE = 1024 * 1024


def near() -> MemoryDerivedStore:
    return MemoryDerivedStore(bytes_max=MEBIBYTE)


class TestS3SegmentedStore(ObjectStoreSuite):
    @pytest.fixture
    def store(self, location: S3Location) -> S3SegmentedStore:
        return S3SegmentedStore(location, near())

    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        assert isinstance(store, S3ObjectStore)
        place = store.location
        client_of(place).put_object(Bucket=place.bucket, Key=place.path(key), Body=data)


@pytest.fixture
def builder() -> ChainBuilder:
    return chain([str(number) for number in range(120)])


async def test_an_append_of_many_blocks_leaves_segments_that_nobody_lists(
    location: S3Location, builder: ChainBuilder
) -> None:
    store = S3SegmentedStore(location, near())
    await Dataset(store, S3RefStore(location)).append(builder.blocks, expected_head=None)
    segments = {name for name in names_in(location) if name.startswith(".segments/")}
    assert segments == {f".segments/{builder.blocks[99].hash}-100"}
    assert not any("segments" in key for key in await keys_in(store))


async def test_another_server_reads_the_chain_from_them_or_without(location: S3Location, builder: ChainBuilder) -> None:
    await Dataset(S3SegmentedStore(location, near()), S3RefStore(location)).append(builder.blocks, expected_head=None)
    for data in (None, b"", b"damaged"):
        if data is not None:
            path = location.path(f".segments/{builder.blocks[99].hash}-100")
            client_of(location).put_object(Bucket=location.bucket, Key=path, Body=data)
        dataset = Dataset(S3SegmentedStore(location, near()), S3RefStore(location))
        assert [block async for batch in dataset.walk(builder.head) for block in batch] == builder.blocks[::-1]


async def test_where_nothing_can_be_kept_nothing_fails() -> None:
    nowhere = S3DerivedStore(S3Location("bucket", "x", "http://127.0.0.1:1"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("storage.s3.client.S3_RETRIES_MAX", 0)
        await nowhere.keep("a", b"bytes")
        assert await nowhere.read("a") is None


async def test_what_is_too_much_is_not_kept(location: S3Location) -> None:
    derived = S3DerivedStore(location)
    await derived.keep("a", bytes(40 * MEBIBYTE))
    assert await derived.read("a") is None
    assert names_in(location) == set()
