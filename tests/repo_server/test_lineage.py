"""Lineage over HTTP: what a dataset is made of, for whoever may see it, a moment after it changed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
import pytest

from catalog.reports import KeptReport
from catalog.roles import Role
from catalog.visibility import Visibility
from opendatafabric.did import DatasetId
from opendatafabric.metadata.events import DatasetKind, SetTransform
from opendatafabric.metadata.transform import TransformInput
from opendatafabric.multihash import physical_hash
from tests.pipeline.transform.derived import query_over
from tests.repo_server.hosted import Hosted, a_chain
from tests.storage.chains import ChainBuilder, dataset_id

pytestmark = pytest.mark.slow

BROWSER = {"Accept": "text/html,*/*;q=0.8"}
ROOT, MADE, LAST = map(dataset_id, (101, 102, 103))


def made_of(number: int, *inputs: DatasetId) -> ChainBuilder:
    chain = ChainBuilder(dataset_id(number), DatasetKind.DERIVATIVE)
    named = tuple(TransformInput(each, f"in{place}") for place, each in enumerate(inputs))
    chain.add(SetTransform(named, query_over("select 1").transform))
    return chain


async def add(server: Hosted, name: str, chain: ChainBuilder, visibility: Visibility = Visibility.PUBLIC) -> None:
    """A dataset whose push this server noted."""
    entry = await server.add(name, chain, visibility)
    await server.catalog.datasets.log_move(entry.id, None, expected_head=None, new_head=chain.head)


async def told(server: Hosted, name: str, who: str | None = None, query: str = "") -> dict[str, Any]:
    answer = await server.ask("GET", f"{server.path(name)}/lineage{query}", who=who)
    assert answer.status == 200
    found: dict[str, Any] = orjson.loads(answer.body)
    return found


async def names(server: Hosted, name: str, who: str | None = None, query: str = "") -> dict[str, int]:
    """Names, or what queries call what has none, with their distances."""
    nodes = (await told(server, name, who, query))["nodes"]
    return {(each["alias"] or each["calledAs"]).rpartition("/")[2]: each["distance"] for each in nodes}


async def until(true: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(30):
        while not await true():  # noqa: ASYNC110
            await asyncio.sleep(0.02)


@pytest.fixture
async def three(multi: Hosted) -> Hosted:
    """root → made → last."""
    await add(multi, "root", a_chain(101))
    await add(multi, "made", made_of(102, ROOT))
    await add(multi, "last", made_of(103, MADE))
    await until(lambda: _is(multi, "root", {"root": 0, "made": 1, "last": 2}))
    return multi


async def _is(server: Hosted, name: str, wanted: dict[str, int]) -> bool:
    return await names(server, name) == wanted


async def test_what_a_dataset_is_made_of_and_what_is_made_of_it(three: Hosted) -> None:
    found = await told(three, "made")
    assert await names(three, "made") == {"made": 0, "root": -1, "last": 1}
    assert found["edges"] == [
        {"input": str(ROOT), "derived": str(MADE), "calledAs": "in0"},
        {"input": str(MADE), "derived": str(LAST), "calledAs": "in0"},
    ]
    assert (found["dataset"], found["cut"]) == (str(MADE), False)
    assert {each["standing"] for each in found["nodes"]} == {"unknown"}


async def test_it_is_followed_as_far_as_wanted(three: Hosted) -> None:
    assert await names(three, "last", query="?depth=1") == {"last": 0, "made": -1}
    assert (await told(three, "last", query="?depth=1"))["cut"] is True
    for depth in ("0", "-1", "x", "101", "9" * 40, "%C2%B2"):
        for path in ("lineage", "lineage.svg"):
            assert (await three.ask("GET", f"{three.path('last')}/{path}?depth={depth}")).status == 400


async def test_a_hidden_dataset_is_told_as_one_that_is_absent(multi: Hosted) -> None:
    await add(multi, "hidden", a_chain(101), Visibility.PRIVATE)
    await add(multi, "made", made_of(102, ROOT, dataset_id(9)))
    await add(multi, "secret", made_of(103, MADE), Visibility.PRIVATE)
    await until(lambda: _is_for_alice(multi))
    hidden, absent = (await told(multi, "made", who="bob"))["nodes"][1:]
    assert {**hidden, "id": "", "calledAs": ""} == {**absent, "id": "", "calledAs": ""}
    assert (hidden["standing"], hidden["alias"]) == ("not-here", None)
    for path in ("lineage", "lineage.svg", ""):
        for headers in ({}, BROWSER):
            answer = await multi.ask("GET", f"{multi.path('made')}/{path}".rstrip("/"), who="bob", headers=headers)
            assert "alice/hidden" not in answer.text
            assert "alice/secret" not in answer.text
            assert str(LAST) not in answer.text
    await multi.catalog.roles.grant(LAST, multi.accounts["bob"], Role.READER)
    assert await names(multi, "made", "bob") == {"made": 0, "in0": -1, "in1": -1, "secret": 1}


async def _is_for_alice(server: Hosted) -> bool:
    return await names(server, "made", "alice") == {"made": 0, "hidden": -1, "in1": -1, "secret": 1}


async def test_every_mutation_is_seen(three: Hosted) -> None:
    answer = await three.ask(
        "PATCH", three.path("root"), who="alice", data=b'{"name": "other"}',
        headers={"Content-Type": "application/json"},
    )  # fmt: skip
    assert answer.status == 200
    assert await names(three, "last") == {"last": 0, "made": -1, "other": -2}
    head = (await three.ask("GET", f"{three.path('last')}/refs/head")).text
    await three.ask("DELETE", three.path("last"), who="alice", headers={"If-Match": f'"{head}"'})
    assert await names(three, "other") == {"other": 0, "made": 1}
    entry = await three.repository.find(three.alias("made"))
    await three.catalog.datasets.set_visibility(entry.id, Visibility.PRIVATE)
    assert await names(three, "other") == {"other": 0}


async def test_a_new_transform_is_seen_within_a_second(three: Hosted) -> None:
    entry = await three.repository.find(three.alias("last"))
    chain = made_of(103, MADE)
    chain.add(SetTransform((TransformInput(ROOT, "in0"),), query_over("select 2").transform))
    old = await entry.dataset.head()
    await entry.dataset.append(chain.blocks[2:], expected_head=old)
    await three.catalog.datasets.log_move(entry.id, None, expected_head=old, new_head=chain.head)
    await until(lambda: _is(three, "made", {"made": 0, "root": -1}))
    assert await names(three, "root") == {"root": 0, "made": 1, "last": 1}


async def verified(server: Hosted, name: str, verdict: str) -> None:
    entry = await server.repository.find(server.alias(name))
    report = KeptReport(entry.id, physical_hash(name.encode()), await entry.dataset.head(), verdict, False, 9.0)
    await server.catalog.reports.add(report)


async def test_a_page_and_a_drawing_say_how_each_stands(three: Hosted) -> None:
    await verified(three, "root", "invalid")
    await verified(three, "made", "valid")
    page = await three.ask("GET", f"{three.path('last')}/lineage", headers=BROWSER)
    assert page.headers["Content-Security-Policy"].startswith("default-src 'none'; style-src 'self'")
    for text in ("alice/root: root, verification fails", "alice/made: derivative, verified", 'href="/alice/root"'):
        assert text in page.text
    drawing = await three.ask("GET", f"{three.path('last')}/lineage.svg")
    assert drawing.headers["Content-Type"] == "image/svg+xml"
    assert "style-src 'sha256-" in drawing.headers["Content-Security-Policy"]
    assert 'class="failing"' in drawing.text
    again = {"If-None-Match": drawing.headers["ETag"]}
    assert (await three.ask("GET", f"{three.path('last')}/lineage.svg", headers=again)).status == 304


async def test_the_page_of_a_dataset_shows_what_is_beside_it(three: Hosted) -> None:
    made = (await three.ask("GET", three.path("made"), headers=BROWSER)).text
    assert {"/alice/root", "/alice/last"} <= set(re.findall(r'<a href="([^"]+)" aria-label', made))
    await add(three, "alone", a_chain(7))
    assert "Drawing of the lineage" not in (await three.ask("GET", three.path("alone"), headers=BROWSER)).text


@pytest.mark.parametrize("path", ["lineage", "lineage.svg"])
async def test_of_a_private_dataset_nothing_is_told(multi: Hosted, path: str) -> None:
    await add(multi, "secret", a_chain(7), Visibility.PRIVATE)
    assert (await multi.ask("GET", f"{multi.path('secret')}/{path}")).status == 404
    assert (await multi.ask("GET", f"{multi.path('secret')}/{path}", who="alice")).status == 200
