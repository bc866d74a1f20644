"""The index of facts: what the chain of each dataset says, and its blocks by number, so that nobody has to walk a chain
to look something up.

It holds for the head that stands in it, which may be behind the one that is there; ``facts_refresh`` brings it up to
date. Every step goes from one head to the next in one transaction, so several processes may be at it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from sqlalchemy import Row, delete, func, insert, select
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.dataset_texts import put_texts
from catalog.engine import Database
from catalog.events import EventType, Happening, note_event, note_events
from catalog.facts_of_blocks import FORM, BlockFacts, ColumnFacts, Facts, LicenseFacts
from catalog.facts_tables import dataset_blocks, dataset_facts
from catalog.lineage_edges import NamedInput, put_inputs
from catalog.lineage_tables import dataset_inputs
from catalog.search_tables import dataset_texts
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class Step:
    """From ``expected_head`` to ``facts``, with the ``blocks`` in between, and with the ``inputs`` if these set them;
    ``anew`` forgets all others before.

    ``told_head`` is the one that was told last of, ``None`` where there was none; more is told once ``is_last``.
    """

    dataset_id: DatasetId
    facts: Facts
    blocks: Sequence[BlockFacts]
    expected_head: Multihash | None
    told_head: Multihash | None
    inputs: Sequence[NamedInput] | None = None
    anew: bool = False
    is_last: bool = True

    @property
    def happening(self) -> Happening | None:
        """What others are told."""
        facts, before = self.facts, self.told_head
        if not self.is_last or facts.head == before:
            return None
        type_ = EventType.CREATED if before is None else EventType.HEAD_MOVED
        return Happening(type_, str(self.dataset_id), told_facts(facts, before))


def told_facts(facts: Facts, before: Multihash | None) -> dict[str, Any]:
    """What an event says of a dataset that is there, or whose head was another one ``before``."""
    counts = {"blocks": facts.blocks, "records": facts.records}
    return {"head": str(facts.head), "previousHead": None if before is None else str(before)} | counts


class DatasetFacts:
    """The index in one catalog."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database, self._now = database, now

    async def of(self, dataset_id: DatasetId) -> Facts | None:
        """What is known of the dataset."""
        return (await self.of_all([dataset_id])).get(dataset_id)

    async def of_all(self, dataset_ids: Collection[DatasetId]) -> dict[DatasetId, Facts]:
        """The same for many."""
        wanted = dataset_facts.c.dataset_id.in_([str(each) for each in dataset_ids])
        async with self._database.reading() as connection:
            rows = await connection.execute(select(dataset_facts).where(wanted))
            return {DatasetId.from_text(row.dataset_id): facts_of_row(row) for row in rows}

    async def heads(self) -> dict[DatasetId, str]:
        """Up to which head each dataset is known, in the form that facts have now."""
        query = select(dataset_facts.c.dataset_id, dataset_facts.c.head).where(dataset_facts.c.form == FORM)
        async with self._database.reading() as connection:
            rows = await connection.execute(query)
            return {DatasetId.from_text(row.dataset_id): row.head for row in rows}

    async def block(self, dataset_id: DatasetId, sequence_number: int) -> BlockFacts | None:
        """The block of that number."""
        return next(iter(await self.blocks_at(dataset_id, [sequence_number])), None)

    async def blocks_at(self, dataset_id: DatasetId, numbers: Sequence[int]) -> list[BlockFacts]:
        """The blocks of those numbers, oldest first; for as many as fit into one question."""
        here = dataset_blocks.c
        query = select(dataset_blocks).where(here.dataset_id == str(dataset_id), here.sequence_number.in_(numbers))
        async with self._database.reading() as connection:
            return [block_of_row(row) for row in await connection.execute(query.order_by(here.sequence_number))]

    async def blocks_before(self, dataset_id: DatasetId, sequence_number: int, *, count: int) -> list[BlockFacts]:
        """The ``count`` blocks before that number, newest first."""
        here = dataset_blocks.c
        query = (
            select(dataset_blocks)
            .where(here.dataset_id == str(dataset_id), here.sequence_number < sequence_number)
            .order_by(here.sequence_number.desc())
            .limit(count)
        )
        async with self._database.reading() as connection:
            return [block_of_row(row) for row in await connection.execute(query)]

    async def blocks_with(
        self, dataset_id: DatasetId, events: Collection[str], *, after: int, count: int
    ) -> list[BlockFacts]:
        """The ``count`` blocks with events of these names after the block of number ``after``, oldest first."""
        here = dataset_blocks.c
        query = (
            select(dataset_blocks)
            .where(here.dataset_id == str(dataset_id), here.sequence_number > after, here.event.in_(events))
            .order_by(here.sequence_number)
            .limit(count)
        )
        async with self._database.reading() as connection:
            return [block_of_row(row) for row in await connection.execute(query)]

    async def blocks_of_records(
        self, dataset_id: DatasetId, first: int, last: int, *, count: int
    ) -> list[BlockFacts] | None:
        """The blocks that added the records from position ``first`` to ``last``, oldest first; ``None`` if there are
        more than ``count`` blocks from the first of them to the last."""
        here = dataset_blocks.c
        mine = select(dataset_blocks).where(here.dataset_id == str(dataset_id)).order_by(here.sequence_number)
        async with self._database.reading() as connection:
            start = await _number_of_block(connection, str(dataset_id), first)
            rows = await connection.execute(mine.where(here.sequence_number >= start).limit(count + 1))
            blocks = [block_of_row(row) for row in rows]
        before = [first, *(each.records for each in blocks)]
        reached = [each for each, records in zip(blocks, before, strict=False) if records <= last]
        if len(reached) > count:
            return None
        return [each for each, records in zip(reached, before, strict=False) if each.records > records]

    async def advance(
        self,
        dataset_id: DatasetId,
        facts: Facts,
        blocks: Sequence[BlockFacts],
        *,
        expected_head: Multihash | None,
        inputs: Sequence[NamedInput] | None = None,
        anew: bool = False,
    ) -> bool:
        """Go one step, of which all is told; whether it was done."""
        step = Step(dataset_id, facts, blocks, expected_head, expected_head, inputs=inputs, anew=anew)
        return bool(await self.advance_all([step]))

    async def advance_all(self, steps: Sequence[Step]) -> set[DatasetId]:
        """Go one step with each of these datasets, in one transaction. That its head moved is an event.

        Returns those with which it was done: not when somebody else was quicker.
        """
        async with self._database.writing() as connection:
            heads = await _heads(connection, [str(step.dataset_id) for step in steps])
            taken = [step for step in steps if heads.get(step.dataset_id) == step.expected_head]
            await forget_facts(connection, *(str(step.dataset_id) for step in taken if step.anew))
            await _put(connection, taken)
            told = [happening for step in taken if (happening := step.happening) is not None]
            await note_events(connection, self._now(), told)
        return {step.dataset_id for step in taken}

    async def forget(self, dataset_id: DatasetId) -> None:
        """Know nothing of a dataset any more: it is gone."""
        async with self._database.writing() as connection:
            if await has_facts(connection, str(dataset_id)):
                await note_event(connection, self._now(), EventType.GONE, str(dataset_id), {})
            await forget_facts(connection, str(dataset_id))


async def _number_of_block(connection: AsyncConnection, dataset_id: str, record: int) -> int:
    """The number of the block that added the record of that position, or that of the next block to come."""
    here = dataset_blocks.c
    count = select(func.max(here.sequence_number)).where(here.dataset_id == dataset_id)
    low, high = 0, ((await connection.execute(count)).scalar() or 0) + 1
    while low < high:
        middle = (low + high) // 2
        records = select(here.records).where(here.dataset_id == dataset_id, here.sequence_number == middle)
        if ((await connection.execute(records)).scalar() or 0) > record:
            high = middle
        else:
            low = middle + 1
    return low


async def has_facts(connection: AsyncConnection, dataset_id: str) -> bool:
    """Whether anything is known of the dataset, in a transaction that is under way."""
    query = select(dataset_facts.c.head).where(dataset_facts.c.dataset_id == dataset_id)
    return (await connection.execute(query)).first() is not None


async def forget_facts(connection: AsyncConnection, *dataset_ids: str) -> None:
    """The same in a transaction that is under way."""
    for table in (dataset_facts, dataset_blocks, dataset_inputs, dataset_texts) if dataset_ids else ():
        await connection.execute(delete(table).where(table.c.dataset_id.in_(dataset_ids)))


async def _heads(connection: AsyncConnection, dataset_ids: Sequence[str]) -> dict[DatasetId, Multihash]:
    query = select(dataset_facts.c.dataset_id, dataset_facts.c.head).where(dataset_facts.c.dataset_id.in_(dataset_ids))
    rows = await connection.execute(query)
    return {DatasetId.from_text(row.dataset_id): Multihash.from_text(row.head) for row in rows}


async def _put(connection: AsyncConnection, steps: Sequence[Step]) -> None:
    blocks = [_block_row(step.dataset_id, each) for step in steps for each in step.blocks]
    if blocks:
        await connection.execute(insert(dataset_blocks), blocks)
    for step in steps:
        if step.inputs is not None:
            await put_inputs(connection, str(step.dataset_id), step.inputs)
    if steps:
        rows = [_row(step.dataset_id, step.facts) for step in steps]
        added = upsert(dataset_facts)
        replaced = {name: added.excluded[name] for name in rows[0]}
        await connection.execute(added.on_conflict_do_update(index_elements=["dataset_id"], set_=replaced), rows)
        await put_texts(connection, {str(step.dataset_id): step.facts for step in steps})


def _row(dataset_id: DatasetId, facts: Facts) -> Mapping[str, Any]:
    return {
        "dataset_id": str(dataset_id),
        "head": str(facts.head),
        "kind": facts.kind,
        "blocks": facts.blocks,
        "records": facts.records,
        "bytes": facts.bytes,
        "updated_at": facts.updated_at,
        "watermark": facts.watermark,
        "description": facts.description,
        "keywords": _json(facts.keywords),
        "license": None if facts.license is None else _json(asdict(facts.license)),
        "columns": _json([[each.name, each.type] for each in facts.columns]),
        "events": _json(facts.events),
        "sql": facts.sql,
        "form": facts.form,
    }


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()


def facts_of_row(row: Row[Any]) -> Facts:
    """What a row of ``dataset_facts`` says."""
    return Facts(
        head=Multihash.from_text(row.head),
        kind=row.kind,
        blocks=row.blocks,
        records=row.records,
        bytes=row.bytes,
        updated_at=row.updated_at,
        watermark=row.watermark,
        description=row.description,
        keywords=tuple(orjson.loads(row.keywords)),
        license=None if row.license is None else LicenseFacts(**orjson.loads(row.license)),
        columns=tuple(ColumnFacts(*each) for each in orjson.loads(row.columns)),
        events=orjson.loads(row.events),
        sql=row.sql,
        form=row.form,
    )


def _block_row(dataset_id: DatasetId, block: BlockFacts) -> Mapping[str, Any]:
    return {
        "dataset_id": str(dataset_id),
        "sequence_number": block.sequence_number,
        "hash": str(block.hash),
        "system_time": block.system_time,
        "event": block.event,
        "records": block.records,
        "bytes": block.bytes,
    }


def block_of_row(row: Row[Any]) -> BlockFacts:
    """What a row of ``dataset_blocks`` says."""
    name = Multihash.from_text(row.hash)
    return BlockFacts(row.sequence_number, name, row.system_time, row.event, row.records, row.bytes)
