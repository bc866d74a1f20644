"""From an address to stores: the one place that knows which scheme is which store.

``http`` and ``https`` need the caller's session, ``ipfs`` and ``ipns`` a gateway or node as well, ``kubo+http(s)`` the
tables of a catalog, ``s3`` the extra of that name; everything else is a folder, as a path or a ``file://`` URL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import aiohttp

from opendatafabric.errors import MalformedIdentifier, UnsupportedOperation
from opendatafabric.limits import IPFS_STORE_SILENCE_S_MAX, IPFS_STORE_WORK_S_MAX
from storage.dataset import Dataset
from storage.folders import RepositoryLayout
from storage.http.objects import HttpObjectReader
from storage.http.refs import HttpRefStore
from storage.ipfs.access import IpfsAccess, open_in_ipfs
from storage.ipfs.node import IpfsNode
from storage.ipfs.node_place import NodePlace, is_node_address, parse_node_place
from storage.ipfs.objects import IpfsObjectStore
from storage.ipfs.reader import TreeObjectReader, TreeRefStore
from storage.ipfs.repository import IpfsRepository
from storage.ipfs.rpc import KuboRpc, Patience
from storage.ipfs.sources import CarBlocks
from storage.ipfs.table import StoreTables
from storage.ipfs.tree import BlockTree
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.protocols import DerivedStore, ObjectReader, RefStore
from storage.repositories import DatasetRepository
from storage.repository import Repository
from storage.s3.location import SCHEMES, parse_s3_address
from storage.static_tree import LocalStaticTree, StaticTree

if TYPE_CHECKING:
    from storage.s3.repository import S3Repository

CAR_SUFFIX: Final = ".car"
"""A file of that name is a dataset as an archive of IPFS, not a folder."""


@dataclass(frozen=True, slots=True)
class Connection:
    """How to reach stores that are not on this machine."""

    session: aiohttp.ClientSession | None = None
    headers: Mapping[str, str] | None = None
    ipfs: IpfsAccess | None = None
    tables: StoreTables | None = None
    cache_bytes_max: int = 0
    """Room in memory for blocks that cost a request each."""


Stores = tuple[ObjectReader, RefStore]

_AT_NODE: Final = Patience(silence_s=IPFS_STORE_SILENCE_S_MAX, work_s=IPFS_STORE_WORK_S_MAX)


def _open_http(address: str, connection: Connection) -> Stores:
    if connection.session is None:
        raise UnsupportedOperation(f"{address} can only be opened with a connection")
    return (
        HttpObjectReader(connection.session, address, connection.headers),
        HttpRefStore(connection.session, address, connection.headers),
    )


def _open_ipfs(address: str, connection: Connection) -> Stores:
    if connection.session is None or connection.ipfs is None:
        raise UnsupportedOperation(
            f"{address} can only be read through a gateway or a node of IPFS",
            hint="--ipfs-gateway or ODF_IPFS_GATEWAY: http://127.0.0.1:8080, or the RPC of a node: kubo+http://127.0.0.1:5001",
        )
    return open_in_ipfs(connection.session, address, connection.ipfs, lambda: datetime.now(UTC))


def _open_at_node(address: str, connection: Connection) -> Stores:
    place = parse_node_place(address)
    node, tables = _node_and_tables(place, connection)
    return IpfsObjectStore(node, tables.files(place.path), tables.leases(place.path)), tables.refs(place.path)


def _repository_at_node(address: str, connection: Connection) -> IpfsRepository:
    place = parse_node_place(address)
    node, tables = _node_and_tables(place, connection)
    return IpfsRepository(node, tables, place, cache_bytes_max=connection.cache_bytes_max)


def _node_and_tables(place: NodePlace, connection: Connection) -> tuple[IpfsNode, StoreTables]:
    if connection.session is None or connection.tables is None:
        raise UnsupportedOperation(
            f"{place} can only be opened beside a catalog",
            hint="what lies there under which key is known there alone",
        )
    token = None if connection.ipfs is None else connection.ipfs.token
    return IpfsNode(KuboRpc(connection.session, place.rpc, token=token, patience=_AT_NODE)), connection.tables


def _open_s3(address: str, connection: Connection) -> Stores:
    try:
        from storage.s3.presign import S3PresigningStore  # noqa: PLC0415
        from storage.s3.refs import S3RefStore  # noqa: PLC0415
    except ImportError as error:
        raise _without_extra(error) from error
    location = parse_s3_address(address)
    return S3PresigningStore(location), S3RefStore(location)


def _without_extra(error: ImportError) -> UnsupportedOperation:
    return UnsupportedOperation(
        "addresses in S3 need libraries that are not installed",
        found=error.name,
        hint="pip install 'odf-repository[s3]', or 'odf-client[s3]'",
    )


def _open_folder(address: str, connection: Connection) -> Stores:
    path = local_folder(address)
    if path.suffix == CAR_SUFFIX:
        blocks = CarBlocks(path)
        tree = BlockTree(blocks, blocks.root)
        return TreeObjectReader(tree), TreeRefStore(tree)
    return LocalObjectStore(path), LocalRefStore(path)


OPENERS: Final[Mapping[str, Callable[[str, Connection], Stores]]] = {
    "": _open_folder,
    "file": _open_folder,
    "http": _open_http,
    "https": _open_http,
    "ipfs": _open_ipfs,
    "ipns": _open_ipfs,
    "kubo+http": _open_at_node,
    "kubo+https": _open_at_node,
    **dict.fromkeys(SCHEMES, _open_s3),
}
"""One row per scheme; the empty one is a path."""


def open_stores(address: str, connection: Connection | None = None) -> Stores:
    """The stores of the dataset at ``address``; whether there is one shows on reading.

    Raises:
        UnsupportedOperation: no store of that scheme.
    """
    scheme = scheme_of(address)
    if scheme not in OPENERS:
        raise UnsupportedOperation(
            f"there is no store for {scheme}:// addresses", expected=", ".join(filter(None, OPENERS)), found=scheme
        )
    return OPENERS[scheme](address, connection or Connection())


def open_objects(address: str, connection: Connection | None = None) -> ObjectReader:
    """The objects of the dataset at ``address``; errors as in ``open_stores``."""
    return open_stores(address, connection)[0]


def open_dataset(address: str, connection: Connection | None = None) -> Dataset:
    """The dataset at ``address``; errors as in ``open_stores``."""
    return Dataset(*open_stores(address, connection))


async def open_repository(
    address: str, connection: Connection | None = None, *, near: DerivedStore | None = None
) -> DatasetRepository:
    """The repository in a folder of this machine, in S3, or at an IPFS node (which needs a connection with tables).

    With ``near`` chains in S3 are walked by segments, kept there too: for serving, not for finding damage.

    Raises:
        NotARepository: there is none.
        UnsupportedOperation: another place, or an S3 that does not honour conditional writes.
    """
    if scheme_of(address) in SCHEMES:
        return await _s3_repository().open(parse_s3_address(address), near=near)
    if is_node_address(scheme_of(address)):
        return await _repository_at_node(address, connection or Connection()).open()
    if scheme_of(address) not in {"", "file"}:
        raise UnsupportedOperation(
            f"{address} is neither a folder of this machine nor in S3 nor at an IPFS node",
            hint="pull or push single datasets",
        )
    return Repository.open(local_folder(address))


async def init_repository(
    address: str, connection: Connection | None = None, *, layout: RepositoryLayout = RepositoryLayout.BY_ID
) -> DatasetRepository:
    """Make a repository there, or open the one that is; errors as ``open_repository``. ``layout`` is for folders."""
    if scheme_of(address) in SCHEMES:
        return await _s3_repository().init(parse_s3_address(address))
    if is_node_address(scheme_of(address)):
        return await _repository_at_node(address, connection or Connection()).init()
    return Repository.init(local_folder(address), layout)


def open_static_tree(address: str) -> StaticTree:
    """The tree for web servers in a folder of this machine or in S3; whether there is one shows on reading.

    Raises:
        UnsupportedOperation: another place.
    """
    scheme = scheme_of(address)
    if scheme in {"", "file"}:
        return LocalStaticTree(local_folder(address))
    if scheme not in SCHEMES:
        raise UnsupportedOperation(
            f"datasets are not exported to {scheme}:// addresses",
            expected="a folder or s3://bucket/prefix",
            hint="odf push sends single datasets elsewhere",
        )
    try:
        from storage.s3.static_tree import S3StaticTree  # noqa: PLC0415
    except ImportError as error:
        raise _without_extra(error) from error
    return S3StaticTree(parse_s3_address(address))


def _s3_repository() -> type[S3Repository]:
    try:
        from storage.s3.repository import S3Repository  # noqa: PLC0415
    except ImportError as error:
        raise _without_extra(error) from error
    return S3Repository


def scheme_of(address: str) -> str:
    """The scheme of a URL in lower case, or nothing for a path."""
    scheme, separator, _ = address.partition("://")
    return scheme.lower() if separator else ""


def local_folder(address: str) -> Path:
    """The folder that a path or a ``file://`` URL names.

    Raises:
        MalformedIdentifier: a URL of another machine, or a path with a NUL.
    """
    if "\0" in address:
        raise MalformedIdentifier("a path cannot contain NUL")
    if scheme_of(address) != "file":
        return Path(address)
    parts = urlsplit(address)
    if parts.netloc not in {"", "localhost"}:
        raise MalformedIdentifier(f"{address} names a folder of another machine", expected="file:///folder")
    return Path(unquote(parts.path))
