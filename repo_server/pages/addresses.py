"""Under which path a dataset lies here: the same folder can be served with accounts and without. And which addresses
of strangers may be followed."""

from __future__ import annotations

from typing import Final

from yarl import URL

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.names import AccountName
from repo_server.config import Settings

_WEB: Final = frozenset({"http", "https"})


def address_of(settings: Settings, alias: DatasetAlias) -> DatasetAlias:
    """The path of the dataset ``alias``, without a slash before it."""
    if not settings.multi_tenant:
        return DatasetAlias(None, alias.name)
    return alias if alias.account is not None else DatasetAlias(AccountName(settings.default_account), alias.name)


def web_address(text: str) -> str | None:
    """``text``, if it is an address that may be followed."""
    try:
        return text if URL(text).scheme in _WEB else None
    except ValueError:
        return None
