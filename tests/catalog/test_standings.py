"""How many datasets are verified, fail, are stale or unknown, and how far behind verifying is."""

from __future__ import annotations

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.reports import KeptReport
from catalog.standings import StandingTotals
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.multihash import physical_hash
from tests.catalog.conftest import Clock
from tests.storage.chains import dataset_id

HEAD, NEWER = physical_hash(b"head"), physical_hash(b"newer")


async def add(catalog: Catalog, owner: Account, number: int) -> None:
    alias = DatasetAlias.from_text(f"alice/dataset{number}")
    await catalog.datasets.put(DatasetRecord(dataset_id(number), alias, owner.id, Visibility.PUBLIC))


async def reported(catalog: Catalog, number: int, verdict: str, at: float, *, replayed: bool = False) -> None:
    report = KeptReport(dataset_id(number), physical_hash(f"{number} {at}".encode()), HEAD, verdict, replayed, at)
    await catalog.reports.add(report)


async def moved(catalog: Catalog, owner: Account, number: int, head: object) -> None:
    await catalog.datasets.log_move(dataset_id(number), owner, expected_head=None, new_head=head)  # type: ignore[arg-type]


async def test_an_empty_catalog_has_nothing(catalog: Catalog) -> None:
    assert await catalog.standings.totals() == StandingTotals()


async def test_datasets_are_counted_by_their_last_report(catalog: Catalog, alice: Account, clock: Clock) -> None:
    for number in range(1, 7):
        await add(catalog, alice, number)
    await reported(catalog, 1, "valid", clock.now)
    await reported(catalog, 2, "valid", clock.now - 10)
    await reported(catalog, 2, "invalid", clock.now)
    await reported(catalog, 3, "error", clock.now)
    await reported(catalog, 5, "valid", clock.now)
    await moved(catalog, alice, 5, NEWER)
    await reported(catalog, 6, "valid", clock.now)
    await moved(catalog, alice, 6, HEAD)
    clock.now += 30
    totals = await catalog.standings.totals()
    assert (totals.verified, totals.failing, totals.stale, totals.unknown) == (2, 1, 1, 2)
    assert totals.lag_s == 30


async def test_replays_of_the_last_hour_are_counted(catalog: Catalog, clock: Clock) -> None:
    await reported(catalog, 1, "valid", clock.now - 10, replayed=True)
    await reported(catalog, 2, "valid", clock.now - 10)
    await reported(catalog, 3, "valid", clock.now - 4_000, replayed=True)
    assert (await catalog.standings.totals()).replays == 1
