"""``odf reindex``: rebuild what the catalog knows of the datasets from the datasets themselves."""

from __future__ import annotations

import asyncio

from catalog.catalog import Catalog, open_catalog
from catalog.facts_refresh import refresh_facts
from catalog.measuring import measure
from catalog.reindex import Reindexed, reindex
from cli.catalogs import settings_for
from cli.datasets import opened_repository
from cli.options import AsJson, RepositoryOption
from cli.output import print_error, print_json, print_line
from opendatafabric.errors import OdfError
from opendatafabric.names import AccountName
from storage.repository import DatasetEntry
from verify.report_room import list_stored


def command(repository: RepositoryOption = ".", as_json: AsJson = False) -> None:
    """Rebuild the index of the datasets and their reports in the catalog. Owner and visibility of known datasets stay.

    \b
    Example:
        odf reindex --repo my-repository
    """
    done = asyncio.run(_reindex(repository))
    if as_json:
        print_json({"found": done.found, "added": done.added, "removed": done.removed})
    else:
        print_line(f"{done.found} datasets, {done.added} new, {done.removed} gone")


async def _reindex(repository: str) -> Reindexed:
    settings = settings_for(repository)
    async with open_catalog(settings.database_url) as catalog, opened_repository(repository) as root:
        owner = await catalog.accounts.find_or_create(AccountName(settings.default_account))
        done = await reindex(
            root,
            catalog.accounts,
            catalog.datasets,
            default_owner=owner,
            default_visibility=settings.default_visibility,
        )
        async for entry in root.iterate():
            await list_stored(catalog.reports, entry.dataset.objects)
            await _index(catalog, entry)
            await measure(catalog.quotas, entry.id, entry.dataset)
        return done


async def _index(catalog: Catalog, entry: DatasetEntry) -> None:
    await catalog.dataset_facts.forget(entry.id)
    try:
        await refresh_facts(catalog.dataset_facts, entry.id, entry.dataset)
    except OdfError as error:
        print_error(error, subject=str(entry.alias))
