"""A long chain is read once; afterwards a note of its head leads to the same state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from opendatafabric.block_ref import HEAD
from opendatafabric.metadata.events import SetInfo
from opendatafabric.metadata.sources import MergeStrategyLedger
from pipeline import known_chains
from pipeline.known_chains import KnownChains
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore
from tests.pipeline.datasets import cities, csv_source, new_dataset, push
from tests.pipeline.local_engine import LocalEngine


class Counting(MemoryObjectStore):
    """Counts the blocks that are read along the chain."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks_read = 0

    async def follow(self, key: str, take: Any, **options: Any) -> Any:
        def counted(raw: bytes) -> str | None:
            self.blocks_read += 1
            found: str | None = take(raw)
            return found

        return await super().follow(key, counted, **options)


@pytest.fixture(autouse=True)
def noted_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of a few blocks are long."""
    monkeypatch.setattr(known_chains, "_WORTH_NOTING_BLOCKS", 3)


@pytest.fixture
async def dataset(tmp_path: Path) -> Dataset:
    """Twenty ingests into two sources, with other blocks between them."""
    info, ledger = [SetInfo(f"about {number}") for number in range(2)], MergeStrategyLedger(("city",))
    sources = [csv_source(ledger), csv_source(name="other"), csv_source()]
    dataset = await new_dataset(info[0], *sources, info[1], objects=Counting())
    (tmp_path / "files").mkdir()
    engine, file = LocalEngine(tmp_path / "engine"), cities(tmp_path / "files", kyiv=1)
    for _ in range(20):
        await push(dataset, engine, file, on=2, name="default")
    return dataset


def notes(tmp_path: Path) -> KnownChains:
    return KnownChains(tmp_path / "engine" / "chains")


async def blocks_read_for_the_state(dataset: Dataset, known: KnownChains) -> int:
    """By a process that knows nothing of the dataset; the state is that of the whole chain."""
    objects, head = dataset.objects, await dataset.head()
    assert isinstance(objects, Counting)
    expected = await Dataset(objects, dataset.refs).chain_state(head)
    fresh, before = Dataset(objects, dataset.refs), objects.blocks_read
    await known.recall(fresh)
    assert await fresh.chain_state(head) == expected
    return objects.blocks_read - before


async def test_a_noted_chain_is_not_read_again(dataset: Dataset, tmp_path: Path) -> None:
    assert await blocks_read_for_the_state(dataset, notes(tmp_path)) < 30
    assert await blocks_read_for_the_state(dataset, notes(tmp_path / "elsewhere")) > 50


@pytest.mark.parametrize("harm", [b"", b"no seal"])
async def test_damaged_notes_are_none(dataset: Dataset, tmp_path: Path, harm: bytes) -> None:
    for path in (tmp_path / "engine" / "chains").iterdir():
        path.write_bytes(harm)
    assert await blocks_read_for_the_state(dataset, notes(tmp_path)) > 50


async def test_another_head_is_not_confused_with_a_noted_one(dataset: Dataset, tmp_path: Path) -> None:
    head = await dataset.head()
    assert head is not None
    earlier = (await dataset.read_block(head)).prev_block_hash
    await dataset.refs.compare_and_swap(HEAD, expected=head, new=earlier)
    assert await blocks_read_for_the_state(dataset, notes(tmp_path)) < 30


async def test_what_is_noted_does_not_grow_with_the_chain(dataset: Dataset, tmp_path: Path) -> None:
    sizes = [path.stat().st_size for path in (tmp_path / "engine" / "chains").iterdir()]
    assert len(sizes) > 10
    assert max(sizes) < 1_000
