"""A catalog of former times can be searched at once, and is looked at anew where more is known now than then."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import create_engine

from catalog.catalog import open_catalog
from catalog.dataset_filters import Filters
from catalog.sqlite_files import sqlite_url
from catalog.upgrading import take_steps
from opendatafabric.multihash import physical_hash

BEFORE = "0030"
OWNER, ROOT, DERIVATIVE = (f"did:odf:fed01{digit * 64}" for digit in "012")
LICENSE = '{"short_name": "CC-BY", "name": "Creative Commons", "spdx_id": null, "website_url": ""}'


async def test_what_was_known_is_found_and_derivatives_are_to_be_looked_at_again(tmp_path: Path) -> None:
    path, head = tmp_path / "catalog.sqlite", str(physical_hash(b"head"))
    with create_engine(f"sqlite:///{path}").begin() as connection:
        take_steps(connection, to=BEFORE)
        connection.exec_driver_sql(
            "INSERT INTO accounts (id, name, name_folded, is_admin, created_at) VALUES (?, 'alice', 'alice', 0, 1)",
            (OWNER,),
        )
        for dataset, name, event in ((ROOT, "rain", "Seed"), (DERIVATIVE, "made", "SetTransform")):
            connection.exec_driver_sql(
                "INSERT INTO datasets VALUES (?, ?, ?, ?, 'public', 1)",
                (dataset, f"alice/{name}", f"alice/{name}", OWNER),
            )
            connection.exec_driver_sql(
                "INSERT INTO dataset_facts VALUES (?, ?, 'root', 1, 0, 0, 1, NULL, 'of a day', ?, ?, ?, ?)",
                (dataset, head, '["kyiv"]', LICENSE, '[["temp", "Int64"]]', f'{{"{event}": "f16"}}'),
            )
    async with open_catalog(sqlite_url(path)) as catalog:
        for words in ("rain", "day", "kyiv", "temp", "commons", "alice rain day kyiv temp creative"):
            found = await catalog.dataset_lists.list(None, filters=Filters(words=words), count=9)
            assert str(found[0].id) == ROOT or len(found) == 2, words
    with create_engine(f"sqlite:///{path}").begin() as connection:
        rows = connection.exec_driver_sql("SELECT dataset_id FROM dataset_facts WHERE form = 3").scalars().all()
        assert rows == [ROOT], "what is known of it was complete then"
