"""What a dataset takes, looked up where it lies."""

from __future__ import annotations

from catalog.amounts import Amounts
from catalog.quotas import Quotas
from opendatafabric.did import DatasetId
from storage.dataset import Dataset
from storage.stored_amount import stored_amount


async def measure(quotas: Quotas, dataset_id: DatasetId, dataset: Dataset) -> bool:
    """Count what lies there; whether that counts, since nothing came meanwhile."""
    measuring = await quotas.begin_measuring(dataset_id)
    found = await stored_amount(dataset)
    return await quotas.measured(measuring, Amounts(found.bytes, found.objects))
