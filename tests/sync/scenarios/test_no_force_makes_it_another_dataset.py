"""A chain with another id or kind never replaces a dataset, forced or not."""

from __future__ import annotations

import pytest

from opendatafabric.errors import OdfError, SeedConflict
from opendatafabric.metadata.events import DatasetKind
from tests.storage.chains import ChainBuilder
from tests.sync.scenarios.stage import Stage, assert_holds, fill, history

RIVALS = [
    pytest.param(history(number=2), id="another id"),
    pytest.param(ChainBuilder(kind=DatasetKind.DERIVATIVE), id="another kind"),
]


@pytest.mark.parametrize("rival", RIVALS)
async def test_pushed_with_force(stage: Stage, rival: ChainBuilder) -> None:
    builder = history()
    await fill(stage.remote, builder)
    await fill(stage.local, rival)
    with pytest.raises(SeedConflict):
        await stage.push(force=True)
    await assert_holds(stage.remote, builder)


@pytest.mark.parametrize("rival", RIVALS)
@pytest.mark.parametrize("protocol", ["pull", "simple_pull"])
async def test_pulled_with_force(stage: Stage, rival: ChainBuilder, protocol: str) -> None:
    builder = history()
    await fill(stage.local, builder)
    await fill(stage.remote, rival)
    with pytest.raises(SeedConflict):
        await getattr(stage, protocol)(force=True)
    await assert_holds(stage.local, builder)


async def test_without_force_neither(stage: Stage) -> None:
    builder = history()
    await fill(stage.remote, builder)
    await fill(stage.local, history(number=2))
    for transfer in (stage.push, stage.pull, stage.simple_pull):
        with pytest.raises(OdfError):
            await transfer()
    await assert_holds(stage.remote, builder)
