"""A real server in a thread of its own, for clients that wait, and the names that lead somewhere there."""

from __future__ import annotations

import asyncio
import copy
import re
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Final

from catalog.visibility import Visibility
from opendatafabric.names import AccountName
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
_SPARE: Final = ("spare", Visibility.PUBLIC)
"""What is deleted, renamed and given away, while the others stay."""

_CHANGED: Final = re.compile(r"/\{account\}/\{name\}(/transfer)?")
_PATIENT: Final = {
    "reads_per_minute": 0,
    "writes_per_minute": 0,
    "transfers_per_minute": 0,
    "failed_logins_per_5_minutes": 0,
    "login_polls_per_minute": 0,
    "bad_tokens_per_minute": 0,
}
_OPTIONS: Final = {"ipfs_provider": True, "run_worker": False, "run_mirrors": False, **_PATIENT}


_KNOWN: Final = {
    "account": ["alice"],
    "name": ["open", "secret", "nothing"],
    "hash": _HASHES,
    "ref": ["head", "staging"],
    "did": [str(_CHAIN.id)],
}


def known_in(path: str) -> dict[str, list[str]]:
    """What stands in a path for something that is there, which no generator would guess."""
    if path.startswith("/accounts/"):
        return {"account": ["carol"]}
    return _KNOWN | ({"name": [_SPARE[0]]} if _CHANGED.fullmatch(path) else {})


@dataclass(frozen=True)
class Fuzzed:
    """The server, and the header of each caller."""

    url: str
    headers: dict[str, dict[str, str]]


def document() -> dict[str, Any]:
    """What the server says of itself, with names that are there for what may be called anything."""
    routes = served(Tenancy.MULTI, with_ipfs=True)
    found = copy.deepcopy(openapi_document(routes, "http://127.0.0.1", "0"))
    for path, operations in found["paths"].items():
        known = known_in(path)
        parameters = [each for operation in operations.values() for each in operation["parameters"]]
        for parameter in parameters:
            if parameter["in"] == "path" and parameter["name"] in known:
                parameter["schema"] = {"enum": known[parameter["name"]]}
    return found


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
    try:
        async with hosted(folder, Tenancy.MULTI, engine=engine, **_OPTIONS) as server:
            for number, (name, visibility) in enumerate((*_DATASETS, _SPARE), 1):
                await server.add(name, a_chain(number), visibility)
            await server.catalog.accounts.create(AccountName("carol"))
            headers = {name: server.as_(name) for name in ("bob", "alice", "root")}
            none = {"nobody": {}, "stranger": server.as_("ka_" + "0" * 58)}
            ready.set_result(Fuzzed(server.url, {**headers, **none}))
            await done.wait()
    except BaseException as error:
        if not ready.done():
            ready.set_exception(error)
        raise
