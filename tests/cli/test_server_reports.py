"""Reports on a server are listed and shown like those of a folder; a report is what its hash says, or is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from cli.reports import found_report, print_report, reports_of
from opendatafabric.errors import HashMismatch, MalformedInput, ObjectNotFound
from opendatafabric.layout import report_key
from opendatafabric.multihash import Multihash, physical_hash
from repo_server.config import Tenancy
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.verify.test_redaction import WHOLE
from verify.recording import Recorder
from verify.redaction import LEFT_OUT, redacted
from verify.report_record import ReportRecord, parse_report
from verify.report_room import ReportRoom, read_told_report


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    """With one dataset."""
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False) as running:
        await running.add("open", a_chain())
        yield running


async def verified(server: Hosted) -> Multihash:
    entry = await server.repository.find(server.alias("open"))
    recorder = Recorder(None, ReportRoom(server.catalog.reports, keep_last=9))
    recorded = await recorder.verified(entry.dataset, str(entry.alias))
    assert recorded.hash is not None
    return recorded.hash


async def test_reports_are_listed_by_address_and_by_name(server: Hosted) -> None:
    name = await verified(server)
    by_address = await reports_of(f"{server.url}/alice/open/", ".")
    assert [each["report"] for each in by_address["reports"]] == [str(name)]
    assert by_address == await reports_of("alice/open", server.url)


async def test_the_last_report_is_shown_or_the_one_at_its_address(server: Hosted) -> None:
    first, last = await verified(server), await verified(server)
    assert (await found_report("alice/open", server.url))[0] == last
    found, raw = await found_report(f"{server.url}/alice/open/reports/{first}", ".")
    assert found == first
    assert parse_report(raw).hash() == first


async def test_what_is_not_there_is_not_found(server: Hosted) -> None:
    with pytest.raises(ObjectNotFound):
        await found_report("alice/open", server.url)
    with pytest.raises(ObjectNotFound):
        await reports_of("alice/nothing", server.url)


@pytest.mark.parametrize(
    "body",
    [
        "",
        "[]",
        "{}",
        '{"reports": 1, "history": []}',
        '{"reports": [1], "history": []}',
        '{"reports": [{"report": "x"}], "history": []}',
        '{"reports": [], "history": [{"verdict": "\\u001b[2J", "firstSeen": "", "lastSeen": "", "reports": 1}]}',
    ],
)
async def test_another_answer_than_reports_is_refused(body: str) -> None:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text=body)

    application = web.Application()
    application.router.add_get("/a/b/reports", answer)
    async with TestServer(application) as lying:
        with pytest.raises(MalformedInput):
            await reports_of(f"{lying.make_url('/a/b/')}", ".")


async def test_a_report_that_is_another_than_asked_for_is_refused(server: Hosted) -> None:
    name = await verified(server)

    async def answer(_: web.Request) -> web.Response:
        return web.Response(text="{}")

    application = web.Application()
    application.router.add_get(f"/a/b/{report_key(name)}", answer)
    async with TestServer(application) as lying:
        with pytest.raises(HashMismatch):
            await found_report(f"{lying.make_url('/a/b')}/{report_key(name)}", ".")


async def test_a_report_with_values_left_out_is_taken_and_says_so(
    server: Hosted, capsys: pytest.CaptureFixture[str]
) -> None:
    name = await keep(server, WHOLE)
    found, raw = await found_report(f"{server.url}/alice/open/reports/{name}", ".")
    told = parse_report(raw)
    assert (found, told.redacted_from) == (name, str(name))
    print_report(found, told)
    assert f"redacted: {LEFT_OUT}" in capsys.readouterr().out


async def test_a_report_that_was_made_of_another_one_is_refused(server: Hosted) -> None:
    name = await keep(server, WHOLE, redacted(WHOLE, physical_hash(b"another")).to_bytes())
    with pytest.raises(HashMismatch):
        await read_told_report((await server.repository.find(server.alias("open"))).dataset.objects, name)


async def keep(server: Hosted, report: ReportRecord, raw: bytes | None = None) -> Multihash:
    """Its name; the bytes that are kept by it may be others."""
    entry = await server.repository.find(server.alias("open"))
    await entry.dataset.writable_objects().put(report_key(report.hash()), raw or report.to_bytes())
    return report.hash()
