"""Refs in S3: the contract of ref stores and of datasets over two servers, and what is particular to buckets."""

from __future__ import annotations

import pytest

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.s3.location import S3Location
from storage.s3.objects import S3ObjectStore
from storage.s3.refs import S3RefStore
from tests.storage.s3.test_objects import client_of
from tests.suites.dataset import DatasetSuite
from tests.suites.ref_store import RefStoreSuite

pytestmark = pytest.mark.slow

A, B = physical_hash(b"a"), physical_hash(b"b")


class TestS3Refs(RefStoreSuite):
    @pytest.fixture
    def refs(self, location: S3Location) -> S3RefStore:
        return S3RefStore(location)


class TestS3Dataset(DatasetSuite):
    @pytest.fixture
    def dataset(self, location: S3Location) -> Dataset:
        return Dataset(S3ObjectStore(location), S3RefStore(location))


def raw_head(location: S3Location) -> bytes:
    found = client_of(location).get_object(Bucket=location.bucket, Key=location.path("refs/head"))
    data: bytes = found["Body"].read()
    return data


async def test_a_ref_is_written_as_the_reference_writes_it(location: S3Location) -> None:
    await S3RefStore(location).compare_and_swap("head", expected=None, new=A)
    assert raw_head(location) == str(A).encode()


async def test_a_removed_ref_leaves_a_mark(location: S3Location) -> None:
    refs = S3RefStore(location)
    await refs.compare_and_swap("head", expected=None, new=A)
    await refs.compare_and_swap("head", expected=A, new=None)
    assert raw_head(location) == b"-"
    assert await refs.read("head") is None


@pytest.mark.parametrize("text", [b"", b"\n", str(A).encode() + b"\n", b"f1620", b"x" * 100])
async def test_a_damaged_ref_is_named_and_not_guessed(location: S3Location, text: bytes) -> None:
    client_of(location).put_object(Bucket=location.bucket, Key=location.path("refs/head"), Body=text)
    refs = S3RefStore(location)
    with pytest.raises(MalformedIdentifier, match="refs/head"):
        await refs.read("head")
    with pytest.raises(MalformedIdentifier):
        await refs.compare_and_swap("head", expected=None, new=B)
    assert raw_head(location) == text
