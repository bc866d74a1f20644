"""Single objects: from stores with and without files, honest and not."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from opendatafabric.errors import ObjectNotFound, PeerUnavailable
from opendatafabric.layout import checkpoint_key
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.multihash import physical_hash
from storage.local.objects import LocalObjectStore
from storage.memory import MemoryObjectStore
from storage.values import ByteRange, ObjectInfo
from verify.objects import ObjectTask, check_object
from verify.report import Severity

DATA = b"state of an engine"


def task_of(data: bytes) -> ObjectTask:
    name = physical_hash(data)
    return ObjectTask(checkpoint_key(name), name, 5, physical_hash(b"block"), len(data))


def memory_with(data: bytes, stored: bytes | None = None) -> MemoryObjectStore:
    store = MemoryObjectStore()
    store.objects[task_of(data).key] = data if stored is None else stored
    return store


@pytest.mark.parametrize("size", [0, 1, READ_CHUNK_BYTES - 1, READ_CHUNK_BYTES, READ_CHUNK_BYTES + 1])
async def test_sound_objects_of_any_size_give_nothing(size: int, tmp_path: Path) -> None:
    data = bytes(size)
    task = task_of(data)
    path = tmp_path / task.key
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    for store in (memory_with(data), LocalObjectStore(tmp_path)):
        outcome = await check_object(store, task)
        assert (outcome.findings, outcome.bytes_read) == ([], size)


async def test_a_finding_names_block_and_object() -> None:
    outcome = await check_object(MemoryObjectStore(), task_of(DATA))
    (finding,) = outcome.findings
    assert (finding.code, finding.sequence_number, finding.block_hash, finding.object_key) == (
        "object-missing",
        5,
        physical_hash(b"block"),
        task_of(DATA).key,
    )


async def test_other_bytes_of_the_same_size_are_damage() -> None:
    (finding,) = (await check_object(memory_with(DATA, DATA[:-1] + b"?"), task_of(DATA))).findings
    assert (finding.code, finding.expected) == ("object-damaged", str(physical_hash(DATA)))
    assert finding.hint is None


async def test_an_object_of_a_damaged_block_is_judged_by_its_name_alone() -> None:
    task = replace(task_of(DATA), size=None)
    assert (await check_object(memory_with(DATA), task)).findings == []
    assert [each.code for each in (await check_object(memory_with(DATA, b"x"), task)).findings] == ["object-damaged"]


class Lying(MemoryObjectStore):
    """Announces fewer bytes than it sends."""

    async def stat(self, key: str) -> ObjectInfo:
        return replace(await super().stat(key), size=3)


class Vanishing(MemoryObjectStore):
    """Loses the object between looking and reading."""

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        del self.objects[key]
        async for piece in super().stream(key, byte_range):
            yield piece


class Breaking(MemoryObjectStore):
    """Goes away in the middle."""

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        yield self.objects[key][:3]
        raise PeerUnavailable("the connection was lost")


@pytest.mark.parametrize(
    ("store", "code", "severity"),
    [
        (Lying(), "object-unreadable", Severity.UNCHECKED),
        (Vanishing(), "object-missing", Severity.DAMAGE),
        (Breaking(), "object-unreadable", Severity.UNCHECKED),
    ],
    ids=["lying", "vanishing", "breaking"],
)
async def test_stores_that_fail_in_the_middle_make_findings(
    store: MemoryObjectStore, code: str, severity: Severity
) -> None:
    store.objects[task_of(DATA).key] = DATA
    (finding,) = (await check_object(store, task_of(DATA))).findings
    assert (finding.code, finding.severity) == (code, severity)


async def test_a_file_that_may_not_be_read_is_unchecked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = task_of(DATA)
    path = tmp_path / task.key
    path.parent.mkdir(parents=True)
    path.write_bytes(DATA)

    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("storage.local.durable.open_plain", refuse)
    (finding,) = (await check_object(LocalObjectStore(tmp_path), task)).findings
    assert (finding.code, finding.severity) == ("object-unreadable", Severity.UNCHECKED)
    assert str(tmp_path) not in finding.message


async def test_a_link_in_place_of_an_object_is_not_followed(tmp_path: Path) -> None:
    task = task_of(DATA)
    outside = tmp_path / "outside"
    outside.write_bytes(DATA)
    path = tmp_path / "dataset" / task.key
    path.parent.mkdir(parents=True)
    path.symlink_to(outside)
    (finding,) = (await check_object(LocalObjectStore(tmp_path / "dataset"), task)).findings
    assert finding.code in {"object-missing", "object-unreadable"}


async def test_missing_says_the_same_whoever_tells_it() -> None:
    class Absent(MemoryObjectStore):
        async def stat(self, key: str) -> ObjectInfo:
            raise ObjectNotFound(f"{key} is gone")

    assert [each.code for each in (await check_object(Absent(), task_of(DATA))).findings] == ["object-missing"]
