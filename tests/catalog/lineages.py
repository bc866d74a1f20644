"""Datasets in a catalog that are made of each other."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.datasets import DatasetRecord
from catalog.facts_of_blocks import Facts
from catalog.lineage_edges import NamedInput
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.multihash import physical_hash
from tests.pipeline.transform.derived import id_of


async def put(
    catalog: Catalog,
    owner: Account,
    name: str,
    inputs: Sequence[str] = (),
    *,
    visibility: Visibility = Visibility.PUBLIC,
) -> None:
    """A dataset of ``owner``, made of those of these names, which its query calls the same."""
    alias = DatasetAlias.from_text(f"{owner.name}/{name}")
    await catalog.datasets.put(DatasetRecord(id_of(name), alias, owner.id, visibility))
    facts = Facts(physical_hash(name.encode()), "derivative" if inputs else "root", updated_at=1.0)
    named = [NamedInput(id_of(each), f"the {each}") for each in inputs]
    assert await catalog.dataset_facts.advance(id_of(name), facts, [], expected_head=None, inputs=named)


def put_many(file: Path, owner: Account, names: Sequence[str], inputs: Sequence[str]) -> None:
    """The same for many at once, straight into the file of the catalog."""
    ids = [str(id_of(name)) for name in names]
    listed = [(each, f"{owner.name}/{name}", str(owner.id)) for each, name in zip(ids, names, strict=True)]
    edges = [(each, str(id_of(name)), number, name) for each in ids for number, name in enumerate(inputs)]
    head = str(physical_hash(b"head"))
    with sqlite3.connect(file) as connection:
        connection.executemany("INSERT INTO datasets VALUES (?, ?2, ?2, ?3, 'public', 0)", listed)
        connection.executemany(
            "INSERT INTO dataset_facts (dataset_id, head, kind, blocks, records, bytes, updated_at, keywords, columns,"
            f" events) VALUES (?, '{head}', 'derivative', 1, 0, 0, 0, '[]', '[]', '{{}}')",
            [(each,) for each in ids],
        )
        connection.executemany("INSERT INTO dataset_inputs VALUES (?, ?, ?, ?)", edges)
