"""Both sides have the same head: nothing travels, not even a conversation for a push."""

from __future__ import annotations

from tests.sync.scenarios.stage import Stage, assert_holds, fill, history


async def test_pushed(stage: Stage) -> None:
    builder = history()
    await fill(stage.local, builder)
    await stage.push()
    again = await stage.push()
    assert again.up_to_date
    assert (again.old_head, again.new_head, again.objects_moved) == (builder.head, builder.head, 0)
    assert len(stage.server.outcomes) == 1


async def test_pulled(stage: Stage) -> None:
    builder = history()
    await fill(stage.remote, builder)
    await fill(stage.local, builder)
    for again in (await stage.pull(), await stage.simple_pull()):
        assert again.up_to_date
        assert again.new_head == builder.head
    assert stage.server.requests == []
    await assert_holds(stage.local, builder)


async def test_forced_all_the_same(stage: Stage) -> None:
    builder = history()
    for dataset in (stage.local, stage.remote):
        await fill(dataset, builder)
    assert (await stage.push(force=True)).up_to_date
    assert (await stage.pull(force=True)).objects_moved == 0
    await assert_holds(stage.local, builder)
