"""Decompress: what is packed honestly comes out, bombs and damage do not."""

from __future__ import annotations

import gzip
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from opendatafabric.errors import LimitExceeded, MalformedSource
from opendatafabric.metadata.sources import CompressionFormat, PrepStepDecompress
from pipeline import unpack as unpacking
from pipeline.unpack import unpack

GZIP = PrepStepDecompress(CompressionFormat.GZIP)
ZIP = PrepStepDecompress(CompressionFormat.ZIP)


def packed(folder: Path, raw: bytes) -> Path:
    """A file of those bytes."""
    file = folder / "packed"
    file.write_bytes(raw)
    return file


def zipped(folder: Path, *names: str) -> Path:
    """An archive of files that hold their own names."""
    file = folder / "packed"
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, name)
    return file


def unpacked(file: Path, step: PrepStepDecompress, folder: Path) -> bytes:
    """What it holds."""
    unpack(file, step, folder / "unpacked")
    return (folder / "unpacked").read_bytes()


def test_gzip_of_several_members_comes_out_whole(tmp_path: Path) -> None:
    text = bytes(range(256)) * 20_000
    file = packed(tmp_path, gzip.compress(text) + gzip.compress(b"more"))
    assert unpacked(file, GZIP, tmp_path) == text + b"more"


def test_of_a_zip_the_one_file_comes_out_or_the_one_that_is_named(tmp_path: Path) -> None:
    assert unpacked(zipped(tmp_path, "dir/", "a.csv"), ZIP, tmp_path) == b"a.csv"


def test_a_sub_path_may_be_a_pattern(tmp_path: Path) -> None:
    step = PrepStepDecompress(CompressionFormat.ZIP, "x/*.csv")
    assert unpacked(zipped(tmp_path, "a.csv", "x/b.csv"), step, tmp_path) == b"x/b.csv"


def test_several_files_without_a_choice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedSource, match="2 files"):
        unpack(zipped(tmp_path, "a", "b"), ZIP, tmp_path / "unpacked")


@pytest.mark.parametrize("raw", [b"", b"text", gzip.compress(b"text" * 1_000, mtime=0)[:-9]])
def test_damaged_or_cut_off_archives_are_refused(tmp_path: Path, raw: bytes) -> None:
    for step in (GZIP, ZIP):
        with pytest.raises(MalformedSource):
            unpack(packed(tmp_path, raw), step, tmp_path / "unpacked")
        (tmp_path / "unpacked").unlink(missing_ok=True)


@pytest.mark.parametrize("step", [GZIP, ZIP])
def test_a_bomb_is_stopped_on_its_way(
    tmp_path: Path, step: PrepStepDecompress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "UNPACKED_BYTES_PER_BYTE_MAX", 100)
    file = packed(tmp_path, gzip.compress(bytes(10_000_000)))
    if step is ZIP:
        with ZipFile(file, "w", ZIP_DEFLATED) as archive:
            archive.writestr("zeros", bytes(10_000_000))
    with pytest.raises(LimitExceeded):
        unpack(file, step, tmp_path / "unpacked")
    assert (tmp_path / "unpacked").stat().st_size < 2_100_000
