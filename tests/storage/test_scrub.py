"""Scrubbing finds every damaged byte, heals it from another copy, and goes on where it stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import TransientStorageError
from opendatafabric.layout import block_key, data_key
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.fsck import fsck
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.scrub import Pace, Scrubbed, scrub
from tests.faults.faulty_stores import Faults, FaultyObjectStore, Strike, broken, unavailable
from tests.storage.chains import ChainBuilder, chain
from tests.suites.dataset import fill

SLICES = [data_key(physical_hash(content)) for content in (b"first slice", b"second slice")]


@pytest.fixture
def builder() -> ChainBuilder:
    builder = chain(["a", "b"])
    builder.data(b"first slice")
    builder.data(b"second slice")
    return builder


@pytest.fixture
async def dataset(tmp_path: Path, builder: ChainBuilder) -> Dataset:
    dataset = Dataset(LocalObjectStore(tmp_path), LocalRefStore(tmp_path))
    await fill(dataset, builder)
    return dataset


@pytest.fixture
async def copy(builder: ChainBuilder) -> MemoryObjectStore:
    copy = Dataset(MemoryObjectStore(), MemoryRefStore())
    await fill(copy, builder)
    assert isinstance(copy.objects, MemoryObjectStore)
    return copy.objects


async def damages(dataset: Dataset, *sources: MemoryObjectStore) -> dict[str, bool]:
    return {done.key: done.healed async for done in scrub(dataset, sources=sources) if done.damage is not None}


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)


async def test_everything_is_looked_at_once(dataset: Dataset, builder: ChainBuilder) -> None:
    done = [each async for each in scrub(dataset)]
    keys = [each.key for each in done]
    assert sorted(keys) == sorted([*SLICES, *(block_key(block.hash) for block in builder.blocks)])
    assert sum(each.size for each in done) == sum(len(block.raw) for block in builder.blocks) + 23
    assert not [each for each in done if each.damage is not None]


async def test_a_flipped_bit_anywhere_is_found_and_healed(
    dataset: Dataset, copy: MemoryObjectStore, tmp_path: Path, builder: ChainBuilder
) -> None:
    for key in [*SLICES, *(block_key(block.hash) for block in builder.blocks)]:
        flip(tmp_path / key)
        assert await damages(dataset, copy) == {key: True}
        assert await damages(dataset) == {}
    assert [finding async for finding in fsck(dataset)] == []


async def test_what_is_missing_is_fetched(dataset: Dataset, copy: MemoryObjectStore, tmp_path: Path) -> None:
    (tmp_path / SLICES[0]).unlink()
    (tmp_path / SLICES[1]).write_bytes(b"cut")
    assert await damages(dataset, copy) == dict.fromkeys(SLICES, True)
    assert (tmp_path / SLICES[0]).read_bytes() == b"first slice"


async def test_without_a_sound_copy_damage_is_told_and_the_rest_is_looked_at(
    dataset: Dataset, copy: MemoryObjectStore, tmp_path: Path
) -> None:
    for key in SLICES:
        flip(tmp_path / key)
    copy.objects[SLICES[0]] = b"wrong bytes"
    before = (tmp_path / SLICES[0]).read_bytes()
    assert await damages(dataset, copy) == {SLICES[0]: False, SLICES[1]: True}
    assert (tmp_path / SLICES[0]).read_bytes() == before
    assert list((tmp_path / "data").glob(".pending-*")) == []


async def test_the_next_source_is_asked_when_the_first_has_it_not(
    dataset: Dataset, copy: MemoryObjectStore, tmp_path: Path
) -> None:
    flip(tmp_path / SLICES[0])
    assert await damages(dataset, MemoryObjectStore(), copy) == {SLICES[0]: True}


async def test_a_scrub_goes_on_behind_a_key(dataset: Dataset) -> None:
    first, second = sorted(SLICES)
    done = [each.key async for each in scrub(dataset, after=first)]
    assert second in done
    assert first not in done


async def test_healing_replaces_a_shared_file_and_does_not_write_into_it(
    dataset: Dataset, copy: MemoryObjectStore, tmp_path: Path
) -> None:
    flip(tmp_path / SLICES[0])
    other = tmp_path / "other"
    other.hardlink_to(tmp_path / SLICES[0])
    damaged = other.read_bytes()
    assert await damages(dataset, copy) == {SLICES[0]: True}
    assert other.read_bytes() == damaged
    assert (tmp_path / SLICES[0]).read_bytes() == b"first slice"


async def test_the_rate_is_kept(dataset: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr("asyncio.sleep", sleep)
    done = [each async for each in scrub(dataset, pace=Pace(10))]
    total = sum(each.size for each in done)
    assert waited[-1] == pytest.approx(total / 10, abs=5)


async def test_a_sector_that_cannot_be_read_is_damage_and_a_disk_that_is_busy_is_not(
    dataset: Dataset, copy: MemoryObjectStore
) -> None:
    store = dataset.writable_objects()
    dead = Dataset(FaultyObjectStore(store, Faults(1, broken, only=["stream"])), dataset.refs)
    done = [each async for each in scrub(dead, sources=[copy]) if each.damage is not None]
    assert [(each.damage.code, each.healed) for each in done if each.damage] == [("storage-error", True)]
    busy = Dataset(FaultyObjectStore(store, Faults(1, unavailable, only=["stream"])), dataset.refs)
    with pytest.raises(TransientStorageError):
        _ = [each async for each in scrub(busy, sources=[copy])]


@pytest.mark.parametrize("strike", [broken, unavailable])
async def test_a_source_that_fails_is_passed_over(dataset: Dataset, copy: MemoryObjectStore, strike: Strike) -> None:
    failing = FaultyObjectStore(MemoryObjectStore(), Faults(1, strike, for_good=True))
    failing.inner.objects.update(copy.objects)  # type: ignore[attr-defined]
    await dataset.writable_objects().delete(SLICES[0])
    done = [each async for each in scrub(dataset, sources=[failing, copy]) if each.damage is not None]
    assert [(each.key, each.healed) for each in done] == [(SLICES[0], True)]


def test_a_finding_is_plain_values() -> None:
    assert Scrubbed("data/x", 1).as_dict() == {"key": "data/x", "damage": None, "healed": False}
