"""The examples on the page of the API: every one is run, and comes out as it is documented."""

from __future__ import annotations

import asyncio
import re
import shlex
from typing import Any, Final

import pytest

from repo_server.config import Tenancy
from repo_server.openapi.answers import ANSWERS
from repo_server.openapi.described import Tag, operation_of
from repo_server.openapi.examples import as_curl, example_of
from repo_server.openapi.parameters import EXAMPLE_BLOCK, PATH_PARAMETERS
from repo_server.route import Served
from repo_server.routes import served
from tests.repo_server.hosted import Answer, Hosted
from tests.repo_server.openapi.example_server import SHOWN, answer_to, called, example_server, shown
from tests.repo_server.recorded import RECORDED, WEATHER

WITHOUT: Final = {
    "GET /{account}/{name}/pull": "a WebSocket",
    "GET /{account}/{name}/push": "a WebSocket",
    "GET /{account}/{name}/verify/{run}/events": "goes on while a worker is at it",
    "GET /{account}/{name}/reports/{hash}": "needs a report of a worker",
    "GET /{account}/{name}/ipfs": "of servers that provide for IPFS",
    "POST /{account}/{name}/gate": "needs a push behind a gate",
    "POST /{account}/{name}/undo": "needs two moves of the head",
    "POST /{account}/{name}/policy/hand-over": "needs the signature of a key",
    "PUT /{account}/{name}/signatures/{hash}": "needs the signature of a key",
    "POST /verify": "needs an answer that was signed",
    "GET /{account}/{name}/checkpoints/{hash}": "as data slices",
    "PUT /{account}/{name}/checkpoints/{hash}": "needs bytes that hash to the name",
    "PUT /{account}/{name}/data/{hash}": "needs bytes that hash to the name",
    "POST /platform/login": "needs a password",
    "PUT /accounts/me/password": "needs a password",
    "POST /platform/token/device": "needs a person who decides",
    "POST /platform/token/exchange": "needs an issuer elsewhere",
    "GET /static/{name}": "has a name that follows from its contents",
    "DELETE /accounts/me": "ends whoever asks",
    "POST /system/deleted/{did}": "needs a dataset that was deleted",
    "DELETE /system/deleted/{did}": "needs a dataset that was deleted",
    "POST /system/transfers/{did}": "needs an offer of somebody else",
    "DELETE /system/transfers/{did}": "needs an offer of somebody else",
}
"""Routes without an example, and why."""

OF_IDS: Final = re.compile(
    r"/(uploads/\{upload\}|platform/file/upload/\{token\}|publishers/\{publisher\})$|\{token_id\}"
)
"""What was begun by another request is called by an id that this gave."""


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Served, Answer, dict[str, Any]]]:
    """What every example is answered, and what is shown of it."""

    async def asked() -> dict[str, tuple[Served, Answer, dict[str, Any]]]:
        async with example_server(tmp_path_factory.mktemp("examples")) as server:
            told = {}
            for each in SHOWN:
                answer = await answer_to(server, each)
                told[called(each)] = each, answer, shown(server, answer)
            return told

    return asyncio.run(asked())


def test_what_examples_name_is_what_the_tests_have() -> None:
    folder = RECORDED / WEATHER
    assert PATH_PARAMETERS["did"].example in (RECORDED / f"{WEATHER}.log.yaml").read_text()
    assert (folder / "data" / PATH_PARAMETERS["hash"].example).is_file()
    assert (folder / "blocks" / EXAMPLE_BLOCK).is_file()


@pytest.mark.parametrize("each", SHOWN, ids=called)
def test_every_example_comes_out_as_documented_and_as_shown(
    answers: dict[str, tuple[Served, Answer, dict[str, Any]]], each: Served
) -> None:
    _, answer, told = answers[called(each)]
    operation, example = operation_of(each.route.handler), example_of(each)
    assert operation is not None
    assert example is not None
    assert answer.status in {one.status.value for one in operation.answers}, answer.text
    anew = "write them anew: .venv/bin/python -m tests.repo_server.openapi.example_server"
    assert told == ANSWERS.get(called(each)), anew
    words = shlex.split(as_curl(example, "http://host"))
    assert words[0] == "curl"
    assert example.target in words[-1] or example.needs_token


def test_no_answer_is_shown_to_what_is_not_asked() -> None:
    assert set(ANSWERS) == {called(each) for each in SHOWN}


def test_every_route_has_an_example_or_a_reason_to_have_none() -> None:
    every = {called(each): each for each in served(Tenancy.MULTI)}
    tags = {name: operation_of(each.route.handler) for name, each in every.items()}
    of_pages = {name for name, told in tags.items() if told is not None and told.tag is Tag.PAGES}
    bare = set(every) - {called(each) for each in SHOWN} - of_pages - set(WITHOUT)
    assert not [name for name in sorted(bare) if not OF_IDS.search(name) and "webhooks/" not in name]


def test_a_form_and_a_token_stand_in_the_command() -> None:
    told = {(each.route.method, each.path): example_of(each) for each in SHOWN}
    device = told["POST", "/platform/token/device/authorization"]
    gate = told["PUT", "/{account}/{name}/gate"]
    assert device is not None
    assert gate is not None
    assert "client_id=kamu" in as_curl(device, "http://host")
    assert as_curl(gate, "http://host").endswith('-H "Authorization: Bearer $TOKEN"')


async def test_the_page_shows_every_route_and_every_example_with_its_answer(multi: Hosted) -> None:
    text = (await multi.ask("GET", "/openapi")).text
    assert "getAccountNameRefsRef" in text
    assert text.count('aria-label="Example"') == len(SHOWN)
    assert text.count('aria-label="Its answer"') > len(SHOWN) // 2
    assert 'href="#schema-Problem"' in text
