"""What came of repeating one step of a derivative, as values for a report."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from opendatafabric.multihash import Multihash


class StepVerdict(Enum):
    """Whether a block says what the transform gives."""

    VALID = "valid"
    MISMATCH = "mismatch"
    """The transform gives something else."""
    UNSUPPORTED_ENGINE = "unsupported-engine"
    INPUT_MISSING = "input-missing"
    """A block or a slice that the step read is not here, or could not be checked."""
    INPUT_INVALID = "input-invalid"
    """What the step read is damaged, so nothing can follow from it."""
    ENGINE_ERROR = "engine-error"
    TIMED_OUT = "timed-out"


@dataclass(frozen=True, slots=True)
class RowDifference:
    """A value that is not the recorded one. Without a ``column`` the row itself is on one side only."""

    offset: int
    column: str | None
    expected: str | None
    found: str | None

    def as_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        return {"offset": self.offset, "column": self.column, "expected": self.expected, "found": self.found}

    def __str__(self) -> str:
        if self.column is not None:
            return f"at offset {self.offset} in column '{self.column}'"
        return f"at offset {self.offset}, where " + ("no row is given" if self.found is None else "no row is recorded")


@dataclass(frozen=True, slots=True)
class StepDifference:
    """One thing that the block says (``expected``) and what the transform gives instead."""

    message: str
    expected: str | None = None
    found: str | None = None
    hint: str | None = None
    offset: int | None = None
    """Of the record that differs; ``column`` if it is one value of it."""
    column: str | None = None


@dataclass(frozen=True, slots=True)
class ReplayedStep:
    """One block of a derivative. Where it is not valid, ``differences`` say why; ``rows`` are the first that differ."""

    sequence_number: int
    block_hash: Multihash
    verdict: StepVerdict
    differences: tuple[StepDifference, ...] = ()
    rows: tuple[RowDifference, ...] = ()
    records_expected: int = 0
    records_found: int | None = None
    """``None`` if the engine gave nothing."""
    agreed: str | None = None
    """The other version of the engine that gives what the block says, where ours does not."""

    def as_dict(self) -> dict[str, object]:
        """Plain JSON values."""
        return {
            "sequenceNumber": self.sequence_number,
            "blockHash": str(self.block_hash),
            "verdict": self.verdict.value,
            "recordsExpected": self.records_expected,
            "recordsFound": self.records_found,
            "rows": [row.as_dict() for row in self.rows],
            **({} if self.agreed is None else {"agreed": self.agreed}),
        }
