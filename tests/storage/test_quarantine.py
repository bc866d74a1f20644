"""What arrives is compared with what was promised before anybody can see it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from opendatafabric.errors import HashMismatch, LimitExceeded, SizeMismatch
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from storage.local.objects import LocalObjectStore
from storage.memory import MemoryObjectStore
from storage.protocols import ObjectStore
from storage.quarantine import receive_object
from tests.suites.object_store import key_of, keys_in, pieces_of

CONTENT = b"the promised bytes"
HASH = physical_hash(CONTENT)
KEY = data_key(HASH)


@pytest.fixture(params=["memory", "local"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    return MemoryObjectStore() if request.param == "memory" else LocalObjectStore(tmp_path)


async def nothing_stayed(store: ObjectStore) -> bool:
    hidden = store.quarantined if isinstance(store, MemoryObjectStore) else list(store.root.rglob(".*"))  # type: ignore[attr-defined]
    return not hidden and await keys_in(store) == set()


@pytest.mark.parametrize("size", [None, len(CONTENT)])
async def test_the_promised_bytes_are_stored(store: ObjectStore, size: int | None) -> None:
    received = await receive_object(
        store, KEY, pieces_of(CONTENT), expected_hash=HASH, expected_size=size, size_max=len(CONTENT)
    )
    assert received == len(CONTENT)
    assert await store.read(KEY) == CONTENT


async def test_other_bytes_are_refused_and_forgotten(store: ObjectStore) -> None:
    with pytest.raises(HashMismatch, match="data/") as mismatch:
        await receive_object(store, KEY, pieces_of(b"The promised bytes"), expected_hash=HASH, size_max=100)
    assert mismatch.value.expected == str(HASH)
    assert mismatch.value.found == str(physical_hash(b"The promised bytes"))
    assert await nothing_stayed(store)


@pytest.mark.parametrize("sent", [CONTENT[:-1], CONTENT + b"!", b""])
async def test_another_size_is_refused_and_forgotten(store: ObjectStore, sent: bytes) -> None:
    with pytest.raises(SizeMismatch):
        await receive_object(
            store, KEY, pieces_of(sent), expected_hash=HASH, expected_size=len(CONTENT), size_max=1_000
        )
    assert await nothing_stayed(store)


async def test_too_much_is_refused_at_once_when_announced(store: ObjectStore) -> None:
    async def never_asked() -> AsyncIterator[bytes]:
        raise AssertionError("no byte may be read")
        yield b""

    with pytest.raises(LimitExceeded):
        await receive_object(store, KEY, never_asked(), expected_hash=HASH, expected_size=11, size_max=10)


async def test_too_much_is_refused_on_the_way_when_not_announced(store: ObjectStore) -> None:
    with pytest.raises(LimitExceeded):
        await receive_object(store, KEY, pieces_of(CONTENT), expected_hash=HASH, size_max=len(CONTENT) - 1)
    assert await nothing_stayed(store)


async def test_a_damaged_object_is_replaced_by_proved_bytes(store: ObjectStore) -> None:
    await store.put(key_of(b"other"), b"other")
    await store.put(KEY, CONTENT[::-1])
    await receive_object(store, KEY, pieces_of(CONTENT), expected_hash=HASH, size_max=100)
    assert await store.read(KEY) == CONTENT
