"""A dataset as a UnixFS folder: what its head proves, laid out as on disk, with the root CID that kamu publishes.

kamu publishes a dataset with ``ipfs add -r --cid-version 1 --raw-leaves``, leaving out ``info/``. The tree here holds
the same folders (also empty ones), ``refs/head``, and every block and object of the chain, so a dataset without strays
has the same root in both. A later head costs what is new in it, and its folders.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from typing import Final

from opendatafabric.block_ref import HEAD
from opendatafabric.chain.objects import objects_of
from opendatafabric.did import DatasetId
from opendatafabric.errors import ObjectNotFound
from opendatafabric.ipfs.cid import Block, Cid
from opendatafabric.ipfs.extend import extend_folder
from opendatafabric.ipfs.hamt import import_folder
from opendatafabric.ipfs.unixfs import Tree, import_file, read_unixfs
from opendatafabric.ipfs.walk import Walk
from opendatafabric.layout import BLOCKS, CHECKPOINTS, DATA, REFS, block_key
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset, object_key
from storage.ipfs.blocks import run_walk_in_threads
from storage.ipfs.importing import import_all, import_object
from storage.ipfs.index import FileIndex, PublishedTree, TreeIndex

FOLDERS: Final = (BLOCKS, CHECKPOINTS, DATA)
"""What is published besides ``refs/``."""


async def publish_tree(dataset_id: DatasetId, dataset: Dataset, index: TreeIndex) -> PublishedTree | None:
    """Bring the tree of a dataset up to its head; ``None`` for one without a head.

    Raises:
        ObjectNotFound, HashMismatch, BlockNotFound, MalformedBlock: the dataset is damaged.
    """
    head = await dataset.head()
    latest = await index.latest_tree(dataset_id)
    if head is None or (latest is not None and latest.head == head):
        return latest if head is not None else None
    added, continues = await _added(dataset, index, head, None if latest is None else latest.head)
    known = await index.known_files(added.values())
    files = {key: known[physical_hash] for key, physical_hash in added.items()}
    nodes: list[Block] = []
    if latest is not None and continues:
        root, replaced = await _extended(latest, files, head, nodes, index)
        tree = PublishedTree(dataset_id, head, root)
        await index.publish(tree, added, nodes, replaced=replaced)
    else:
        tree = PublishedTree(dataset_id, head, await asyncio.to_thread(build_tree, files, head, nodes))
        await index.publish(tree, added, nodes, replaced=None)
    return tree


def build_tree(files: Mapping[str, Tree], head: Multihash, nodes: list[Block]) -> Tree:
    """The folder of a dataset; blocks of folders and of ``refs/head`` are put into ``nodes``."""
    trees = {name: import_folder(entries, nodes.append) for name, entries in _by_folder(files).items()}
    return import_folder(trees | {REFS: _refs(head, nodes)}, nodes.append)


def extend_tree(root: Cid, files: Mapping[str, Tree], head: Multihash, nodes: list[Block]) -> Walk[Tree]:
    """The folder of a dataset at a later head, from that of an earlier one: asks for every block that it replaces."""
    entries = {link.name.decode(): link for link in read_unixfs(root, (yield root)).links}
    for link in read_unixfs(entries[REFS].cid, (yield entries[REFS].cid)).links:
        yield link.cid
    trees = {REFS: _refs(head, nodes)}
    for name, added in _by_folder(files).items():
        known = Tree(entries[name].cid, 0, entries[name].tsize)
        trees[name] = (yield from extend_folder(known.cid, added, nodes.append)) if added else known
    return import_folder(trees, nodes.append)


async def _extended(
    latest: PublishedTree, files: Mapping[str, Tree], head: Multihash, nodes: list[Block], index: TreeIndex
) -> tuple[Tree, set[Cid]]:
    async def read(cid: Cid) -> bytes:
        places = await index.find_block(cid)
        data = next((place.data for place in places if place.data is not None), None)
        if data is None:
            raise ObjectNotFound(f"{cid} is not in the index of IPFS", hint="it is made anew when the server starts")
        return data

    old: list[Block] = []
    root = await run_walk_in_threads(extend_tree(latest.root.cid, files, head, nodes), read, old)
    return root, {block.cid for block in old} - {block.cid for block in nodes}


def _by_folder(files: Mapping[str, Tree]) -> dict[str, dict[str, Tree]]:
    folders: dict[str, dict[str, Tree]] = {name: {} for name in FOLDERS}
    for key, tree in files.items():
        folder, _, name = key.partition("/")
        folders[folder][name] = tree
    return folders


def _refs(head: Multihash, nodes: list[Block]) -> Tree:
    return import_folder({HEAD: import_file(str(head).encode(), nodes.append)}, nodes.append)


async def _added(
    dataset: Dataset, index: FileIndex, head: Multihash, known_head: Multihash | None
) -> tuple[dict[str, Multihash], bool]:
    """Keys that came since ``known_head``, each a known file now, and whether ``head`` continues it."""
    added: dict[str, Multihash] = {}
    last = None
    async for batch in dataset.walk(head, stop_before=known_head):
        added |= await _import_blocks(batch, index)
        added |= await _import_objects(batch, dataset, index)
        last = batch[-1]
    continues = known_head is not None and last is not None and last.block.prev_block_hash == known_head
    return added, continues


async def _import_blocks(batch: list[HashedBlock], index: FileIndex) -> dict[str, Multihash]:
    known = await index.known_files([block.hash for block in batch])
    unknown = [(block.hash, block.raw) for block in batch if block.hash not in known]
    await index.put_files(await asyncio.to_thread(import_all, unknown))
    return {block_key(block.hash): block.hash for block in batch}


async def _import_objects(batch: Iterable[HashedBlock], dataset: Dataset, index: FileIndex) -> dict[str, Multihash]:
    wanted = {object_key(file): file.physical_hash for block in batch for file in objects_of(block)}
    known = await index.known_files(wanted.values())
    for key, physical_hash in wanted.items():
        if physical_hash not in known:
            await index.put_files([await import_object(dataset.objects, key)])
    return wanted
