"""Both sides have the same head: nothing travels, not even a conversation for a push."""

from __future__ import annotations

from tests.sync.scenarios.stage import World, assert_holds, fill, history


async def test_pushed(world: World) -> None:
    builder = history()
    await fill(world.local, builder)
    await world.push()
    again = await world.push()
    assert again.up_to_date
    assert (again.old_head, again.new_head, again.objects_moved) == (builder.head, builder.head, 0)
    assert world.conversations == 1


async def test_pulled(world: World) -> None:
    builder = history()
    await fill(world.remote, builder)
    await fill(world.local, builder)
    for again in (await world.pull(), await world.simple_pull()):
        assert again.up_to_date
        assert again.new_head == builder.head
    assert world.objects_requested == []
    await assert_holds(world.local, builder)


async def test_forced_all_the_same(world: World) -> None:
    builder = history()
    for dataset in (world.local, world.remote):
        await fill(dataset, builder)
    assert (await world.push(force=True)).up_to_date
    assert (await world.pull(force=True)).objects_moved == 0
    await assert_holds(world.local, builder)
