"""A real server in a thread of its own, for clients that wait, and the names that lead somewhere there."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Final

from hypothesis import strategies as st

from catalog.visibility import Visibility
from repo_server.config import Tenancy
from repo_server.openapi.document import openapi_document
from repo_server.routes import served
from tests.repo_server.hosted import a_chain, hosted
from tests.repo_server.ingested import engine_without_spark

STARTS_S: Final = 60
CALLERS: Final = ("nobody", "bob", "alice", "root", "stranger")
"""Without a token, a reader, the owner, an administrator, and with a token that is none."""

_DATASETS: Final = (("open", Visibility.PUBLIC), ("secret", Visibility.PRIVATE))
_CHAIN: Final = a_chain()
_HASHES: Final = [str(_CHAIN.head), *map(str, _CHAIN.slices), "f1620" + "0" * 64]
PLACES: Final = st.fixed_dictionaries(
    {
        "account": st.just("alice"),
        "name": st.sampled_from(["open", "open", "secret", "nothing"]),
    },
    optional={
        "hash": st.sampled_from(_HASHES),
        "ref": st.sampled_from(["head", "staging"]),
        "did": st.just(str(_CHAIN.id)),
    },
)
"""Where requests go: what no generator would guess."""


@dataclass(frozen=True)
class Fuzzed:
    """The server, and the header of each caller."""

    url: str
    headers: dict[str, dict[str, str]]


def document() -> dict[str, Any]:
    """What the server says of itself."""
    return openapi_document(served(Tenancy.MULTI, with_ipfs=True), "http://127.0.0.1", "0")


@contextmanager
def fuzzed(folder: Path) -> Iterator[Fuzzed]:
    """The server, until the end of the block."""
    ready: Future[Fuzzed] = Future()
    loop, done = asyncio.new_event_loop(), asyncio.Event()
    thread = Thread(target=loop.run_until_complete, args=(_serve(folder, ready, done),))
    thread.start()
    try:
        yield ready.result(STARTS_S)
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(STARTS_S)
        loop.close()


async def _serve(folder: Path, ready: Future[Fuzzed], done: asyncio.Event) -> None:
    engine = engine_without_spark(folder / "engine")
    options = {"ipfs_provider": True, "run_worker": False, "run_mirrors": False}
    try:
        async with hosted(folder, Tenancy.MULTI, engine=engine, **options) as server:
            for number, (name, visibility) in enumerate(
                (("open", Visibility.PUBLIC), ("secret", Visibility.PRIVATE)), 1
            ):
                await server.add(name, a_chain(number), visibility)
            headers = {name: server.as_(name) for name in ("bob", "alice", "root")}
            none = {"nobody": {}, "stranger": server.as_("ka_" + "0" * 58)}
            ready.set_result(Fuzzed(server.url, {**headers, **none}))
            await done.wait()
    except BaseException as error:
        if not ready.done():
            ready.set_exception(error)
        raise
