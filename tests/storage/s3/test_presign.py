"""Signed addresses: what is written to one is seen by nobody before it was proved, and is what was proved."""

from __future__ import annotations

import aiohttp
import pytest
from yarl import URL

from opendatafabric.errors import ObjectNotFound, SizeMismatch
from opendatafabric.multihash import physical_hash
from storage.s3.location import S3Location
from storage.s3.presign import S3PresigningStore
from storage.values import PresignedUpload
from tests.storage.s3.test_objects import names_in
from tests.suites.object_store import key_of, keys_in, read_all


@pytest.fixture
def store(location: S3Location) -> S3PresigningStore:
    return S3PresigningStore(location)


async def sign(store: S3PresigningStore, size: int) -> PresignedUpload:
    (upload,) = await store.sign_uploads([size], lifetime_s=60)
    return upload


async def write(upload: PresignedUpload, data: bytes) -> int:
    url = URL(upload.url, encoded=True)
    async with aiohttp.ClientSession() as session, session.put(url, data=data) as answer:
        return answer.status


async def test_what_was_uploaded_is_examined_and_then_published(store: S3PresigningStore) -> None:
    upload = await sign(store, 5)
    assert await write(upload, b"bytes") == 200
    assert await keys_in(store) == set()
    examined = await store.examine(upload)
    assert (examined.hash, examined.size) == (physical_hash(b"bytes"), 5)
    await store.publish(examined, key_of(b"bytes"))
    assert names_in(store.location) == {key_of(b"bytes")}


async def test_what_is_uploaded_after_the_examination_is_never_published(store: S3PresigningStore) -> None:
    upload = await sign(store, 5)
    await write(upload, b"right")
    examined = await store.examine(upload)
    await write(upload, b"wrong")
    await store.publish(examined, key_of(b"right"))
    assert await read_all(store, key_of(b"right")) == b"right"
    assert names_in(store.location) == {key_of(b"right")}


async def test_an_upload_can_be_examined_again_when_the_first_time_led_nowhere(store: S3PresigningStore) -> None:
    upload = await sign(store, 5)
    await write(upload, b"bytes")
    await store.examine(upload)
    again = await store.examine(upload)
    await store.publish(again, key_of(b"bytes"))
    assert await read_all(store, key_of(b"bytes")) == b"bytes"


async def test_examined_bytes_that_are_forgotten_leave_nothing(store: S3PresigningStore) -> None:
    upload = await sign(store, 5)
    await write(upload, b"wrong")
    await store.discard(await store.examine(upload))
    assert names_in(store.location) == set()
    with pytest.raises(ObjectNotFound, match="never uploaded"):
        await store.examine(upload)


async def test_nothing_uploaded_is_told_as_that(store: S3PresigningStore) -> None:
    with pytest.raises(ObjectNotFound, match="never uploaded"):
        await store.examine(await sign(store, 5))


async def test_another_size_than_announced_is_refused_and_removed(store: S3PresigningStore) -> None:
    upload = await sign(store, 5)
    unsigned = (await store.sign_uploads([7], lifetime_s=60))[0]
    await write(unsigned, b"seven b")
    with pytest.raises(SizeMismatch):
        await store.examine(PresignedUpload(unsigned.token, upload.url, 5))
    assert names_in(store.location) == set()
