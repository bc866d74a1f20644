"""Finding datasets: in the repository of a folder by its catalog, at a server by asking it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from catalog.dataset_filters import Filters
from catalog.dataset_order import Order
from cli.catalogs import catalog_for_reading
from cli.datasets import is_server, opened_repository
from cli.server_api import server_api
from opendatafabric.errors import MalformedIdentifier, NotFound
from opendatafabric.names import AccountName
from repo_server.background.indexing import Indexing
from repo_server.dataset_states import plain_listed
from repo_server.listing import filters_from, order_from


async def found_in(repository: str, values: Mapping[str, str], count: int) -> list[dict[str, Any]]:
    """What parameters of these values find, as the API tells of datasets.

    Raises:
        MalformedInput: a value that is none of its parameter.
    """
    filters, order = filters_from(values), order_from(values, Order.NEWEST)
    if not is_server(repository):
        return await _found_here(repository, filters, order, values["account"], count)
    async with server_api(repository) as api:
        given = {name: value for name, value in values.items() if value}
        told = await api.ask("GET", f"/?{urlencode({**given, 'limit': count})}")
    datasets: list[dict[str, Any]] = told["datasets"]
    return datasets


async def _found_here(
    repository: str, filters: Filters, order: Order, account: str, count: int
) -> list[dict[str, Any]]:
    async with catalog_for_reading(repository) as (settings, catalog), opened_repository(repository) as opened:
        owner = await catalog.accounts.find_or_create(AccountName(settings.default_account))
        visibility = settings.default_visibility
        await Indexing(opened, catalog, default_owner=owner, default_visibility=visibility).look_at_all()
        if account:
            try:
                filters = replace(filters, owner=(await catalog.accounts.find(AccountName(account))).id)
            except (MalformedIdentifier, NotFound):
                return []
        everybodys = replace(owner, is_admin=True)
        found = await catalog.dataset_lists.list(everybodys, filters=filters, order=order, count=count)
        return [{**plain_listed(each.alias, each)} for each in found]
