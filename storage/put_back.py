"""Putting a head back to where it was: only to a chain that is whole, with every object that it names."""

from __future__ import annotations

from opendatafabric.block_ref import HEAD
from opendatafabric.chain.objects import objects_of
from opendatafabric.errors import ObjectNotFound
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset, object_key
from storage.head_moves import HeadMove, move_head
from storage.held_chain import held_chain


async def put_back(dataset: Dataset, *, expected_head: Multihash, new_head: Multihash) -> None:
    """Move the head from ``expected_head`` to ``new_head``, which it was once.

    Garbage collection takes nothing of it meanwhile; every block is read and hashed before the head moves.

    Raises:
        BlockNotFound, HashMismatch, ObjectNotFound: not all of it is there any more.
        PolicyViolation: the dataset is append-only.
        RefConflict: the head moved meanwhile.
    """
    objects = dataset.writable_objects()
    async with held_chain(objects, new_head, below=expected_head):
        files = [file async for batch in dataset.walk(new_head) for block in batch for file in objects_of(block)]
        async with dataset.held(files):
            missing = await dataset.missing_objects(files)
            if missing:
                raise ObjectNotFound(f"{object_key(missing[0])} was collected", hint="it cannot be put back")
            await move_head(objects, dataset.refs, HeadMove(HEAD, expected_head, new_head, by_undo=True))
