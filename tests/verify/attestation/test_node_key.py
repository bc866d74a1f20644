"""The key of a node: made when needed, for its owner alone, published, replaced."""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import AccessDenied
from verify.attestation.node_key import node_key, published_keys, rotate_node_key


@pytest.fixture
async def catalog(tmp_path: Path) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite")) as opened:
        yield opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "private").mkdir()
    return tmp_path / "private" / ".attestation-key"


def modes(folder: Path) -> dict[str, int]:
    """The files in a folder, and who may do what with them."""
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}


async def test_a_key_is_made_when_it_is_first_needed_for_its_owner_alone(path: Path, catalog: Catalog) -> None:
    assert await published_keys(catalog.attestation_keys) == []
    key = await node_key(path, catalog.attestation_keys)
    assert modes(path.parent) == {path.name: 0o600}
    (published,) = await published_keys(catalog.attestation_keys)
    assert (published.key, published.valid_until) == (key.public, None)


async def test_all_who_need_it_at_once_get_the_same(path: Path, catalog: Catalog) -> None:
    keys = await asyncio.gather(*(node_key(path, catalog.attestation_keys) for _ in range(8)))
    assert len({key.public for key in keys}) == 1
    assert len(await published_keys(catalog.attestation_keys)) == 1


async def test_a_replaced_key_stays_published_with_its_end(path: Path, catalog: Catalog) -> None:
    old = (await node_key(path, catalog.attestation_keys)).public
    new = await rotate_node_key(path, catalog.attestation_keys)
    assert (await node_key(path, catalog.attestation_keys)).public == new != old
    first, second = await published_keys(catalog.attestation_keys)
    assert (first.key, first.valid_until, second.key) == (new, None, old)
    assert second.valid_until is not None
    assert first.valid_from is not None
    assert second.valid_until >= first.valid_from
    assert modes(path.parent) == {path.name: 0o600}


async def test_a_key_that_others_may_read_is_not_used(path: Path, catalog: Catalog) -> None:
    await node_key(path, catalog.attestation_keys)
    os.chmod(path, 0o644)
    for use in (node_key, rotate_node_key):
        with pytest.raises(AccessDenied):
            await use(path, catalog.attestation_keys)
