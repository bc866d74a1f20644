"""The index of IPFS as tables (``storage/ipfs/index.py`` says what it promises). Derived: it may be emptied any time.

Hashes and CIDs are kept as bytes. Blocks of files belong to no dataset; ``ipfs_contents`` says which datasets hold an
object, ``ipfs_nodes`` holds the blocks of folders per dataset, and only those of the last few trees.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Row, Select, delete, insert, literal, null, select, update
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.ext.asyncio import AsyncConnection

from catalog.engine import Database
from catalog.tables import ipfs_contents, ipfs_file_blocks, ipfs_files, ipfs_nodes, ipfs_trees
from opendatafabric.did import DatasetId
from opendatafabric.ipfs.cid import Block, Cid
from opendatafabric.ipfs.unixfs import KUBO_RAW_LEAVES, Tree
from opendatafabric.multihash import Multihash
from storage.ipfs.index import IndexedFile, Place, PublishedTree

TREES_KEPT: Final = 8
"""Earlier trees of a dataset that can still be read: somebody may be in the middle of one."""

PLACES_MAX: Final = 20
"""Datasets that are named for one block; more that hold it are not needed to find it."""

_ROWS_AT_ONCE: Final = 500
_PROFILE: Final = KUBO_RAW_LEAVES.name


class IpfsTables:
    """A TreeIndex over one database; ``now`` in seconds since 1970."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self._database = database
        self._now = now

    async def known_files(self, hashes: Collection[Multihash]) -> dict[Multihash, Tree]:
        """As in the protocol."""
        found: dict[Multihash, Tree] = {}
        async with self._database.reading() as connection:
            for some in _batches([bytes(physical_hash) for physical_hash in set(hashes)]):
                table = ipfs_files.c
                rows = await connection.execute(
                    select(ipfs_files).where(table.physical_hash.in_(some), table.profile == _PROFILE)
                )
                found |= {Multihash.from_bytes(row.physical_hash): _tree(row) for row in rows}
        return found

    async def put_files(self, files: Sequence[IndexedFile]) -> None:
        """As in the protocol."""
        if not files:
            return
        async with self._database.writing() as connection:
            await _insert_missing(connection, ipfs_files, [_file_row(file) for file in files])
            await _insert_missing(connection, ipfs_file_blocks, [row for file in files for row in _block_rows(file)])

    async def latest_tree(self, dataset_id: DatasetId) -> PublishedTree | None:
        """As in the protocol."""
        table = ipfs_trees.c
        query = select(ipfs_trees).where(table.dataset_id == str(dataset_id), table.profile == _PROFILE)
        async with self._database.reading() as connection:
            row = (await connection.execute(query.order_by(table.id.desc()).limit(1))).first()
        if row is None:
            return None
        root = Tree(Cid.from_bytes(row.root), 0, row.tsize)
        return PublishedTree(dataset_id, Multihash.from_bytes(row.head), root)

    async def publish(
        self,
        tree: PublishedTree,
        added: Mapping[str, Multihash],
        nodes: Sequence[Block],
        *,
        replaced: Collection[Cid] | None,
    ) -> None:
        """As in the protocol."""
        name = str(tree.dataset_id)
        async with self._database.writing() as connection:
            if replaced is None:
                await connection.execute(delete(ipfs_contents).where(ipfs_contents.c.dataset_id == name))
            held = [{"dataset_id": name, "key": key, "physical_hash": bytes(each)} for key, each in added.items()]
            await _insert_missing(connection, ipfs_contents, held)
            tree_id = await self._insert_tree(connection, tree)
            await _mark_replaced(connection, name, replaced, tree_id)
            await _put_nodes(connection, name, nodes)
            await _forget_old_trees(connection, name)

    async def find_block(self, cid: Cid) -> list[Place]:
        """As in the protocol."""
        if cid.multihash is not None:
            return await self._places(_whole_objects(ipfs_contents.c.physical_hash == bytes(cid.multihash)))
        node = ipfs_nodes.c
        of_folders = select(
            node.dataset_id, literal("").label("key"), literal(0).label("offset"), literal(0).label("size")
        )
        found = await self._places(of_folders.add_columns(node.data).where(node.cid == bytes(cid)))
        return found or await self._places(_parts_of_files(cid))

    async def find_file(self, cid: Cid) -> list[Place]:
        """As in the protocol."""
        files = ipfs_files.c
        named = select(files.physical_hash).where(files.cid == bytes(cid))
        return await self._places(_whole_objects(ipfs_contents.c.physical_hash.in_(named)))

    async def published_datasets(self) -> list[DatasetId]:
        """As in the protocol."""
        async with self._database.reading() as connection:
            rows = await connection.execute(select(ipfs_trees.c.dataset_id).distinct())
            return [DatasetId.from_text(row.dataset_id) for row in rows]

    async def forget(self, dataset_id: DatasetId) -> None:
        """As in the protocol."""
        async with self._database.writing() as connection:
            for table in (ipfs_contents, ipfs_nodes, ipfs_trees):
                await connection.execute(delete(table).where(table.c.dataset_id == str(dataset_id)))

    async def _places(self, query: Select[Any]) -> list[Place]:
        async with self._database.reading() as connection:
            return [_place(row) for row in await connection.execute(query.limit(PLACES_MAX))]

    async def _insert_tree(self, connection: AsyncConnection, tree: PublishedTree) -> int:
        row = {
            "dataset_id": str(tree.dataset_id),
            "head": bytes(tree.head),
            "profile": _PROFILE,
            "root": bytes(tree.root.cid),
            "tsize": tree.root.tsize,
            "published_at": self._now(),
        }
        inserted = await connection.execute(insert(ipfs_trees).values(row).returning(ipfs_trees.c.id))
        found: int = inserted.scalar_one()
        return found


def _whole_objects(condition: Any) -> Select[Any]:
    held = ipfs_contents.c
    return select(
        held.dataset_id, held.key, literal(0).label("offset"), null().label("size"), null().label("data")
    ).where(condition)


def _parts_of_files(cid: Cid) -> Select[Any]:
    held, block = ipfs_contents.c, ipfs_file_blocks.c
    return (
        select(held.dataset_id, held.key, block.offset, block.size, block.node.label("data"))
        .join(ipfs_contents, held.physical_hash == block.physical_hash)
        .where(block.cid == bytes(cid))
    )


async def _mark_replaced(
    connection: AsyncConnection, dataset_id: str, replaced: Collection[Cid] | None, tree_id: int
) -> None:
    node = ipfs_nodes.c
    mark = update(ipfs_nodes).where(node.dataset_id == dataset_id, node.replaced_by.is_(None))
    if replaced is None:
        await connection.execute(mark.values(replaced_by=tree_id))
        return
    for some in _batches([bytes(cid) for cid in replaced]):
        await connection.execute(mark.where(node.cid.in_(some)).values(replaced_by=tree_id))


async def _put_nodes(connection: AsyncConnection, dataset_id: str, nodes: Sequence[Block]) -> None:
    data = {bytes(block.cid): block.data for block in nodes}
    rows = [{"dataset_id": dataset_id, "cid": cid, "data": each, "replaced_by": None} for cid, each in data.items()]
    statement = upsert(ipfs_nodes)
    used_again = statement.on_conflict_do_update(index_elements=["cid", "dataset_id"], set_={"replaced_by": None})
    await connection.execute(used_again, rows)


async def _forget_old_trees(connection: AsyncConnection, dataset_id: str) -> None:
    # A node was used by trees before the one that replaced it: it goes when none of those is kept.
    tree = ipfs_trees.c
    newest = select(tree.id).where(tree.dataset_id == dataset_id).order_by(tree.id.desc())
    oldest_kept = (await connection.execute(newest.offset(TREES_KEPT - 1).limit(1))).scalar()
    if oldest_kept is None:
        return
    await connection.execute(delete(ipfs_trees).where(tree.dataset_id == dataset_id, tree.id < oldest_kept))
    node = ipfs_nodes.c
    await connection.execute(delete(ipfs_nodes).where(node.dataset_id == dataset_id, node.replaced_by <= oldest_kept))


async def _insert_missing(connection: AsyncConnection, table: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        await connection.execute(upsert(table).on_conflict_do_nothing(), rows)


def _file_row(file: IndexedFile) -> dict[str, Any]:
    return {
        "physical_hash": bytes(file.physical_hash),
        "profile": _PROFILE,
        "cid": bytes(file.tree.cid),
        "size": file.tree.size,
        "tsize": file.tree.tsize,
    }


def _block_rows(file: IndexedFile) -> Iterator[dict[str, Any]]:
    for block in file.blocks:
        yield {
            "cid": bytes(block.cid),
            "physical_hash": bytes(file.physical_hash),
            "offset": block.offset,
            "size": block.size,
            "node": block.node,
        }


def _tree(row: Any) -> Tree:
    return Tree(Cid.from_bytes(row.cid), row.size, row.tsize)


def _place(row: Row[Any]) -> Place:
    return Place(DatasetId.from_text(row.dataset_id), row.key, row.offset, row.size, row.data)


def _batches(items: list[bytes]) -> Iterator[list[bytes]]:
    for start in range(0, len(items), _ROWS_AT_ONCE):
        yield items[start : start + _ROWS_AT_ONCE]
