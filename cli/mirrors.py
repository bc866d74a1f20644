"""A dataset brought to an IPFS node at once, by hand, or into an archive: what ``push`` and ``car`` share."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import aiohttp

from catalog.catalog import Catalog, open_catalog
from cli.catalogs import catalog_of
from cli.datasets import is_address, is_dataset_folder, opened
from cli.ipfs import ipfs_access
from opendatafabric.errors import RefNotFound
from opendatafabric.ipfs.cid import Cid
from storage.ipfs.changes import TreeChanges, car_pieces
from storage.ipfs.node import IpfsNode
from storage.ipfs.rpc import KuboRpc
from storage.ipfs.sources import FolderBlocks
from storage.ipfs.trees import publish_tree
from storage.local import durable
from sync.ipfs_publish import IpfsMirrorState, mirrored_before, parse_ipfs_target, publish_to_ipfs

_FORGOTTEN: Final = "sqlite+aiosqlite:///:memory:"


@dataclass(frozen=True, slots=True)
class Archived:
    """A CAR that was written; ``size`` in bytes."""

    name: str
    root: Cid
    size: int


async def publish(ref: str, repository: str, to: str) -> IpfsMirrorState:
    """Mirror a dataset to the node at ``to``; errors as in ``publish_to_ipfs``."""
    async with opened(ref, repository) as found, _index_for(ref, repository) as catalog:
        dataset_id = (await found.dataset.seed()).dataset_id
        target = parse_ipfs_target(to, dataset_id)
        access = ipfs_access(target.address)
        async with aiohttp.ClientSession() as session:
            node = IpfsNode(KuboRpc(session, target.address, token=None if access is None else access.token))
            return await publish_to_ipfs(
                dataset_id,
                found.dataset,
                target,
                await mirrored_before(node, target),
                node=node,
                index=catalog.ipfs,
                keep=_forget,
                now=time.time(),
            )


async def archive(ref: str, repository: str, path: Path) -> Archived:
    """Write a dataset as a CAR; what was at ``path`` is replaced once the archive is whole."""
    async with opened(ref, repository) as found, _index_for(ref, repository) as catalog:
        tree = await publish_tree((await found.dataset.seed()).dataset_id, found.dataset, catalog.ipfs)
        if tree is None:
            raise RefNotFound(f"there is no dataset with a head at {ref}")
        root = tree.root.cid
        changes = TreeChanges(found.dataset.objects, FolderBlocks(catalog.ipfs).block, None)
        size = await _write(path, car_pieces(root, changes.blocks(root)))
        return Archived(found.name, root, size)


async def _write(path: Path, pieces: AsyncIterator[bytes]) -> int:
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        with durable.translated(f"write {path}"), unfinished.open("wb") as file:
            size = sum([file.write(piece) async for piece in pieces])
            unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return size


@asynccontextmanager
async def _index_for(ref: str, repository: str) -> AsyncIterator[Catalog]:
    # Datasets of a repository are read once and remembered; of others nothing is.
    passing = is_address(ref) or is_dataset_folder(ref) or is_address(repository)
    async with open_catalog(_FORGOTTEN) if passing else catalog_of(repository) as catalog:
        yield catalog


async def _forget(_: IpfsMirrorState) -> None:
    """The node knows where the name leads; nothing else is needed next time."""
