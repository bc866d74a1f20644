"""A store that does not honour conditions is refused before a head is moved, and asked once."""

from __future__ import annotations

from typing import Any

import pytest

from opendatafabric.errors import UnsupportedOperation
from opendatafabric.multihash import physical_hash
from storage.s3 import cells, probe
from storage.s3.client import S3Bucket, bucket_at
from storage.s3.location import S3Location
from storage.s3.refs import S3RefStore
from tests.storage.s3.test_objects import names_in

pytestmark = pytest.mark.slow

A = physical_hash(b"a")


@pytest.fixture
def bucket(location: S3Location) -> S3Bucket:
    """A bucket about which nothing is known yet."""
    bucket_at.cache_clear()
    return bucket_at(location.bucket, location.endpoint)


def deafened(monkeypatch: pytest.MonkeyPatch, *, to_creation: bool) -> None:
    """Make the store overwrite whatever it is told, as one that does not know the headers."""
    heard = cells.obstore.put_async

    async def put(store: Any, path: str, data: bytes, *, mode: Any, **rest: Any) -> Any:
        deaf = (mode == "create") == to_creation
        return await heard(store, path, data, mode="overwrite" if deaf else mode, **rest)

    monkeypatch.setattr(cells.obstore, "put_async", put)


async def test_a_store_with_conditions_passes_and_nothing_stays(location: S3Location, bucket: S3Bucket) -> None:
    await probe.require_conditions(bucket, location)
    assert bucket.conditions_proved
    assert names_in(location) == set()


@pytest.mark.parametrize("to_creation", [True, False], ids=["If-None-Match", "If-Match"])
async def test_a_store_that_ignores_a_condition_gets_no_heads(
    location: S3Location, bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch, to_creation: bool
) -> None:
    deafened(monkeypatch, to_creation=to_creation)
    with pytest.raises(UnsupportedOperation, match="If-None-Match" if to_creation else "If-Match"):
        await S3RefStore(location).compare_and_swap("head", expected=None, new=A)
    assert names_in(location) == set()
    assert not bucket.conditions_proved
