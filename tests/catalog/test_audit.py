"""The audit log: entries in order, nothing changed or taken out without a trace, and nothing of strangers in it raw."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.audit import ARCHIVED, Deed
from catalog.audit_chain import BEGINNING, AuditEntry, ChainCheck, ChainPlace, entry_after, entry_from_json
from catalog.audit_files import archive, check_file, line_of
from catalog.audit_tables import TRIGGERS
from catalog.catalog import Catalog, open_catalog
from opendatafabric.errors import Conflict, HashMismatch, MalformedInput, NotFound, StorageError
from opendatafabric.server_limits import AUDIT_LINE_BYTES_MAX, AUDIT_TEXT_CHARS_MAX
from tests.catalog.conftest import Clock


def tamper(folder: Path, *statements: str) -> None:
    """What somebody does who has the file of the database."""
    behind_its_back = sqlite3.connect(folder / "catalog.sqlite")
    with behind_its_back:
        for statement in (*(f"DROP TRIGGER IF EXISTS {name}" for name in TRIGGERS), *statements):
            behind_its_back.execute(statement)
    behind_its_back.close()


async def write(catalog: Catalog, count: int, clock: Clock | None = None) -> None:
    for number in range(count):
        if clock is not None:
            clock.now += 10
        await catalog.audit.append("damaged", "alice/weather", {"number": number})


async def test_entries_come_newest_first_with_their_details(catalog: Catalog) -> None:
    await catalog.audit.append("damaged", "alice/weather", {"key": "data/f16"})
    await catalog.audit.append("healed", "alice/weather", {"key": "data/f16", "code": "hash-mismatch"})
    entries = await catalog.audit.list()
    assert [(entry.id, entry.action) for entry in entries] == [(2, "healed"), (1, "damaged")]
    assert entries[0].details == {"key": "data/f16", "code": "hash-mismatch"}
    assert [entry.id for entry in await catalog.audit.list(limit=1)] == [2]
    assert [entry.previous for entry in entries] == [entries[1].hash, ""]
    assert await catalog.audit.check() is None


async def test_an_empty_log_is_sound(catalog: Catalog) -> None:
    assert await catalog.audit.check() is None
    assert await catalog.audit.newest() == BEGINNING


async def test_writers_at_once_make_one_chain(catalog: Catalog) -> None:
    await asyncio.gather(*(catalog.audit.append("damaged", str(number), {}) for number in range(20)))
    assert [entry.id for entry in await catalog.audit.list()] == list(range(20, 0, -1))
    assert await catalog.audit.check() is None


async def test_several_catalogs_over_one_database_make_one_chain(catalog: Catalog, url: str) -> None:
    async with open_catalog(url) as other:
        writing = (each.audit.append("damaged", str(number), {}) for number in range(10) for each in (catalog, other))
        await asyncio.gather(*writing)
    assert [entry.id for entry in await catalog.audit.list()] == list(range(20, 0, -1))
    assert await catalog.audit.check() is None


async def test_deeds_at_once_are_entries_in_their_order(catalog: Catalog) -> None:
    await catalog.audit.append_all([Deed("a"), Deed("b", "alice"), Deed("c", details={"n": [1, None, {"x": True}]})])
    await catalog.audit.append_all([])
    assert [(entry.action, entry.subject) for entry in await catalog.audit.list()] == [
        ("c", ""),
        ("b", "alice"),
        ("a", ""),
    ]
    assert (await catalog.audit.list())[0].details == {"n": [1, None, {"x": True}]}


@pytest.mark.parametrize("statement", ["UPDATE audit SET subject = 'b'", "DELETE FROM audit WHERE id = 1"])
async def test_the_database_itself_refuses_to_change_entries(catalog: Catalog, tmp_path: Path, statement: str) -> None:
    await write(catalog, 2)
    with sqlite3.connect(tmp_path / "catalog.sqlite") as other, pytest.raises(sqlite3.IntegrityError, match="only be"):
        other.execute(statement)
    other.close()
    assert len(await catalog.audit.list()) == 2


@pytest.mark.parametrize(
    ("change", "found_at"),
    [
        ("UPDATE audit SET action = 'healed' WHERE id = 2", 2),
        ("UPDATE audit SET details = '{}' WHERE id = 1", 1),
        ("UPDATE audit SET details = 'no JSON' WHERE id = 2", 2),
        ("UPDATE audit SET at = 0 WHERE id = 3", 3),
        ("DELETE FROM audit WHERE id = 2", 2),
        ("DELETE FROM audit WHERE id = 1", 1),
        ("UPDATE audit SET id = CASE id WHEN 1 THEN 2 WHEN 2 THEN 1 END + 10 WHERE id < 3", 1),
    ],
)
async def test_a_changed_entry_is_noticed(catalog: Catalog, tmp_path: Path, change: str, found_at: int) -> None:
    await write(catalog, 3)
    tamper(tmp_path, change)
    assert await catalog.audit.check() == found_at


async def test_what_was_cut_off_at_the_end_is_noticed_by_a_hash_kept_elsewhere(
    catalog: Catalog, tmp_path: Path
) -> None:
    await write(catalog, 3)
    newest = await catalog.audit.newest()
    assert newest.id == 3
    tamper(tmp_path, "DELETE FROM audit WHERE id = 3")
    assert await catalog.audit.check() is None
    assert await catalog.audit.check(ChainCheck(known=newest)) == 3
    await catalog.audit.append("damaged", "something else", {})
    assert await catalog.audit.check(ChainCheck(known=newest)) == 3


@given(text=st.text(max_size=AUDIT_TEXT_CHARS_MAX + 5))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
async def test_no_text_of_a_stranger_breaks_a_line_or_the_chain(catalog: Catalog, text: str) -> None:
    await catalog.audit.append(text, text, {"name": text, text: [text]})
    [entry] = await catalog.audit.list(limit=1)
    assert entry.subject.isprintable() or not set(entry.subject) & set("\n\r\t\x00\x1b\x7f\x85\u2028\u202e")
    assert line_of(entry).isascii()
    assert line_of(entry).isprintable()
    assert len(line_of(entry)) < AUDIT_LINE_BYTES_MAX
    assert entry_from_json(line_of(entry).encode()) == entry
    assert await catalog.audit.check() is None


async def test_what_is_no_json_is_kept_as_text(catalog: Catalog, tmp_path: Path) -> None:
    await catalog.audit.append("a", "b", {"path": tmp_path, "deep": [[[[["x"]]]]]})
    [entry] = await catalog.audit.list()
    assert entry.details["path"] == str(tmp_path)
    assert await catalog.audit.check() is None


# --- in files


async def exported(catalog: Catalog, since: float = 0.0) -> list[AuditEntry]:
    return [entry async for page in catalog.audit.pages(since=since) for entry in page]


async def test_entries_can_be_had_from_a_moment_on(catalog: Catalog, clock: Clock) -> None:
    await write(catalog, 5, clock)
    assert [entry.id for entry in await exported(catalog)] == [1, 2, 3, 4, 5]
    assert [entry.id for entry in await exported(catalog, clock.now - 10)] == [4, 5]
    assert await exported(catalog, clock.now + 1) == []


async def test_an_export_is_checked_where_it_lies(catalog: Catalog, clock: Clock, tmp_path: Path) -> None:
    await write(catalog, 5, clock)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(line_of(entry) + "\n" for entry in await exported(catalog, clock.now - 10)))
    check = ChainCheck(None)
    check_file(path, check)
    assert (check.finish(), check.count, check.at) == (None, 2, await catalog.audit.newest())


def _swapped(lines: list[str]) -> list[str]:
    return [lines[0], lines[2], lines[1], *lines[3:]]


@pytest.mark.parametrize(
    ("change", "found_at"),
    [
        (_swapped, 2),
        (lambda lines: lines[1:], 1),
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], 3),
        (lambda lines: [*lines[:3], lines[3].replace("weather", "whether"), lines[4]], 4),
        (lambda lines: [*lines[:4], lines[4][:-20]], 5),
        (lambda lines: [*lines[:4], lines[4][:-1]], 5),
        (lambda lines: [lines[0], "no JSON\n"], 2),
        (lambda lines: [lines[0], '{"id": 2}\n'], 2),
        (lambda lines: [lines[0], lines[1].replace('"id":2', '"id":"2"')], 2),
        (lambda lines: [lines[0], "[" * (AUDIT_LINE_BYTES_MAX + 1) + "\n"], 2),
        (lambda lines: lines[:4], 5),
    ],
)
async def test_a_file_that_was_changed_is_noticed(
    catalog: Catalog, tmp_path: Path, change: Callable[[list[str]], list[str]], found_at: int
) -> None:
    await write(catalog, 5)
    path = tmp_path / "log.jsonl"
    path.write_text("".join(change([line_of(entry) + "\n" for entry in await exported(catalog)])))
    check = ChainCheck(known=await catalog.audit.newest())
    check_file(path, check)
    assert check.finish() == found_at


def test_a_file_that_is_not_there_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        check_file(tmp_path / "nothing", ChainCheck())
    with pytest.raises(StorageError):
        check_file(tmp_path, ChainCheck())


def test_a_number_that_is_a_truth_value_is_no_number() -> None:
    entry = entry_after(BEGINNING, at=1.0, action="a", subject="b", details={})
    with pytest.raises(MalformedInput):
        entry_from_json(line_of(entry).replace('"id":1', '"id":true').encode())


# --- archives


async def test_an_archive_takes_old_entries_out_and_the_chain_goes_on_behind_it(
    catalog: Catalog, clock: Clock, tmp_path: Path
) -> None:
    await write(catalog, 5, clock)
    first, second = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    assert await archive(catalog.audit, first, before=clock.now - 15) == 3
    assert [entry.id for entry in await catalog.audit.list()] == [6, 5, 4]
    assert (await catalog.audit.list())[0].action == ARCHIVED
    assert await catalog.audit.check() is None
    assert await archive(catalog.audit, second, before=clock.now + 1) == 3
    check = ChainCheck()
    for path in (first, second):
        check_file(path, check)
    assert check.at == await catalog.audit.archived()
    assert await catalog.audit.check(check) is None
    assert check.count == 7


async def test_an_archive_that_was_changed_no_longer_joins_the_log(
    catalog: Catalog, clock: Clock, tmp_path: Path
) -> None:
    await write(catalog, 5, clock)
    path = tmp_path / "1.jsonl"
    await archive(catalog.audit, path, before=clock.now + 1)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]))
    check = ChainCheck()
    check_file(path, check)
    assert await catalog.audit.check(check) == 5


async def test_nothing_to_archive_leaves_no_file(catalog: Catalog, clock: Clock, tmp_path: Path) -> None:
    await write(catalog, 1)
    assert await archive(catalog.audit, tmp_path / "1.jsonl", before=clock.now - 100) == 0
    assert not (tmp_path / "1.jsonl").exists()


async def test_a_broken_log_is_not_archived(catalog: Catalog, clock: Clock, tmp_path: Path) -> None:
    await write(catalog, 3)
    tamper(tmp_path, "UPDATE audit SET subject = 'b' WHERE id = 2")
    with pytest.raises(HashMismatch, match="entry 2"):
        await archive(catalog.audit, tmp_path / "1.jsonl", before=clock.now + 1)
    assert len(await catalog.audit.list()) == 3


async def test_a_file_is_never_written_over(catalog: Catalog, clock: Clock, tmp_path: Path) -> None:
    await write(catalog, 1)
    (tmp_path / "1.jsonl").write_text("mine")
    with pytest.raises(StorageError, match="cannot be made"):
        await archive(catalog.audit, tmp_path / "1.jsonl", before=clock.now + 1)
    assert (tmp_path / "1.jsonl").read_text() == "mine"


async def test_entries_are_not_archived_twice(catalog: Catalog, clock: Clock, tmp_path: Path) -> None:
    await write(catalog, 3)
    await archive(catalog.audit, tmp_path / "1.jsonl", before=clock.now + 1)
    with pytest.raises(Conflict):
        await catalog.audit.drop_archived(first=1, last=ChainPlace(2, "f"), file_hash="f")
    assert await catalog.audit.check() is None
