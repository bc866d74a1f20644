"""Garbage collection in a bucket: as everywhere, and also what broken uploads and those to signed addresses left."""

from __future__ import annotations

from typing import Any

import aiohttp
import pytest

from opendatafabric.errors import TransientStorageError
from opendatafabric.limits import LEASE_SILENCE_S_MAX, S3_PART_BYTES
from storage import collect as collect_module
from storage.collect import QUARANTINE, collect
from storage.dataset import Dataset
from storage.protocols import ObjectStore
from storage.s3 import leases
from storage.s3.location import S3Location
from storage.s3.pending import PENDING_FOLDER, pending_path, pending_token
from storage.s3.presign import S3PresigningStore
from storage.s3.refs import S3RefStore
from tests.storage.s3.test_objects import client_of, names_in
from tests.suites.collecting import CollectingSuite, published, replaced, store_all
from tests.suites.dataset import fill, objects_in, stored_keys


@pytest.fixture
def empty(location: S3Location) -> Dataset:
    return Dataset(S3PresigningStore(location), S3RefStore(location))


def all_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can give an object in a bucket another time, so what counts as old is what is not from the future."""
    monkeypatch.setattr(collect_module, "LEFTOVER_GRACE_S_MIN", -60)


class TestInABucket(CollectingSuite):
    def make_old(self, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
        all_is_old(monkeypatch)


def upload_broken_off(location: S3Location) -> Any:
    """A multipart upload after its first part; the client that sent it."""
    client = client_of(location)
    where = {"Bucket": location.bucket, "Key": pending_path(location, pending_token())}
    upload = client.create_multipart_upload(**where)["UploadId"]
    client.upload_part(**where, UploadId=upload, PartNumber=1, Body=b"x" * S3_PART_BYTES)
    return client


def uploads_under_way(location: S3Location) -> list[str]:
    listed = client_of(location).list_multipart_uploads(Bucket=location.bucket).get("Uploads", [])
    return [each["Key"] for each in listed if each["Key"].startswith(location.path(""))]


async def test_parts_of_an_upload_that_broke_off_go_with_their_bytes_counted(
    empty: Dataset, location: S3Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    upload_broken_off(location)
    assert (await collect(empty, grace_s=-60)).freed_bytes == 0
    all_is_old(monkeypatch)
    dry = await collect(empty, grace_s=-60, dry_run=True)
    assert (dry.freed[QUARANTINE].count, dry.freed_bytes) == (1, S3_PART_BYTES)
    assert len(uploads_under_way(location)) == 1
    assert (await collect(empty, grace_s=-60)).freed_bytes == S3_PART_BYTES
    assert uploads_under_way(location) == []


async def test_what_was_put_to_a_signed_address_and_never_published_goes(
    empty: Dataset, location: S3Location, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = objects_in(empty)
    assert isinstance(store, S3PresigningStore)
    [upload] = await store.sign_uploads([4], lifetime_s=60)
    async with aiohttp.ClientSession() as session, session.put(upload.url, data=b"half") as answer:
        assert answer.status == 200
    assert {name.partition("/")[0] for name in names_in(location)} == {PENDING_FOLDER}
    all_is_old(monkeypatch)
    assert (await collect(empty, grace_s=-60)).freed[QUARANTINE].as_dict() == {"count": 1, "bytes": 4}
    assert names_in(location) == set()


def stands_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on every look at the clock finds this process silent for longer than others wait."""
    at = iter(range(10**9))
    monkeypatch.setattr(leases, "seconds", lambda: next(at) * LEASE_SILENCE_S_MAX)


async def test_a_publisher_that_stood_still_does_not_move_the_head(
    empty: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    stands_still(monkeypatch)
    with pytest.raises(TransientStorageError, match="stood still"):
        await fill(empty, published())
    assert await empty.head() is None


async def test_a_collector_that_stood_still_deletes_nothing(empty: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    await fill(empty, published())
    await store_all(empty, replaced())
    before = await stored_keys(empty)
    stands_still(monkeypatch)
    with pytest.raises(TransientStorageError, match="stood still"):
        await collect(empty, grace_s=-60)
    assert await stored_keys(empty) == before
