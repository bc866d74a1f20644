"""Which datasets are listed to whom: nothing that somebody may not see, and nothing that is unlisted or deleted.

Unlisted and private datasets are listed to their owners and to those who were given a role.
"""

from __future__ import annotations

from sqlalchemy import ColumnElement, and_, exists, or_, select, true

from catalog.accounts import Account
from catalog.lifecycle_tables import tombstones
from catalog.role_tables import grants, team_members
from catalog.tables import datasets
from catalog.visibility import Visibility


def may_list(reader: Account | None) -> ColumnElement[bool]:
    """Which rows of ``datasets`` are listed to ``reader`` (``None``: anybody)."""
    return and_(is_here(), _may_see(reader))


def is_here() -> ColumnElement[bool]:
    """Which rows of ``datasets`` are those of datasets that were not deleted: these are kept, for nobody."""
    return ~exists().where(tombstones.c.dataset_id == datasets.c.id, tombstones.c.kept_until.is_not(None))


def _may_see(reader: Account | None) -> ColumnElement[bool]:
    public = datasets.c.visibility == Visibility.PUBLIC.value
    if reader is None:
        return public
    if reader.is_admin:
        return true()
    own_teams = select(team_members.c.team_id).where(team_members.c.account_id == str(reader.id))
    held = or_(grants.c.account_id == str(reader.id), grants.c.team_id.in_(own_teams))
    return or_(
        public,
        datasets.c.owner_id == str(reader.id),
        datasets.c.id.in_(select(grants.c.dataset_id).where(held, grants.c.dataset_id.is_not(None))),
        datasets.c.owner_id.in_(select(grants.c.in_account_id).where(held, grants.c.in_account_id.is_not(None))),
    )
