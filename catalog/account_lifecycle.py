"""The end of an account under its name: renamed with all that lies below it, or deleted. Who may do what is decided
before.

The new name is that of the account at once. Its datasets are moved below it one by one, each as ``Lifecycle`` renames
it; where that is broken off, or a dataset is busy, ``finish_begun`` goes on.
"""

from __future__ import annotations

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.former_account_names import FormerName
from catalog.lifecycle import Lifecycle
from catalog.lifecycle_terms import Terms
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import AccountId
from opendatafabric.errors import Conflict, DatasetNotFound, NotFound
from opendatafabric.names import AccountName


class AccountLifecycle:
    """Over one catalog and its datasets; ``default_account`` is the one that settings name, which keeps its name.
    ``by`` is the account that does it, ``None`` the operator."""

    def __init__(self, catalog: Catalog, lifecycle: Lifecycle, terms: Terms, *, default_account: AccountName) -> None:
        self._catalog, self._lifecycle = catalog, lifecycle
        self._kept_s = terms.names_reserved_s
        self._default_account = default_account

    async def rename(self, account: Account, name: AccountName, *, by: AccountId | None) -> Account:
        """Call an account otherwise, and its datasets with it; the old names are kept for it.

        Raises:
            NameCollision: the name is taken, or kept for another account, or one of a dataset below it is.
            MalformedIdentifier: the name is the beginning of paths of the node.
            Conflict: settings name the account.
        """
        self._require_unnamed(account)
        for record in await self._catalog.datasets.below(account.name, account.id):
            await self._lifecycle.require_free(DatasetAlias(name, record.alias.name), account.id)
        renamed = await self._catalog.account_ends.rename(account, name, kept_s=self._kept_s, by=by)
        await self.finish_begun()
        return renamed

    async def delete(self, account: Account, *, by: AccountId | None) -> None:
        """End an account that owns nothing; errors as ``AccountEnds.delete``.

        Raises:
            Conflict: settings name the account.
        """
        self._require_unnamed(account)
        await self._catalog.account_ends.delete(account, kept_s=self._kept_s, by=by)

    async def finish_begun(self) -> None:
        """Move what still lies below former names; forget those that nobody keeps."""
        for former in await self._catalog.former_account_names.unsettled():
            if await self._is_empty(former):
                await self._catalog.former_account_names.settle(former)
        await self._catalog.former_account_names.forget_old()

    async def _is_empty(self, former: FormerName) -> bool:
        try:
            account = await self._catalog.accounts.find_by_id(former.account_id)
        except NotFound:
            return True
        left = 0
        for record in await self._catalog.datasets.below(former.name, account.id):
            if account.name[:] == former.name[:] or await self._catalog.tombstones.of_deleted(record.id) is not None:
                continue
            try:
                alias = DatasetAlias(account.name, record.alias.name)
                await self._lifecycle.rename(record, alias, by=former.by)
            except (Conflict, DatasetNotFound):
                left += 1
        return not left

    def _require_unnamed(self, account: Account) -> None:
        if account.name == self._default_account:
            raise Conflict(
                f"{account.name} is the account of datasets that name none", hint="set ODF_DEFAULT_ACCOUNT first"
            )
