"""What do a thousand listeners to events cost one server process, and how soon do all of them hear?

A server with one dataset; listeners over loopback, from another process, each with an account of its own or none. It is
noted again and again that something happened to the dataset: an event that everybody hears. Told are the memory of
the server for each listener, and whether it stays (bytes that it grew by for each event); the time from a change to the
last listener's hearing; the CPU time for each event and listener. Beside it stands a bare server of aiohttp that writes
the same bytes to as many streams: what the framework alone takes.

Run it: python -m benchmarks.events [--quick] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import orjson

from benchmarks.harness import RESULTS
from benchmarks.pages import fill
from catalog.catalog import open_catalog
from catalog.events import EventType
from catalog.scopes import Scope
from opendatafabric.did import new_dataset_id
from opendatafabric.names import AccountName
from repo_server.config import Settings

LISTENERS, EVENTS, ACCOUNTS = 1_000, 30, 50
GROWTH_BYTES_PER_EVENT_MAX, RATIO_MAX = 4_096, 8.0
_PATIENCE_S = 120
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")

BARE = """
import asyncio, sys
from aiohttp import web
streams = set()
async def listen(request):
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    queue = asyncio.Queue()
    streams.add(queue)
    while True:
        await response.write(await queue.get())
async def tell(request):
    said = await request.read()
    for queue in streams:
        queue.put_nowait(said)
    return web.Response()
async def main():
    application = web.Application()
    application.router.add_get("/events", listen)
    application.router.add_post("/tell", tell)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    print("http://127.0.0.1:%d" % runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""


@dataclass(frozen=True)
class Heard:
    """What one kind of server needed."""

    server: str
    listeners: int
    kib_per_listener: float
    growth_bytes_per_event: float
    p50_ms: float
    p95_ms: float
    cpu_us_per_hearing: float


class Listeners:
    """Many clients that count what they hear, on sockets alone: they must not be what is measured."""

    def __init__(self) -> None:
        self.count, self.heard = 0, 0
        self._all = asyncio.Event()
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def join(self, url: str, token: str | None) -> None:
        """One more."""
        host, _, port = url.removeprefix("http://").partition(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        bearer = "" if token is None else f"Authorization: Bearer {token}\r\n"
        writer.write(f"GET /events HTTP/1.1\r\nHost: {host}\r\n{bearer}\r\n".encode())
        assert b" 200 " in await reader.readline()
        await reader.readuntil(b"\r\n\r\n")
        self.count += 1
        self._writers.append(writer)
        self._tasks.append(asyncio.create_task(self._hear(reader)))

    async def _hear(self, reader: asyncio.StreamReader) -> None:
        while line := await reader.readline():
            if line.startswith(b"data: "):
                self.heard += 1
                if self.heard % self.count == 0:
                    self._all.set()

    async def all_hear(self, tell: Callable[[], Awaitable[None]]) -> float:
        """Seconds from the telling to the last one's hearing."""
        self._all.clear()
        began = time.perf_counter()
        await tell()
        async with asyncio.timeout(_PATIENCE_S):
            await self._all.wait()
        return time.perf_counter() - began

    async def leave(self) -> None:
        """All of them."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.close()


def resident_bytes(process: int) -> int:
    """Memory that a process has."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE


def cpu_s(process: int) -> float:
    """CPU time that it took."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


@asynccontextmanager
async def process(command: list[str], settings: dict[str, str]) -> AsyncIterator[tuple[int, str]]:
    """Its number, and the address that it prints."""
    running = await asyncio.to_thread(started, command, settings)
    assert running.stdout is not None
    try:
        yield running.pid, (await asyncio.to_thread(running.stdout.readline)).strip()
    finally:
        running.terminate()
        await asyncio.to_thread(running.wait)


def started(command: list[str], settings: dict[str, str]) -> subprocess.Popen[str]:
    """A process that prints its address first."""
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, **settings})


async def measured(
    name: str, number: int, url: str, tokens: list[str | None], events: int, tell: Callable[[], Awaitable[None]]
) -> Heard:
    """As many listeners as tokens, and as many events."""
    listeners, before = Listeners(), resident_bytes(number)
    for token in tokens:
        await listeners.join(url, token)
    await listeners.all_hear(tell)
    joined = resident_bytes(number)
    half = [await listeners.all_hear(tell) for _ in range(events // 2)]
    middle, began_cpu_s = resident_bytes(number), cpu_s(number)
    took = sorted([await listeners.all_hear(tell) for _ in range(events // 2)])
    used_s, grown = cpu_s(number) - began_cpu_s, resident_bytes(number) - middle
    await listeners.leave()
    assert half
    return Heard(
        name,
        len(tokens),
        round((joined - before) / 1024 / len(tokens), 1),
        round(grown / len(took)),
        round(took[len(took) // 2] * 1_000, 1),
        round(took[int(len(took) * 0.95)] * 1_000, 1),
        round(used_s / len(took) / len(tokens) * 1e6, 1),
    )


async def at_server(folder: Path, listeners: int, events: int) -> Heard:
    """The repository's own server."""
    await fill(folder, 1, 4)
    settings = {"ODF_ACCESS_LOG": "false", "ODF_LOG_LEVEL": "ERROR", "ODF_DEFAULT_VISIBILITY": "public"}
    settings |= {"ODF_LISTENERS_AT_ONCE": "100000", "ODF_CONNECTIONS_MAX": "100000", "ODF_REQUESTS_AT_ONCE": "100000"}
    settings |= {"ODF_CONNECTIONS_PER_ADDRESS_MAX": "100000", "ODF_SCRUB_INTERVAL_S": "0", "ODF_READS_PER_MINUTE": "0"}
    command = [sys.executable, "-m", "cli.main", "serve", "--port", "0", "--no-worker", "--repo", str(folder)]
    async with process(command, settings) as (number, url), open_catalog(Settings(repo=folder).database_url) as catalog:
        tokens: list[str | None] = [None]
        for account in range(ACCOUNTS):
            made = await catalog.accounts.create(AccountName(f"listener{account}"))
            tokens.append(await catalog.tokens.create(made, (Scope.DATASETS_READ,)))
        dataset_id = new_dataset_id((0).to_bytes(32, "big"))

        async def tell() -> None:
            await catalog.events.note(EventType.VISIBILITY_CHANGED, dataset_id, {"visibility": "public"})

        everybody = [tokens[each % len(tokens)] for each in range(listeners)]
        return await measured("server", number, url, everybody, events, tell)


async def at_bare(said: bytes, listeners: int, events: int) -> Heard:
    """Nothing but aiohttp."""
    async with process([sys.executable, "-c", BARE], {}) as (number, url):
        host, _, port = url.removeprefix("http://").partition(":")

        async def tell() -> None:
            reader, writer = await asyncio.open_connection(host, int(port))
            writer.write(b"POST /tell HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))
            await reader.readline()
            writer.close()

        return await measured("bare aiohttp", number, url, [None] * listeners, events, tell)


async def measure(listeners: int, events: int) -> list[Heard]:
    """Both, one after the other."""
    told = orjson.dumps({"specversion": "1.0", "data": {"filler": "x" * 300}})
    with tempfile.TemporaryDirectory() as folder:
        ours = await at_server(Path(folder) / "repository", listeners, events)
    return [ours, await at_bare(b"id: 1\nevent: head-moved\ndata: %b\n\n" % told, listeners, events)]


def shown(found: list[Heard]) -> str:
    """A table, and what has to hold."""
    ours, bare = found
    heads = "| server | listeners | KiB each | bytes grown per event | p50 ms | p95 ms | CPU µs per hearing |\n"
    lines = [heads + "|---|---|---|---|---|---|---|"]
    lines += ["| " + " | ".join(map(str, asdict(each).values())) + " |" for each in found]
    ratio = ours.cpu_us_per_hearing / max(bare.cpu_us_per_hearing, 0.1)
    lines.append(f"\nCPU next to bare aiohttp: {ratio:.2f} (goal: at most {RATIO_MAX:g})")
    flat = ours.growth_bytes_per_event <= GROWTH_BYTES_PER_EVENT_MAX
    lines.append(f"memory is flat: {'yes' if flat else 'NO'} (at most {GROWTH_BYTES_PER_EVENT_MAX} bytes per event)")
    return "\n".join(lines)


def main() -> None:
    """Ask, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    found = asyncio.run(measure(*((100, 20) if options.quick else (LISTENERS, EVENTS))))
    plain = [asdict(each) for each in found]
    print(json.dumps(plain, indent=1) if options.json else shown(found))
    if not options.quick:
        (RESULTS / "events.json").write_text(json.dumps(plain, indent=1) + "\n")


if __name__ == "__main__":
    main()
