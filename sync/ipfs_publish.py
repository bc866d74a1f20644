"""Mirror a dataset to an IPFS node: send what is new, pin it, let a name lead to it, forget what it replaced.

The tree and its CIDs are worked out here, so the node is only told what to store, and believed in nothing. Every step
may be repeated: equal trees have equal CIDs. What is left behind by a crash is one pin more, which the next run takes
away, since the root is noted before it is sent. A push never waits for any of this.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final
from urllib.parse import parse_qsl

from opendatafabric.did import DatasetId
from opendatafabric.errors import (
    MalformedIdentifier,
    NotFound,
    OdfError,
    RefNotFound,
    StorageFull,
)
from opendatafabric.ipfs.cid import Cid
from opendatafabric.ipfs.ipns import IpnsName
from opendatafabric.limits import IPNS_LIFETIME_S, IPNS_RENEWAL_S
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.ipfs.changes import TreeChanges, car_pieces
from storage.ipfs.index import TreeIndex
from storage.ipfs.location import parse_content_path
from storage.ipfs.node import IpfsNode
from storage.ipfs.sources import FolderBlocks, NodeBlocks
from storage.ipfs.tree import BlockTree
from storage.ipfs.trees import publish_tree

_OPTIONS: Final = frozenset({"key", "service"})


@dataclass(frozen=True, slots=True)
class IpfsTarget:
    """A node by the address of its RPC, the key whose name leads to the dataset, and a pinning service it knows."""

    address: str
    key: str
    service: str | None = None


@dataclass(frozen=True, slots=True)
class IpfsMirrorState:
    """How far a mirror has come. ``replaced`` are roots that may still be pinned; times in seconds since 1970."""

    head: Multihash | None = None
    root: Cid | None = None
    name: str | None = None
    named_root: Cid | None = None
    named_at: float = 0.0
    replaced: tuple[Cid, ...] = ()

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "head": _text(self.head),
            "root": _text(self.root),
            "name": self.name,
            "namedRoot": _text(self.named_root),
            "namedAt": self.named_at,
            "replaced": [str(root) for root in self.replaced],
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> IpfsMirrorState:
        """What ``to_plain`` made; fields that are not there are as at the beginning."""
        head, root, named_root = values.get("head"), values.get("root"), values.get("namedRoot")
        return cls(
            head=None if head is None else Multihash.from_text(head),
            root=None if root is None else Cid.from_text(root),
            name=values.get("name"),
            named_root=None if named_root is None else Cid.from_text(named_root),
            named_at=float(values.get("namedAt", 0.0)),
            replaced=tuple(Cid.from_text(text) for text in values.get("replaced", ())),
        )


Keep = Callable[[IpfsMirrorState], Awaitable[None]]


def parse_ipfs_target(url: str, dataset_id: DatasetId) -> IpfsTarget:
    """Read ``kubo+http://HOST:PORT[?key=NAME&service=NAME]``; each dataset has a key of its own unless one is named.

    Raises:
        MalformedIdentifier: an option that is not known.
    """
    address, _, query = url.partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    if options.keys() - _OPTIONS:
        raise MalformedIdentifier("a mirror has an unknown option", expected="key, service", found=", ".join(options))
    return IpfsTarget(address, options.get("key") or f"odf-{dataset_id.multibase}", options.get("service") or None)


async def publish_to_ipfs(
    dataset_id: DatasetId,
    dataset: Dataset,
    target: IpfsTarget,
    state: IpfsMirrorState,
    *,
    node: IpfsNode,
    index: TreeIndex,
    keep: Keep,
    now: float,
) -> IpfsMirrorState:
    """Bring the mirror up to the head of the dataset; ``keep`` is given every state that must survive a crash.

    Run it again when the head moved and every ``IPNS_RENEWAL_S``, so that the record of the name does not end.

    Raises:
        RefNotFound: the dataset has no head.
        ObjectNotFound, HashMismatch: it is damaged.
        TransientStorageError, StorageFull, AuthenticationRequired, AccessDenied: the node cannot do it (now).
    """
    tree = await publish_tree(dataset_id, dataset, index)
    if tree is None:
        raise RefNotFound("a dataset without a head cannot be mirrored")
    run = _Run(dataset, target, node, index)
    root = tree.root.cid
    if not await run.has(root):
        state = await _noted(replace(state, replaced=_with(state.replaced, root)), keep)
        await run.send(root, state.root)
    state = await _noted(_moved(state, tree.head, root), keep)
    if state.named_root != root or now - state.named_at >= IPNS_RENEWAL_S:
        name = await run.name(root)
        state = await _noted(replace(state, name=name, named_root=root, named_at=now), keep)
    await run.forget(state.replaced, root, dataset_id)
    return await _noted(replace(state, replaced=()), keep) if state.replaced else state


async def mirrored_before(node: IpfsNode, target: IpfsTarget) -> IpfsMirrorState:
    """What the node itself tells of an earlier mirror, for whoever kept no state: where the name leads."""
    name = IpnsName.from_text(await node.name_of_key(target.key))
    try:
        place = parse_content_path(await node.resolve(name.peer_id))
    except NotFound:
        return IpfsMirrorState()
    return IpfsMirrorState(root=place.root if isinstance(place.root, Cid) and not place.path else None)


class _Run:
    def __init__(self, dataset: Dataset, target: IpfsTarget, node: IpfsNode, index: TreeIndex) -> None:
        self._dataset, self._target, self._node = dataset, target, node
        self._folders = FolderBlocks(index)
        self._folders_before = FolderBlocks(index, NodeBlocks(node))

    async def has(self, root: Cid) -> bool:
        return await self._node.has_pinned(root)

    async def send(self, root: Cid, known: Cid | None) -> None:
        """Only what is new, where the node has kept the tree before; all of it, where that is not enough."""
        if known is not None and await self.has(known):
            try:
                await self._import(root, BlockTree(self._folders_before, _found(known)))
                return
            except StorageFull:
                raise
            except OdfError as error:
                if error.retryable:
                    raise
        await self._import(root, None)

    async def _import(self, root: Cid, before: BlockTree | None) -> None:
        changes = TreeChanges(self._dataset.objects, self._folders.block, before)
        await self._node.import_car(car_pieces(root, changes.blocks(root)), roots=[root])

    async def name(self, root: Cid) -> str:
        name = IpnsName.from_text(await self._node.name_of_key(self._target.key))
        await self._node.publish(self._target.key, root, lifetime_s=IPNS_LIFETIME_S)
        return name.text

    async def forget(self, replaced: tuple[Cid, ...], root: Cid, dataset_id: DatasetId) -> None:
        service = self._target.service
        if service is not None and replaced:
            await self._node.pin_remotely(service, root, f"odf {dataset_id}")
        for old in replaced:
            if old != root:
                await self._node.unpin(old)
                if service is not None:
                    await self._node.unpin_remotely(service, old)


def _moved(state: IpfsMirrorState, head: Multihash, root: Cid) -> IpfsMirrorState:
    replaced = state.replaced if state.root in (None, root) else _with(state.replaced, state.root)
    return replace(state, head=head, root=root, replaced=replaced)


def _with(roots: tuple[Cid, ...], root: Cid) -> tuple[Cid, ...]:
    return roots if root in roots else (*roots, root)


async def _noted(state: IpfsMirrorState, keep: Keep) -> IpfsMirrorState:
    await keep(state)
    return state


def _found(root: Cid) -> Callable[[], Awaitable[Cid]]:
    async def find_root() -> Cid:
        return root

    return find_root


def _text(value: Multihash | Cid | None) -> str | None:
    return None if value is None else str(value)
