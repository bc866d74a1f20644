"""Where roles are given and who holds them, from what people type: datasets and accounts, accounts and teams."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Annotated

import typer

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.reindex import reindex
from catalog.roles import Holder, Place, find_holder
from cli.catalogs import settings_for
from cli.datasets import Located, is_server, opened_repository
from cli.server_reports import located_on_server
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.errors import DatasetNotFound, UnsupportedOperation
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage.repositories import DatasetRepository

HolderArgument = Annotated[str, typer.Argument(metavar="ACCOUNT|team:NAME", help="Who: an account, or a team.")]
DatasetOption = Annotated[str | None, typer.Option("--dataset", metavar="REF", help="In that dataset.")]
AccountOption = Annotated[
    str | None, typer.Option("--account", metavar="NAME", help="In all datasets of that account, or organisation.")
]


@dataclass(frozen=True, slots=True)
class Given:
    """A place as it was typed: a dataset or an account."""

    dataset: str | None
    account: str | None

    def __post_init__(self) -> None:
        if (self.dataset is None) == (self.account is None):
            raise typer.BadParameter("say where: --dataset REF or --account NAME")


@dataclass(frozen=True, slots=True)
class Places:
    """A repository with its catalog."""

    settings: Settings
    repository: DatasetRepository
    catalog: Catalog

    async def place(self, given: Given) -> tuple[Place, Account]:
        """The place and the account it belongs to, whose teams are meant there."""
        if given.account is not None:
            account = await self.catalog.accounts.find(AccountName(given.account))
            return account.id, account
        assert given.dataset is not None
        record = await self.record(given.dataset)
        return record.id, await self.catalog.accounts.find_by_id(record.owner_id)

    async def holder(self, text: str, owner: Account) -> Holder:
        """The account, or the team of ``owner``; ``NotFound`` when there is none."""
        return await find_holder(text, owner, self.catalog.accounts, self.catalog.teams)

    async def record(self, ref: str) -> DatasetRecord:
        """What the catalog knows of a dataset; it is made known if need be."""
        entry = await self.repository.find(parse_dataset_ref(ref))
        if await self.catalog.datasets.find(entry.id) is None:
            await self._reindex()
        record = await self.catalog.datasets.find(entry.id)
        if record is None:
            raise DatasetNotFound(f"dataset {ref} is not there any more")
        return record

    async def _reindex(self) -> None:
        accounts, settings = self.catalog.accounts, self.settings
        owner = await accounts.find_or_create(AccountName(settings.default_account))
        visibility = settings.default_visibility
        await reindex(
            self.repository, accounts, self.catalog.datasets, default_owner=owner, default_visibility=visibility
        )


async def dataset_at_server(given: Given, repository: str) -> Located | None:
    """The dataset that was given, if it is one on a server."""
    there = None if given.dataset is None else await located_on_server(given.dataset, repository)
    if there is None and is_server(repository):
        raise UnsupportedOperation("a server gives roles in datasets", hint="--dataset REF, or /accounts over HTTP")
    return there


@asynccontextmanager
async def places_in(repository: str) -> AsyncIterator[Places]:
    """The repository and its catalog; errors as ``settings_for`` and ``opened_repository``."""
    settings = settings_for(repository)
    async with open_catalog(settings.database_url) as catalog, opened_repository(repository) as opened:
        yield Places(settings, opened, catalog)
