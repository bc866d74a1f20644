"""Objects in S3: the contract of object stores over two servers, and what is particular to buckets."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import boto3
import pytest
from botocore.config import Config

from opendatafabric.errors import ObjectNotFound, StorageError
from opendatafabric.limits import S3_PART_BYTES, S3_WINDOW_BYTES
from opendatafabric.multihash import physical_hash
from storage.protocols import ObjectReader
from storage.s3.location import S3Location, parse_s3_address
from storage.s3.objects import S3ObjectStore
from storage.s3.presign import S3PresigningStore
from storage.values import ByteRange, Quarantined
from tests.storage.s3.servers import S3Server
from tests.suites.object_store import ObjectStoreSuite, key_of, keys_in, pieces_of, read_all


def client_of(location: S3Location) -> Any:
    """Another client over the same bucket."""
    return boto3.client("s3", endpoint_url=location.endpoint, config=Config(s3={"addressing_style": "path"}))


class TestS3Objects(ObjectStoreSuite):
    @pytest.fixture
    def store(self, location: S3Location) -> S3PresigningStore:
        return S3PresigningStore(location)

    def plant(self, store: ObjectReader, key: str, data: bytes) -> None:
        assert isinstance(store, S3ObjectStore)
        place = store.location
        client_of(place).put_object(Bucket=place.bucket, Key=place.path(key), Body=data)


@pytest.fixture
def store(location: S3Location) -> S3PresigningStore:
    return S3PresigningStore(location)


async def large(size: int) -> AsyncIterator[bytes]:
    for start in range(0, size, 1_000_000):
        yield bytes([start // 1_000_000 % 251]) * min(1_000_000, size - start)


def names_in(location: S3Location) -> set[str]:
    listed = client_of(location).list_objects_v2(Bucket=location.bucket, Prefix=location.path(""))
    return {each["Key"].removeprefix(location.path("")) for each in listed.get("Contents", [])}


@pytest.mark.parametrize("size", [S3_PART_BYTES - 1, S3_PART_BYTES, 2 * S3_PART_BYTES + 7], ids=str)
async def test_an_object_of_several_parts_comes_back(store: S3PresigningStore, size: int) -> None:
    data = b"".join([piece async for piece in large(size)])
    quarantined = await store.quarantine(large(size), size_max=size)
    assert (quarantined.hash, quarantined.size) == (physical_hash(data), size)
    await store.publish(quarantined, key_of(data))
    assert await read_all(store, key_of(data)) == data
    window = ByteRange(S3_WINDOW_BYTES - 3, size - 5)
    assert await read_all(store, key_of(data), window) == data[window.start : window.end]


async def test_quarantined_bytes_lie_hidden_and_leave_when_published(store: S3PresigningStore) -> None:
    quarantined = await store.quarantine(pieces_of(b"new"), size_max=3)
    assert {name.partition("/")[0] for name in names_in(store.location)} == {".pending"}
    assert await keys_in(store) == set()
    await store.publish(quarantined, key_of(b"new"))
    assert names_in(store.location) == {key_of(b"new")}


async def test_a_broken_upload_leaves_no_parts_behind(store: S3PresigningStore) -> None:
    async def broken() -> AsyncIterator[bytes]:
        async for piece in large(2 * S3_PART_BYTES):
            yield piece
        raise ConnectionResetError("the client vanished")

    with pytest.raises(ConnectionResetError):
        await store.quarantine(broken(), size_max=10 * S3_PART_BYTES)
    place = store.location
    under_way = client_of(place).list_multipart_uploads(Bucket=place.bucket).get("Uploads", [])
    assert [each["Key"] for each in under_way if each["Key"].startswith(place.prefix)] == []


@pytest.mark.parametrize("token", ["", "0", "../data/x", "f" * 32, "f" * 31 + "\n", "f" * 32 + '@"a" b'])
async def test_a_token_that_names_nothing_publishes_nothing(store: S3PresigningStore, token: str) -> None:
    with pytest.raises(ObjectNotFound):
        await store.publish(Quarantined(token, physical_hash(b"x"), 1), key_of(b"x"))
    assert await keys_in(store) == set()


async def test_datasets_side_by_side_do_not_see_each_other(store: S3PresigningStore) -> None:
    longer = S3ObjectStore(parse_s3_address(f"{store.location}x"))
    await store.put(key_of(b"mine"), b"mine")
    await longer.put(key_of(b"other"), b"other")
    assert await keys_in(store) == {key_of(b"mine")}
    assert await keys_in(longer, "data/") == {key_of(b"other")}


async def test_many_objects_are_put_at_once(store: S3PresigningStore) -> None:
    objects = {key_of(bytes([number])): bytes([number]) for number in range(100)}
    await store.put_many(objects)
    assert await keys_in(store) == set(objects)


async def test_a_bucket_that_is_not_there_is_told_from_an_object_that_is_not(s3_server: S3Server) -> None:
    store = S3ObjectStore(parse_s3_address(f"s3+{s3_server.endpoint}/nowhere/x"))
    with pytest.raises(StorageError, match="no such bucket"):
        await store.put(key_of(b"x"), b"x")


async def test_readers_who_leave_early_leave_nothing_running(store: S3PresigningStore) -> None:
    data = os.urandom(5 * S3_WINDOW_BYTES)
    quarantined = await store.quarantine(pieces_of(data), size_max=len(data))
    await store.publish(quarantined, key_of(data))
    before = len(asyncio.all_tasks())
    stream = store.stream(key_of(data))
    assert len(await anext(stream)) == S3_WINDOW_BYTES
    await anext(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    assert len(asyncio.all_tasks()) == before
