"""The edges between datasets as chains say them: gathered from blocks, written with the facts of a dataset."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy import delete, insert
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.lineage_tables import dataset_inputs
from opendatafabric.did import DatasetId
from opendatafabric.index_limits import INDEXED_ITEMS_MAX, INDEXED_TEXT_CHARS_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import SetTransform


@dataclass(frozen=True, slots=True)
class NamedInput:
    """An input, and what the query calls it."""

    dataset_id: DatasetId
    alias: str | None


def inputs_in(blocks: Iterable[HashedBlock]) -> tuple[NamedInput, ...] | None:
    """The inputs of the last transform among ``blocks``, each once; ``None`` where there is none among them."""
    transforms = [block.event for block in blocks if isinstance(block.event, SetTransform)]
    if not transforms:
        return None
    found: dict[DatasetId, NamedInput] = {}
    for each in transforms[-1].inputs[:INDEXED_ITEMS_MAX]:
        if isinstance(each.dataset_ref, DatasetId):
            found.setdefault(each.dataset_ref, NamedInput(each.dataset_ref, _cut(each.alias)))
    return tuple(found.values())


async def put_inputs(connection: AsyncConnection, dataset_id: str, inputs: Sequence[NamedInput]) -> None:
    """Know these as the inputs of the dataset, and no others."""
    await connection.execute(delete(dataset_inputs).where(dataset_inputs.c.dataset_id == dataset_id))
    rows = [
        {"dataset_id": dataset_id, "input_id": str(each.dataset_id), "position": number, "alias": each.alias}
        for number, each in enumerate(inputs)
    ]
    if rows:
        await connection.execute(insert(dataset_inputs), rows)


def _cut(text: str | None) -> str | None:
    return None if text is None else text[:INDEXED_TEXT_CHARS_MAX]
