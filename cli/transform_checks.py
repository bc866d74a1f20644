"""A transform is looked at when a command sets it."""

from __future__ import annotations

from collections.abc import Sequence

from cli.output import print_note
from cli.spark import spark_worker
from opendatafabric.chain.state import ChainState
from opendatafabric.errors import EngineDied, EngineUnavailable
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import SetTransform
from pipeline.commit import Position, position_of
from pipeline.in_process import InProcess
from pipeline.transform.check import check_transform
from pipeline.transform.input_chains import inputs_in
from pipeline.transform.plan import transform_of
from repo_server.config import Settings
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry


async def check_first_transform(blocks: Sequence[HashedBlock], repository: DatasetRepository) -> None:
    """The transform of a derivative whose first blocks these are, if it has one."""
    state = ChainState.empty()
    for block in blocks:
        state = state.apply(block)
    if isinstance(state.transform, SetTransform):
        await check_own_transform(Position(blocks[-1].hash, state), state.transform, repository)


async def check_transform_of(entry: DatasetEntry, repository: DatasetRepository) -> None:
    """The one that a derivative has, which may have come from elsewhere."""
    position = await position_of(entry.dataset)
    await check_own_transform(position, transform_of(position), repository)


async def check_own_transform(position: Position, transform: SetTransform, repository: DatasetRepository) -> None:
    """As ``check_transform``; where there is no engine for it, that is said, and nothing more."""
    engine = spark_worker() if transform.transform.engine.lower() == "spark" else InProcess()
    find, elsewhere = inputs_in(repository), Settings().engines_elsewhere
    try:
        await check_transform(position, transform, find, engine, elsewhere=elsewhere)
    except EngineDied:
        raise
    except EngineUnavailable as error:
        print_note(f"odf: the query was not looked at: {error.message}")
