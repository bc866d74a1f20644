"""Every call of the system fails once, for every deed of the local stores: done or untouched, and a retry succeeds."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Awaitable
from contextlib import suppress
from pathlib import Path

import pytest

from opendatafabric.errors import OdfError, StorageError, StorageFull
from tests.faults import deeds
from tests.faults.chores import BEFORE, CHORES, Chore, repeated
from tests.faults.deeds import DEEDS, Deed
from tests.faults.faulty_os import FaultyOs, Strike, disk_full, input_output_error, installed

pytestmark = pytest.mark.slow

CALLS_MAX = 300
FLUSHES = {"fsync", "fdatasync", "syncfs"}
NAMING = {"rename", "link"}


def run_faulty(deed: Deed, root: Path, faulty: FaultyOs) -> OdfError | None:
    with installed(faulty):
        try:
            deeds.run(deed, root)
        except OdfError as error:
            return error
    return None


@pytest.mark.parametrize("strike", [input_output_error, disk_full], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.name)
def test_a_call_that_fails_leaves_the_old_or_the_new_state(tmp_path: Path, deed: Deed, strike: Strike) -> None:
    for strike_at in range(1, CALLS_MAX):
        root = tmp_path / str(strike_at)
        before = deeds.prepare(root)
        faulty = FaultyOs(strike_at, strike)
        open_before = len(os.listdir("/proc/self/fd"))
        error = run_faulty(deed, root, faulty)
        struck = faulty.calls[strike_at - 1] if strike_at <= len(faulty.calls) else None
        if struck is None:
            break
        assert deeds.is_old_or_new(deed, before, deeds.state(root)), struck
        assert error is None or isinstance(error, StorageError), struck
        assert len(os.listdir("/proc/self/fd")) == open_before, struck
        if struck != "unlink" and strike is disk_full:
            assert deeds.leftovers(root) == [], struck
            assert error is None or isinstance(error, StorageFull), struck
        deeds.run(deed, root)
        assert deeds.state(root) == deeds.after(deed, before), struck
    else:
        raise AssertionError("the deed never ran to its end")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("strike", [input_output_error, disk_full], ids=["EIO", "ENOSPC"])
@pytest.mark.parametrize("chore", CHORES, ids=lambda chore: chore.name)
def test_keeping_a_repository_is_repeated_after_a_call_that_failed(
    tmp_path: Path, chore: Chore, strike: Strike
) -> None:
    before = tmp_path / BEFORE
    asyncio.run(awaited(chore.prepare(before)))
    for strike_at in range(1, 2 * CALLS_MAX):
        root = tmp_path / str(strike_at)
        shutil.copytree(before, root)
        faulty = FaultyOs(strike_at, strike)
        with installed(faulty), suppress(OdfError):
            asyncio.run(awaited(chore.run(root)))
        asyncio.run(repeated(chore, before, root))
        if len(faulty.calls) < strike_at:
            return
    raise AssertionError("the chore never ran to its end")


async def awaited(deed: Awaitable[None]) -> None:
    await deed


@pytest.mark.parametrize("deed", DEEDS, ids=lambda deed: deed.name)
def test_a_failed_flush_is_never_acknowledged(tmp_path: Path, deed: Deed) -> None:
    clean = FaultyOs(0, input_output_error)
    deeds.prepare(tmp_path / "clean")
    assert run_faulty(deed, tmp_path / "clean", clean) is None
    places = [number for number, name in enumerate(clean.calls, 1) if name in FLUSHES]
    assert places
    for place in places:
        root = tmp_path / str(place)
        deeds.prepare(root)
        error = run_faulty(deed, root, FaultyOs(place, input_output_error))
        assert isinstance(error, StorageError)
        assert not error.retryable


@pytest.mark.parametrize("deed", [deed for deed in DEEDS if deed.name != "delete"], ids=lambda deed: deed.name)
def test_bytes_are_flushed_before_they_get_their_name_and_names_before_the_answer(tmp_path: Path, deed: Deed) -> None:
    faulty = FaultyOs(0, input_output_error)
    deeds.prepare(tmp_path)
    assert run_faulty(deed, tmp_path, faulty) is None
    order = [
        name for name in faulty.calls if name in {"write", "fsync", "fdatasync", "syncfs", "rename", "link", "unlink"}
    ]
    named = [number for number, name in enumerate(order) if name in {"rename", "link"}]
    for number in named:
        last_write = max((i for i in range(number) if order[i] == "write"), default=-1)
        assert any(order[i] in FLUSHES for i in range(last_write + 1, number)), order
    assert order[-1] == "fsync", order
