"""The texts of datasets that searches look at, written in the transaction that makes them true."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import bindparam, func, or_, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.facts_of_blocks import Facts
from catalog.search_tables import WEIGHTS, dataset_texts
from catalog.tables import datasets


async def put_texts(connection: AsyncConnection, facts_by_id: Mapping[str, Facts]) -> None:
    """What chains say; a text that stays as it was costs nothing."""
    if not facts_by_id:
        return
    alias = select(datasets.c.alias).where(datasets.c.id == _bound("dataset_id")).scalar_subquery()
    added = upsert(dataset_texts).values(
        {
            "name": func.coalesce(alias, ""),
            **{name: _bound(name) for name in ("dataset_id", *WEIGHTS) if name != "name"},
        }
    )
    changed = or_(*(dataset_texts.c[name] != added.excluded[name] for name in WEIGHTS))
    statement = added.on_conflict_do_update(
        index_elements=["dataset_id"], set_={name: added.excluded[name] for name in WEIGHTS}, where=changed
    )
    rows = [{f"of_{name}": text for name, text in _texts(each, facts).items()} for each, facts in facts_by_id.items()]
    await connection.execute(statement, rows)


async def put_names(connection: AsyncConnection, aliases: Mapping[str, str]) -> None:
    """What datasets are called that are known by more than their names."""
    known = select(dataset_texts.c.dataset_id, dataset_texts.c.name).where(dataset_texts.c.dataset_id.in_(aliases))
    rows = [row for row in await connection.execute(known) if row.name != aliases[row.dataset_id]]
    renamed = (
        update(dataset_texts).where(dataset_texts.c.dataset_id == _bound("dataset_id")).values(name=_bound("name"))
    )
    if rows:
        values = [{"of_dataset_id": row.dataset_id, "of_name": aliases[row.dataset_id]} for row in rows]
        await connection.execute(renamed, values)


def _bound(name: str) -> Any:
    return bindparam(f"of_{name}")


def _texts(dataset_id: str, facts: Facts) -> Mapping[str, str]:
    license_ = facts.license
    named = () if license_ is None else (license_.short_name, license_.name, license_.spdx_id or "")
    return {
        "dataset_id": dataset_id,
        "keywords": " ".join(facts.keywords),
        "description": facts.description or "",
        "columns": " ".join(each.name for each in facts.columns),
        "sql": facts.sql or "",
        "license": " ".join(named),
    }
