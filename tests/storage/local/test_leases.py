"""Leases of a folder: they keep the contract, and die with the process that holds them."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from opendatafabric.errors import DatasetNotFound
from storage.local.leases import LEASES_FOLDER, LocalLeaseStore
from storage.memory import MemoryLeaseStore
from storage.values import LeaseKind
from tests.suites.lease_store import LeaseStoreSuite

HOLDER = """
import asyncio, sys
from pathlib import Path
from storage.local.leases import LocalLeaseStore
from storage.values import LeaseKind
leases = LocalLeaseStore(Path(sys.argv[1]))
asyncio.run(leases.place(LeaseKind.PIN, b"mine"))
print("placed", flush=True)
sys.stdin.read()
"""


class TestLocalLeases(LeaseStoreSuite):
    @pytest.fixture
    def leases(self, tmp_path: Path) -> LocalLeaseStore:
        return LocalLeaseStore(tmp_path)

    @pytest.fixture
    def others(self, tmp_path: Path) -> LocalLeaseStore:
        return LocalLeaseStore(tmp_path)


class TestMemoryLeases(LeaseStoreSuite):
    @pytest.fixture
    def leases(self) -> MemoryLeaseStore:
        return MemoryLeaseStore()

    @pytest.fixture
    def others(self, leases: MemoryLeaseStore) -> MemoryLeaseStore:
        return leases


def test_a_note_dies_with_its_process_and_no_sooner(tmp_path: Path) -> None:
    leases = LocalLeaseStore(tmp_path)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        assert [lease.contents for lease in asyncio.run(leases.standing())] == [b"mine"]
        for path in (tmp_path / LEASES_FOLDER).iterdir():
            os.utime(path, (0, 0))  # a clock that jumped by decades changes nothing
        assert len(asyncio.run(leases.standing())) == 1
        holder.kill()
    assert asyncio.run(leases.standing()) == []
    assert list((tmp_path / LEASES_FOLDER).iterdir()) == []


async def test_foreign_files_among_the_notes_are_no_notes(tmp_path: Path) -> None:
    leases = LocalLeaseStore(tmp_path)
    (tmp_path / LEASES_FOLDER).mkdir()
    (tmp_path / LEASES_FOLDER / "README").write_text("?")
    (tmp_path / LEASES_FOLDER / "pin-link").symlink_to("/etc/passwd")
    assert await leases.standing() == []
    assert (tmp_path / LEASES_FOLDER / "README").exists()


async def test_a_folder_that_is_gone_is_told_and_has_no_notes(tmp_path: Path) -> None:
    leases = LocalLeaseStore(tmp_path / "gone")
    assert await leases.standing() == []
    with pytest.raises(DatasetNotFound):
        await leases.place(LeaseKind.PIN, b"")
    assert not (tmp_path / "gone").exists()
