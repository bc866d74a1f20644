"""Badges say how a dataset stands, to those who may read it, and may be kept for a moment."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from xml.etree import ElementTree

import orjson
import pytest

from catalog.reports import KeptReport
from catalog.visibility import Visibility
from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from repo_server.pages.badge import badge_json, badge_svg
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import dataset_id
from verify.standing import Standing


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """With a public and a private dataset of alice's, neither verified."""
    async with hosted(tmp_path, tenancy, run_worker=False) as running:
        await running.add("open", a_chain(1))
        await running.add("secret", a_chain(2), Visibility.PRIVATE)
        yield running


async def verified(server: Hosted, verdict: str, at: float) -> None:
    report = KeptReport(dataset_id(1), physical_hash(b"%f" % at), a_chain(1).head, verdict, False, at)
    await server.catalog.reports.add(report)


async def test_a_badge_follows_the_last_report(server: Hosted) -> None:
    path, said = server.path("open"), []
    for at, verdict in enumerate((None, "valid", "invalid", "error")):
        if verdict is not None:
            await verified(server, verdict, at)
        said.append(orjson.loads((await server.ask("GET", f"{path}/badge.json")).body)["message"])
        assert f"dataset: {said[-1]}" in (await server.ask("GET", f"{path}/badge.svg")).text
    assert said == ["unknown", "verified", "failing", "unknown"]


async def test_a_new_head_makes_the_last_verdict_stale(server: Hosted) -> None:
    await verified(server, "valid", 1)
    entry = await server.repository.find(server.alias("open"))
    longer = a_chain(1)
    longer.info("something new")
    await entry.dataset.append(longer.blocks[-1:], expected_head=await entry.dataset.head())
    assert orjson.loads((await server.ask("GET", f"{server.path('open')}/badge.json")).body)["message"] == "stale"


async def test_a_badge_may_be_kept_for_a_moment_and_asked_for_again(server: Hosted) -> None:
    path = f"{server.path('open')}/badge.svg"
    answer = await server.ask("GET", path)
    assert (answer.headers["Content-Type"], answer.headers["Cache-Control"]) == ("image/svg+xml", "public, max-age=60")
    known = {"If-None-Match": f'W/"x", {answer.headers["ETag"]}'}
    again = await server.ask("GET", path, headers=known)
    assert (again.status, again.body) == (304, b"")
    await verified(server, "valid", 1)
    assert (await server.ask("GET", path, headers=known)).status == 200


async def test_a_private_dataset_has_a_badge_for_its_readers_alone(server: Hosted) -> None:
    path = f"{server.path('secret')}/badge.svg"
    assert [(await server.ask("GET", path, who=who)).status for who in (None, "bob", "alice")] == [404, 404, 200]
    assert (await server.ask("GET", path, who="alice")).headers["Cache-Control"] == "private, no-cache"


@pytest.mark.parametrize("standing", list(Standing))
def test_a_picture_is_well_formed_and_wide_enough_for_its_words(standing: Standing) -> None:
    picture = ElementTree.fromstring(badge_svg(standing))
    assert picture.get("aria-label") == f"dataset: {standing.value}"
    left, right = (float(each.get("width", 0)) for each in picture.iter("{http://www.w3.org/2000/svg}rect"))
    assert left + right == float(picture.get("width", 0))
    assert right > len(standing.value) * 6


def test_only_what_fails_is_an_error() -> None:
    assert [each for each in Standing if badge_json(each, fresh_s=60)["isError"]] == [Standing.FAILING]
    assert badge_json(Standing.VERIFIED, fresh_s=60) == {
        "schemaVersion": 1, "label": "dataset", "message": "verified", "color": "brightgreen", "isError": False,
        "cacheSeconds": 60,
    }  # fmt: skip
