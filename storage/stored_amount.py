"""How much lies in a dataset: its blocks and objects, whether or not a head leads there."""

from __future__ import annotations

from dataclasses import dataclass

from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.layout import BLOCKS
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.keys import ADDRESSED_FOLDERS


@dataclass(frozen=True, slots=True)
class StoredAmount:
    """``bytes`` of blocks and objects; the number of ``objects``, which are data slices and checkpoints."""

    bytes: int = 0
    objects: int = 0


async def stored_amount(dataset: Dataset) -> StoredAmount:
    """All that lies there."""
    size, count = 0, 0
    for folder in ADDRESSED_FOLDERS:
        async for info in dataset.objects.list(f"{folder}/"):
            size += info.size
            count += folder != BLOCKS
    return StoredAmount(size, count)


async def appended_amount(dataset: Dataset, new_head: Multihash, *, old_head: Multihash | None) -> StoredAmount:
    """What came with the blocks after ``old_head``."""
    size, files = 0, set[ObjectFile]()
    async for batch in dataset.walk(new_head, stop_before=old_head):
        for block in batch:
            size += len(block.raw)
            files.update(objects_of(block))
    return StoredAmount(size + sum(file.size for file in files), len(files))
