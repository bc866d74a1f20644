"""Garbage collection over objects at an IPFS node, with notes and refs in the catalog."""

from __future__ import annotations

import pytest

from catalog.catalog import Catalog
from storage.dataset import Dataset
from storage.ipfs.objects import IpfsObjectStore
from storage.protocols import ObjectStore
from tests.storage.ipfs.test_objects import PLACE, catalog, database, node, session, store
from tests.suites.collecting import CollectingSuite

pytestmark = pytest.mark.slow

__all__ = ["catalog", "database", "node", "session", "store"]


class TestCollectingInIpfs(CollectingSuite):
    @pytest.fixture
    def empty(self, store: IpfsObjectStore, catalog: Catalog) -> Dataset:
        return Dataset(store, catalog.stores.refs(PLACE))

    def make_old(self, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
        assert isinstance(store, IpfsObjectStore)
        held_before = store._table.held_before
        monkeypatch.setattr(store._table, "held_before", lambda moment: held_before(moment + 7_200))
