"""A program waits for a person; a code is good once, for a while, and for who asked."""

from __future__ import annotations

import asyncio
import uuid
from pathlib import Path

import pytest

from catalog import device_logins
from catalog.accounts import Account
from catalog.catalog import Catalog
from catalog.device_logins import Refusal
from opendatafabric.errors import Conflict, NotFound, TransientStorageError
from opendatafabric.login_limits import DEVICE_LOGIN_S, DEVICE_POLL_S, DEVICE_TOLD_S
from tests.catalog.conftest import Clock, bytes_under


@pytest.fixture
async def code(catalog: Catalog) -> str:
    return await catalog.device_logins.begin("kamu", "192.0.2.7")


async def test_a_person_sees_who_asks(catalog: Catalog, code: str, clock: Clock) -> None:
    found = await catalog.device_logins.look(code)
    assert (found.client_id, found.address, found.began_at) == ("kamu", "192.0.2.7", clock.now)
    assert found.expires_at == clock.now + DEVICE_LOGIN_S


async def test_a_code_is_a_uuid_that_lies_nowhere(catalog: Catalog, code: str, tmp_path: Path) -> None:
    assert str(uuid.UUID(code)) == code
    assert code.encode() not in bytes_under(tmp_path)


async def test_who_asks_gets_the_account_that_said_yes_once(catalog: Catalog, code: str, alice: Account) -> None:
    assert await catalog.device_logins.take(code, "kamu") is Refusal.PENDING
    await catalog.device_logins.approve(code, alice)
    assert await catalog.device_logins.take(code, "kamu") == alice
    assert await catalog.device_logins.take(code, "kamu") is Refusal.DENIED


async def test_of_many_that_ask_at_once_one_gets_it(catalog: Catalog, code: str, alice: Account) -> None:
    await catalog.device_logins.approve(code, alice)
    taken = await asyncio.gather(*(catalog.device_logins.take(code, "kamu") for _ in range(8)))
    assert taken.count(alice) == 1
    assert taken.count(Refusal.DENIED) == 7


async def test_who_is_denied_hears_so(catalog: Catalog, code: str) -> None:
    await catalog.device_logins.deny(code)
    assert await catalog.device_logins.take(code, "kamu") is Refusal.DENIED


async def test_another_program_gets_nothing_for_the_code_of_one(catalog: Catalog, code: str, alice: Account) -> None:
    await catalog.device_logins.approve(code, alice)
    assert await catalog.device_logins.take(code, "other") is Refusal.DENIED
    assert await catalog.device_logins.take(code, "kamu") == alice


async def test_a_code_that_never_was_is_denied(catalog: Catalog) -> None:
    for made_up in ("", str(uuid.uuid4()), "\udcff", "x" * 10_000):
        assert await catalog.device_logins.take(made_up, "kamu") is Refusal.DENIED
        with pytest.raises(NotFound):
            await catalog.device_logins.look(made_up)


async def test_who_asks_too_often_is_told_so(catalog: Catalog, code: str, clock: Clock) -> None:
    assert await catalog.device_logins.take(code, "kamu") is Refusal.PENDING
    clock.now += DEVICE_POLL_S / 2 - 0.1
    assert await catalog.device_logins.take(code, "kamu") is Refusal.TOO_SOON
    clock.now += 0.2
    assert await catalog.device_logins.take(code, "kamu") is Refusal.PENDING


@pytest.mark.parametrize("approved", [False, True])
async def test_a_code_ends_with_its_time(
    catalog: Catalog, code: str, alice: Account, clock: Clock, approved: bool
) -> None:
    if approved:
        await catalog.device_logins.approve(code, alice)
    clock.now += DEVICE_LOGIN_S
    assert await catalog.device_logins.take(code, "kamu") is Refusal.EXPIRED
    with pytest.raises(NotFound):
        await catalog.device_logins.look(code)
    with pytest.raises(Conflict):
        await catalog.device_logins.approve(code, alice)


async def test_a_decision_is_taken_once(catalog: Catalog, code: str, alice: Account, bob: Account) -> None:
    await catalog.device_logins.approve(code, alice)
    for again in (catalog.device_logins.approve(code, bob), catalog.device_logins.deny(code)):
        with pytest.raises(Conflict):
            await again
    with pytest.raises(NotFound):
        await catalog.device_logins.look(code)
    assert await catalog.device_logins.take(code, "kamu") == alice


async def test_as_many_wait_as_may_and_old_ones_make_room(
    catalog: Catalog, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_logins, "DEVICE_LOGINS_MAX", 2)
    for _ in range(2):
        await catalog.device_logins.begin("kamu", "192.0.2.7")
    with pytest.raises(TransientStorageError):
        await catalog.device_logins.begin("kamu", "192.0.2.7")
    clock.now += DEVICE_LOGIN_S + DEVICE_TOLD_S
    await catalog.device_logins.begin("kamu", "192.0.2.7")


async def test_an_account_that_was_disabled_after_it_said_yes_lets_nobody_in(
    catalog: Catalog, code: str, alice: Account
) -> None:
    await catalog.device_logins.approve(code, alice)
    await catalog.accounts.disable(alice.name)
    assert await catalog.device_logins.take(code, "kamu") is Refusal.DENIED
