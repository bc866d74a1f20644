"""Resumable uploads: begun, cut, continued, finished; across restarts, never beyond their lease."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from opendatafabric.errors import (
    Conflict,
    HashMismatch,
    LimitExceeded,
    MalformedIdentifier,
    NotFound,
    SizeMismatch,
)
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from storage.local.objects import LocalObjectStore
from storage.uploads import Uploads
from tests.suites.object_store import keys_in, pieces_of

CONTENT = os.urandom(2_500_000)
HASH = physical_hash(CONTENT)
KEY = data_key(HASH)
NOW = 1_000_000.0
LEASE_S = 3600.0


@pytest.fixture
def store(tmp_path: Path) -> LocalObjectStore:
    return LocalObjectStore(tmp_path)


@pytest.fixture
def uploads(store: LocalObjectStore) -> Uploads:
    return Uploads(store, lease_s=LEASE_S)


async def begin(uploads: Uploads) -> str:
    return (await uploads.begin(KEY, size=len(CONTENT), size_max=len(CONTENT), now=NOW)).id


async def test_an_upload_in_parts_becomes_an_object(uploads: Uploads, store: LocalObjectStore) -> None:
    upload_id = await begin(uploads)
    for start, end in ((0, 10), (10, 1_500_000), (1_500_000, len(CONTENT))):
        upload = await uploads.append(upload_id, pieces_of(CONTENT[start:end]), offset=start, now=NOW)
        assert upload.offset == end
    assert await keys_in(store) == set()
    await uploads.finish(upload_id, expected_hash=HASH, now=NOW)
    assert await store.read(KEY) == CONTENT
    assert list(store.root.rglob(".*")) == []
    with pytest.raises(NotFound):
        await uploads.find(upload_id, now=NOW)


async def test_what_came_before_a_cut_counts_after_a_restart(uploads: Uploads, store: LocalObjectStore) -> None:
    async def cut() -> AsyncIterator[bytes]:
        yield CONTENT[:2_000_000]
        raise ConnectionResetError("cut")

    upload_id = await begin(uploads)
    with pytest.raises(ConnectionResetError):
        await uploads.append(upload_id, cut(), offset=0, now=NOW)
    restarted = Uploads(LocalObjectStore(store.root), lease_s=LEASE_S)
    offset = (await restarted.find(upload_id, now=NOW)).offset
    assert offset == 2_000_000
    await restarted.append(upload_id, pieces_of(CONTENT[offset:]), offset=offset, now=NOW)
    await restarted.finish(upload_id, expected_hash=HASH, now=NOW)
    assert await store.read(KEY) == CONTENT


@pytest.mark.parametrize("offset", [0, 9, 11, -1])
async def test_another_offset_is_a_conflict(uploads: Uploads, offset: int) -> None:
    upload_id = await begin(uploads)
    await uploads.append(upload_id, pieces_of(CONTENT[:10]), offset=0, now=NOW)
    with pytest.raises(Conflict) as conflict:
        await uploads.append(upload_id, pieces_of(b"x"), offset=offset, now=NOW)
    assert conflict.value.expected == "10"


async def test_two_writers_at_once_are_a_conflict(uploads: Uploads) -> None:
    upload_id = await begin(uploads)

    async def interrupted_by_another() -> AsyncIterator[bytes]:
        yield CONTENT[:1_100_000]
        yield CONTENT[1_100_000:1_200_000]
        with pytest.raises(Conflict):
            await uploads.append(upload_id, pieces_of(b"x"), offset=0, now=NOW)
        offset = (await uploads.find(upload_id, now=NOW)).offset
        with pytest.raises(Conflict):
            await uploads.append(upload_id, pieces_of(b"x"), offset=offset, now=NOW)

    upload = await uploads.append(upload_id, interrupted_by_another(), offset=0, now=NOW)
    assert upload.offset == 1_200_000


async def test_more_bytes_than_announced_are_not_taken(uploads: Uploads) -> None:
    upload_id = await begin(uploads)
    with pytest.raises(SizeMismatch):
        await uploads.append(upload_id, pieces_of(CONTENT, b"!"), offset=0, now=NOW)
    assert (await uploads.find(upload_id, now=NOW)).offset <= len(CONTENT)


async def test_an_incomplete_upload_cannot_be_finished_but_continued(uploads: Uploads) -> None:
    upload_id = await begin(uploads)
    await uploads.append(upload_id, pieces_of(CONTENT[:10]), offset=0, now=NOW)
    with pytest.raises(SizeMismatch):
        await uploads.finish(upload_id, expected_hash=HASH, now=NOW)
    await uploads.append(upload_id, pieces_of(CONTENT[10:]), offset=10, now=NOW)
    await uploads.finish(upload_id, expected_hash=HASH, now=NOW)


async def test_wrong_bytes_are_refused_and_forgotten(uploads: Uploads, store: LocalObjectStore) -> None:
    upload_id = await begin(uploads)
    await uploads.append(upload_id, pieces_of(CONTENT[::-1]), offset=0, now=NOW)
    with pytest.raises(HashMismatch):
        await uploads.finish(upload_id, expected_hash=HASH, now=NOW)
    with pytest.raises(NotFound):
        await uploads.find(upload_id, now=NOW)
    assert await keys_in(store) == set()


async def test_too_large_or_misnamed_uploads_do_not_begin(uploads: Uploads) -> None:
    with pytest.raises(LimitExceeded):
        await uploads.begin(KEY, size=11, size_max=10, now=NOW)
    with pytest.raises(LimitExceeded):
        await uploads.begin(KEY, size=-1, size_max=10, now=NOW)
    with pytest.raises(MalformedIdentifier):
        await uploads.begin("data/../../x", size=1, size_max=10, now=NOW)


async def test_an_append_renews_the_lease(uploads: Uploads) -> None:
    upload_id = await begin(uploads)
    await uploads.append(upload_id, pieces_of(CONTENT[:10]), offset=0, now=NOW + LEASE_S - 1)
    assert (await uploads.find(upload_id, now=NOW + LEASE_S + 1)).offset == 10


async def test_after_its_lease_an_upload_is_gone(uploads: Uploads, store: LocalObjectStore) -> None:
    old, young = await begin(uploads), (await uploads.begin(KEY, size=1, size_max=1, now=NOW + 100)).id
    later = NOW + LEASE_S + 1
    with pytest.raises(NotFound):
        await uploads.find(old, now=later)
    assert await uploads.sweep(now=later) == [old]
    assert (await uploads.find(young, now=later)).offset == 0
    assert len(list(store.root.rglob(".pending-*"))) == 2


async def test_those_whose_lease_is_not_over_are_listed(uploads: Uploads) -> None:
    await begin(uploads)
    young = await uploads.begin_file("a file", size=1, size_max=1, now=NOW + 100)
    assert await uploads.all(now=NOW + LEASE_S + 1) == [young]


async def test_a_cancelled_upload_leaves_nothing(uploads: Uploads, store: LocalObjectStore) -> None:
    upload_id = await begin(uploads)
    await uploads.cancel(upload_id)
    await uploads.cancel(upload_id)
    assert list(store.root.rglob(".*")) == []


@pytest.mark.parametrize("upload_id", ["", "x", "../../etc/passwd", "0" * 15, "0" * 16, "0" * 17, "G" * 16, "\0"])
async def test_an_unknown_upload_is_not_found(uploads: Uploads, upload_id: str) -> None:
    with pytest.raises(NotFound):
        await uploads.find(upload_id, now=NOW)
    with pytest.raises(NotFound):
        await uploads.append(upload_id, pieces_of(b"x"), offset=0, now=NOW)
    with pytest.raises(NotFound):
        await uploads.finish(upload_id, expected_hash=HASH, now=NOW)


@pytest.mark.parametrize("state", [b"", b"{", b"[]", b'{"id": 1}', b"\xff", b"x" * 10_000])
async def test_a_damaged_state_is_an_unknown_upload(uploads: Uploads, store: LocalObjectStore, state: bytes) -> None:
    upload_id = await begin(uploads)
    (store.root / "data" / f".pending-{upload_id}.json").write_bytes(state)
    with pytest.raises(NotFound):
        await uploads.find(upload_id, now=NOW)
