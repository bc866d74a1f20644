"""The contract of DerivedStore: subclass, give ``make``, run."""

from __future__ import annotations

from storage.protocols import DerivedStore

KIB = 1_024


class DerivedStoreSuite:
    def make(self, bytes_max: int) -> DerivedStore:
        raise NotImplementedError

    async def test_what_was_never_kept_is_not_there(self) -> None:
        assert await self.make(KIB).read("a") is None

    async def test_what_is_kept_comes_back_byte_for_byte(self) -> None:
        store = self.make(KIB)
        await store.keep("a-1", b"\0bytes\n")
        await store.keep("b", b"")
        assert await store.read("a-1") == b"\0bytes\n"
        assert await store.read("b") == b""

    async def test_keeping_again_replaces(self) -> None:
        store = self.make(KIB)
        await store.keep("a", b"old")
        await store.keep("a", b"new")
        assert await store.read("a") == b"new"

    async def test_more_than_there_is_room_for_is_not_kept(self) -> None:
        store = self.make(KIB)
        await store.keep("small", b"here")
        await store.keep("large", bytes(KIB + 1))
        assert await store.read("large") is None
        assert await store.read("small") == b"here"

    async def test_what_was_used_last_stays(self) -> None:
        store = self.make(4 * KIB)
        for name in ("a", "b", "c"):
            await store.keep(name, bytes(KIB))
        assert await store.read("a") is not None
        await store.keep("d", bytes(KIB + KIB // 2))
        assert await store.read("b") is None
        assert await store.read("a") is not None
        assert await store.read("d") is not None
