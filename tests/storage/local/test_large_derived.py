"""Large derived files."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

from opendatafabric.errors import StorageError
from storage.local.large_derived import LargeDerivedFiles


async def kept(files: LargeDerivedFiles, name: str, data: bytes, folder: Path) -> Path:
    with tempfile.TemporaryFile(dir=folder) as made:
        made.write(data)
        made.flush()
        return await files.keep(name, made)


async def test_what_is_kept_is_found_under_its_name(tmp_path: Path) -> None:
    files = LargeDerivedFiles(tmp_path / "kept", bytes_max=100)
    assert await files.find("a") is None
    path = await kept(files, "a", b"data", tmp_path)
    assert await files.find("a") == path
    assert path.read_bytes() == b"data"
    assert os.listdir(tmp_path / "kept") == ["a"]


async def test_a_file_of_another_file_system_is_copied(tmp_path: Path) -> None:
    files = LargeDerivedFiles(tmp_path / "kept", bytes_max=100)
    named = tmp_path / "named"
    named.write_bytes(b"data")
    with named.open("rb") as made:
        os.unlink(named)  # a file that had a name cannot be linked any more
        path = await files.keep("a", made)
    assert path.read_bytes() == b"data"


async def test_the_same_name_is_kept_once(tmp_path: Path) -> None:
    files = LargeDerivedFiles(tmp_path / "kept", bytes_max=100)
    await kept(files, "a", b"first", tmp_path)
    path = await kept(files, "a", b"second", tmp_path)
    assert path.read_bytes() == b"second"


async def test_what_was_used_longest_ago_makes_room(tmp_path: Path) -> None:
    files = LargeDerivedFiles(tmp_path / "kept", bytes_max=10)
    for number, name in enumerate(("a", "b")):
        path = await kept(files, name, b"1234", tmp_path)
        os.utime(path, (number, number))
    await files.find("a")
    await kept(files, "c", b"1234", tmp_path)
    assert [await files.find(name) is not None for name in ("a", "b", "c")] == [True, False, True]


async def test_the_newest_stays_even_if_it_is_too_large(tmp_path: Path) -> None:
    files = LargeDerivedFiles(tmp_path / "kept", bytes_max=2)
    assert (await kept(files, "a", b"1234", tmp_path)).exists()


async def test_what_nobody_used_is_swept(tmp_path: Path) -> None:
    files = LargeDerivedFiles(tmp_path / "kept", bytes_max=100)
    os.utime(await kept(files, "old", b"1", tmp_path), (1_000, 1_000))
    await kept(files, "new", b"1", tmp_path)
    assert await files.sweep(unused_for_s=60, now=time.time()) == 1
    assert os.listdir(tmp_path / "kept") == ["new"]
    assert await LargeDerivedFiles(tmp_path / "absent", bytes_max=1).sweep(unused_for_s=0, now=time.time()) == 0


async def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError):
        await kept(LargeDerivedFiles(tmp_path / "file" / "kept", bytes_max=1), "a", b"", tmp_path)
