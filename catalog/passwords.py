"""Passwords as they are kept: argon2id. What was kept as scrypt still opens, and is hashed anew when it does.

A check takes memory and time on purpose, so it runs in a thread, a few at once; how many wait for it is bounded too.
Nothing but a login comes here: requests bring tokens.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Final, TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from opendatafabric.errors import MalformedInput, TransientStorageError
from opendatafabric.server_limits import (
    PASSWORD_CHARS_MAX,
    PASSWORD_CHARS_MIN,
    PASSWORD_CHECKS_AT_ONCE,
    PASSWORD_CHECKS_WAITING_MAX,
    PASSWORD_HASH_KIB,
)

_ARGON2: Final = PasswordHasher(time_cost=2, memory_cost=PASSWORD_HASH_KIB, parallelism=1)
_SCRYPT: Final = {"n": 2**14, "r": 8, "p": 1, "maxmem": 64 * 1024 * 1024}
_SCRYPT_MARK: Final = "scrypt$"

T = TypeVar("T")


class Passwords:
    """Hashes and checks passwords, so many at once."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(PASSWORD_CHECKS_AT_ONCE)
        self._waiting = 0

    async def hashed(self, password: str) -> str:
        """What to keep.

        Raises:
            MalformedInput: too short, too long or not ASCII.
        """
        _check(password)
        return await self._in_thread(_ARGON2.hash, password)

    async def matches(self, password: str, kept: str | None) -> bool:
        """Whether it is the password that was kept; ``None`` (there is none) takes as long as any."""
        return await self._in_thread(_matches, password, kept)

    async def _in_thread(self, function: Callable[..., T], *arguments: object) -> T:
        async with self._place():
            work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
            try:
                return await asyncio.shield(work)
            finally:
                await asyncio.wait([work])  # a caller may vanish, the thread goes on: its place is free when it is

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        if self._waiting >= PASSWORD_CHECKS_WAITING_MAX:
            raise TransientStorageError("too many passwords are being checked", hint="try again later")
        self._waiting += 1
        try:
            async with self._places:
                yield
        finally:
            self._waiting -= 1


def is_outdated(kept: str) -> bool:
    """Whether the password should be hashed anew, once it is known."""
    return kept.startswith(_SCRYPT_MARK) or _ARGON2.check_needs_rehash(kept)


def _check(password: str) -> None:
    if not PASSWORD_CHARS_MIN <= len(password) <= PASSWORD_CHARS_MAX or not password.isascii():
        raise MalformedInput(f"a password has {PASSWORD_CHARS_MIN} to {PASSWORD_CHARS_MAX} characters, all ASCII")


def _matches(password: str, kept: str | None) -> bool:
    if len(password) > PASSWORD_CHARS_MAX or not password.isascii():
        return False
    if kept is not None and kept.startswith(_SCRYPT_MARK):
        return _matches_scrypt(password, kept)
    try:
        return _ARGON2.verify(kept or _NOBODYS, password) and kept is not None
    except (VerificationError, InvalidHashError):
        return False


def _matches_scrypt(password: str, kept: str) -> bool:
    _, salt, digest = kept.split("$")
    found = hashlib.scrypt(password.encode(), salt=base64.b64decode(salt), **_SCRYPT)
    return hmac.compare_digest(found, base64.b64decode(digest))


_NOBODYS: Final = "$argon2id$v=19$m=19456,t=2,p=1$Oc7aR+GCe2Zk6UiYaz3U2w$hpypr5rMOgRlOTW+MicLMS5fCjIoMaT6wAQ/P2rmp/E"
"""Of a password that nobody knows. Compared with when there is nothing to compare with, so that this takes as long."""
