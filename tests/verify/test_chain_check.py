"""Blocks judged one after another, gaps included."""

from __future__ import annotations

import pytest

from opendatafabric.errors import BlockNotFound, LimitExceeded, StorageError
from opendatafabric.limits import OBJECT_BYTES_MAX
from opendatafabric.metadata.events import AddData, SetInfo
from opendatafabric.metadata.slices import Checkpoint, OffsetInterval
from opendatafabric.multihash import physical_hash
from tests.verify.damage import SCHEMA, Made, moment, records
from verify.chain_check import ChainCheck
from verify.chain_reading import StoredBlock
from verify.report import Check, Finding, Severity


class Chain:
    """Blocks of a small root, oldest first, as they lie in the store."""

    def __init__(self) -> None:
        self.made = Made.root()
        self.made.add(SCHEMA)
        self.made.add_data(records(0, ["a", "b"]), OffsetInterval(0, 1))
        self.made.add_data(records(2, ["c", "d"], seconds=[2, 3]), OffsetInterval(2, 3))
        self.made.add(SetInfo("end"))
        found = [raw for key, raw in self.made.objects.objects.items() if key.startswith("blocks/")]
        self.stored = [StoredBlock(physical_hash(raw), raw) for raw in found]

    def replaced(self, position: int, stored: StoredBlock) -> list[StoredBlock]:
        return [*self.stored[:position], stored, *self.stored[position + 1 :]]


def findings_of(stored: list[StoredBlock], *, complete: bool = True) -> list[Finding]:
    return ChainCheck(complete=complete).check(stored).findings


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_a_sound_chain_gives_the_tasks_of_its_objects_and_nothing_else() -> None:
    outcome = ChainCheck(complete=True).check(Chain().stored)
    assert outcome.findings == []
    assert [task.sequence_number for task in outcome.tasks] == [2, 3]
    claims = [task.claims for task in outcome.tasks]
    assert [each.watermark_before for each in claims if each] == [None, moment(1)]
    assert all(each is not None and each.schema == SCHEMA for each in claims)


def test_it_makes_no_difference_how_the_chain_is_cut_into_batches() -> None:
    chain = Chain()
    check = ChainCheck(complete=True)
    assert [finding for stored in chain.stored for finding in check.check([stored]).findings] == []
    assert check.seed is not None


@pytest.mark.parametrize("position", range(5))
def test_a_lost_block_is_one_finding_wherever_it_is(position: int) -> None:
    chain = Chain()
    lost = StoredBlock(chain.stored[position].hash, None, BlockNotFound("gone"))
    finding = only(findings_of(chain.replaced(position, lost)))
    assert (finding.code, finding.block_hash) == ("block-missing", lost.hash)


@pytest.mark.parametrize(
    ("error", "code", "severity"),
    [
        (LimitExceeded("too large"), "block-too-large", Severity.DAMAGE),
        (StorageError("input/output error"), "block-unreadable", Severity.UNCHECKED),
        (None, "block-unreadable", Severity.UNCHECKED),
    ],
)
def test_why_a_block_could_not_be_read_decides_what_it_means(
    error: StorageError | None, code: str, severity: Severity
) -> None:
    chain = Chain()
    finding = only(findings_of(chain.replaced(2, StoredBlock(chain.stored[2].hash, None, error))))
    assert (finding.code, finding.severity) == (code, severity)


def test_bytes_that_are_no_block_are_damage_even_when_their_hash_is_right() -> None:
    chain = Chain()
    finding = only(findings_of(chain.replaced(2, StoredBlock(physical_hash(b"no block"), b"no block"))))
    assert (finding.code, finding.severity, finding.check) == ("block-unreadable", Severity.DAMAGE, Check.BLOCKS)


def test_a_block_under_another_name_is_damage_and_its_objects_are_checked_by_name() -> None:
    chain = Chain()
    moved = StoredBlock(physical_hash(b"other"), chain.stored[2].raw)
    outcome = ChainCheck(complete=True).check(chain.replaced(2, moved))
    finding = only(outcome.findings)
    assert (finding.code, finding.found) == ("block-damaged", str(chain.stored[2].hash))
    assert [(task.size is None, task.claims is None) for task in outcome.tasks] == [(True, True), (False, False)]


def test_bytes_laid_out_otherwise_are_a_warning() -> None:
    chain = Chain()
    padded = (chain.stored[-1].raw or b"") + bytes(8)
    finding = only(findings_of([*chain.stored[:-1], StoredBlock(physical_hash(padded), padded)]))
    assert (finding.code, finding.severity) == ("block-not-canonical", Severity.WARNING)


def test_after_a_broken_rule_the_blocks_behind_it_are_judged_against_it() -> None:
    made = Made.root()
    first = made.add(AddData(new_watermark=moment(9)))
    second = made.add(AddData(new_watermark=moment(4)))
    third = made.add(AddData(new_watermark=moment(5)))
    blocks = [StoredBlock(block.hash, block.raw) for block in (first, second, third)]
    assert [(finding.code, finding.sequence_number) for finding in findings_of(blocks, complete=False)] == [
        ("rule-p3", 2)
    ]


def test_a_chain_known_from_the_middle_only_is_judged_from_there() -> None:
    chain = Chain()
    assert findings_of(chain.stored[2:], complete=False) == []
    assert only(findings_of(chain.stored[2:])[:1]).code == "rule-p0"


def test_an_object_larger_than_any_may_be_is_damage_and_not_asked_for() -> None:
    made = Made.root()
    block = made.add(AddData(new_checkpoint=Checkpoint(physical_hash(b"x"), OBJECT_BYTES_MAX + 1)))
    outcome = ChainCheck(complete=False).check([StoredBlock(block.hash, block.raw)])
    assert only(outcome.findings).code == "object-too-large"
    assert outcome.tasks == []


def test_a_seed_in_the_middle_is_found() -> None:
    chain = Chain()
    seed = chain.stored[0]
    assert [finding.code for finding in findings_of([*chain.stored, seed])] == ["rule-p0"]
