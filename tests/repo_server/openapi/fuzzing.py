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
from tests.repo_server.ingested import CSV, add_root, engine_without_spark, push
from tests.repo_server.recorded import AIRPORTS, FAHRENHEIT, RECORDED, WEATHER, add_recorded

STARTS_S: Final = 60
CALLERS: Final = ("nobody", "bob", "alice", "root", "stranger")
"""Without a token, a reader, the owner, an administrator, and with a token that is none."""

_DATASETS: Final = (("open", Visibility.PUBLIC), ("secret", Visibility.PRIVATE))
_CHAIN: Final = a_chain()
RECORDED_NAMES: Final = (WEATHER, FAHRENHEIT, AIRPORTS)
"""With records: a root, a derivative of it, and one whose records are corrected and taken back."""

_SLICE: Final = next((RECORDED / WEATHER / "data").iterdir()).name
_HEAD: Final = (RECORDED / WEATHER / "refs" / "head").read_text()
_HASHES: Final = [str(_CHAIN.head), *map(str, _CHAIN.slices), "f1620" + "0" * 64, _SLICE, _HEAD]
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
    "name": ["open", "secret", "nothing", "cities", *RECORDED_NAMES],
    "hash": _HASHES,
    "ref": ["head", "staging"],
    "did": [str(_CHAIN.id)],
}


_QUERIES: Final = [
    "select 1 as one",
    f'select count(*) as days from "alice/{WEATHER}"',
    f'select * from "alice/{FAHRENHEIT}" order by "offset"',
    f'select w.date, f.temp_max_f from "alice/{WEATHER}" w join "alice/{FAHRENHEIT}" f on w.date = f.date',
    f'select * from to_table("alice/{AIRPORTS}")',
    'select * from "alice/secret"',
    "select * from nothing",
    "drop table x",
    "select 1 / 0",
]
_TIMES: Final = ["2026-11-21T02:54:05Z", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"]
_LIKELY: Final = {
    "query": _QUERIES,
    "asAt": _TIMES,
    "asOf": _TIMES,
    "block": [_HEAD],
    "since": [_HEAD],
    "sourceName": ["default"],
    "from": ["0", "1000"],
    "to": ["10"],
    "state": ["true"],
}
"""Parameters and fields that no generator would guess, beside what it does."""

ROWS: Final = (CSV.decode(), "city,population\n", "city,population\nodesa,\n")


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
            elif parameter["name"] in _LIKELY:
                parameter["schema"] = _likely(parameter["schema"], _LIKELY[parameter["name"]])
    question = found["components"]["schemas"]["QuestionBody"]["properties"]
    question |= {name: _likely(question[name], _LIKELY[name]) for name in ("query", "asAt", "asOf")}
    csv = found["paths"]["/{account}/{name}/ingest"]["post"]["requestBody"]["content"]["text/csv"]
    csv["schema"] = _likely(csv["schema"], list(ROWS))
    return found


def _likely(schema: dict[str, Any], values: list[str]) -> dict[str, Any]:
    """Mostly one of these values, sometimes what the schema says."""
    return {"anyOf": [{"enum": values}, {"enum": values}, schema]}


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
            for name in RECORDED_NAMES:
                await add_recorded(server, name)
            await add_root(server)
            assert (await push(server)).status == 200
            await server.catalog.accounts.create(AccountName("carol"))
            headers = {name: server.as_(name) for name in ("bob", "alice", "root")}
            none = {"nobody": {}, "stranger": server.as_("ka_" + "0" * 58)}
            ready.set_result(Fuzzed(server.url, {**headers, **none}))
            await done.wait()
    except BaseException as error:
        if not ready.done():
            ready.set_exception(error)
        raise
