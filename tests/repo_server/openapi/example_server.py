"""The server that the examples on the page of the API are asked of, and what it answers.

``python -m tests.repo_server.openapi.example_server`` writes the answers that are shown anew.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import orjson

from catalog.accounts import AccountKind
from catalog.roles import Role
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from repo_server.needs import OfNode, Who
from repo_server.openapi.answers import RECORDED, shown_answer
from repo_server.openapi.document import plain_path
from repo_server.openapi.examples import Example, example_of
from repo_server.openapi.parameters import PATH_PARAMETERS
from repo_server.route import Served
from repo_server.routes import served
from tests.repo_server.hosted import Answer, Hosted, a_chain, hosted
from tests.repo_server.ingested import add_root, engine_without_spark
from tests.repo_server.recorded import WEATHER, add_recorded

SHOWN: Final = [each for each in served(Tenancy.MULTI) if example_of(each) is not None]
STREAMS: Final = {"text/event-stream"}
_BEFORE: Final = (
    ("PUT", "/schedule", b'{"cron":"0 6 * * *"}'),
    ("PUT", "/alert", b'{"url":"https://example.org/hook"}'),
    ("POST", "/verify", b""),
)
_JSON: Final = {"Content-Type": "application/json"}


@asynccontextmanager
async def example_server(folder: Path) -> AsyncIterator[Hosted]:
    """With what the examples name."""
    engine = engine_without_spark(folder / "engine")
    async with hosted(folder, Tenancy.MULTI, engine=engine, run_worker=False, default_visibility="public") as server:
        await add_recorded(server, WEATHER, name="weather")
        await add_root(server)
        for number, name in enumerate(("old-weather", "rain"), 71):
            await server.add(name, a_chain(number))
        accounts = server.catalog.accounts
        await accounts.create(AccountName("dan"))
        meteo = await accounts.create(AccountName("meteo"), kind=AccountKind.ORGANIZATION)
        await server.catalog.roles.grant(meteo.id, server.accounts["alice"], Role.OWNER)
        for method, path, body in _BEFORE:
            asked = await server.ask(method, f"/alice/weather{path}", who="alice", data=body, headers=_JSON)
            assert asked.status in {200, 202}, asked.text
        for name in ("weather", "cities", "old-weather", "rain"):
            async with asyncio.timeout(60):
                while (await server.ask("GET", f"/alice/{name}")).status != 200:
                    pass  # until its chain is read
        yield server


def called(each: Served) -> str:
    """The route, as answers are kept by it."""
    return f"{each.route.method} {plain_path(each.path)}"


async def answer_to(server: Hosted, each: Served) -> Answer:
    """The answer to the example of a route, asked by somebody who may."""
    example, needs = example_of(each), each.route.needs
    assert example is not None
    who = "root" if isinstance(needs, OfNode) and needs.who is Who.ADMIN else "alice"
    return await _ask(server, example, who if example.needs_token else None)


async def _ask(server: Hosted, example: Example, who: str | None) -> Answer:
    if not example.target.partition("?")[0].endswith("/events"):
        return await server.ask(example.method, example.target, who=who, data=example.body, headers=example.headers)
    sent = {**server.as_(who), **example.headers}
    async with server.session.get(server.url + example.target, headers=sent) as response:
        return Answer(response.status, response.headers, await response.content.readany())


def shown(server: Hosted, answer: Answer) -> dict[str, Any]:
    """What the page shows of it."""
    media_type = answer.headers.get("Content-Type")
    known = PATH_PARAMETERS["did"].example
    body = b"" if (media_type or "").partition(";")[0] in STREAMS else answer.body
    return shown_answer(answer.status, media_type, body, server.url, known)


async def _record(folder: Path) -> None:
    async with example_server(folder) as server:
        answers = {called(each): shown(server, await answer_to(server, each)) for each in SHOWN}
    RECORDED.write_bytes(orjson.dumps(answers, option=orjson.OPT_INDENT_2) + b"\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        asyncio.run(_record(Path(place)))
