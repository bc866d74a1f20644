"""Refs in a folder: the contract of ref stores, and what is particular to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import DatasetNotFound, MalformedIdentifier, RefConflict
from opendatafabric.multihash import physical_hash
from storage.local.refs import LocalRefStore
from tests.suites.ref_store import RefStoreSuite

A, B = physical_hash(b"a"), physical_hash(b"b")


@pytest.fixture
def refs(tmp_path: Path) -> LocalRefStore:
    return LocalRefStore(tmp_path)


class TestLocalRefs(RefStoreSuite):
    @pytest.fixture
    def refs(self, tmp_path: Path) -> LocalRefStore:
        return LocalRefStore(tmp_path)


def plant(refs: LocalRefStore, text: bytes, name: str = "head") -> None:
    (refs.root / "refs").mkdir(exist_ok=True)
    (refs.root / "refs" / name).write_bytes(text)


async def test_a_ref_is_written_as_the_reference_writes_it(refs: LocalRefStore) -> None:
    await refs.compare_and_swap("head", expected=None, new=A)
    assert (refs.root / "refs" / "head").read_bytes() == str(A).encode()
    assert len(str(A)) == 69


async def test_a_ref_of_the_reference_is_read(refs: LocalRefStore) -> None:
    plant(refs, str(A).encode())
    assert await refs.read("head") == A


@pytest.mark.parametrize(
    "text",
    [b"", b"\n", str(A).encode() + b"\n", b" " + str(A).encode(), str(A).encode()[:-1], bytes(69), b"f1620" * 40,
     b"\xff" * 69, b"x" * 5000, b"f1220" + b"0" * 64, str(A).encode() * 2],
)  # fmt: skip
async def test_a_damaged_ref_is_named_and_not_guessed(refs: LocalRefStore, text: bytes) -> None:
    plant(refs, text)
    with pytest.raises(MalformedIdentifier, match="refs/head"):
        await refs.read("head")
    with pytest.raises(MalformedIdentifier):
        await refs.compare_and_swap("head", expected=A, new=B)
    assert (refs.root / "refs" / "head").read_bytes() == text


async def test_hidden_and_foreign_files_are_no_refs(refs: LocalRefStore) -> None:
    plant(refs, b"half", ".pending-0123456789abcdef")
    plant(refs, b"?", "Thumbs.db")
    await refs.compare_and_swap("head", expected=None, new=A)
    assert await refs.list() == {"head": A}


async def test_moving_leaves_nothing_but_the_ref(refs: LocalRefStore) -> None:
    await refs.compare_and_swap("head", expected=None, new=A)
    await refs.compare_and_swap("head", expected=A, new=B)
    with pytest.raises(RefConflict):
        await refs.compare_and_swap("head", expected=A, new=B)
    assert [path.name for path in (refs.root / "refs").iterdir()] == ["head"]


async def test_a_ref_that_is_a_symbolic_link_is_absent(refs: LocalRefStore, tmp_path: Path) -> None:
    (tmp_path / "other").write_text(str(A))
    (refs.root / "refs").mkdir()
    (refs.root / "refs" / "head").symlink_to(tmp_path / "other")
    assert await refs.read("head") is None
    await refs.compare_and_swap("head", expected=None, new=B)
    assert (tmp_path / "other").read_text() == str(A)
    assert await refs.read("head") == B


async def test_moving_a_ref_of_a_deleted_dataset_does_not_bring_it_back(tmp_path: Path) -> None:
    refs = LocalRefStore(tmp_path / "deleted")
    assert await refs.read("head") is None
    with pytest.raises(DatasetNotFound):
        await refs.compare_and_swap("head", expected=None, new=A)
    assert not refs.root.exists()
