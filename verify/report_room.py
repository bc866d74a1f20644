"""Where reports are kept: their bytes beside the dataset, named by their hash, and a list of them in the catalog."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from catalog.events import Events, EventType
from catalog.reports import KeptReport, Reports, expendable
from opendatafabric.did import DatasetId
from opendatafabric.errors import HashMismatch, LimitExceeded, MalformedInput, ObjectNotFound, UnsupportedVersion
from opendatafabric.layout import REPORTS, parse_key, report_key
from opendatafabric.multihash import Multihash, physical_hash
from opendatafabric.report_limits import REPORT_BYTES_MAX
from storage.protocols import ObjectReader, ObjectStore
from verify.attestation.signing import Attester
from verify.report import Verdict
from verify.report_making import Known
from verify.report_record import ReportRecord, parse_report


@dataclass(frozen=True, slots=True)
class ReportRoom:
    """Reports of the datasets of one repository; of each the last ``keep_last`` and every change of the verdict.

    With an ``attester`` those that are kept are signed; ``events`` are told when one says another verdict.
    """

    listed: Reports
    keep_last: int
    attester: Attester | None = None
    events: Events | None = None

    async def keep(self, store: ObjectStore, record: ReportRecord) -> Multihash | None:
        """Keep a report of the dataset in ``store``, and let go of what is not worth keeping any more.

        The hash of the report; ``None`` if it does not know which dataset it is about, for then none would find it.
        """
        if record.dataset_id is None:
            return None
        raw = record.to_bytes()
        report_hash = physical_hash(raw)
        await store.put(report_key(report_hash), raw)
        kept = kept_report(report_hash, record)
        before = await self.listed.last(kept.dataset_id)
        await self.listed.add(kept)
        told = change_told(before, kept)
        if told is not None and self.events is not None:
            await self.events.note(EventType.VERDICT_CHANGED, kept.dataset_id, told)
        await self._clear(store, kept.dataset_id)
        return report_hash

    async def sign(self, record: ReportRecord) -> str | None:
        """Have a report signed that is kept; by which key, as ``did:key``. Errors as ``Attester.sign``."""
        signed = None if self.attester is None else await self.attester.sign(record)
        return None if signed is None else signed.signer

    async def known(self, dataset_ids: Iterable[DatasetId]) -> dict[DatasetId, Known]:
        """What the last report of each dataset says, where there is one."""
        last = [await self.listed.last(each) for each in dataset_ids]
        return {each.dataset_id: (Verdict(each.verdict), each.hash) for each in last if each is not None}

    async def _clear(self, store: ObjectStore, dataset_id: DatasetId) -> None:
        gone = [each.hash for each in expendable(await self.listed.of(dataset_id), keep_last=self.keep_last)]
        await self.listed.forget(dataset_id, gone)  # first: what is cut off here leaves a file that nobody lists
        for each in gone:
            await store.delete(report_key(each))


def change_told(before: KeptReport | None, report: KeptReport) -> dict[str, Any] | None:
    """What is told of a new report; ``None`` when it says what the one before said. The first one counts as a change
    unless it says that all is well."""
    old = None if before is None else before.verdict
    if report.verdict == old or (old is None and report.verdict == "valid"):
        return None
    head = None if report.head is None else str(report.head)
    return {"head": head, "verdict": report.verdict, "verdictBefore": old, "report": str(report.hash)}


async def read_report(reader: ObjectReader, report_hash: Multihash) -> bytes:
    """The bytes of a report.

    Raises:
        ObjectNotFound: it is not kept (any more).
        HashMismatch: it is damaged.
    """
    raw = await reader.read(report_key(report_hash), size_max=REPORT_BYTES_MAX)
    found = await asyncio.to_thread(physical_hash, raw)
    if found != report_hash:
        raise HashMismatch(f"report {report_hash} is damaged", expected=report_hash, found=found)
    return raw


async def read_told_report(reader: ObjectReader, report_hash: Multihash) -> bytes:
    """As ``read_report``, from a server: for some callers it leaves values out, and says so."""
    try:
        return await read_report(reader, report_hash)
    except HashMismatch:
        raw = await reader.read(report_key(report_hash), size_max=REPORT_BYTES_MAX)
        with suppress(MalformedInput, UnsupportedVersion):
            if parse_report(raw).redacted_from == str(report_hash):
                return raw
        raise


async def list_stored(listed: Reports, reader: ObjectReader) -> int:
    """Know every sound report that is stored; how many these are. For a catalog that was lost."""
    count = 0
    for report_hash in [parse_key(info.key)[1] async for info in reader.list(f"{REPORTS}/")]:
        with suppress(ObjectNotFound, HashMismatch, LimitExceeded, MalformedInput):  # fsck tells what is damaged
            record = parse_report(await read_report(reader, report_hash))
            await listed.add(kept_report(report_hash, record))
            count += 1
    return count


def kept_report(report_hash: Multihash, record: ReportRecord) -> KeptReport:
    """What the catalog is told of a report.

    Raises:
        MalformedInput: it does not say which dataset it is about.
    """
    return KeptReport(
        DatasetId.from_text(record.dataset_id or ""),
        report_hash,
        None if record.head is None else Multihash.from_text(record.head),
        record.verdict.value,
        record.scope.replay,
        datetime.fromisoformat(record.timings.ended_at).timestamp(),
    )
