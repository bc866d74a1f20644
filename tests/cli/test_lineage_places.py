"""``odf lineage`` of a repository here and of a server: the same is told, and nothing is believed that cannot be."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from catalog.catalog import open_catalog
from catalog.facts_refresh import refresh_facts
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from repo_server.config import Tenancy
from storage.repository import Repository
from sync.credentials import save_token
from tests.cli.runner import Ran, odf
from tests.pipeline.lineage.open_lineage import check_run_event
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.repo_server.test_lineage import made_of
from tests.source_tree import ROOT
from tests.storage.chains import dataset_id
from verify.recording import Recorder
from verify.report_room import ReportRoom

pytestmark = pytest.mark.slow

DATASETS = ROOT / "examples" / "datasets"
WEATHER, FAHRENHEIT = "us.noaa.seattle-weather", "seattle-weather.fahrenheit"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The weather of Seattle and what was derived from it."""
    monkeypatch.setenv("ODF_REPO", str(tmp_path / "mine"))
    odf("init", tmp_path / "mine")
    for name in (WEATHER, FAHRENHEIT):
        assert odf("pull", DATASETS / name).code == 0
    return tmp_path / "mine"


def test_a_drawing_is_made_of_what_lies_here(mine: Path) -> None:
    ran = odf("lineage", FAHRENHEIT, "--svg")
    root = ET.fromstring(ran.stdout.decode())
    assert (ran.code, [*root.iter(f"{SVG}a")]) == (0, [])
    assert {WEATHER, FAHRENHEIT} <= {each.text for each in root.iter(f"{SVG}text")}


def test_steps_are_told_as_run_events_one_a_line(mine: Path) -> None:
    found: list[Any] = odf("lineage", FAHRENHEIT, "--openlineage").json_lines()
    assert found
    for each in found:
        check_run_event(each)
    identifiers = found[0]["inputs"][0]["facets"]["symlinks"]["identifiers"]
    assert identifiers == [{"namespace": mine.as_uri(), "name": WEATHER, "type": "TABLE"}]
    assert odf("lineage", WEATHER, "--openlineage").stdout == b""


async def test_how_datasets_stand_is_told_by_the_reports_beside_them(mine: Path) -> None:
    entry = await Repository.open(mine).find(DatasetAlias.from_text(WEATHER))
    async with open_catalog("sqlite+aiosqlite:///:memory:") as catalog:
        await Recorder(None, ReportRoom(catalog.reports, keep_last=9)).verified(entry.dataset, WEATHER)
    ran = await asyncio.to_thread(odf, "lineage", FAHRENHEIT)
    assert ran.lines[-1] == f"└─ {WEATHER}  Root  verified"


@pytest.mark.parametrize(
    "options",
    [("--svg", "--json"), ("--svg", "--openlineage"), ("--offset", "1", "--svg"), ("--openlineage", "--depth", "1")],
)
def test_what_excludes_each_other_is_refused(mine: Path, options: tuple[str, ...]) -> None:
    assert odf("lineage", FAHRENHEIT, *options).code != 0


# --- of a server


@pytest.fixture
async def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Hosted]:
    """root → made → hidden."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    async with hosted(tmp_path / "served", Tenancy.MULTI, run_worker=False) as running:
        added = [
            await running.add("root", a_chain(101)),
            await running.add("made", made_of(102, dataset_id(101), dataset_id(9))),
            await running.add("hidden", made_of(103, dataset_id(102)), Visibility.PRIVATE),
        ]
        for entry in added:
            await refresh_facts(running.catalog.dataset_facts, entry.id, entry.dataset)
        yield running


async def run(server: Hosted, who: str | None, *words: object) -> Ran:
    if who is not None:
        save_token(server.url, server.tokens[who])
    return await asyncio.to_thread(odf, "lineage", *words, "--repo", server.url)


async def test_a_server_tells_what_its_caller_may_see(server: Hosted) -> None:
    up = ["derived from:", "├─ alice/root  Root", f"└─ {dataset_id(9)}  as in1  (not in this repository)"]
    assert (await run(server, None, "alice/made")).lines == ["alice/made  Derivative", *up]
    down = ["used by:", "└─ alice/hidden  Derivative"]
    assert (await run(server, "alice", "alice/made")).lines == ["alice/made  Derivative", *up, *down]
    assert (await run(server, "alice", "alice/made", "--depth", "1", "--json")).json()["cut"] is False  # type: ignore[index]


async def test_a_server_draws_and_tells_events_too(server: Hosted) -> None:
    drawing = await run(server, None, "alice/made", "--svg")
    assert len([*ET.fromstring(drawing.stdout.decode()).iter(f"{SVG}rect")]) == 3
    assert (await run(server, None, "alice/made", "--openlineage")).stdout == b""


async def test_what_a_server_does_not_have_is_said_to_be_absent(server: Hosted) -> None:
    for options in ((), ("--svg",), ("--openlineage",)):
        ran = await run(server, None, "alice/hidden", *options)
        assert (ran.code != 0, "there is no dataset alice/hidden" in ran.stderr) == (True, True)


async def asked(answers: dict[str, web.Response], *words: str) -> Ran:
    """A server that answers as it likes."""
    application = web.Application()

    async def answer(request: web.Request) -> web.Response:
        given = answers[request.path.rpartition("/")[2]]
        return web.Response(body=given.body, headers={k: v for k, v in given.headers.items() if k == "Link"})

    application.router.add_get("/{path:.*}", answer)
    async with TestServer(application) as running:
        url = str(running.make_url("/"))
        return await asyncio.to_thread(odf, "lineage", "alice/made", *words, "--repo", url)


@pytest.mark.parametrize("body", [b"", b"[]", b"<html>", b'{"dataset": 1}', b'{"nodes": [], "edges": [], "cut": true}'])
async def test_an_answer_that_is_no_lineage_is_refused(body: bytes) -> None:
    ran = await asked({"lineage": web.Response(body=body)})
    assert (ran.code != 0, "otherwise than with a lineage" in ran.stderr) == (True, True)


@pytest.mark.parametrize("link", ["</x?after=5>", "</x?after=-1>", "</x>", "</x?after=%C2%B2>"])
async def test_events_that_never_end_are_given_up(link: str) -> None:
    body = orjson.dumps([{"eventType": "COMPLETE"}])
    ran = await asked(
        {"openlineage": web.Response(body=body, headers={"Link": f'{link}; rel="next"'})}, "--openlineage"
    )
    assert (ran.code != 0, "otherwise than with" in ran.stderr, len(ran.lines) <= 2) == (True, True, True)


async def test_an_answer_that_names_no_dataset_is_refused() -> None:
    told = {"dataset": str(dataset_id(1)), "nodes": [], "edges": [], "cut": False}
    ran = await asked({"lineage": web.Response(body=orjson.dumps(told))})
    assert (ran.code != 0, "otherwise than with a lineage" in ran.stderr) == (True, True)
