"""Records of IPNS names: one for a dataset, found by its name, replaced by one at a time."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from catalog.catalog import Catalog
from catalog.ipns import StoredRecord
from tests.storage.chains import dataset_id

ID = dataset_id()
RECORD = StoredRecord(ID, "k51one", "/ipfs/bafkqaaa", 1_700_000_000, 1_700_100_000.5, b"signed")


async def test_a_record_is_found_by_dataset_and_by_name(catalog: Catalog) -> None:
    assert await catalog.ipns.of_dataset(ID) is None
    await catalog.ipns.replace(ID, lambda known: RECORD)
    assert await catalog.ipns.of_dataset(ID) == RECORD
    assert await catalog.ipns.of_name("k51one") == RECORD
    assert await catalog.ipns.of_name("k51two") is None


async def test_who_replaces_a_record_sees_the_one_before(catalog: Catalog) -> None:
    await catalog.ipns.replace(ID, lambda known: RECORD)
    seen: list[StoredRecord | None] = []

    def keep(known: StoredRecord | None) -> None:
        seen.append(known)

    assert await catalog.ipns.replace(ID, keep) == RECORD
    assert seen == [RECORD]


async def test_numbers_of_records_made_at_once_all_differ(catalog: Catalog) -> None:
    await catalog.ipns.replace(ID, lambda known: RECORD)

    def counted(known: StoredRecord | None) -> StoredRecord:
        assert known is not None
        return replace(known, sequence=known.sequence + 1)

    made = await asyncio.gather(*(catalog.ipns.replace(ID, counted) for _ in range(10)))
    assert len({record.sequence for record in made if record is not None}) == 10


async def test_a_forgotten_record_is_gone(catalog: Catalog) -> None:
    await catalog.ipns.replace(ID, lambda known: RECORD)
    await catalog.ipns.forget(ID)
    assert await catalog.ipns.of_name("k51one") is None
