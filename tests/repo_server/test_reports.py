"""``/reports`` of a dataset: for those who may read it, as JSON or as pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import jsonschema
import orjson
import pytest

from catalog.visibility import Visibility
from opendatafabric.layout import report_key
from opendatafabric.multihash import Multihash, physical_hash
from repo_server.config import Tenancy
from storage.repository import DatasetEntry
from tests.repo_server.hosted import Answer, Hosted, a_chain, code_of, hosted
from verify.recording import Recorder
from verify.report_record import SCHEMA_NAME, parse_report
from verify.report_room import ReportRoom

pytestmark = pytest.mark.slow

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """With a public and a private dataset of alice's."""
    async with hosted(tmp_path, tenancy, run_worker=False) as running:
        yield running


async def verified(server: Hosted, entry: DatasetEntry) -> str:
    """The hash of a new report."""
    room = ReportRoom(server.catalog.reports, keep_last=9)
    recorded = await Recorder(None, room).verified(entry.dataset, str(entry.alias))
    assert recorded.hash is not None
    return str(recorded.hash)


async def get(server: Hosted, what: str = "", *, name: str = "open", who: str | None = None, **headers: str) -> Answer:
    return await server.ask("GET", f"{server.path(name)}/reports{what}", who=who, headers=headers)


async def test_reports_are_listed_and_given_out_as_they_are_kept(server: Hosted) -> None:
    entry = await server.add("open", a_chain())
    name = await verified(server, entry)
    listed = orjson.loads((await get(server)).body)
    assert [each["report"] for each in listed["reports"]] == [name]
    assert listed["history"][0]["verdict"] == listed["reports"][0]["verdict"]
    answer = await get(server, f"/{name}")
    assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
    assert str(physical_hash(answer.body)) == name
    assert parse_report(answer.body).alias == str(entry.alias)


async def test_what_never_changes_is_not_sent_twice(server: Hosted) -> None:
    name = await verified(server, await server.add("open", a_chain()))
    first = await get(server, f"/{name}")
    assert "immutable" in first.headers["Cache-Control"]
    again = await get(server, f"/{name}", **{"If-None-Match": first.headers["ETag"]})
    assert (again.status, again.body) == (304, b"")


async def test_browsers_get_pages_that_may_load_nothing(server: Hosted) -> None:
    name = await verified(server, await server.add("open", a_chain()))
    for what in ("", f"/{name}"):
        answer = await get(server, what, Accept=BROWSER)
        assert answer.headers["Content-Type"].startswith("text/html")
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        assert "Accept" in answer.headers["Vary"]
        assert name in answer.text


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("*/*", "json"),
        ("", "json"),
        ("text/html;q=0.5, application/json", "json"),
        ("application/json;q=0.5, TEXT/HTML", "html"),
        ("text/html;q=0", "json"),
        ("text/html;q=nonsense", "json"),
    ],
)
async def test_the_caller_says_which_he_likes_better(multi: Hosted, accept: str, kind: str) -> None:
    await multi.add("open", a_chain())
    assert kind in (await get(multi, Accept=accept)).headers["Content-Type"]


async def test_reports_of_a_private_dataset_are_for_its_readers(server: Hosted) -> None:
    entry = await server.add("secret", a_chain(2), Visibility.PRIVATE)
    name = await verified(server, entry)
    for what in ("", f"/{name}"):
        assert (await get(server, what, name="secret")).status == 404
        answer = await get(server, what, name="secret", who="alice")
        assert answer.status == 200
        assert "public" not in answer.headers["Cache-Control"]


async def test_a_report_is_found_at_its_own_dataset_only(server: Hosted) -> None:
    await server.add("open", a_chain())
    name = await verified(server, await server.add("secret", a_chain(2), Visibility.PRIVATE))
    assert (await get(server, f"/{name}")).status == 404


async def test_what_is_not_there_is_said(server: Hosted) -> None:
    await server.add("open", a_chain())
    assert orjson.loads((await get(server)).body) == {"reports": [], "history": []}
    assert (await get(server, f"/{physical_hash(b'none')}")).status == 404
    assert (await get(server, "/nonsense")).status == 400
    assert (await get(server, name="nothing")).status == 404


async def test_a_damaged_report_is_not_given_out(server: Hosted) -> None:
    entry = await server.add("open", a_chain())
    name = Multihash.from_text(await verified(server, entry))
    path = entry.dataset.objects.local_path(report_key(name))
    assert path is not None
    path.write_bytes(b"{}")
    assert code_of(await get(server, f"/{name}")) == (500, "error")


async def test_the_schema_is_served_and_allows_what_is_served(multi: Hosted) -> None:
    name = await verified(multi, await multi.add("open", a_chain()))
    schema = await multi.ask("GET", f"/system/schemas/{SCHEMA_NAME}")
    jsonschema.validate(orjson.loads((await get(multi, f"/{name}")).body), orjson.loads(schema.body))
    assert (await multi.ask("GET", "/system/schemas/other.json")).status == 404
