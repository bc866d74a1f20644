"""Whatever happens to a dataset, lists, searches and lineage say so a moment later, whoever did it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from opendatafabric.metadata.events import SetInfo
from repo_server.config import Tenancy
from sync.transfer import TransferOptions
from tests.cli.runner import Ran, odf
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.repo_server.ingested import add_root, engine_without_spark
from tests.repo_server.ingested import push as ingest
from tests.repo_server.test_home import AS_JSON, add
from tests.repo_server.test_lineage import made_of
from tests.repo_server.test_lineage import names as lineage
from tests.repo_server.test_smart import push
from tests.storage.chains import ChainBuilder, dataset_id
from verify.recording import Recorder
from verify.report_room import ReportRoom

DEADLINE_S = 60
"""A busy machine takes longer than the second that is promised."""

SNAPSHOT = """
kind: DatasetSnapshot
version: 1
content:
  name: alice/by-hand
  kind: Root
  metadata:
    - kind: SetInfo
      description: laid here by a command
"""


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    async with hosted(tmp_path, Tenancy.MULTI, engine=engine_without_spark(tmp_path / "engine")) as running:
        yield running


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE_S):
        while not await condition():  # noqa: ASYNC110  a server is waited for
            await asyncio.sleep(0.02)


async def found(server: Hosted, query: str = "", who: str | None = None) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = orjson.loads((await server.ask("GET", f"/?{query}", who=who)).body)["datasets"]
    return told


async def until_found(server: Hosted, query: str, *names: str, who: str | None = None) -> list[dict[str, Any]]:
    """The datasets of these names are all that is found, soon."""
    shown: list[dict[str, Any]] = []

    async def so() -> bool:
        shown[:] = await found(server, query, who)
        return {each["alias"] for each in shown} == {f"alice/{name}" for name in names}

    await until(so)
    return shown


async def send(server: Hosted, method: str, path: str, body: Any = None, who: str = "alice", **headers: str) -> Answer:
    sent = {**AS_JSON, **{name.replace("_", "-"): value for name, value in headers.items()}}
    data = None if body is None else orjson.dumps(body)
    answer = await server.ask(method, path, who=who, data=data, headers=sent)
    assert answer.status < 300, answer.text
    return answer


async def command(server: Hosted, *words: object) -> Ran:
    """As another process over the same folder, in a thread: the server answers on the loop of the test."""
    done = await asyncio.to_thread(odf, *words, "--repo", server.settings.repo)
    assert done.code == 0, done.stderr
    return done


async def test_a_push_an_ordinary_one_after_it_and_one_by_force_and_an_undoing(server: Hosted) -> None:
    public = TransferOptions(visibility="Public")
    chain = a_chain()
    await push(server, chain, "open", options=public)
    await until_found(server, "q=tests", "open")
    chain.add(SetInfo("about snow", ("cold",)))
    await push(server, chain, "open", options=public)
    for query in ("q=snow", "q=cold", "keyword=cold"):
        await until_found(server, query, "open")
    await until_found(server, "q=tests")
    other = ChainBuilder(dataset_id(1))
    other.info("about rain")
    await push(server, other, "open", options=TransferOptions(visibility="Public", force=True))
    await until_found(server, "q=rain", "open")
    await until_found(server, "q=snow")
    await send(server, "POST", "/alice/open/undo", {}, If_Match=f'"{other.head}"')
    await until_found(server, "q=snow", "open")
    await until_found(server, "q=rain")


async def test_what_is_derived_from_a_dataset_is_in_its_lineage_and_found_by_its_query(server: Hosted) -> None:
    public = TransferOptions(visibility="Public")
    await push(server, a_chain(), "open", options=public)
    made = made_of(2, dataset_id(1))
    await push(server, made, "made", options=public)
    await until_found(server, "q=select&kind=derivative", "made")

    async def drawn() -> bool:
        return await lineage(server, "open") == {"open": 0, "made": 1}

    await until(drawn)


async def test_data_that_come_in(server: Hosted) -> None:
    await add_root(server)
    await until_found(server, "q=cities", who="alice")

    async def counted() -> bool:
        return [each["records"] for each in await found(server, "q=cities")] == [2]

    assert (await ingest(server)).status == 200
    await until(counted)


async def test_another_name_another_owner_another_visibility(server: Hosted) -> None:
    await add(server, "open", 1)
    await until_found(server, "q=open", "open")
    await send(server, "PATCH", "/alice/open", {"name": "other"})
    await until_found(server, "q=other", "other")
    await until_found(server, "q=open")
    await send(server, "PUT", "/alice/other/visibility", {"visibility": "private"})
    await until_found(server, "q=other")
    await until_found(server, "q=other", "other", who="alice")
    await send(server, "POST", "/alice/other/transfer", {"to": "bob", "now": True}, who="root")
    await until_found(server, "q=other", who="alice")
    assert [each["alias"] for each in await found(server, "q=other&account=bob", "bob")] == ["bob/other"]


async def test_a_dataset_that_is_deleted_and_comes_back(server: Hosted) -> None:
    await add(server, "open", 1)
    await until_found(server, "q=open", "open")
    await send(server, "DELETE", "/alice/open", If_Match=f'"{a_chain().head}"')
    await until_found(server, "q=open", who="alice")
    await send(server, "POST", f"/system/deleted/{dataset_id(1)}")
    await until_found(server, "q=open", "open")
    await send(server, "DELETE", "/alice/open?forGood=true", If_Match=f'"{a_chain().head}"')
    await until_found(server, "", who="root")


async def test_a_verdict(server: Hosted) -> None:
    await add(server, "open", 1)
    await until_found(server, "standing=unknown", "open")
    entry = await server.repository.find(server.alias("open"))
    await Recorder(None, ReportRoom(server.catalog.reports, keep_last=9)).verified(entry.dataset, "open")
    shown = [each["standing"] for each in await found(server)]
    assert shown in (["verified"], ["failing"])
    await until_found(server, f"standing={shown[0]}", "open")


async def test_what_commands_do_in_the_same_folder(server: Hosted, tmp_path: Path) -> None:
    snapshot = tmp_path / "by-hand.yaml"
    snapshot.write_text(SNAPSHOT)
    await command(server, "add", snapshot)
    await until_found(server, "q=laid+command", "by-hand", who="alice")
    await command(server, "visibility", "alice/by-hand", "public")
    await until_found(server, "q=laid", "by-hand")
    await command(server, "rename", "alice/by-hand", "renamed")
    await until_found(server, "q=renamed", "renamed")
    await command(server, "delete", "alice/renamed")
    await until_found(server, "", who="root")
