"""Rate limits: floods and guesses are answered 429 with the time to wait; nobody else is held up, no transfer ever."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from catalog.attempts import Attempts
from catalog.catalog import Catalog, open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.names import AccountName
from repo_server.app import running
from repo_server.config import Settings, Tenancy
from repo_server.http_errors import TooManyRequests
from repo_server.rate_limits import LOGINS_OF_NAME, Limited, RateLimits
from repo_server.routes import DATASET_ROUTES, IPFS_ROUTES, NODE_ROUTES
from tests.catalog.conftest import Clock
from tests.repo_server.hosted import SMALL, Answer, Hosted, a_chain, hash_of, hosted
from tests.repo_server.test_smart import push

JSON = {"Content-Type": "application/json"}
BAD_TOKEN = "ka_" + "0" * 58


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def catalog(tmp_path: Path, clock: Clock) -> AsyncIterator[Catalog]:
    async with open_catalog(sqlite_url(tmp_path / "catalog.sqlite"), now=clock) as opened:
        yield opened


def limits(attempts: Attempts, clock: Clock, **settings: Any) -> RateLimits:
    return RateLimits(Settings(**settings), attempts, clock)


# --- the budgets


async def test_what_is_left_and_when_to_come_again_is_told(catalog: Catalog, clock: Clock) -> None:
    rates = limits(catalog.attempts, clock, writes_per_minute=2)
    first = rates.take(Limited.WRITES, "a")
    assert first is not None
    headers: dict[str, str] = {}
    first.tell(headers)
    assert headers == {"RateLimit-Policy": '"writes";q=2;w=60', "RateLimit": '"writes";r=1;t=30'}
    rates.take(Limited.WRITES, "a")
    with pytest.raises(TooManyRequests) as refused:
        rates.take(Limited.WRITES, "a")
    assert refused.value.headers == {
        "RateLimit-Policy": '"writes";q=2;w=60', "RateLimit": '"writes";r=0;t=60', "Retry-After": "30"
    }  # fmt: skip
    assert rates.take(Limited.WRITES, "b") is not None
    clock.now += 30
    assert rates.take(Limited.WRITES, "a") is not None


async def test_no_limit_is_no_limit(catalog: Catalog, clock: Clock) -> None:
    rates = limits(catalog.attempts, clock, writes_per_minute=0, failed_logins_per_5_minutes=0)
    assert [rates.take(Limited.WRITES, "a") for _ in range(10_000)] == [None] * 10_000
    for _ in range(20):
        with pytest.raises(ValueError, match="wrong"):
            await fail(rates, "a")


async def fail(rates: RateLimits, key: str) -> None:
    async with rates.attempt(key):
        raise ValueError("wrong")


async def test_failed_attempts_count_and_successes_do_not(catalog: Catalog, clock: Clock) -> None:
    rates = limits(catalog.attempts, clock, failed_logins_per_5_minutes=3)
    for _ in range(10):
        async with rates.attempt("a"):
            pass
    for _ in range(3):
        with pytest.raises(ValueError, match="wrong"):
            await fail(rates, "a")
    with pytest.raises(TooManyRequests):
        await fail(rates, "a")


async def test_attempts_at_the_same_time_are_counted_before_they_are_made(catalog: Catalog, clock: Clock) -> None:
    rates = limits(catalog.attempts, clock, failed_logins_per_5_minutes=3)
    ended = await asyncio.gather(*(fail(rates, "a") for _ in range(20)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in ended) == ["TooManyRequests"] * 17 + ["ValueError"] * 3


def test_one_address_cannot_lock_out_a_name() -> None:
    settings = Settings()
    assert settings.failed_logins_per_5_minutes * 12 < LOGINS_OF_NAME.count


@pytest.mark.parametrize("path", ["/blocks/{hash}", "/data/{hash}", "/refs/{ref}"])
def test_what_transfers_ask_for_by_thousands_counts_as_that(path: str) -> None:
    kinds = {route.method: route.counts_as for route in DATASET_ROUTES if route.path == path}
    assert kinds.pop("GET") is Limited.READS
    assert set(kinds.values()) <= {Limited.TRANSFERS}


def test_probes_are_not_held_up() -> None:
    unlimited = {route.path for route in NODE_ROUTES + IPFS_ROUTES + DATASET_ROUTES if route.counts_as is Limited.NOT}
    assert unlimited == {"/system/health", "/system/ready"}


# --- over HTTP


async def asked(server: Hosted, count: int, *arguments: Any, **options: Any) -> list[Answer]:
    return [await server.ask(*arguments, **options) for _ in range(count)]


async def test_an_account_is_counted_wherever_it_comes_from_and_an_address_for_those_without(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, reads_per_minute=3, trusted_proxies="127.0.0.1") as server:
        await server.add("open", a_chain())
        path = "/alice/open/refs/head"
        anonymous = await asked(server, 5, "GET", path)
        assert [each.status for each in anonymous] == [200, 200, 200, 429, 429]
        assert (await server.ask("GET", path, headers={"X-Forwarded-For": "198.51.100.1"})).status == 200
        for number in range(3):
            there = {"X-Forwarded-For": f"198.51.100.{number}"}
            assert (await server.ask("GET", path, who="alice", headers=there)).status == 200
        assert (await server.ask("GET", path, who="alice")).status == 429
        assert (await server.ask("GET", path, who="bob")).status == 200
        assert (await server.ask("GET", "/system/health")).status == 200


async def test_the_answer_is_a_problem_with_the_time_to_wait(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, writes_per_minute=2) as server:
        *_, near, refused = await asked(server, 3, "DELETE", "/alice/nothing/gate", who="bob")
        assert near.headers["RateLimit"].startswith('"writes";r=0;t=')
        told = orjson.loads(refused.body)
        assert (refused.status, told["code"], told["retryable"]) == (429, "too-many-requests", True)
        assert 1 <= int(refused.headers["Retry-After"]) <= 30
        assert refused.headers["RateLimit-Policy"] == '"writes";q=2;w=60'
        assert re.fullmatch(r'"writes";r=0;t=\d+', refused.headers["RateLimit"])


async def test_who_has_plenty_left_is_not_told(multi: Hosted) -> None:
    assert "RateLimit" not in (await multi.ask("GET", "/info")).headers


async def test_guessing_tokens_is_held_back_and_good_ones_go_on(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, bad_tokens_per_minute=3) as server:
        await server.add("open", a_chain())
        guesses = await asked(server, 5, "GET", "/alice/open/refs/head", who=BAD_TOKEN)
        assert [each.status for each in guesses] == [401, 401, 401, 429, 429]
        assert (await server.ask("GET", "/alice/open/refs/head", who="alice")).status == 200
        assert (await server.ask("GET", "/alice/open/refs/head")).status == 200


def login(name: str, password: str) -> bytes:
    credentials = orjson.dumps({"login": name, "password": password}).decode()
    return orjson.dumps({"loginMethod": "password", "loginCredentialsJson": credentials})


async def test_guessing_passwords_is_held_back_over_all_servers_of_a_catalog(tmp_path: Path) -> None:
    async with (
        hosted(tmp_path, Tenancy.MULTI, failed_logins_per_5_minutes=3) as server,
        running(server.settings) as other,
    ):
        await server.catalog.accounts.set_password(AccountName("alice"), "right-pass-word")
        for _ in range(5):
            right = await server.ask("POST", "/platform/login", data=login("alice", "right-pass-word"), headers=JSON)
            assert right.status == 200
        statuses = []
        for address in (server.url, other, server.url, other):
            body = login("alice", "wrong-pass-word")
            async with server.session.post(f"{address}/platform/login", data=body, headers=JSON) as answer:
                statuses.append(answer.status)
        assert statuses == [401, 401, 401, 429]
        refused = await server.ask("POST", "/platform/login", data=login("alice", "right-pass-word"), headers=JSON)
        assert refused.status == 429
        assert int(refused.headers["Retry-After"]) <= 100


@pytest.mark.slow
async def test_a_transfer_of_thousands_of_objects_meets_no_limit(multi: Hosted) -> None:
    chain = a_chain()
    await push(multi, chain, "new")
    path = f"/alice/new/data/{hash_of(SMALL, chain)}"

    async def ten() -> set[int]:
        return {(await multi.ask("PUT", path, who="alice", data=SMALL)).status for _ in range(10)}

    statuses = await asyncio.gather(*(ten() for _ in range(100)))
    assert set().union(*statuses) == {200}
