"""Deleting, renaming and giving away: where the repository lies, or by the server whose dataset it is."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.lifecycle import Lifecycle
from catalog.lineage import Reach
from catalog.lineage_reading import read_chains
from cli.catalogs import settings_for
from cli.datasets import Located, connected, opened_repository
from cli.server_deeds import done_by_server
from cli.server_reports import located_on_server
from opendatafabric.dataset_ref import DatasetAlias, parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, OdfError
from opendatafabric.names import AccountName, DatasetName
from repo_server.config import Settings
from repo_server.moments import moment, moment_or_none
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry

Told = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """A repository with its catalog, in the hands of its operator."""

    settings: Settings
    repository: DatasetRepository
    catalog: Catalog
    lifecycle: Lifecycle

    async def find(self, ref: str) -> DatasetEntry:
        return await self.repository.find(parse_dataset_ref(ref))

    async def record_of(self, entry: DatasetEntry) -> DatasetRecord:
        """What the catalog knows, or what a server would say of a dataset that it does not know yet."""
        known = await self.catalog.datasets.find(entry.id)
        if known is not None:
            return DatasetRecord(entry.id, entry.alias, known.owner_id, known.visibility)
        name = entry.alias.account or AccountName(self.settings.default_account)
        owner = await self.catalog.accounts.find_or_create(name)
        return DatasetRecord(entry.id, entry.alias, owner.id, self.settings.default_visibility)

    async def dependents(self, entry: DatasetEntry) -> Told:
        """What depends on a dataset."""
        async with read_chains(self.repository) as chains:
            graph = await chains.lineage(entry, Reach(depth_max=1))
        now, terms = time.time(), self.settings.terms
        return {
            "id": str(entry.id),
            "name": str(entry.alias),
            "head": str(await entry.dataset.head()),
            "keptUntil": moment(now + terms.deleted_kept_s),
            "nameReservedUntil": moment(now + terms.names_reserved_s),
            "derivatives": [str(each.node.alias) for each in graph.downstream() if each.depth == 1],
            "belongings": await self.catalog.belongings.of(entry.id),
            "mirrors": await self.catalog.belongings.mirrors_of(entry.alias),
        }


@asynccontextmanager
async def place_at(repository: str) -> AsyncIterator[Place]:
    """The repository and its catalog; errors as ``settings_for`` and ``opened_repository``."""
    settings = settings_for(repository)
    async with open_catalog(settings.database_url) as catalog, opened_repository(repository) as opened:
        yield Place(settings, opened, catalog, Lifecycle(opened, catalog, settings.terms, time.time))


async def deleted(ref: str, repository: str, *, dry_run: bool, for_good: bool) -> Told:
    """What was deleted, or with ``dry_run`` what depends on it."""
    there = await located_on_server(ref, repository)
    if there is not None:
        return await _deleted_by_server(there, dry_run=dry_run, for_good=for_good)
    async with place_at(repository) as place:
        entry = await place.find(ref)
        if dry_run:
            return await place.dependents(entry)
        stone = await place.lifecycle.delete(await place.record_of(entry), by=None)
        if for_good:
            await place.lifecycle.purge(entry.id)
        kept = None if for_good else stone.kept_until
        return {"id": str(entry.id), "name": str(entry.alias), "keptUntil": moment_or_none(kept), "forGood": for_good}


async def listed_deleted(repository: str) -> list[Told]:
    """Deleted datasets that may come back."""
    base = _server(repository)
    if base is not None:
        told = await done_by_server("GET", f"{base}/system/deleted")
        return list(told["deleted"])
    async with place_at(repository) as place:
        return [
            {"id": str(each.dataset_id), "name": str(each.alias), "keptUntil": moment_or_none(each.kept_until)}
            for each in await place.catalog.tombstones.kept()
        ]


async def undeleted(ref: str, repository: str, *, name: str | None) -> Told:
    """The dataset that is back; it is named by its id, or by the name it had."""
    dataset_id = _id_among(ref, await listed_deleted(repository))
    base = _server(repository)
    if base is not None:
        body = None if name is None else {"name": str(DatasetName(name))}
        return await done_by_server("POST", f"{base}/system/deleted/{dataset_id}", body)
    async with place_at(repository) as place:
        stone = await place.catalog.tombstones.of_deleted(dataset_id)
        alias = None if stone is None or name is None else DatasetAlias(stone.alias.account, DatasetName(name))
        return _told(await place.lifecycle.undelete(dataset_id, alias))


async def renamed(ref: str, repository: str, *, name: str) -> Told:
    """The dataset under its new name."""
    there = await located_on_server(ref, repository)
    if there is not None:
        return await done_by_server("PATCH", server_path(there), {"name": str(DatasetName(name))})
    async with place_at(repository) as place:
        entry = await place.find(ref)
        alias = DatasetAlias(entry.alias.account, DatasetName(name))
        return _told(await place.lifecycle.rename(await place.record_of(entry), alias, by=None))


async def transferred(ref: str, repository: str, *, receiver: str, now: bool) -> Told:
    """The offer, or the dataset that has changed hands: whoever has the repository needs nobody's consent."""
    account = AccountName(receiver)
    there = await located_on_server(ref, repository)
    if there is not None:
        body = {"to": str(account), **({"now": True} if now else {})}
        return await done_by_server("POST", f"{server_path(there)}/transfer", body)
    async with place_at(repository) as place:
        entry = await place.find(ref)
        found = await place.catalog.accounts.find(account)
        offer = await place.lifecycle.offer(await place.record_of(entry), found, by=None)
        return _told(await place.lifecycle.take(offer.dataset_id, by=None))


async def answered_offer(ref: str, repository: str, *, accept: bool) -> Told:
    """What came of an offer of a server to the caller."""
    base = _server(repository)
    if base is None:
        raise OdfError("offers are answered at a server", hint="--repo with its address")
    offers = (await done_by_server("GET", f"{base}/system/transfers"))["transfers"]
    dataset_id = _id_among(ref, offers)
    return await done_by_server("POST" if accept else "DELETE", f"{base}/system/transfers/{dataset_id}")


async def _deleted_by_server(there: Located, *, dry_run: bool, for_good: bool) -> Told:
    if dry_run:
        return await done_by_server("DELETE", f"{server_path(there)}?dryRun=true")
    async with connected(there) as dataset:
        head = await dataset.head()
    if head is None:
        raise DatasetNotFound(f"there is no dataset {there.name}")
    query = "?forGood=true" if for_good else ""
    return await done_by_server("DELETE", server_path(there) + query, headers={"If-Match": f'"{head}"'})


def _server(repository: str) -> str | None:
    address = repository.removeprefix("odf+").rstrip("/")
    return address if urlsplit(address).scheme in {"http", "https"} else None


def server_path(there: Located) -> str:
    """The address of a dataset on a server, as routes below it begin."""
    return there.location.rstrip("/")


def _id_among(ref: str, known: list[Told]) -> DatasetId:
    """The newest of that name, or the one of that id."""
    parsed = parse_dataset_ref(ref)
    if isinstance(parsed, DatasetId):
        return parsed
    for each in known:
        if DatasetAlias.from_text(str(each["name"])) == parsed:
            return DatasetId.from_text(str(each["id"]))
    raise DatasetNotFound(f"{ref} is not among them", hint="odf undelete lists what was deleted")


def _told(entry: DatasetEntry) -> Told:
    return {"id": str(entry.id), "name": str(entry.alias)}
