"""Is a dataset what its chain and its names say? Every block, object and record of it read again.

Checked are: the head; bytes, encoding and order of every block; the rules of the chain; presence, size and bytes of
every object; records of every slice. Nothing stops at the first problem: each becomes a Finding that names the block or
the object, and the rest is checked. Reading and hashing happen in threads and processes, and what is in flight is
bounded, so memory does not grow with the chain beyond its hashes. Whether a derivative really follows from its inputs
is the question of ``replay``.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import Final

from opendatafabric.block_ref import HEAD
from opendatafabric.errors import BlockNotFound, MalformedIdentifier, OdfError, UnsupportedOperation
from opendatafabric.layout import ref_key
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.progress import Progress, silent
from verify.chain_check import ChainCheck
from verify.chain_reading import read_stored, trace_chain
from verify.object_checks import ObjectChecks, cores
from verify.objects import ObjectOutcome, ObjectTask
from verify.proved_notes import ProvedNotes, state_of
from verify.report import Check, Finding, Report, Severity, place_of

_RESTORE = "fetch it again from a mirror or a backup"


@dataclass(frozen=True, slots=True)
class Extent:
    """How much of a dataset is checked: objects of the blocks after ``since``, but for those that were proved according
    to ``notes`` of a run that was broken off."""

    since: Multihash | None = None
    notes: ProvedNotes | None = None


EVERYTHING: Final = Extent()


async def verify_integrity(
    dataset: Dataset, *, progress: Progress = silent, parallel: int | None = None, extent: Extent = EVERYTHING
) -> Report:
    """Check all of ``dataset``; up to ``parallel`` objects are read at the same time, by default one for each core.

    Damage never raises; a store that fails makes findings of severity ``unchecked``.

    Raises:
        BlockNotFound: the block since which it is to be checked is not on the chain, as far as it can be read.
    """
    return await _Verification(dataset, progress, parallel or cores(), extent).run()


class _Verification:
    """One run: the report as it grows, and the queue between the chain and its objects."""

    def __init__(self, dataset: Dataset, progress: Progress, parallel: int, extent: Extent) -> None:
        self._dataset = dataset
        self._extent, self._notes = extent, extent.notes
        self._checks = ObjectChecks(dataset.objects, parallel)
        self._progress = progress
        self._report = Report()
        self._queue: asyncio.Queue[ObjectTask | None] = asyncio.Queue(parallel * 4)
        self._objects_seen = 0
        self._past_since = extent.since is None

    async def run(self) -> Report:
        head = await self._read_head()
        await self._check_refs(head)
        if head is not None:
            self._report.head = head
            await self._check_all(head)
        if head is not None and not self._past_since:
            message = f"block {self._extent.since} is not on the chain"
            raise BlockNotFound(message, found=head, hint="odf log shows the blocks; of a damaged chain check all")
        self._report.findings.sort(key=place_of)
        return self._report

    async def _check_all(self, head: Multihash) -> None:
        if self._notes is not None:
            await asyncio.to_thread(self._notes.load)
        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(self._checks.at_once):
                    tasks.create_task(self._check_objects())
                await self._check_chain(head)
                for _ in range(self._checks.at_once):
                    await self._queue.put(None)
        finally:
            await self._checks.close()
        if self._notes is not None:
            await asyncio.to_thread(self._notes.remove)

    async def _read_head(self) -> Multihash | None:
        key = ref_key(HEAD)
        try:
            head = await self._dataset.head()
        except MalformedIdentifier as error:
            self._report.add([_of_head("head-damaged", error.message, error)])
        except OdfError as error:
            self._report.add([_of_head("head-unreadable", error.message, error, Severity.UNCHECKED)])
        else:
            if head is None:
                self._report.add(
                    [Finding(Check.REFS, "head-missing", "the dataset has no head", object_key=key, hint=_RESTORE)]
                )
            return head
        return None

    async def _check_refs(self, head: Multihash | None) -> None:
        try:
            refs = await self._dataset.refs.list()
            dangling = [name for name, target in refs.items() if not await self._dataset.has_block(target)]
        except OdfError as error:
            if head is not None and not isinstance(error, UnsupportedOperation):
                self._report.add([_of_other_refs(error)])
            return  # a damaged head was told before; stores that cannot list have no other refs
        for name in dangling:
            message = "the ref points to a block that is not stored"
            self._report.add(
                [Finding(Check.REFS, "ref-dangling", message, object_key=ref_key(name), found=str(refs[name]))]
            )

    async def _check_chain(self, head: Multihash) -> None:
        trace = await trace_chain(self._dataset.objects, head)
        if trace.interrupted is not None:
            message = f"the chain cannot be followed to its beginning: {trace.interrupted}"
            self._report.add([Finding(Check.CHAIN, "chain-interrupted", message, Severity.UNCHECKED)])
        chain = ChainCheck(complete=trace.interrupted is None, since=self._extent.since)
        oldest_first = trace.hashes[::-1]
        async for batch in read_stored(self._dataset.objects, oldest_first):
            outcome = await asyncio.to_thread(chain.check, batch)
            self._report.add(outcome.findings)
            self._report.counts.blocks += sum(stored.raw is not None for stored in batch)
            self._progress("blocks", self._report.counts.blocks, len(oldest_first))
            for task in outcome.tasks:
                self._objects_seen += 1
                await self._queue.put(task)
        self._past_since = not chain.is_before
        self._report.dataset_id = None if chain.seed is None else str(chain.seed.dataset_id)
        self._report.inputs, self._report.engines = chain.inputs, chain.engines

    async def _check_objects(self) -> None:
        while (task := await self._queue.get()) is not None:
            outcome = await self._checked(task)
            self._report.add(outcome.findings)
            counts = self._report.counts
            counts.objects += 1
            counts.object_bytes += outcome.bytes_read
            counts.records += outcome.records
            counts.proved_before += outcome.proved_before
            self._progress("objects", counts.objects, self._objects_seen)

    async def _checked(self, task: ObjectTask) -> ObjectOutcome:
        if self._notes is None:
            return await self._checks.check(task)
        state = await asyncio.to_thread(state_of, self._dataset.objects, task.key)
        records = None if state is None else self._notes.records_of(task, state)
        if records is not None:
            return ObjectOutcome(records=records, proved_before=True)
        outcome = await self._checks.check(task)
        if state is not None and not outcome.findings and self._checks.is_large:
            await asyncio.to_thread(self._notes.add, task, state, outcome.records)
        return outcome


def _of_other_refs(error: OdfError) -> Finding:
    damaged = isinstance(error, MalformedIdentifier)
    code, severity = ("ref-damaged", Severity.DAMAGE) if damaged else ("ref-unreadable", Severity.UNCHECKED)
    return replace(_of_head(code, error.message, error, severity), object_key=None)


def _of_head(code: str, message: str, error: OdfError, severity: Severity = Severity.DAMAGE) -> Finding:
    return Finding(
        Check.REFS,
        code,
        message,
        severity,
        object_key=ref_key(HEAD),
        expected=error.expected,
        found=error.found,
        hint=error.hint or _RESTORE,
    )
