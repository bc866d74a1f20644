"""What a transfer is asked to do, where it goes, and what came of it: the same for both protocols and directions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from opendatafabric.chain.objects import ObjectFile
from opendatafabric.chain.state import ChainState
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.errors import ChainsDiverged, DatasetNotFound, SeedConflict
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import Seed
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.repositories import DatasetRepository
from sync.plan import TransferPlan
from sync.smart.messages import Visibility

Admit = Callable[[Sequence[ObjectFile]], Awaitable[None]]
"""Asked by a pull before any of these objects moves, when its blocks are proved: what it raises ends the pull."""


@dataclass(frozen=True, slots=True)
class TransferOptions:
    """``since`` fetches again everything after a block that is here, e.g. objects left out by ``metadata_only``."""

    force: bool = False
    metadata_only: bool = False
    dry_run: bool = False
    since: Multihash | None = None
    stop_at: Multihash | None = None
    visibility: Visibility = "Private"
    admit: Admit | None = None


@dataclass(frozen=True, slots=True)
class TransferResult:
    """``plan`` is what the chain interval comes to; ``objects_moved`` of its objects really travelled."""

    old_head: Multihash | None
    new_head: Multihash | None
    plan: TransferPlan = field(default_factory=TransferPlan)
    objects_moved: int = 0
    dry_run: bool = False
    staged: bool = False
    """The target verifies what it got before ``new_head`` becomes its head."""

    @property
    def up_to_date(self) -> bool:
        return self.plan.num_blocks == 0


class TransferTarget(Protocol):
    """Where a pull goes: a dataset that is there, or the place for one that is to be made."""

    async def find(self) -> Dataset | None:
        """The dataset, if it is visible."""
        ...

    async def create(self, dataset_id: DatasetId, visibility: Visibility) -> Dataset:
        """A dataset that stays invisible until its head is set; making the same one again is fine.

        Raises:
            RefCollision, NameCollision: as they say.
        """
        ...


@dataclass(frozen=True, slots=True)
class RepositoryTarget:
    """A place in a repository by name."""

    repository: DatasetRepository
    alias: DatasetAlias

    async def find(self) -> Dataset | None:
        try:
            return (await self.repository.find(self.alias)).dataset
        except DatasetNotFound:
            return None

    async def create(self, dataset_id: DatasetId, visibility: Visibility) -> Dataset:
        return (await self.repository.create(self.alias, dataset_id)).dataset


@dataclass(frozen=True, slots=True)
class DatasetTarget:
    """Stores that hold one dataset, or will."""

    dataset: Dataset

    async def find(self) -> Dataset | None:
        return self.dataset if await self.dataset.head() is not None else None

    async def create(self, dataset_id: DatasetId, visibility: Visibility) -> Dataset:
        return self.dataset


async def state_before(dataset: Dataset | None, first: HashedBlock, *, force: bool) -> ChainState:
    """What the chain below ``first`` establishes, for judging blocks that begin with it.

    Raises:
        ChainsDiverged: ``first`` is a Seed, there is a chain already and ``force`` is off.
        SeedConflict: it would change the id or kind of the dataset.
        BlockNotFound: ``first`` follows a block that is not here.
    """
    if first.prev_block_hash is not None:
        return await (dataset or _no_dataset()).chain_state(first.prev_block_hash)
    head = None if dataset is None else await dataset.head()
    if dataset is not None and head is not None:
        if not force:
            raise ChainsDiverged("the peer sends a chain from its seed though there is one", expected=head)
        seed = await dataset.seed()
        if first.event != seed:
            raise SeedConflict(
                "the source is another dataset under the same name", expected=seed.dataset_id, found=_id_of(first)
            )
    return ChainState.empty()


def seed_of(first: HashedBlock) -> Seed:
    """The Seed that a chain begins with; ``ChainsDiverged`` when it begins with something else."""
    if isinstance(first.event, Seed):
        return first.event
    raise ChainsDiverged("the source does not begin at the seed", expected="a Seed", found=type(first.event).__name__)


def _id_of(first: HashedBlock) -> DatasetId | None:
    return first.event.dataset_id if isinstance(first.event, Seed) else None


def _no_dataset() -> Dataset:
    raise ChainsDiverged("the peer continues a chain that is not here", hint="pull without --since")
