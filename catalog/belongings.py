"""What the catalog knows of one dataset, counted before it goes, and forgotten when it is gone for good.

Kept are the audit log, tombstones, and attestations: what was signed about a head stays true of it wherever it lies.
"""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import Table, delete, func, select, update

from catalog.engine import Database
from catalog.facts_tables import dataset_blocks, dataset_facts
from catalog.lifecycle_tables import transfer_offers
from catalog.lineage_tables import dataset_inputs
from catalog.role_tables import grants
from catalog.tables import (
    datasets,
    ingest_plans,
    ipfs_contents,
    ipfs_nodes,
    ipfs_trees,
    ipns_records,
    jobs,
    mirrored_datasets,
    reflog,
    reports,
    schedules,
    watches,
)
from catalog.verification_tables import attestations, gates
from catalog.webhook_tables import webhooks
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId

_COUNTED: Final[dict[str, Table]] = {
    "roles": grants,
    "schedules": schedules,
    "gate": gates,
    "webhooks": webhooks,
    "reports": reports,
    "attestations": attestations,
    "ipnsName": ipns_records,
}
_FORGOTTEN: Final = (
    transfer_offers, schedules, jobs, watches, gates, webhooks, reports, ingest_plans, reflog, ipfs_contents,
    ipfs_nodes, ipfs_trees, ipns_records, dataset_facts, dataset_blocks, dataset_inputs, grants,
)  # fmt: skip


class Belongings:
    """What belongs to datasets, over all tables."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, dataset_id: DatasetId) -> dict[str, int]:
        """How much of each kind there is."""
        async with self._database.reading() as connection:
            return {
                name: (await connection.execute(_count(table, dataset_id))).scalar_one()
                for name, table in _COUNTED.items()
            }

    async def mirrors_of(self, alias: DatasetAlias) -> int:
        """How many mirrors have copied the dataset of that name."""
        named = mirrored_datasets.c.dataset == str(alias)
        query = select(func.count()).select_from(mirrored_datasets).where(named)
        async with self._database.reading() as connection:
            return int((await connection.execute(query)).scalar_one())

    async def suspend(self, dataset_id: DatasetId) -> None:
        """Nothing is due for it any more, for as long as nobody asks."""
        async with self._database.writing() as connection:
            due = update(jobs).where(jobs.c.dataset_id == str(dataset_id))
            await connection.execute(due.values(due_at=None, asked_at=None))

    async def forget(self, dataset_id: DatasetId) -> None:
        """It is gone."""
        async with self._database.writing() as connection:
            for table in _FORGOTTEN:
                await connection.execute(delete(table).where(table.c.dataset_id == str(dataset_id)))
            await connection.execute(delete(datasets).where(datasets.c.id == str(dataset_id)))


def _count(table: Table, dataset_id: DatasetId) -> Any:
    return select(func.count()).select_from(table).where(table.c.dataset_id == str(dataset_id))
