"""What is hidden cannot be told from what is absent: same status, headers and body, after the same look-ups."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetRef
from repo_server.config import Tenancy
from repo_server.directory import Directory
from tests.repo_server.hosted import SMALL, Answer, Hosted, a_chain, hash_of, hosted
from tests.repo_server.permission_table import DATASET_PROBES
from tests.repo_server.test_smart import knock
from tests.storage.chains import ChainBuilder, dataset_id

BAD_TOKEN: Final = "ka_" + "0" * 58
ABSENT, HIDDEN = "nothing", "secret"
_OF_EACH_ANSWER: Final = {"date", "x-request-id"}


def comparable(answer: Answer) -> tuple[int, Mapping[str, str], Any]:
    """All of an answer but its time and its number."""
    headers = {
        name: value
        for name, value in answer.headers.items()
        if name.lower().partition("-")[0] != "ratelimit" and name.lower() not in _OF_EACH_ANSWER
    }
    if headers.get("Content-Type") != "application/problem+json":
        return answer.status, headers, answer.body
    del headers["Content-Length"]
    document = orjson.loads(answer.body)
    return answer.status, headers, {**document, "instance": None}


@pytest.fixture
async def server(tmp_path: Path, tenancy: Tenancy) -> AsyncIterator[Hosted]:
    """As many bad tokens as there are routes."""
    async with hosted(tmp_path, tenancy, bad_tokens_per_minute=0) as running_server:
        yield running_server


@pytest.mark.parametrize("who", [None, "bob", BAD_TOKEN])
async def test_every_route_answers_for_a_hidden_dataset_as_for_an_absent_one(
    server: Hosted, chain: ChainBuilder, who: str | None
) -> None:
    for route, probe in DATASET_PROBES.items():
        method, _, path = route.partition(" ")
        rest = (probe.path or path).format(hash=hash_of(SMALL, chain))
        answers = [
            await server.ask(method, server.path(name) + rest, who=who, data=probe.body, headers=probe.headers)
            for name in (ABSENT, HIDDEN)
        ]
        absent, hidden = map(comparable, answers)
        if path == "/push" and who == "bob" and not server.settings.multi_tenant:
            continue  # the name is taken, and names are everybody's
        assert absent == hidden, route


@pytest.mark.parametrize("who", [None, "bob", BAD_TOKEN])
async def test_a_push_is_answered_for_a_hidden_dataset_as_for_an_absent_one(multi: Hosted, who: str | None) -> None:
    await multi.add(HIDDEN, a_chain(2), Visibility.PRIVATE)
    absent, hidden = [await knock(multi, multi.path(name) + "/push", who) for name in (ABSENT, HIDDEN)]
    assert comparable(absent) == comparable(hidden)
    assert absent.status == (403 if who == "bob" else 401)


async def test_an_id_is_answered_as_one_of_nothing(server: Hosted, chain: ChainBuilder) -> None:
    await server.add("listless", a_chain(3), Visibility.UNLISTED)
    absent = await server.ask("GET", f"/datasets/{dataset_id(99)}", who="bob")
    for number in (2, 3):
        assert comparable(await server.ask("GET", f"/datasets/{dataset_id(number)}", who="bob")) == comparable(absent)
        assert (await server.ask("GET", f"/datasets/{dataset_id(number)}", who="alice")).status == 200


async def test_as_much_is_looked_up_for_what_is_hidden_as_for_what_is_absent(
    server: Hosted, chain: ChainBuilder, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[DatasetRef] = []
    look_up = Directory._look_up

    async def counted(self: Directory, ref: DatasetRef) -> Any:
        asked.append(ref)
        return await look_up(self, ref)

    for path in (server.path(HIDDEN) + "/refs/head", f"/datasets/{dataset_id(2)}"):
        assert (await server.ask("GET", path)).status == 404  # remembered from here on
    monkeypatch.setattr(Directory, "_look_up", counted)
    for pair in (
        (server.path(HIDDEN) + "/refs/head", server.path(ABSENT) + "/refs/head"),
        (f"/datasets/{dataset_id(2)}", f"/datasets/{dataset_id(98)}"),
    ):
        counts = []
        for path in pair:
            asked.clear()
            assert (await server.ask("GET", path)).status == 404
            counts.append(
                len([ref for ref in asked if str(ref) not in {HIDDEN, f"alice/{HIDDEN}", str(dataset_id(2))}])
            )
        assert counts == [1, 1]


async def test_a_401_says_which_rule_refused(server: Hosted, chain: ChainBuilder) -> None:
    expired = await server.catalog.tokens.create(server.accounts["alice"], expires_at=1.0)
    open_head = server.path("open") + "/refs/head"
    for path, who, error, rule in (
        (open_head, expired, "invalid_token", "Authentication token expired"),
        (open_head, BAD_TOKEN, "invalid_token", "Authentication token invalid"),
        ("/accounts/me", None, "invalid_request", "Unauthenticated"),
        ("/platform/token/validate", None, "invalid_request", "No authentication token provided"),
        ("/system/mirrors", BAD_TOKEN, "invalid_token", "Authentication token invalid"),
    ):
        answer = await server.ask("GET", path, who=who)
        challenge = f'Bearer realm="odf", error="{error}", error_description="{rule}"'
        assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, challenge)
