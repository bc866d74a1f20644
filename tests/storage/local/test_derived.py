"""Derived files: whole or not there, whatever happens to the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from storage.local import durable
from storage.local.derived import LocalDerivedStore
from tests.suites.derived_store import KIB, DerivedStoreSuite

DAY_S = 86_400


class TestLocalDerived(DerivedStoreSuite):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path: Path) -> None:
        self.folder = tmp_path / "kept"

    def make(self, bytes_max: int) -> LocalDerivedStore:
        return LocalDerivedStore(self.folder, bytes_max=bytes_max)

    async def test_another_process_finds_it(self) -> None:
        await self.make(KIB).keep("a", b"bytes")
        assert await self.make(KIB).read("a") == b"bytes"

    async def test_nobody_else_may_look_into_the_folder(self) -> None:
        await self.make(KIB).keep("a", b"bytes")
        assert self.folder.stat().st_mode & 0o777 == 0o700

    @pytest.mark.parametrize("place", [0, 31, 32, 36])
    async def test_a_flipped_bit_is_noticed_and_the_file_removed(self, place: int) -> None:
        store = self.make(KIB)
        await store.keep("a", b"bytes")
        damaged = bytearray((self.folder / "a").read_bytes())
        damaged[place] ^= 1
        (self.folder / "a").write_bytes(damaged)
        assert await store.read("a") is None
        assert not (self.folder / "a").exists()

    @pytest.mark.parametrize("size", [0, 10, 32, 36])
    async def test_a_file_cut_off_is_not_there(self, size: int) -> None:
        store = self.make(KIB)
        await store.keep("a", b"bytes")
        os.truncate(self.folder / "a", size)
        assert await store.read("a") is None

    async def test_a_file_under_another_name_is_not_there(self) -> None:
        store = self.make(KIB)
        await store.keep("a", b"bytes")
        (self.folder / "a").rename(self.folder / "b")
        assert await store.read("b") is None

    async def test_what_is_no_plain_file_is_not_there(self, tmp_path: Path) -> None:
        store = self.make(KIB)
        await store.keep("a", b"bytes")
        (self.folder / "a").rename(tmp_path / "elsewhere")
        (self.folder / "a").symlink_to(tmp_path / "elsewhere")
        (self.folder / "b").mkdir()
        assert await store.read("a") is None
        assert await store.read("b") is None

    async def test_a_folder_that_cannot_be_made_keeps_nothing(self) -> None:
        self.folder.write_bytes(b"in the way")
        store = self.make(KIB)
        await store.keep("a", b"bytes")
        assert await store.read("a") is None

    async def test_the_folder_never_outgrows_its_room(self) -> None:
        store = self.make(4 * KIB)
        for number in range(20):
            await store.keep(f"a{number}", bytes(900))
            assert sum(path.stat().st_size for path in self.folder.iterdir()) <= 4 * KIB
        assert await store.read("a19") is not None

    async def test_what_was_not_used_for_long_is_swept(self) -> None:
        store = self.make(4 * KIB)
        for name, age_s in (("old", 8 * DAY_S), ("new", DAY_S)):
            await store.keep(name, b"bytes")
            os.utime(self.folder / name, (10 * DAY_S - age_s,) * 2)
        assert await store.sweep(unused_for_s=7 * DAY_S, now=10 * DAY_S) == 1
        assert (await store.read("old"), await store.read("new")) == (None, b"bytes")

    async def test_what_an_interrupted_write_left_is_swept(self) -> None:
        store = self.make(4 * KIB)
        await store.keep("a", b"bytes")
        for name, written in ((durable.pending_name(), 0), (durable.pending_name(), 9_000)):
            (self.folder / name).write_bytes(b"half")
            os.utime(self.folder / name, (written, written))
        assert await store.sweep(unused_for_s=7 * DAY_S, now=10_000) == 1

    async def test_sweeping_a_folder_that_is_not_there_is_fine(self) -> None:
        assert await self.make(KIB).sweep(unused_for_s=0, now=0) == 0
