"""The audit trail: entries in order, and no change without a trace."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from catalog.catalog import Catalog


async def test_entries_come_newest_first_with_their_details(catalog: Catalog) -> None:
    await catalog.audit.append("damaged", "alice/weather", {"key": "data/f16"})
    await catalog.audit.append("healed", "alice/weather", {"key": "data/f16", "code": "hash-mismatch"})
    entries = await catalog.audit.list()
    assert [(entry.id, entry.action) for entry in entries] == [(2, "healed"), (1, "damaged")]
    assert entries[0].details == {"key": "data/f16", "code": "hash-mismatch"}
    assert [entry.id for entry in await catalog.audit.list(limit=1)] == [2]
    assert await catalog.audit.check() is None


async def test_an_empty_trail_is_sound(catalog: Catalog) -> None:
    assert await catalog.audit.check() is None


async def test_writers_at_once_make_one_chain(catalog: Catalog) -> None:
    await asyncio.gather(*(catalog.audit.append("damaged", str(number), {}) for number in range(20)))
    assert [entry.id for entry in await catalog.audit.list()] == list(range(20, 0, -1))
    assert await catalog.audit.check() is None


@pytest.mark.parametrize(
    ("change", "found_at"),
    [
        ("UPDATE audit SET action = 'healed' WHERE id = 2", 2),
        ("UPDATE audit SET details = '{}' WHERE id = 1", 1),
        ("UPDATE audit SET at = 0 WHERE id = 3", 3),
        ("DELETE FROM audit WHERE id = 2", 2),
        ("DELETE FROM audit WHERE id = 1", 1),
    ],
)
async def test_a_changed_entry_is_noticed(catalog: Catalog, tmp_path: Path, change: str, found_at: int) -> None:
    for number in range(3):
        await catalog.audit.append("damaged", "alice/weather", {"number": number})
    with sqlite3.connect(tmp_path / "catalog.sqlite") as behind_its_back:
        behind_its_back.execute(change)
    behind_its_back.close()
    assert await catalog.audit.check() == found_at
