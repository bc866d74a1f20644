"""Under which path a dataset lies here: the same folder can be served with accounts and without."""

from __future__ import annotations

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.names import AccountName
from repo_server.config import Settings


def address_of(settings: Settings, alias: DatasetAlias) -> DatasetAlias:
    """The path of the dataset ``alias``, without a slash before it."""
    if not settings.multi_tenant:
        return DatasetAlias(None, alias.name)
    return alias if alias.account is not None else DatasetAlias(AccountName(settings.default_account), alias.name)
