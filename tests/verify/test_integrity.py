"""Whole datasets verified: sound ones are valid, and every kind of damage is found, named, and hides nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import StorageError
from opendatafabric.layout import block_key
from opendatafabric.metadata.events import AddData, SetInfo
from opendatafabric.metadata.slices import OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore
from storage.values import ByteRange
from tests.verify.damage import (
    DATASETS,
    Made,
    copied,
    files_of,
    folder_id,
    in_folder,
    in_memory,
    moment,
    parquet,
    records,
    small_dataset,
)
from verify.integrity import verify_integrity
from verify.report import Report, Severity, Verdict

GOLDEN = [folder for folder in DATASETS if folder.parent.name == "datasets"]
every_dataset = pytest.mark.parametrize("folder", DATASETS, ids=folder_id)
golden_dataset = pytest.mark.parametrize("folder", GOLDEN, ids=folder_id)
POSITIONS = (0.0, 0.3, 0.7, 1.0)


def verified(dataset: Dataset) -> Report:
    return asyncio.run(verify_integrity(dataset))


def codes(report: Report) -> list[str]:
    return sorted(finding.code for finding in report.findings)


def flipped(data: bytes, position: int, mask: int) -> bytes:
    return data[:position] + bytes([data[position] ^ mask]) + data[position + 1 :]


@every_dataset
async def test_datasets_of_the_reference_are_valid(folder: Path) -> None:
    report = await verify_integrity(in_folder(folder))
    assert report.verdict is Verdict.VALID, report.as_text()
    assert [finding for finding in report.findings if finding.severity is not Severity.WARNING] == []
    blocks, objects = (
        len([key for key in files_of(folder) if key.startswith(top)]) for top in (("blocks",), ("data", "checkpoints"))
    )
    assert (report.counts.blocks, report.counts.objects) == (blocks, objects)


@golden_dataset
async def test_the_same_holds_in_a_store_without_files(folder: Path) -> None:
    dataset, _ = in_memory(folder)
    on_disk = await verify_integrity(in_folder(folder))
    assert (await verify_integrity(dataset)).as_dict() == on_disk.as_dict()


@golden_dataset
async def test_one_flipped_byte_anywhere_is_found_and_named(folder: Path, tmp_path: Path) -> None:
    copy = copied(folder, tmp_path)
    for key in files_of(folder):
        sound = (copy / key).read_bytes()
        for share, mask in zip(POSITIONS, (0x01, 0x20, 0x80, 0xFF), strict=True):
            damaged = flipped(sound, int(share * (len(sound) - 1)), mask)
            (copy / key).write_bytes(damaged)
            report = await verify_integrity(in_folder(copy))
            assert report.verdict is Verdict.INVALID, (key, share)
            assert key in {finding.object_key for finding in report.findings}, (key, share, report.as_text())
        (copy / key).write_bytes(sound)


async def test_every_bit_of_a_ref_counts(tmp_path: Path) -> None:
    folder = GOLDEN[0]
    copy = copied(folder, tmp_path)
    sound = (folder / "refs/head").read_bytes()
    for position in range(len(sound)):
        for bit in range(8):
            (copy / "refs/head").write_bytes(flipped(sound, position, 1 << bit))
            report = await verify_integrity(in_folder(copy))
            assert "refs/head" in {finding.object_key for finding in report.findings}, (position, bit)


@given(st.sampled_from(GOLDEN), st.data())
def test_any_flipped_bit_of_a_block_or_object_is_found_and_named(folder: Path, data: st.DataObject) -> None:
    dataset, store = in_memory(folder)
    key = data.draw(st.sampled_from(sorted(store.objects)))
    position = data.draw(st.integers(0, len(store.objects[key]) - 1))
    store.objects[key] = flipped(store.objects[key], position, 1 << data.draw(st.integers(0, 7)))
    report = verified(dataset)
    assert report.verdict is Verdict.INVALID
    assert key in {finding.object_key for finding in report.findings}


@golden_dataset
async def test_a_lost_object_is_a_finding_and_the_rest_is_checked(folder: Path) -> None:
    whole = await verify_integrity(in_folder(folder))
    for key in files_of(folder):
        if key.startswith("data/"):
            dataset, store = in_memory(folder)
            del store.objects[key]
            report = await verify_integrity(dataset)
            assert [(finding.code, finding.object_key) for finding in report.findings] == [("object-missing", key)]
            assert report.counts.blocks == whole.counts.blocks
            assert report.counts.objects == whole.counts.objects
            assert report.verdict is Verdict.INVALID


@golden_dataset
async def test_a_lost_block_does_not_hide_the_blocks_before_it(folder: Path) -> None:
    whole = await verify_integrity(in_folder(folder))
    for key in files_of(folder):
        if key.startswith("blocks/"):
            dataset, store = in_memory(folder)
            del store.objects[key]
            report = await verify_integrity(dataset)
            assert (key, "block-missing") in {(finding.object_key, finding.code) for finding in report.findings}
            assert not [finding for finding in report.findings if finding.code.startswith("rule-")], report.as_text()
            assert report.counts.blocks == whole.counts.blocks - 1


@golden_dataset
async def test_a_damaged_block_does_not_hide_the_blocks_before_it(folder: Path) -> None:
    whole = await verify_integrity(in_folder(folder))
    for key in files_of(folder):
        if key.startswith("blocks/"):
            dataset, store = in_memory(folder)
            data = store.objects[key]
            for position in range(0, len(data), len(data) // 6):
                store.objects[key] = flipped(data, position, 0x10)
                report = await verify_integrity(dataset)
                assert key in {finding.object_key for finding in report.findings}
                assert report.counts.blocks == whole.counts.blocks, report.as_text()


async def test_a_dataset_without_a_head_is_invalid() -> None:
    report = await verify_integrity(Dataset(MemoryObjectStore(), Made.root().refs.__class__()))
    assert codes(report) == ["head-missing"]
    assert report.verdict is Verdict.INVALID


async def test_a_head_that_points_nowhere_is_named_and_the_chain_is_checked_all_the_same() -> None:
    made = small_dataset()
    made.refs.heads["head"] = physical_hash(b"nothing")
    report = await verify_integrity(made.dataset)
    assert codes(report) == ["block-missing", "ref-dangling"]
    assert report.counts.blocks == 4
    assert report.counts.records == 6


async def test_another_ref_that_points_nowhere_is_named() -> None:
    made = small_dataset()
    made.refs.heads["staging"] = physical_hash(b"nothing")
    report = await verify_integrity(made.dataset)
    assert [(finding.code, finding.object_key) for finding in report.findings] == [("ref-dangling", "refs/staging")]


async def test_where_two_blocks_could_be_the_lost_one_the_rest_is_unchecked_and_said_to_be() -> None:
    made = Made.root()
    orphan = made.state
    first = made.add(SetInfo("one"))
    made.add(SetInfo("two"))
    lost = made.add(SetInfo("three"))
    made.add(SetInfo("four"))
    fork = Made(made.dataset, made.objects, made.refs.__class__(), orphan)
    fork.add(SetInfo("other one"))
    fork.add(SetInfo("other two"))
    del made.objects.objects[block_key(lost.hash)]
    report = await verify_integrity(made.dataset)
    assert codes(report) == ["block-missing", "chain-interrupted"]
    assert report.counts.blocks == 1
    assert first.hash not in {finding.block_hash for finding in report.findings}


async def test_a_broken_rule_is_a_finding_with_its_id() -> None:
    made = small_dataset()
    bad = made.add(AddData(prev_offset=1, new_watermark=moment(59)))
    report = await verify_integrity(made.dataset)
    (finding,) = report.findings
    assert (finding.code, finding.block_hash, finding.sequence_number) == ("rule-p4", bad.hash, 4)
    assert (finding.expected, finding.found) == ("5", "1")


async def test_a_checkpoint_of_a_block_without_data_is_checked_too() -> None:
    made = small_dataset()
    key = made.add_checkpoint(b"state")
    assert (await verify_integrity(made.dataset)).verdict is Verdict.VALID
    made.objects.objects[key] = b"other"
    assert codes(await verify_integrity(made.dataset)) == ["object-damaged"]


async def test_records_encoded_again_are_damage_to_the_object_and_said_to_be_intact() -> None:
    made = small_dataset()
    key = next(key for key in made.objects.objects if key.startswith("data/"))
    made.objects.objects[key] = parquet(records(0, ["a", None, "c"]), compression="none", use_dictionary=False)
    report = await verify_integrity(made.dataset)
    assert codes(report) == ["object-damaged", "object-size-differs"]
    damaged = next(finding for finding in report.findings if finding.code == "object-damaged")
    assert damaged.hint is not None
    assert "intact" in damaged.hint


async def test_sound_bytes_with_another_logical_hash_are_found() -> None:
    made = small_dataset()
    other = Multihash(HashCodec.ARROW0_SHA3_256, bytes(32))
    key = made.add_data(records(6, ["x"], seconds=[9]), OffsetInterval(6, 6), logical_hash=other)
    report = await verify_integrity(made.dataset)
    assert [(finding.code, finding.object_key) for finding in report.findings] == [("records-differ", key)]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        pytest.param(records(6, ["x"], seconds=[9]), ["record-count-differs"], id="fewer records"),
        pytest.param(records(7, ["x", "y"], seconds=[9, 9]), ["offsets-differ"], id="other offsets"),
        pytest.param(
            records(6, ["x", "y"], seconds=[9, 9], offset=pa.array([6, None], pa.int64())),
            ["offsets-differ"],
            id="an offset that is null",
        ),
        pytest.param(
            records(6, ["x", "y"], seconds=[9, 9], city=pa.array([1, 2], pa.int64())), ["schema-differs"], id="type"
        ),
        pytest.param(
            records(6, ["x", "y"], seconds=[9, 9]).rename_columns(
                ["offset", "op", "system_time", "event_time", "town"]
            ),
            ["schema-differs"],
            id="name",
        ),
        pytest.param(
            records(6, ["x", "y"], seconds=[9, 9]).select(["op", "offset", "system_time", "event_time", "city"]),
            ["schema-differs"],
            id="order",
        ),
    ],
)
async def test_records_that_are_not_what_their_block_says_are_found_one_by_one(
    table: pa.Table, expected: list[str]
) -> None:
    made = small_dataset()
    made.add_data(table, OffsetInterval(6, 7))
    assert codes(await verify_integrity(made.dataset)) == expected


async def test_a_size_that_is_not_the_objects_is_found() -> None:
    made = small_dataset()
    made.add_data(records(6, ["x"], seconds=[9]), OffsetInterval(6, 6), size=1)
    assert codes(await verify_integrity(made.dataset)) == ["object-size-differs"]


async def test_an_odd_watermark_is_a_warning_and_leaves_the_dataset_valid() -> None:
    made = small_dataset()
    data = parquet(records(6, ["x"], seconds=[9]))
    donor = small_dataset()
    donor.add_data(records(6, ["x"], seconds=[9]), OffsetInterval(6, 6))
    event = donor.state.data
    assert isinstance(event, AddData)
    made.put_data(replace(event, new_watermark=moment(50)), data)
    report = await verify_integrity(made.dataset)
    assert codes(report) == ["watermark-differs"]
    assert report.verdict is Verdict.VALID


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"PAR1",
        b"PAR1" + bytes(100) + b"PAR1",
        b"PAR1" + b"\xff" * 64 + (2**31 - 1).to_bytes(4, "little") + b"PAR1",
        parquet(records(6, ["x"], seconds=[9]))[:-20],
    ],
    ids=["empty", "magic alone", "zeros", "huge footer", "cut off"],
)
async def test_a_slice_that_is_no_parquet_is_never_valid(raw: bytes) -> None:
    made = small_dataset()
    key = made.add_data(records(6, ["x"], seconds=[9]), OffsetInterval(6, 6), raw=raw)
    report = await verify_integrity(made.dataset)
    assert [(finding.code, finding.object_key) for finding in report.findings] == [("records-unreadable", key)]
    assert report.verdict is not Verdict.VALID


class Failing(MemoryObjectStore):
    """A store whose medium fails for one key."""

    def __init__(self, sound: MemoryObjectStore, key: str) -> None:
        super().__init__()
        self.objects, self.broken_key = sound.objects, key

    async def read(self, key: str, *, size_max: int = 1 << 24) -> bytes:
        self.fail_on(key)
        return await super().read(key, size_max=size_max)

    async def stream(self, key: str, byte_range: ByteRange | None = None) -> AsyncIterator[bytes]:
        self.fail_on(key)
        async for piece in super().stream(key, byte_range):
            yield piece

    def fail_on(self, key: str) -> None:
        if key == self.broken_key:
            raise StorageError(f"{key}: input/output error")


@pytest.mark.parametrize("top", ["data/", "blocks/"])
async def test_what_cannot_be_read_is_unchecked_and_not_damage(top: str) -> None:
    made = small_dataset()
    key = sorted(key for key in made.objects.objects if key.startswith(top))[0]
    report = await verify_integrity(Dataset(Failing(made.objects, key), made.refs))
    assert report.verdict is Verdict.ERROR, report.as_text()
    assert (key, Severity.UNCHECKED) in {(finding.object_key, finding.severity) for finding in report.findings}


async def test_a_damaged_ref_beside_the_head_is_named(tmp_path: Path) -> None:
    copy = copied(GOLDEN[0], tmp_path)
    (copy / "refs/staging").write_text("nothing")
    report = await verify_integrity(in_folder(copy))
    assert codes(report) == ["ref-damaged"]
    assert "refs/staging" in report.findings[0].message


async def test_progress_ends_with_everything_done() -> None:
    calls: list[tuple[str, int, int | None]] = []
    await verify_integrity(small_dataset().dataset, progress=lambda *call: calls.append(call))
    assert ("blocks", 4, 4) in calls
    assert ("objects", 2, 2) in calls


async def test_the_event_loop_goes_on_while_a_dataset_is_verified() -> None:
    made = Made.root()
    for number in range(2_000):
        made.add(SetInfo(str(number)))
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0)
            ticks += 1

    ticking = asyncio.create_task(tick())
    report = await verify_integrity(made.dataset)
    ticking.cancel()
    assert report.counts.blocks == 2_001
    assert report.verdict is Verdict.VALID
    assert ticks > 5


async def test_findings_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("verify.report.FINDINGS_MAX", 2)
    made = Made.root()
    for number in range(5):
        made.add(SetInfo(str(number)), sequence_number=40)
    report = await verify_integrity(made.dataset)
    assert len(report.findings) == 2
    assert report.omitted > 0
    assert report.verdict is Verdict.INVALID
