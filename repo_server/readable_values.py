"""Who may see what follows from the inputs of a derivative: those who may read all of them, or write the derivative."""

from __future__ import annotations

from collections.abc import Iterable

from catalog.permissions import Access
from opendatafabric.did import DatasetId
from pipeline.inputs import input_ids
from repo_server.gate import Visit, access_of
from verify.report_record import ReportRecord


async def may_see_values(found: Visit, record: ReportRecord) -> bool:
    """Whether the caller may see the values in a report of the dataset. Inputs that are not here nobody may read."""
    if await access_of(found.services, found.dataset, found.caller) >= Access.WRITE:
        return True
    read = {DatasetId.from_text(each.dataset_id) for each in record.inputs}
    read |= set(await input_ids(found.dataset.entry.dataset))
    return bool(read) and await _may_read_all(found, read)


async def _may_read_all(found: Visit, dataset_ids: Iterable[DatasetId]) -> bool:
    for each in dataset_ids:
        hosted = await found.services.directory.find(each)
        if hosted is None or hosted.entry.pending:
            return False
        if await access_of(found.services, hosted, found.caller) < Access.READ:
            return False
    return True
