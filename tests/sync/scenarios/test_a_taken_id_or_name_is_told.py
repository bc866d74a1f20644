"""The server has the id under another name, or the name was taken meanwhile: the client hears which."""

from __future__ import annotations

import pytest

from opendatafabric.errors import NameCollision, RefCollision, TransferRejected
from tests.storage.chains import dataset_id
from tests.sync.scenarios.stage import Stage, fill, history


async def test_a_taken_id(stage: Stage) -> None:
    await fill(stage.local, history())
    stage.server.refusal = RefCollision("taken", found=dataset_id())
    with pytest.raises(RefCollision, match=str(dataset_id())):
        await stage.push()
    assert await stage.remote.head() is None


async def test_a_taken_name(stage: Stage) -> None:
    await fill(stage.local, history())
    stage.server.refusal = NameCollision("taken", found="alice/weather")
    with pytest.raises(NameCollision, match="alice/weather"):
        await stage.push()


async def test_a_taken_name_too_long_for_a_close(stage: Stage) -> None:
    await fill(stage.local, history())
    stage.server.refusal = NameCollision("taken", found="a" * 200)
    with pytest.raises(NameCollision):
        await stage.push()


async def test_a_refusal_of_another_kind(stage: Stage) -> None:
    await fill(stage.local, history())
    stage.server.refusal = TransferRejected('the "quota" of alice is used up ' + "ü" * 200)
    with pytest.raises(TransferRejected, match='the "quota" of alice is used up'):
        await stage.push()
