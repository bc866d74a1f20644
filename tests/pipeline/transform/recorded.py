"""Derivatives that the reference made, each step to be made again over the inputs as they stood then."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from opendatafabric.block_ref import HEAD
from opendatafabric.did import DatasetId
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import ExecuteTransform, SetDataSchema
from pipeline.commit import Outcome
from pipeline.engine_contract.elsewhere import NONE_ELSEWHERE, EnginesElsewhere
from pipeline.ingest import Engine
from pipeline.transform.input_chains import FindInput
from pipeline.transform.run import transform
from storage.dataset import Dataset
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.open import open_dataset
from tests.pipeline.datasets import blocks_of
from tests.vectors.load import FOLDER


@dataclass(frozen=True)
class Remade:
    """What the chains say of columns and steps, the recorded one and ours: all but how files are written."""

    theirs: list[SetDataSchema | ExecuteTransform]
    ours: list[SetDataSchema | ExecuteTransform]


def derivatives(folder: str) -> list[Path]:
    """The datasets of a folder of vectors that have a transform."""
    logs = sorted((FOLDER / folder).glob("*.log.yaml"))
    return [
        log.with_name(log.name.removesuffix(".log.yaml")) for log in logs if "kind: SetTransform" in log.read_text()
    ]


async def remade(derivative: Path, engine: Engine, elsewhere: EnginesElsewhere = NONE_ELSEWHERE) -> Remade:
    """A recorded derivative, and the one that we make step by step in its place."""
    recorded = await blocks_of(open_dataset(str(derivative)))
    ours = Dataset(MemoryObjectStore(), MemoryRefStore())
    before = [block for block in recorded if not isinstance(block.event, SetDataSchema | ExecuteTransform)]
    await ours.append(before, expected_head=None)
    for block in recorded:
        if isinstance(block.event, ExecuteTransform):
            await _step(ours, block, _finding(block.event, derivative.parent), engine, elsewhere)
    return Remade(_said(recorded), _said(await blocks_of(ours)))


async def inputs_beside(derivative: Path) -> tuple[Dataset, FindInput]:
    """A recorded derivative and where its inputs are: in the same folder."""
    known = {await _id_of(path): open_dataset(str(path)) for path in _datasets(derivative.parent)}

    async def find(dataset_id: DatasetId) -> Dataset:
        return known[dataset_id]

    return open_dataset(str(derivative)), find


def _said(blocks: list[HashedBlock]) -> list[SetDataSchema | ExecuteTransform]:
    events = [block.event for block in blocks]
    steps = [_without_files(event) if isinstance(event, ExecuteTransform) else event for event in events]
    return [event for event in steps if isinstance(event, SetDataSchema | ExecuteTransform)]


def _without_files(event: ExecuteTransform) -> ExecuteTransform:
    """The step without what depends on how a file is written, and without checkpoints, which we have none of."""
    data = event.new_data
    plain = None if data is None else replace(data, physical_hash=data.logical_hash, size=0)
    return replace(event, new_data=plain, prev_checkpoint=None, new_checkpoint=None)


async def _step(
    ours: Dataset, block: HashedBlock, find: FindInput, engine: Engine, elsewhere: EnginesElsewhere
) -> Outcome:
    time = block.block.system_time
    outcome = await transform(ours, find, engine, system_time=time, elsewhere=elsewhere)
    assert outcome is not None
    return outcome


def _finding(event: ExecuteTransform, folder: Path) -> FindInput:
    """The inputs as they stood then."""
    heads = {each.dataset_id: each.new_block_hash or each.prev_block_hash for each in event.query_inputs}

    async def find(dataset_id: DatasetId) -> Dataset:
        (source,) = [path for path in _datasets(folder) if await _id_of(path) == dataset_id]
        refs, head = MemoryRefStore(), heads[dataset_id]
        assert head is not None
        await refs.compare_and_swap(HEAD, expected=None, new=head)
        return Dataset(open_dataset(str(source)).objects, refs)

    return find


def _datasets(folder: Path) -> Iterator[Path]:
    return (path for path in folder.iterdir() if path.is_dir())


async def _id_of(path: Path) -> DatasetId:
    return (await open_dataset(str(path)).seed()).dataset_id
