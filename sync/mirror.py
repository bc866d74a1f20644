"""One mirror run for one dataset: bring the other side up to the head, by whatever the address says.

``PUSH_KINDS`` has one row per scheme that can be pushed to; a pull takes whatever ``sync.pull`` can read. Whoever calls
decides when, no later than a run says that the next one must be, and keeps the state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from opendatafabric.did import DatasetId
from opendatafabric.errors import UnsupportedOperation
from opendatafabric.limits import IPNS_RENEWAL_S
from opendatafabric.names import DatasetName
from storage.dataset import Dataset
from storage.ipfs.access import IpfsAccess
from storage.ipfs.index import TreeIndex
from storage.ipfs.node import IpfsNode
from storage.ipfs.pinning import PinningService
from storage.ipfs.rpc import KuboRpc, Patience
from storage.open import scheme_of
from storage.s3.location import SCHEMES
from sync.ipfs_pin import PinState, parse_pin_target, pin_by_service
from sync.ipfs_publish import IpfsMirrorState, parse_ipfs_target, publish_to_ipfs
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.smart.messages import Visibility
from sync.transfer import TransferOptions

State = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class MirrorTools:
    """What kinds of mirrors need besides the dataset; ``ipfs`` is how sources that lie there are read."""

    session: aiohttp.ClientSession
    index: TreeIndex
    ipfs: IpfsAccess | None = None
    patience: Patience = field(default_factory=Patience)


@dataclass(frozen=True, slots=True)
class PushJob:
    """A dataset and where it goes; ``state`` is what this kind kept the last time, ``now`` in seconds since 1970."""

    dataset_id: DatasetId
    dataset: Dataset
    address: str
    visibility: Visibility
    now: float
    state: State
    keep: Callable[[State], Awaitable[None]]
    token: str | None = field(default=None, repr=False)


PushKind = Callable[[MirrorTools, PushJob], Awaitable[float | None]]
"""Brings a mirror up to date; when it must be run again at the latest, if that is so, in seconds since 1970."""


async def _push_to_repository(tools: MirrorTools, job: PushJob) -> None:
    options = TransferOptions(visibility=job.visibility)
    await push_dataset(tools.session, job.dataset, parse_remote(job.address), token=job.token, options=options)


async def _publish_by_node(tools: MirrorTools, job: PushJob) -> float:
    target = parse_ipfs_target(job.address, job.dataset_id)

    async def keep(state: IpfsMirrorState) -> None:
        await job.keep(state.to_plain())

    reached = await publish_to_ipfs(
        job.dataset_id,
        job.dataset,
        target,
        IpfsMirrorState.from_plain(job.state),
        node=IpfsNode(KuboRpc(tools.session, target.address, token=job.token, patience=tools.patience)),
        index=tools.index,
        keep=keep,
        now=job.now,
    )
    return reached.named_at + IPNS_RENEWAL_S


async def _pin_by_service(tools: MirrorTools, job: PushJob) -> None:
    target = parse_pin_target(job.address)

    async def keep(state: PinState) -> None:
        await job.keep(state.to_plain())

    await pin_by_service(
        job.dataset_id,
        job.dataset,
        target,
        PinState.from_plain(job.state),
        service=PinningService(tools.session, target.address, token=job.token, silence_s=tools.patience.silence_s),
        index=tools.index,
        keep=keep,
    )


PUSH_KINDS: Final[Mapping[str, PushKind]] = {
    "": _push_to_repository,
    "file": _push_to_repository,
    "kubo+http": _publish_by_node,
    "kubo+https": _publish_by_node,
    "odf+http": _push_to_repository,
    "odf+https": _push_to_repository,
    "pin+http": _pin_by_service,
    "pin+https": _pin_by_service,
    **dict.fromkeys(SCHEMES, _push_to_repository),
}
"""One row per scheme."""


async def push_to_mirror(tools: MirrorTools, job: PushJob) -> float | None:
    """Bring the mirror at ``job.address`` up to the head of the dataset; errors as in ``push_dataset``.

    Returns when that must be done again even if nothing moves, in seconds since 1970.
    """
    return await push_kind(job.address)(tools, job)


def push_kind(address: str) -> PushKind:
    """How to push to ``address``.

    Raises:
        UnsupportedOperation: nobody can.
    """
    scheme = scheme_of(address)
    if scheme not in PUSH_KINDS:
        raise UnsupportedOperation(
            f"a mirror cannot push to {scheme}:// addresses", expected=", ".join(filter(None, PUSH_KINDS)), found=scheme
        )
    return PUSH_KINDS[scheme]


def dataset_address(target: str, name: DatasetName) -> str:
    """The address of a dataset of a mirror: below ``target`` if that ends in ``/``, else ``target`` itself."""
    return f"{target}{name}" if target.endswith("/") else target
