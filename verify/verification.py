"""All of a dataset: integrity, and if it is a derivative that is sound, whether it follows from its inputs."""

from __future__ import annotations

import time
from collections.abc import Callable

from opendatafabric.metadata.events import DatasetKind
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.progress import Progress, silent
from verify.integrity import EVERYTHING, Extent, verify_integrity
from verify.replay import Replay
from verify.replayed import ReplayedStep, StepVerdict
from verify.report import Check, Finding, Report, Severity, Verdict

_DAMAGE = frozenset({StepVerdict.MISMATCH, StepVerdict.INPUT_INVALID})
"""The others leave it open whether the step is right."""


async def verify_dataset(
    dataset: Dataset,
    replay: Replay | None,
    *,
    progress: Progress = silent,
    extent: Extent = EVERYTHING,
    clock: Callable[[], float] = time.monotonic,
) -> Report:
    """Check all of ``dataset`` and, with ``replay``, repeat its transform; of a damaged one nothing is repeated.

    Damage never raises. Of ``extent`` steps before ``since`` are not repeated. ``clock`` in seconds from any beginning.

    Raises:
        BlockNotFound: the block since which it is to be checked is not on the chain.
        NotFound, StorageError: its chain cannot be read any more, after it could.
    """
    begun = clock()
    report = await verify_integrity(dataset, progress=progress, extent=extent)
    report.integrity_s = clock() - begun
    if replay is None or report.verdict is not Verdict.VALID or report.head is None:
        return report
    if (await dataset.seed()).dataset_kind is DatasetKind.DERIVATIVE:
        await _replay(dataset, extent.since, replay, report, progress)
        report.replay_s = clock() - begun - report.integrity_s
    return report


async def _replay(
    dataset: Dataset, since: Multihash | None, replay: Replay, report: Report, progress: Progress
) -> None:
    assert report.head is not None
    walked = dataset.walk_headers(report.head, stop_before=since)
    hashes = [header.hash async for batch in walked for header in batch][::-1]
    report.steps = []
    async for step in replay.steps(dataset, hashes):
        report.steps.append(step)
        report.add(findings_of(step))
        progress("steps", len(report.steps), None)


def findings_of(step: ReplayedStep) -> list[Finding]:
    """What a report says of a step that is not valid, one finding for each difference; or not by our engine."""
    if step.agreed is not None:
        return [_agreed(step, step.agreed)]
    return [
        Finding(
            Check.TRANSFORMS,
            f"replay-{step.verdict.value}",
            difference.message,
            Severity.DAMAGE if step.verdict in _DAMAGE else Severity.UNCHECKED,
            sequence_number=step.sequence_number,
            block_hash=step.block_hash,
            offset=difference.offset,
            column=difference.column,
            expected=difference.expected,
            found=difference.found,
            hint=difference.hint,
        )
        for difference in step.differences
    ]


def _agreed(step: ReplayedStep, by: str) -> Finding:
    return Finding(
        Check.TRANSFORMS,
        "replay-other-version",
        f"{by} gives what the block says, and ours gives something else",
        Severity.WARNING,
        sequence_number=step.sequence_number,
        block_hash=step.block_hash,
    )
