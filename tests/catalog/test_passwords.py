"""Passwords are kept as argon2id hashes; hashes of former times still open; checks are bounded."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
from dataclasses import dataclass, field

import pytest

from catalog import passwords
from catalog.passwords import Passwords, is_outdated
from opendatafabric.errors import MalformedInput, TransientStorageError
from opendatafabric.server_limits import (
    PASSWORD_CHARS_MAX,
    PASSWORD_CHARS_MIN,
    PASSWORD_CHECKS_AT_ONCE,
    PASSWORD_CHECKS_WAITING_MAX,
)

PASSWORD = "correct horse battery"


def scrypt_hash(password: str) -> str:
    """As passwords were kept before."""
    salt = bytes(range(16))
    digest = hashlib.scrypt(password.encode(), salt=salt, n=2**14, r=8, p=1, maxmem=64 * 1024 * 1024)
    return f"scrypt${base64.b64encode(salt).decode()}${base64.b64encode(digest).decode()}"


async def test_a_password_matches_what_was_kept_of_it_and_no_other_does() -> None:
    checked = Passwords()
    kept = await checked.hashed(PASSWORD)
    assert kept.startswith("$argon2id$")
    assert PASSWORD not in kept
    assert not is_outdated(kept)
    assert [await checked.matches(given, kept) for given in (PASSWORD, PASSWORD + "x", "")] == [True, False, False]


async def test_the_same_password_is_never_kept_twice_alike() -> None:
    assert await Passwords().hashed(PASSWORD) != await Passwords().hashed(PASSWORD)


async def test_a_hash_of_former_times_still_opens_and_is_outdated() -> None:
    kept = scrypt_hash(PASSWORD)
    assert is_outdated(kept)
    assert [await Passwords().matches(given, kept) for given in (PASSWORD, PASSWORD + "x")] == [True, False]


@pytest.mark.parametrize("kept", [None, "", "nonsense", "$argon2id$v=19$m=1,t=1,p=1$x$y"])
@pytest.mark.parametrize("given", ["", PASSWORD])
async def test_nothing_matches_what_is_no_hash(kept: str | None, given: str) -> None:
    assert not await Passwords().matches(given, kept)


def test_what_stands_for_no_hash_costs_as_much_as_one() -> None:
    assert not is_outdated(passwords._NOBODYS)


@pytest.mark.parametrize("length", [PASSWORD_CHARS_MIN - 1, PASSWORD_CHARS_MAX + 1])
async def test_passwords_outside_the_limits_are_refused(length: int) -> None:
    with pytest.raises(MalformedInput, match="characters"):
        await Passwords().hashed("x" * length)


@pytest.mark.parametrize("length", [PASSWORD_CHARS_MIN, PASSWORD_CHARS_MAX])
async def test_passwords_at_the_limits_are_taken(length: int) -> None:
    checked = Passwords()
    assert await checked.matches("x" * length, await checked.hashed("x" * length))


@pytest.mark.parametrize("given", ["x" * 10_000_000, "pässword-long", "\ud800" * 9])
async def test_what_can_be_no_password_is_told_without_hashing_it(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passwords, "_ARGON2", None)
    assert not await Passwords().matches(given, None)


@dataclass
class SlowChecks:
    """Checks that wait until they may end; ``most`` is how many ran at once."""

    begun: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    may_end: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    running: int = 0
    most: int = 0

    def check(self, given: str, kept: str | None) -> bool:
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.begun.release()
        self.may_end.wait(60)
        with self.lock:
            self.running -= 1
        return False

    async def until_all_places_are_taken(self) -> None:
        for _ in range(PASSWORD_CHECKS_AT_ONCE):
            assert await asyncio.to_thread(self.begun.acquire, timeout=60)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> SlowChecks:
    checks = SlowChecks()
    monkeypatch.setattr(passwords, "_matches", checks.check)
    return checks


async def test_few_are_checked_at_once_and_only_so_many_wait(slow: SlowChecks) -> None:
    checked = Passwords()
    tasks = [asyncio.create_task(checked.matches("x", None)) for _ in range(PASSWORD_CHECKS_WAITING_MAX)]
    await slow.until_all_places_are_taken()
    with pytest.raises(TransientStorageError, match="too many passwords"):
        await checked.matches("x", None)
    slow.may_end.set()
    assert await asyncio.gather(*tasks) == [False] * PASSWORD_CHECKS_WAITING_MAX
    assert not await checked.matches("x", None)
    assert slow.most == PASSWORD_CHECKS_AT_ONCE


async def test_whoever_goes_away_while_waiting_frees_the_place(slow: SlowChecks) -> None:
    checked = Passwords()
    tasks = [asyncio.create_task(checked.matches("x", None)) for _ in range(PASSWORD_CHECKS_WAITING_MAX)]
    await slow.until_all_places_are_taken()
    waiting = tasks[PASSWORD_CHECKS_AT_ONCE:]
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
    another = asyncio.create_task(checked.matches("x", None))
    slow.may_end.set()
    assert await another is False
    await asyncio.gather(*tasks[:PASSWORD_CHECKS_AT_ONCE])


async def test_whoever_goes_away_during_a_check_keeps_the_place_until_it_has_ended(slow: SlowChecks) -> None:
    checked = Passwords()
    gone = [asyncio.create_task(checked.matches("x", None)) for _ in range(PASSWORD_CHECKS_AT_ONCE)]
    await slow.until_all_places_are_taken()
    for task in gone:
        task.cancel()
    others = [asyncio.create_task(checked.matches("x", None)) for _ in range(4)]
    await asyncio.sleep(0)
    slow.may_end.set()
    await asyncio.gather(*gone, *others, return_exceptions=True)
    assert all(task.cancelled() for task in gone)
    assert slow.most == PASSWORD_CHECKS_AT_ONCE
