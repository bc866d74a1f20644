"""A server is asked to verify its dataset, and followed to the verdict, whatever comes between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from catalog.jobs import VERIFY
from cli.datasets import Located
from cli.server_verifications import verified_by_server
from opendatafabric.errors import AccessDenied, MalformedInput, ObjectNotFound
from repo_server import event_stream
from repo_server.config import Tenancy
from storage.progress import silent
from tests.cli.runner import Ran, odf
from tests.repo_server.hosted import Hosted, a_chain, hosted
from tests.storage.chains import dataset_id

VALID = {"verdict": "valid", "blocks": 5, "records": 9, "findings": 0, "finding": None, "report": "f1620aa"}
INVALID = {**VALID, "verdict": "invalid", "findings": 1, "finding": "damage [object-missing] block 3: gone"}


@pytest.fixture(autouse=True)
def _looks_often(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(event_stream, "LOOK_EVERY_S", 0.01)
    monkeypatch.setenv("HOME", str(tmp_path))


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Hosted]:
    """With one dataset of alice's; the tests are its worker."""
    async with hosted(tmp_path / "server", Tenancy.MULTI, run_worker=False) as running:
        await running.add("open", a_chain())
        yield running


@asynccontextmanager
async def asked(server: Hosted, monkeypatch: pytest.MonkeyPatch, *options: str) -> AsyncIterator[asyncio.Task[Ran]]:
    """The command that asks, while it runs."""
    monkeypatch.setattr("sync.credentials.token_for", lambda _: server.tokens["alice"])
    command = asyncio.to_thread(odf, "verify", "--at-server", "alice/open", "--repo", server.url, *options)
    task = asyncio.create_task(command)
    yield task
    await task


async def worked(server: Hosted, outcome: dict[str, Any] | None, *, error: str | None = None) -> None:
    """Take the job as soon as it is there, and end it so."""
    async with asyncio.timeout(60):
        while True:
            job = await server.catalog.jobs.claim_due([VERIFY], "worker", lease_s=600)
            if job is not None:
                break
            await asyncio.sleep(0.01)
    assert job.id.dataset_id == dataset_id(1)
    await server.catalog.jobs.tell_progress(job, {"blocks": {"done": 2, "total": 5}})
    await server.catalog.jobs.finish(job, outcome=outcome, error=error)


@pytest.mark.parametrize(("outcome", "code"), [(VALID, 0), (INVALID, 3), ({**VALID, "verdict": "error"}, 1)])
async def test_the_exit_code_is_that_of_the_verdict(
    server: Hosted, monkeypatch: pytest.MonkeyPatch, outcome: dict[str, Any], code: int
) -> None:
    async with asked(server, monkeypatch) as command:
        await worked(server, outcome)
        ran = await command
    assert (ran.code, ran.stderr) == (code, "")
    assert f"alice/open: {outcome['verdict']} (5 blocks, 9 records, {outcome['findings']} findings)" in ran.lines
    assert "report f1620aa" in ran.lines
    assert (str(outcome["finding"]) in ran.lines) == (outcome["finding"] is not None)


async def test_json_is_the_last_state_of_the_run(server: Hosted, monkeypatch: pytest.MonkeyPatch) -> None:
    async with asked(server, monkeypatch, "--json") as command:
        await worked(server, INVALID)
        (told,) = (await command).json_lines()
    assert (told["name"], told["run"], told["state"], told["outcome"]) == ("alice/open", 1, "ended", INVALID)


async def test_a_run_that_failed_says_why_and_leaves_the_verdict_open(
    server: Hosted, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with asked(server, monkeypatch) as command:
        await worked(server, None, error="the disk is full")
        ran = await command
    assert (ran.code, ran.lines) == (1, ["alice/open: failed: the disk is full"])


async def test_who_may_not_ask_is_told_so(server: Hosted, tmp_path: Path) -> None:
    with pytest.raises(AccessDenied):
        await verified_by_server(Located("open", f"{server.url}/alice/open"), silent)
    with pytest.raises(ObjectNotFound):
        await verified_by_server(Located("none", f"{server.url}/alice/none"), silent)


@pytest.mark.parametrize(
    "option", ["--recursive", "--integrity-only", "--attest", "--timeout=5", "--junit=x", "--no-keep"]
)
def test_how_the_server_verifies_is_its_own_affair(option: str) -> None:
    assert odf("verify", "--at-server", "http://127.0.0.1:9/a/b", option).code == 2


def test_what_lies_on_no_server_is_not_asked_for(tmp_path: Path) -> None:
    assert odf("verify", "--at-server").code == 2
    assert "is not on a server" in odf("verify", "--at-server", "a/b", "--repo", tmp_path).stderr


Events = Callable[[str | None], Iterable[bytes]]
"""What a stream holds for a client that knows the state of that id."""


@asynccontextmanager
async def another_server(events: Events, answer: object = None) -> AsyncIterator[Located]:
    """One that tells of run 1 what it likes, a stream at a time."""

    async def ask(_: web.Request) -> web.Response:
        return web.json_response({"run": 1, "state": "waiting"} if answer is None else answer, status=202)

    async def stream(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        for each in events(request.headers.get("Last-Event-ID")):
            await response.write(each)
        return response

    application = web.Application()
    application.router.add_post("/a/b/verify", ask)
    application.router.add_get("/a/b/verify/1/events", stream)
    async with TestServer(application) as running:
        yield Located("b", str(running.make_url("/a/b/")))


def event(name: str, **state: object) -> bytes:
    return b"id: %b\nevent: state\ndata: %b\n\n" % (name.encode(), orjson.dumps({"run": 1, **state}))


async def test_a_stream_that_ends_early_is_asked_for_again_from_where_it_was() -> None:
    known: list[str | None] = []

    def events(last: str | None) -> Iterable[bytes]:
        known.append(last)
        yield b"retry: 1\n\n: waiting\n\n"
        if last is None:
            yield event("a1", state="running", progress={"blocks": {"done": 1, "total": None}})
            yield b"id: b2\n"
        else:
            yield event("c3", state="ended", outcome=VALID)

    seen: list[tuple[str, int, int | None]] = []
    async with another_server(events) as located:
        state = await verified_by_server(located, lambda *amount: seen.append(amount), ask_again_s=0)
    assert (state["outcome"], known, seen) == (VALID, [None, "a1"], [("blocks", 1, None)])


@pytest.mark.parametrize(
    "raw",
    [
        b"data: nonsense\n",
        b'data: {"run": 1}\n',
        b'data: {"run": 1, "state": "other"}\n',
        b'data: {"run": 1, "state": "ended"}\n',
        b'data: {"run": 1, "state": "ended", "outcome": {"verdict": "fine"}}\n',
        b'data: {"run": 1, "state": "running", "progress": {"\\u001b[2J": {"done": 1, "total": 2}}}\n',
        b'data: {"run": 1, "state": "running", "progress": {"blocks": {"done": "1", "total": 2}}}\n',
        pytest.param(b"x" * 1_000_000, id="endless"),
    ],
)
async def test_another_answer_than_the_state_of_a_run_is_refused(raw: bytes) -> None:
    async with another_server(lambda _: [raw]) as located:
        with pytest.raises(MalformedInput):
            await verified_by_server(located, silent)


@pytest.mark.parametrize("answer", [[], {"run": "../../x", "state": "waiting"}, {"state": "waiting"}])
async def test_another_answer_than_a_run_is_refused(answer: object) -> None:
    async with another_server(lambda _: [], answer) as located:
        with pytest.raises(MalformedInput):
            await verified_by_server(located, silent)
