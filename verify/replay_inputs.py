"""The inputs of a derivative as its steps read them: pinned by block, and only if that block is on their chain."""

from __future__ import annotations

from collections.abc import Mapping

from opendatafabric.did import DatasetId
from opendatafabric.errors import BlockNotFound
from opendatafabric.metadata.events import ExecuteTransform, ExecuteTransformInput
from opendatafabric.multihash import Multihash
from pipeline.transform.input_chains import FindInput
from storage.dataset import Dataset
from verify.replayed import StepDifference, StepVerdict
from verify.report import Verdict


class ReplayInputs:
    """Each found once. ``verdicts`` are those of inputs that were verified before."""

    def __init__(self, find: FindInput, verdicts: Mapping[DatasetId, Verdict]) -> None:
        self._find, self._verdicts = find, verdicts
        self._found: dict[DatasetId, tuple[Dataset, frozenset[Multihash]]] = {}

    def not_trusted(self, event: ExecuteTransform) -> tuple[StepVerdict, StepDifference] | None:
        """Why nothing can be said to follow from the inputs, if so."""
        found = {each.dataset_id: self._verdicts.get(each.dataset_id, Verdict.VALID) for each in event.query_inputs}
        for dataset_id, verdict in found.items():
            if verdict is Verdict.INVALID:
                return StepVerdict.INPUT_INVALID, StepDifference(f"input {dataset_id} is not valid itself")
        for dataset_id, verdict in found.items():
            if verdict is Verdict.ERROR:
                return StepVerdict.INPUT_MISSING, StepDifference(f"input {dataset_id} could not be verified itself")
        return None

    async def find(self, dataset_id: DatasetId) -> Dataset:
        """The dataset; ``DatasetNotFound`` if it is nowhere."""
        return (await self._known(dataset_id))[0]

    async def pinned(self, event: ExecuteTransform) -> dict[DatasetId, Multihash]:
        """The block up to which the step read each input.

        Raises:
            DatasetNotFound: an input is nowhere.
            BlockNotFound: a block is not on the chain of its input.
        """
        return {each.dataset_id: await self._pinned(each) for each in event.query_inputs}

    async def _pinned(self, given: ExecuteTransformInput) -> Multihash:
        _, chain = await self._known(given.dataset_id)
        named = [block for block in (given.new_block_hash, given.prev_block_hash) if block is not None]
        for block in named:
            if block not in chain:
                message = f"input {given.dataset_id} has no block {block} on its chain"
                raise BlockNotFound(message, hint="pull the input; if it is up to date, its history was replaced")
        if not named:
            raise BlockNotFound(f"the step names no block of input {given.dataset_id}")
        return named[0]

    async def _known(self, dataset_id: DatasetId) -> tuple[Dataset, frozenset[Multihash]]:
        if dataset_id not in self._found:
            dataset = await self._find(dataset_id)
            self._found[dataset_id] = dataset, await _blocks_of(dataset)
        return self._found[dataset_id]


async def _blocks_of(dataset: Dataset) -> frozenset[Multihash]:
    head = await dataset.head()
    if head is None:
        return frozenset()
    return frozenset([walked.hash async for batch in dataset.walk_headers(head) for walked in batch])
