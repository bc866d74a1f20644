"""From a push to the server to a real IPFS node and back: by itself, named for ever, in nobody's way."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from catalog.mirrors import Direction, NewMirror
from opendatafabric.limits import IPNS_LIFETIME_S, IPNS_RENEWAL_S
from repo_server.background.mirror import AWAY_MAX, WAIT_S_MAX
from repo_server.config import Tenancy
from storage.ipfs.access import IpfsAccess
from storage.ipfs.rpc import Patience
from tests.catalog.conftest import Clock
from tests.cli.runner import odf
from tests.cli.test_transfer import dataset_folder, files_of
from tests.ipfs.independent import fetched_by_kubo
from tests.ipfs.node import NodeAddresses, ipfs_node
from tests.ipfs.pinning_service import TOKEN, FakeService, served
from tests.repo_server.background.test_mirror import add_push, here, mirrored, push_over_the_wire, runner_of, stored
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import ChainBuilder

pytestmark = pytest.mark.slow

__all__ = ["here", "ipfs_node"]
SUNDAYS = "0 3 * * 0"
IMPATIENT = Patience(connect_s=1, silence_s=0.3, work_s=0.3)


NUMBERS = itertools.count(1_000)


def a_new_chain() -> ChainBuilder:
    """Another dataset for every test, since they share the node."""
    return a_chain(next(NUMBERS))


@asynccontextmanager
async def unreachable_node(node: NodeAddresses) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """An address that takes connections and is silent until the event is set, and from then on is ``node``."""
    answers = asyncio.Event()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while piece := await reader.read(1 << 16):
            writer.write(piece)
            await writer.drain()
        writer.close()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not answers.is_set():
            await reader.read()  # until the other side gives up
            writer.close()
            return
        host, _, port = node.rpc.rpartition("/")[2].partition(":")
        from_node, to_node = await asyncio.open_connection(host, int(port))
        await asyncio.gather(pass_on(reader, to_node), pass_on(from_node, writer), return_exceptions=True)

    server = await asyncio.start_server(take, "127.0.0.1", 0)
    try:
        yield f"kubo+http://127.0.0.1:{server.sockets[0].getsockname()[1]}", answers
    finally:
        server.close()


async def test_what_is_pushed_to_the_server_comes_back_from_ipfs_byte_for_byte(
    ipfs_node: NodeAddresses, tmp_path: Path
) -> None:
    builder = a_new_chain()
    async with hosted(tmp_path / "here", Tenancy.MULTI) as server:
        await add_push(server, ipfs_node.rpc)
        await push_over_the_wire(server, await stored(builder))
        state = await mirrored(server, builder)
        original = files_of(dataset_folder(tmp_path / "here" / "datasets"))
    for kind, address in (("ipfs", state["root"]), ("ipns", state["name"])):
        odf_here = tmp_path / kind
        await asyncio.to_thread(odf, "init", odf_here)
        source = (f"{kind}://{address}/", "--as", "weather", "--ipfs-gateway", ipfs_node.gateway)
        pulled = await asyncio.to_thread(odf, "pull", *source, "--repo", odf_here)
        assert pulled.code == 0, pulled.stderr
        assert files_of(dataset_folder(odf_here)) == original
    assert files_of(await fetched_by_kubo(ipfs_node, state["root"], tmp_path)) == original


async def test_a_mirror_from_ipfs_follows_the_name(here: Hosted, ipfs_node: NodeAddresses, tmp_path: Path) -> None:
    builder = a_new_chain()
    entry = await here.add("weather", builder)
    mirror_id = await add_push(here, ipfs_node.rpc)
    assert await runner_of(here).run_now(mirror_id) is None
    name = (await here.catalog.mirrors.datasets(mirror_id))["alice/weather"].state["name"]
    async with hosted(tmp_path / "there", Tenancy.MULTI, run_mirrors=False) as there:
        pulling = runner_of(there, ipfs=IpfsAccess(ipfs_node.gateway))
        pull_id = await there.catalog.mirrors.add(NewMirror(Direction.PULL, f"ipns://{name}", "copy", "* * * * *"))
        assert await pulling.run_now(pull_id) is None
        await entry.dataset.append([builder.info("newer")], expected_head=builder.blocks[-2].hash)
        assert await runner_of(here).run_now(mirror_id) is None
        assert await pulling.run_now(pull_id) is None
        (copy,) = [each async for each in there.repository.iterate()]
        assert await copy.dataset.head() == builder.head


async def test_a_name_is_kept_alive_however_seldom_the_mirror_is_to_run(here: Hosted, ipfs_node: NodeAddresses) -> None:
    await here.add("weather", a_new_chain())
    clock = Clock(here.catalog.mirrors._now())
    runner = runner_of(here, clock)
    mirror_id = await here.catalog.mirrors.add(NewMirror(Direction.PUSH, ipfs_node.rpc, "%", SUNDAYS))
    assert await runner.run_now(mirror_id) is None
    published_at = []
    for _ in range(15):  # a week
        (mirror,) = await here.catalog.mirrors.list()
        clock.now = mirror.next_run_at
        assert await runner.run_now(mirror_id) is None
        published_at.append((await here.catalog.mirrors.datasets(mirror_id))["alice/weather"].state["namedAt"])
    gaps = [after - before for before, after in itertools.pairwise(published_at)]
    assert sum(gaps) > 6 * 86_400
    assert max(gaps) <= IPNS_RENEWAL_S < IPNS_LIFETIME_S


async def test_a_node_that_hangs_is_told_and_waited_for_and_nothing_is_lost(
    here: Hosted, ipfs_node: NodeAddresses
) -> None:
    builder = a_new_chain()
    async with unreachable_node(ipfs_node) as (address, answers):
        mirror_id = await add_push(here, address)
        runner = runner_of(here, patience=IMPATIENT)
        await push_over_the_wire(here, await stored(builder))
        assert (await here.ask("GET", "/alice/weather/refs/head", who="alice")).text == str(builder.head)
        error = await runner.run_now(mirror_id)
        assert error is not None
        assert "alice/weather: " in error
        assert "did not answer" in error
        (mirror,) = await here.catalog.mirrors.list()
        assert mirror.last_run_at is not None
        assert 0 < mirror.next_run_at - mirror.last_run_at <= WAIT_S_MAX
        lag = (await here.catalog.mirrors.datasets(mirror_id))["alice/weather"].behind_since
        assert lag is not None
        answers.set()
        assert await runner_of(here).run_now(mirror_id) is None
    reached = (await here.catalog.mirrors.datasets(mirror_id))["alice/weather"]
    assert (reached.head, reached.behind_since, reached.error) == (str(builder.head), None, None)


async def test_a_run_ends_soon_when_the_node_is_away_and_the_next_takes_all_datasets(
    here: Hosted, ipfs_node: NodeAddresses
) -> None:
    names = [f"dataset{number}" for number in range(AWAY_MAX + 3)]
    for name in names:
        await here.add(name, a_new_chain())
    async with unreachable_node(ipfs_node) as (address, answers):
        mirror_id = await add_push(here, address)
        assert await runner_of(here, patience=IMPATIENT).run_now(mirror_id) is not None
        states = await here.catalog.mirrors.datasets(mirror_id)
        assert [state.error is not None for state in states.values()] == [True] * AWAY_MAX
        answers.set()
        assert await runner_of(here).run_now(mirror_id) is None
    states = await here.catalog.mirrors.datasets(mirror_id)
    assert {name for name, state in states.items() if state.head and not state.error} == {f"alice/{n}" for n in names}


async def test_a_push_does_not_wait_for_a_node_that_hangs(ipfs_node: NodeAddresses, tmp_path: Path) -> None:
    builder = a_new_chain()
    async with unreachable_node(ipfs_node) as (address, _), hosted(tmp_path, Tenancy.MULTI) as server:
        await add_push(server, address)
        dataset = await stored(builder)
        for number in range(3):
            async with asyncio.timeout(20):  # the node is given a minute
                await push_over_the_wire(server, dataset)
            await dataset.append([builder.info(f"note {number}")], expected_head=await dataset.head())
        answer = await server.ask("GET", "/metrics", who="root")
        assert 'odf_mirror_last_success_timestamp_seconds{direction="push",mirror="1"} 0.0' in answer.text


async def test_the_token_of_a_node_is_the_mirrors_own(
    here: Hosted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ODF_IPFS_TOKEN", "s3cr3t-t0ken")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for target in ("kubo+http://127.0.0.1:9", f"file://{tmp_path}/mirror/"):
        added = await asyncio.to_thread(odf, "mirror", "add", target, "--push", "%", "--repo", here.settings.repo)
        assert added.code == 0, added.stderr
    tokens = [mirror.token for mirror in await here.catalog.mirrors.list()]
    assert tokens == ["s3cr3t-t0ken", None]


async def test_a_pinning_service_is_waited_for_and_its_token_told_to_nobody(here: Hosted) -> None:
    await here.add("weather", a_new_chain())
    fake = FakeService(status="pinning")
    async with served(fake) as address:
        mirror_id = await add_push(here, address, token=TOKEN)
        error = await runner_of(here).run_now(mirror_id)
        assert error is not None
        assert "has not got all" in error
        assert (await here.catalog.mirrors.datasets(mirror_id))["alice/weather"].behind_since is not None
        fake.statuses = dict.fromkeys(fake.statuses, "pinned")
        assert await runner_of(here).run_now(mirror_id) is None
    (pin,) = fake.pins.values()
    told = (await here.ask("GET", "/system/mirrors", who="root")).text
    assert pin["cid"] in told
    assert TOKEN not in told
