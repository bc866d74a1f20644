"""Who looks at many datasets at once, and which of them he sees: for lists that are made by one question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, and_

from catalog.facts_tables import dataset_facts
from catalog.list_permissions import is_here, may_list
from catalog.permissions import reaches
from catalog.tokens import Authenticated
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.names import AccountName


@dataclass(frozen=True, slots=True)
class Reader:
    """``caller`` by its token, ``None`` for anybody; with ``anonymous`` nobody sees less than those without a token.
    Datasets whose names have no account are the ``default_account``'s. The operator sees all."""

    caller: Authenticated | None = None
    anonymous: bool = True
    default_account: AccountName | None = None
    is_operator: bool = False

    def rows(self) -> ColumnElement[bool]:
        """Which rows of ``datasets``, joined with those of ``dataset_facts``, may be his; of these ``sees`` tells. What
        is being pushed for the first time has no facts."""
        if self.is_operator:
            return is_here()
        is_read = dataset_facts.c.dataset_id.is_not(None)
        return and_(is_read, may_list(None if self.caller is None else self.caller.account))

    def sees(self, alias: DatasetAlias, visibility: Visibility) -> bool:
        """Whether a dataset among those ``rows`` is his by his token too."""
        if self.is_operator or (self.anonymous and visibility is Visibility.PUBLIC):
            return True
        whole = alias if alias.account is not None else DatasetAlias(self.default_account, alias.name)
        return self.caller is not None and reaches(self.caller, whole)


OPERATOR: Final = Reader(is_operator=True)
"""Who has the repository in his hands."""
