"""Decompress: what is packed honestly comes out, bombs and damage do not."""

from __future__ import annotations

import gzip
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import pytest

from opendatafabric.errors import LimitExceeded, MalformedSource, UnsupportedOperation
from opendatafabric.metadata.sources import CompressionFormat, PrepStepDecompress, PrepStepPipe
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


def test_gzip_of_several_members_comes_out_whole(tmp_path: Path) -> None:
    text = bytes(range(256)) * 20_000
    file = packed(tmp_path, gzip.compress(text) + gzip.compress(b"more"))
    assert unpack(file, [GZIP], tmp_path).read_bytes() == text + b"more"


def test_steps_go_one_after_another(tmp_path: Path) -> None:
    file = packed(tmp_path, gzip.compress(gzip.compress(b"text")))
    assert unpack(file, [GZIP, GZIP], tmp_path).read_bytes() == b"text"


def test_of_a_zip_the_one_file_comes_out_or_the_one_that_is_named(tmp_path: Path) -> None:
    assert unpack(zipped(tmp_path, "dir/", "a.csv"), [ZIP], tmp_path).read_bytes() == b"a.csv"


def test_a_sub_path_may_be_a_pattern(tmp_path: Path) -> None:
    step = PrepStepDecompress(CompressionFormat.ZIP, "x/*.csv")
    assert unpack(zipped(tmp_path, "a.csv", "x/b.csv"), [step], tmp_path).read_bytes() == b"x/b.csv"


def test_several_files_without_a_choice_are_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedSource, match="2 files"):
        unpack(zipped(tmp_path, "a", "b"), [ZIP], tmp_path)


@pytest.mark.parametrize("raw", [b"", b"text", gzip.compress(b"text" * 1_000)[:-9]])
def test_damaged_or_cut_off_archives_are_refused(tmp_path: Path, raw: bytes) -> None:
    for step in (GZIP, ZIP):
        with pytest.raises(MalformedSource):
            unpack(packed(tmp_path, raw), [step], tmp_path)
        (tmp_path / "unpacked-0").unlink(missing_ok=True)


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
        unpack(file, [step], tmp_path)
    assert (tmp_path / "unpacked-0").stat().st_size < 2_100_000


def test_commands_are_not_run(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation, match="commands"):
        unpack(packed(tmp_path, b""), [PrepStepPipe(("cat",))], tmp_path)
