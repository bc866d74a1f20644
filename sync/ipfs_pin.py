"""Let a pinning service keep a dataset: it is told the root of the tree, and fetches what is below from whoever has it.

Nothing is sent from here, so the dataset must be had in IPFS: this server provides it, or a mirror at a node does.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl

from opendatafabric.did import DatasetId
from opendatafabric.errors import (
    MalformedIdentifier,
    NotFound,
    RefNotFound,
    StorageError,
    TransientStorageError,
)
from opendatafabric.ipfs.cid import Cid
from storage.dataset import Dataset
from storage.ipfs.index import TreeIndex
from storage.ipfs.pinning import Pin, PinningService, PinStatus
from storage.ipfs.trees import publish_tree

_ORIGIN: Final = "origin"


@dataclass(frozen=True, slots=True)
class PinTarget:
    """A service, and multiaddresses of peers that have the trees."""

    address: str
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PinState:
    """The request that a service was given last, and the root it is to keep."""

    request: str | None = None
    root: Cid | None = None

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return {"request": self.request, "root": None if self.root is None else str(self.root)}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> PinState:
        """What ``to_plain`` made; fields that are not there are as at the beginning."""
        root = values.get("root")
        return cls(values.get("request"), None if root is None else Cid.from_text(root))


Keep = Callable[[PinState], Awaitable[None]]


def parse_pin_target(url: str) -> PinTarget:
    """Read ``pin+https://HOST/PATH[?origin=MULTIADDRESS…]``.

    Raises:
        MalformedIdentifier: an option that is not known.
    """
    address, _, query = url.partition("?")
    options = parse_qsl(query, keep_blank_values=True)
    if any(name != _ORIGIN for name, _ in options):
        names = ", ".join(name for name, _ in options)
        raise MalformedIdentifier("a pinning service has an unknown option", expected=_ORIGIN, found=names)
    return PinTarget(address, tuple(value for _, value in options))


async def pin_by_service(
    dataset_id: DatasetId,
    dataset: Dataset,
    target: PinTarget,
    state: PinState,
    *,
    service: PinningService,
    index: TreeIndex,
    keep: Keep,
) -> PinState:
    """Let ``service`` keep the dataset at its head instead of what it kept before.

    Raises:
        RefNotFound: the dataset has no head.
        TransientStorageError: the service has not got it all yet, or did not answer.
        StorageError, AuthenticationRequired, AccessDenied: it refused, or could not.
    """
    tree = await publish_tree(dataset_id, dataset, index)
    if tree is None:
        raise RefNotFound("a dataset without a head cannot be pinned")
    root = tree.root.cid
    pin = await _known(service, state, root) or await _asked_for(service, target, state, root, f"odf {dataset_id}")
    reached = PinState(pin.request_id, root)
    if reached != state:
        await keep(reached)
    _require_pinned(pin)
    return reached


async def _known(service: PinningService, state: PinState, root: Cid) -> Pin | None:
    """The request of before, if it is for this root, and the service knows it still and has not given up."""
    if state.request is None or state.root != root:
        return None
    try:
        pin = await service.find(state.request)
    except NotFound:
        return None
    return pin if pin.cid == root and pin.status is not PinStatus.FAILED else None


async def _asked_for(service: PinningService, target: PinTarget, state: PinState, root: Cid, name: str) -> Pin:
    if state.request is not None:
        try:
            return await service.replace(state.request, root, name=name, origins=target.origins)
        except NotFound:
            pass  # it was taken away there: nothing to replace
    return await service.add(root, name=name, origins=target.origins)


def _require_pinned(pin: Pin) -> None:
    if pin.status is PinStatus.FAILED:
        raise StorageError(
            f"the pinning service could not get {pin.cid}", hint="can it reach a node or gateway that has the dataset?"
        )
    if pin.status is not PinStatus.PINNED:
        raise TransientStorageError(f"the pinning service has not got all of {pin.cid} yet", found=pin.status)
