"""Which verification reports there are: what each says in a few values, and which are worth keeping.

The reports themselves lie beside the datasets, named by their hash; this list can be made again from them. Kept are the
last ones, and of those before the first and the last of every row of equal verdicts: so it stays known when a verdict
came and when it was last confirmed. Times are seconds since 1970.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from sqlalchemy import Row, Select, delete, func, select
from sqlalchemy.dialects.sqlite import insert as upsert

from catalog.engine import Database
from catalog.tables import reports
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash


@dataclass(frozen=True, slots=True)
class KeptReport:
    """``verdict`` as the report says it; ``replayed`` when steps of a derivative were to be repeated too."""

    dataset_id: DatasetId
    hash: Multihash
    head: Multihash | None
    verdict: str
    replayed: bool
    ended_at: float


@dataclass(frozen=True, slots=True)
class VerdictSpan:
    """Reports in a row with one verdict; ``count`` are those of them that are kept."""

    verdict: str
    first_seen: float
    last_seen: float
    count: int


class Reports:
    """The list in one catalog."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, report: KeptReport) -> None:
        """Know a report; one that is known stays as it is."""
        row = {
            "dataset_id": str(report.dataset_id),
            "hash": str(report.hash),
            "head": None if report.head is None else str(report.head),
            "verdict": report.verdict,
            "replayed": int(report.replayed),
            "ended_at": report.ended_at,
        }
        async with self._database.writing() as connection:
            await connection.execute(upsert(reports).values(row).on_conflict_do_nothing())

    async def of(self, dataset_id: DatasetId) -> list[KeptReport]:
        """All of a dataset, the newest first."""
        async with self._database.reading() as connection:
            return [_report(row) for row in await connection.execute(_newest_first(dataset_id))]

    async def find(self, report_hash: Multihash) -> KeptReport | None:
        """The report of that name, whichever dataset it is of."""
        async with self._database.reading() as connection:
            row = (await connection.execute(select(reports).where(reports.c.hash == str(report_hash)))).first()
        return None if row is None else _report(row)

    async def last(self, dataset_id: DatasetId) -> KeptReport | None:
        """The newest one of a dataset."""
        async with self._database.reading() as connection:
            row = (await connection.execute(_newest_first(dataset_id).limit(1))).first()
        return None if row is None else _report(row)

    async def last_of_each(self, dataset_ids: Collection[DatasetId]) -> dict[DatasetId, KeptReport]:
        """The newest one of each dataset that has any."""
        number = func.row_number().over(
            partition_by=reports.c.dataset_id, order_by=(reports.c.ended_at.desc(), reports.c.hash)
        )
        wanted = reports.c.dataset_id.in_([str(each) for each in dataset_ids])
        numbered = select(reports, number.label("number")).where(wanted).subquery()
        async with self._database.reading() as connection:
            rows = await connection.execute(select(numbered).where(numbered.c.number == 1))
            return {DatasetId.from_text(row.dataset_id): _report(row) for row in rows}

    async def forget(self, dataset_id: DatasetId, hashes: Sequence[Multihash]) -> None:
        """Know these no longer."""
        async with self._database.writing() as connection:
            for each in hashes:
                this = (reports.c.dataset_id == str(dataset_id), reports.c.hash == str(each))
                await connection.execute(delete(reports).where(*this))


def _newest_first(dataset_id: DatasetId) -> Select[Any]:
    mine = reports.c.dataset_id == str(dataset_id)
    return select(reports).where(mine).order_by(reports.c.ended_at.desc(), reports.c.hash)


def history(newest_first: Sequence[KeptReport]) -> list[VerdictSpan]:
    """How the verdict changed, the newest first."""
    spans = []
    for verdict, group in groupby(newest_first, key=lambda report: report.verdict):
        row = list(group)
        spans.append(VerdictSpan(verdict, row[-1].ended_at, row[0].ended_at, len(row)))
    return spans


def expendable(newest_first: Sequence[KeptReport], *, keep_last: int) -> list[KeptReport]:
    """Those that tell no change of the verdict and are older than the last ``keep_last``."""
    in_a_row = zip(newest_first, newest_first[1:], newest_first[2:], strict=False)
    return [
        report
        for number, (newer, report, older) in enumerate(in_a_row, start=1)
        if number >= keep_last and newer.verdict == report.verdict == older.verdict
    ]


def _report(row: Row[Any]) -> KeptReport:
    return KeptReport(
        DatasetId.from_text(row.dataset_id),
        Multihash.from_text(row.hash),
        None if row.head is None else Multihash.from_text(row.head),
        row.verdict,
        bool(row.replayed),
        row.ended_at,
    )
