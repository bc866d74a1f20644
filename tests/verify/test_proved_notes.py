"""A long run that was broken off goes on where it was; whatever changed since is proved anew."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from opendatafabric.errors import BlockNotFound
from opendatafabric.multihash import physical_hash
from tests.verify.damage import DATASETS, copied, in_folder
from tests.verify.test_integrity import codes
from verify.integrity import Extent, verify_integrity
from verify.object_checks import ObjectChecks
from verify.objects import ObjectOutcome, ObjectTask
from verify.proved_notes import NOTES_AGE_S_MAX, ProvedNotes, state_of
from verify.report import Report, Verdict

WEATHER = next(each for each in DATASETS if each.name == "us.noaa.seattle-weather")
PLACE = "the dataset"


class BrokenOff(Exception):  # noqa: N818
    """As kill -9 does it: nothing is tidied up."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A dataset; every one is large, and is checked in threads."""
    monkeypatch.setattr(ObjectChecks, "is_large", property(lambda _: True))
    return copied(WEATHER, tmp_path)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The objects that are read; after the first one a run is broken off, once."""
    keys: list[str] = []

    async def check(self: ObjectChecks, task: ObjectTask) -> ObjectOutcome:
        keys.append(task.key)
        if len(keys) == 2:
            raise BrokenOff
        return ObjectOutcome(records=730)

    monkeypatch.setattr(ObjectChecks, "check", check)
    return keys


def notes(folder: Path, *, fresh: bool = False, later_s: float = 0.0) -> ProvedNotes:
    now = time.time() + later_s
    return ProvedNotes(folder.parent / "notes", PLACE, fresh=fresh, now=lambda: now)


async def run(folder: Path, **options: object) -> Report:
    return await verify_integrity(in_folder(folder), parallel=1, extent=Extent(notes=notes(folder, **options)))  # type: ignore[arg-type]


async def broken_off(folder: Path) -> None:
    with pytest.raises(ExceptionGroup) as failed:
        await run(folder)
    assert failed.group_contains(BrokenOff)


async def test_what_was_proved_is_not_read_again(folder: Path, read: list[str]) -> None:
    await broken_off(folder)
    report = await run(folder)
    assert sorted(read[:1] + read[2:]) == sorted({*read})
    assert (report.verdict, report.counts.objects, report.counts.proved_before) == (Verdict.VALID, 2, 1)
    assert report.counts.records == 2 * 730


async def test_a_run_that_came_to_its_end_leaves_no_notes(folder: Path, read: list[str]) -> None:
    await broken_off(folder)
    await run(folder)
    assert not list((folder.parent / "notes").iterdir())
    before = len(read)
    assert (await run(folder)).counts.proved_before == 0
    assert len(read) == before + 2


async def test_fresh_runs_ask_no_notes(folder: Path, read: list[str]) -> None:
    await broken_off(folder)
    assert (await run(folder, fresh=True)).counts.proved_before == 0


async def test_old_notes_tell_nothing(folder: Path, read: list[str]) -> None:
    await broken_off(folder)
    assert (await run(folder, later_s=NOTES_AGE_S_MAX + 3_600)).counts.proved_before == 0


@pytest.mark.parametrize("change", ["bytes", "time", "file"])
async def test_a_file_that_changed_in_any_way_is_read_again(folder: Path, read: list[str], change: str) -> None:
    await broken_off(folder)
    path = folder / read[0]
    if change == "bytes":
        path.write_bytes(path.read_bytes()[::-1])
    elif change == "time":
        os.utime(path, ns=(1, 1))
    else:
        other = path.with_name("other")
        other.write_bytes(path.read_bytes())
        other.replace(path)
    assert (await run(folder)).counts.proved_before == 0


async def test_the_same_object_of_another_block_is_read_again(folder: Path) -> None:
    made = notes(folder)
    name = physical_hash(b"x")
    task = ObjectTask(f"data/{name}", name, 1, physical_hash(b"block"), 1)
    made.add(task, "1-2-3-4", 9)
    made.load()
    assert made.records_of(task, "1-2-3-4") == 9
    assert made.records_of(task, "1-2-3-5") is None
    other = ObjectTask(task.key, name, 1, physical_hash(b"another block"), 1)
    assert made.records_of(other, "1-2-3-4") is None


@pytest.mark.parametrize("damaged", [b"\xff\xfe", b"a b c\n\n", b"a b c d e\n", b"a b c -1\n", "a b c ²\n".encode()])
async def test_damaged_notes_tell_nothing(folder: Path, damaged: bytes) -> None:
    made = notes(folder)
    name = physical_hash(b"x")
    task = ObjectTask(f"data/{name}", name, 1, physical_hash(b"block"), 1)
    made.add(task, "s", 9)
    (file,) = (folder.parent / "notes").iterdir()
    file.write_bytes(damaged)
    made.load()
    assert made.records_of(task, "s") is None
    assert (await run(folder)).verdict is Verdict.VALID


async def test_what_has_a_finding_is_never_noted(folder: Path) -> None:
    path = min((folder / "data").iterdir())
    path.write_bytes(b"no slice")
    made = notes(folder)
    await verify_integrity(in_folder(folder), parallel=1, extent=Extent(notes=made))
    made.load()
    assert not made._known
    assert "object-damaged" in codes(await run(folder))


async def test_notes_that_cannot_be_written_are_no_failure(folder: Path) -> None:
    (folder.parent / "notes").write_text("in the way")
    assert (await run(folder)).verdict is Verdict.VALID


async def test_the_folder_of_the_notes_is_for_its_owner_alone(folder: Path, read: list[str]) -> None:
    await broken_off(folder)
    assert (folder.parent / "notes").stat().st_mode & 0o077 == 0


def test_where_there_is_no_file_there_is_no_state(folder: Path) -> None:
    objects = in_folder(folder).objects
    assert state_of(objects, f"data/{physical_hash(b'none')}") is None
    assert state_of(objects, f"data/{min((folder / 'data').iterdir()).name}") is not None


async def test_only_objects_after_a_block_are_checked_since_it(folder: Path) -> None:
    first, second = [block async for block in data_blocks(folder)]
    for name in (folder / "data").iterdir():
        name.write_bytes(b"no slice")
    report = await verify_integrity(in_folder(folder), extent=Extent(since=first.hash))
    assert report.counts.objects == 1
    assert {finding.block_hash for finding in report.findings} == {second.hash}
    assert (await verify_integrity(in_folder(folder), extent=Extent(since=report.head))).counts.objects == 0


async def test_a_block_that_is_not_on_the_chain_is_refused(folder: Path) -> None:
    with pytest.raises(BlockNotFound):
        await verify_integrity(in_folder(folder), extent=Extent(since=physical_hash(b"none")))


async def data_blocks(folder: Path):  # type: ignore[no-untyped-def]
    dataset = in_folder(folder)
    head = await dataset.head()
    assert head is not None
    blocks = [block async for batch in dataset.walk(head) for block in batch]
    for block in reversed(blocks):
        if getattr(block.event, "new_data", None) is not None:
            yield block
