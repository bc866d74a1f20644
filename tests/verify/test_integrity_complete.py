"""Every check of integrity alone: a chain that is sound but for one thing, and that one thing is found and named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa
import pytest

from opendatafabric.layout import block_key, checkpoint_key
from opendatafabric.metadata.events import AddData, SetInfo, SetVocab
from opendatafabric.metadata.slices import Checkpoint, OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from tests.verify.damage import SCHEMA, Made, moment, parquet, records, small_dataset
from verify.integrity import verify_integrity
from verify.report import Severity, Verdict

NOTHING = physical_hash(b"nothing")
STAMP = pa.timestamp("ms", "UTC")


@dataclass(frozen=True)
class Flaw:
    """What breaks a sound dataset, and the findings that tell it."""

    breaks: Callable[[Made], object]
    codes: tuple[str, ...]
    offset: int | None = None
    column: str | None = None


def system_times(*seconds: int) -> pa.Array:
    return pa.array([datetime(2024, 1, 1, 0, 0, second, tzinfo=UTC) for second in seconds], STAMP)


def add(made: Made, last: int = 7, **columns: pa.Array) -> None:
    """Two more records, of which columns may be others."""
    made.add_data(records(6, ["x", "y"], seconds=[9, 9], **columns), OffsetInterval(6, last))


def a_key(made: Made, folder: str) -> str:
    return sorted(key for key in made.objects.objects if key.startswith(folder))[0]


def damage(made: Made, key: str) -> None:
    made.objects.objects[key] = bytes([made.objects.objects[key][0] ^ 1]) + made.objects.objects[key][1:]


def checkpoint(made: Made, *, stored: bytes | None, size: int = 5, with_data: bool = False) -> None:
    """A block that leaves one, and sound data or none beside it."""
    name = physical_hash(b"state")
    if stored is not None:
        made.objects.objects[checkpoint_key(name)] = stored
    event = AddData(prev_offset=5, new_checkpoint=Checkpoint(name, size), new_watermark=made.state.watermark)
    if not with_data:
        made.add(event)
        return
    other = small_dataset()
    add(other)
    assert isinstance(other.state.data, AddData)
    data = parquet(records(6, ["x", "y"], seconds=[9, 9]))
    made.put_data(replace(other.state.data, new_checkpoint=event.new_checkpoint), data)


def columns_of(table: pa.Table) -> Callable[[Made], object]:
    return lambda made: made.add_data(table, OffsetInterval(6, 7))


TWO = records(6, ["x", "y"], seconds=[9, 9])
FLAWS = {
    "stored block bytes": Flaw(lambda made: damage(made, a_key(made, "blocks/")), ("block-damaged",)),
    "a block that is not there": Flaw(
        lambda made: made.objects.objects.pop(a_key(made, "blocks/")), ("block-missing",)
    ),
    "a link to no block": Flaw(lambda made: made.add(SetInfo("x"), prev_block_hash=NOTHING), ("block-missing",)),
    "a sequence number": Flaw(lambda made: made.add(SetInfo("x"), sequence_number=9), ("rule-p1",)),
    "the order of system times of blocks": Flaw(
        lambda made: made.add(SetInfo("x"), system_time=moment(9)), ("rule-p2",)
    ),
    "a rule of the chain": Flaw(lambda made: made.add(SCHEMA), ("rule-s4",)),
    "a watermark that shrinks": Flaw(
        lambda made: made.add(AddData(prev_offset=5, new_watermark=moment(1))), ("rule-p3",)
    ),
    "offsets that leave a gap between blocks": Flaw(
        lambda made: made.put_data(
            AddData(prev_offset=7, new_data=sliced(8), new_watermark=moment(9)), parquet(records(8, ["x"], seconds=[9]))
        ),
        ("rule-p4",),
    ),
    "offsets that do not count on in a block": Flaw(
        lambda made: made.put_data(
            AddData(prev_offset=5, new_data=sliced(8), new_watermark=moment(9)), parquet(records(8, ["x"], seconds=[9]))
        ),
        ("rule-b7",),
    ),
    "a ref": Flaw(lambda made: made.refs.heads.update(staging=NOTHING), ("ref-dangling",)),
    "closure: a slice": Flaw(lambda made: made.objects.objects.pop(a_key(made, "data/")), ("object-missing",)),
    "closure: a checkpoint": Flaw(lambda made: checkpoint(made, stored=None, with_data=True), ("object-missing",)),
    "closure: a checkpoint of a block without data": Flaw(
        lambda made: checkpoint(made, stored=None), ("object-missing",)
    ),
    "the size of a slice": Flaw(
        lambda made: made.add_data(TWO, OffsetInterval(6, 7), size=1), ("object-size-differs",)
    ),
    "the size of a checkpoint": Flaw(lambda made: checkpoint(made, stored=b"state", size=4), ("object-size-differs",)),
    "the bytes of a checkpoint": Flaw(
        lambda made: checkpoint(made, stored=b"other", with_data=True), ("object-damaged",)
    ),
    "the bytes of a checkpoint of a block without data": Flaw(
        lambda made: checkpoint(made, stored=b"other"), ("object-damaged",)
    ),
    "the logical hash of a slice": Flaw(
        lambda made: made.add_data(
            TWO, OffsetInterval(6, 7), logical_hash=Multihash(HashCodec.ARROW0_SHA3_256, bytes(32))
        ),
        ("records-differ",),
    ),
    "the number of records": Flaw(lambda made: add(made, last=8), ("record-count-differs",)),
    "offsets inside a slice": Flaw(
        lambda made: add(made, offset=pa.array([6, 8], pa.int64())), ("offsets-differ",), column="offset"
    ),
    "the type of a column": Flaw(lambda made: add(made, city=pa.array([1, 2], pa.int64())), ("schema-differs",)),
    "a column too many": Flaw(columns_of(TWO.append_column("more", TWO.column("city"))), ("schema-differs",)),
    "a column too few": Flaw(columns_of(TWO.drop_columns(["city"])), ("schema-differs",)),
    "the order of columns": Flaw(
        columns_of(TWO.select(["op", "offset", "system_time", "event_time", "city"])), ("schema-differs",)
    ),
    "records that came after their block": Flaw(
        lambda made: add(made, system_time=system_times(10, 11)), ("system-time-out-of-order",), 7, "system_time"
    ),
    "records that came before those of the block before": Flaw(
        lambda made: add(made, system_time=system_times(9, 10)), ("system-time-out-of-order",), 6, "system_time"
    ),
}  # fmt: skip


def sliced(start: int) -> object:
    """One sound record at that offset."""
    other = Made.root()
    other.add(SCHEMA)
    other.add_data(records(start, ["x"], seconds=[9]), OffsetInterval(start, start))
    assert isinstance(other.state.data, AddData)
    return other.state.data.new_data


@pytest.mark.parametrize("name", FLAWS)
async def test_what_alone_is_wrong_is_found_and_nothing_else_is(name: str) -> None:
    made, flaw = small_dataset(), FLAWS[name]
    flaw.breaks(made)
    report = await verify_integrity(made.dataset)
    damages = [finding for finding in report.findings if finding.severity is Severity.DAMAGE]
    assert {finding.code for finding in damages} == set(flaw.codes), report.as_text()
    assert report.verdict is Verdict.INVALID
    assert (damages[0].offset, damages[0].column) == (flaw.offset, flaw.column)
    assert damages[0].block_hash is not None or damages[0].object_key == "refs/staging"


async def test_the_dataset_that_is_broken_is_sound() -> None:
    report = await verify_integrity(small_dataset().dataset)
    assert (report.verdict, report.findings) == (Verdict.VALID, [])


async def test_records_of_an_earlier_time_in_the_right_order_are_odd_and_allowed() -> None:
    made = Made.root()
    made.add(SCHEMA)
    made.add_data(records(0, ["a", "b"], system_time=system_times(8, 9)), OffsetInterval(0, 1))
    report = await verify_integrity(made.dataset)
    (finding,) = report.findings
    assert (finding.code, finding.severity, finding.offset) == ("system-time-differs", Severity.WARNING, 0)
    assert finding.found == "2024-01-01T00:00:08Z to 2024-01-01T00:00:09Z"


async def test_the_column_of_system_times_is_the_one_of_the_vocabulary() -> None:
    made = Made.root()
    made.add(SetVocab(system_time_column="arrived"))
    renamed = records(0, ["a"], system_time=system_times(11)).rename_columns(
        ["offset", "op", "arrived", "event_time", "city"]
    )
    made.add_data(renamed, OffsetInterval(0, 0))
    report = await verify_integrity(made.dataset)
    assert ("system-time-out-of-order", "arrived") in {(each.code, each.column) for each in report.findings}


async def test_behind_a_gap_only_what_is_known_is_compared() -> None:
    made = small_dataset()
    lost = made.add(SetInfo("x"))
    add(made, system_time=system_times(9, 10))
    del made.objects.objects[block_key(lost.hash)]
    codes = {finding.code for finding in (await verify_integrity(made.dataset)).findings}
    assert "block-missing" in codes
