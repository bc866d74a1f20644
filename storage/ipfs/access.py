"""How ``ipfs://`` and ``ipns://`` are reached: by a gateway or a node that was configured, never by a host in the URL.

A gateway is asked for files by path, which is quick; the hashes of ODF prove all but the head. When it is not trusted,
or when a node is asked, blocks are walked from the root, which proves the head as well. An IPNS name is proved by the
signature of its record; what a domain leads to nobody can prove.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime
from http import HTTPStatus
from typing import Final

import aiohttp

from opendatafabric.errors import LimitExceeded, UnsupportedOperation
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.ipns import IpnsName, verify_record
from opendatafabric.limits import IPNS_HOPS_MAX
from storage.http.answer import Manners
from storage.http.objects import HttpObjectReader
from storage.http.refs import HttpRefStore
from storage.ipfs.location import DnsLink, IpfsLocation, parse_content_path, parse_location
from storage.ipfs.node import IpfsNode
from storage.ipfs.reader import TreeObjectReader, TreeRefStore
from storage.ipfs.rpc import SCHEMES, KuboRpc
from storage.ipfs.sources import GATEWAY, BlockSource, GatewayBlocks, NodeBlocks
from storage.ipfs.tree import BlockTree
from storage.protocols import ObjectReader, RefStore

# Kubo before 0.19 and js-ipfs answer 500 for what they do not find.
_GATEWAY_REFS: Final = Manners(redirects=False, absent=GATEWAY.absent | {HTTPStatus.INTERNAL_SERVER_ERROR})


@dataclass(frozen=True, slots=True)
class IpfsAccess:
    """``address`` is a gateway (``http://…``) or the RPC of a node (``kubo+http://…``)."""

    address: str
    token: str | None = field(default=None, repr=False)
    trustless: bool = False
    """Prove everything, also when a gateway would give whole files."""

    @property
    def is_node(self) -> bool:
        return self.address.partition("://")[0].lower() in SCHEMES


def open_in_ipfs(
    session: aiohttp.ClientSession, url: str, access: IpfsAccess, now: Callable[[], datetime]
) -> tuple[ObjectReader, RefStore]:
    """The stores of the dataset at ``url``; ``now`` (aware) tells which records have ended.

    Raises:
        MalformedIdentifier: the URL or the address is none.
    """
    location = parse_location(url)
    if access.is_node:
        node = IpfsNode(KuboRpc(session, access.address, token=access.token))
        find = _Roots(NodeBlocks(node), now, None if access.trustless else node.resolve)
        return _proved(NodeBlocks(node), find, location)
    headers = {} if access.token is None else {"Authorization": f"Bearer {access.token}"}
    if access.trustless:
        blocks = GatewayBlocks(session, access.address, headers)
        return _proved(blocks, _Roots(blocks, now, None), location)
    folder = f"{access.address.rstrip('/')}/{location.content_path}"
    return (
        HttpObjectReader(session, folder, headers, GATEWAY),
        HttpRefStore(session, folder, headers, _GATEWAY_REFS),
    )


def _proved(blocks: BlockSource, roots: _Roots, location: IpfsLocation) -> tuple[ObjectReader, RefStore]:
    async def find_root() -> Cid:
        place = await roots.find(location)
        assert isinstance(place.root, Cid)
        root = place.root
        return await BlockTree(blocks, _known(root)).find(place.path)

    tree = BlockTree(blocks, find_root)
    return TreeObjectReader(tree), TreeRefStore(tree)


def _known(root: Cid) -> Callable[[], Awaitable[Cid]]:
    async def find_root() -> Cid:
        return root

    return find_root


@dataclass(frozen=True, slots=True)
class _Roots:
    """From names to roots. ``resolve`` is whom to believe; without it, records are proved."""

    blocks: BlockSource
    now: Callable[[], datetime]
    resolve: Callable[[str], Awaitable[str]] | None

    async def find(self, location: IpfsLocation) -> IpfsLocation:
        """The same place below a CID.

        Raises:
            NotFound: the name leads nowhere.
            InvalidSignature: its record is not signed by its key, or has ended.
            LimitExceeded: names lead to names without end.
        """
        here = location
        for _ in range(IPNS_HOPS_MAX):
            if isinstance(here.root, Cid):
                return here
            target = parse_content_path(await self._value(here.root))
            here = IpfsLocation(target.root, target.path + here.path)
        raise LimitExceeded(f"{location.root} leads from name to name", expected=f"at most {IPNS_HOPS_MAX} names")

    async def _value(self, name: IpnsName | DnsLink) -> str:
        if self.resolve is not None:
            return await self.resolve(IpfsLocation(name).content_path.removeprefix("ipns/"))
        if isinstance(name, DnsLink):
            raise UnsupportedOperation(
                f"what the domain {name} leads to cannot be proved", hint="take the CID or the IPNS name, or trust it"
            )
        return verify_record(name, await self.blocks.record(name), now=self.now()).value
