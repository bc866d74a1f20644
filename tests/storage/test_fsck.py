"""fsck finds every kind of damage, names it, and keeps quiet about what is sound."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.layout import block_key, data_key, report_key
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.fsck import fsck
from storage.fsck_files import remove_leftovers
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.memory import MemoryObjectStore, MemoryRefStore
from storage.repository import Repository
from tests.storage.chains import ChainBuilder, chain, dataset_id
from tests.suites.dataset import fill

VECTORS = Path(__file__).parent.parent / "vectors" / "datasets"


@pytest.fixture
def builder() -> ChainBuilder:
    builder = chain(["a", "b"])
    builder.data(b"first slice")
    builder.data(b"second slice")
    return builder


@pytest.fixture
async def dataset(tmp_path: Path, builder: ChainBuilder) -> Dataset:
    dataset = Dataset(LocalObjectStore(tmp_path), LocalRefStore(tmp_path))
    await fill(dataset, builder)
    return dataset


async def found(dataset: Dataset | Repository, *, read_objects: bool = True) -> dict[str, str]:
    return {finding.key: finding.code async for finding in fsck(dataset, read_objects=read_objects)}


async def test_a_sound_dataset_has_no_findings(dataset: Dataset) -> None:
    assert await found(dataset) == {}


async def test_a_dataset_in_memory_is_checked_too(builder: ChainBuilder) -> None:
    dataset = Dataset(MemoryObjectStore(), MemoryRefStore())
    await fill(dataset, builder)
    assert await found(dataset) == {}


async def test_a_report_is_sound_if_it_is_what_its_name_says(dataset: Dataset, tmp_path: Path) -> None:
    sound, damaged = report_key(physical_hash(b"one")), report_key(physical_hash(b"another"))
    for key in (sound, damaged):
        await dataset.writable_objects().put(key, b"one")
    (tmp_path / "reports" / "notes.txt").write_text("mine")
    assert await found(dataset) == {damaged: "damaged-report", "reports/notes.txt": "foreign-file"}


async def test_an_empty_dataset_has_no_findings(tmp_path: Path) -> None:
    assert await found(Dataset(LocalObjectStore(tmp_path), LocalRefStore(tmp_path))) == {}


def flip(path: Path, position: int = 0) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("number", range(5))
async def test_a_flipped_bit_in_any_block_is_named(
    dataset: Dataset, builder: ChainBuilder, tmp_path: Path, number: int
) -> None:
    key = block_key(builder.blocks[number].hash)
    flip(tmp_path / key, -1)
    assert await found(dataset) == {key: "damaged-block"}


@pytest.mark.parametrize("number", range(5))
async def test_a_missing_block_is_named(dataset: Dataset, builder: ChainBuilder, tmp_path: Path, number: int) -> None:
    key = block_key(builder.blocks[number].hash)
    (tmp_path / key).unlink()
    assert await found(dataset) == {key: "missing-block"}


async def test_damaged_missing_and_cut_objects_are_named(dataset: Dataset, tmp_path: Path) -> None:
    first, second = data_key(physical_hash(b"first slice")), data_key(physical_hash(b"second slice"))
    flip(tmp_path / first)
    (tmp_path / second).unlink()
    assert await found(dataset) == {first: "damaged-object", second: "missing-object"}
    (tmp_path / first).write_bytes(b"first slic")
    assert (await found(dataset))[first] == "wrong-size"


async def test_without_reading_objects_only_their_sizes_are_compared(dataset: Dataset, tmp_path: Path) -> None:
    first = data_key(physical_hash(b"first slice"))
    flip(tmp_path / first)
    assert await found(dataset, read_objects=False) == {}


@pytest.mark.parametrize("text", [b"", b"x", b"f1620" + b"0" * 63, b"f1620" + b"0" * 64 + b"\n"])
async def test_a_damaged_ref_is_named(dataset: Dataset, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "refs" / "head").write_bytes(text)
    assert await found(dataset) == {"refs/head": "damaged-ref"}


async def test_a_ref_to_nothing_is_named(dataset: Dataset, tmp_path: Path) -> None:
    (tmp_path / "refs" / "head").write_text(str(physical_hash(b"nothing")))
    assert await found(dataset) == {block_key(physical_hash(b"nothing")): "missing-block"}


async def test_what_no_ref_leads_to_is_an_orphan(dataset: Dataset, builder: ChainBuilder) -> None:
    stray = builder.fork(2).info("stray")
    assert isinstance(dataset.objects, LocalObjectStore)
    await dataset.objects.put(block_key(stray.hash), stray.raw)
    await dataset.objects.put(data_key(physical_hash(b"stray")), b"stray")
    assert await found(dataset) == {block_key(stray.hash): "orphan", data_key(physical_hash(b"stray")): "orphan"}


async def test_what_another_ref_leads_to_is_no_orphan(dataset: Dataset, builder: ChainBuilder) -> None:
    staged = builder.fork(2)
    await dataset.append([staged.info("staged")], expected_head=None, force=True, block_ref="staging")
    assert await found(dataset) == {}


async def test_a_damaged_orphan_is_named(dataset: Dataset, tmp_path: Path) -> None:
    key = data_key(physical_hash(b"stray"))
    (tmp_path / key).write_bytes(b"other")
    assert await found(dataset) == {key: "damaged-orphan"}


async def test_leftovers_links_and_foreign_files_are_named(dataset: Dataset, tmp_path: Path) -> None:
    (tmp_path / "data" / ".pending-0123456789abcdef").write_bytes(b"half")
    (tmp_path / "data" / "README").write_bytes(b"?")
    (tmp_path / "notes.txt").write_bytes(b"?")
    (tmp_path / data_key(physical_hash(b"link"))).symlink_to("/etc/passwd")
    assert await found(dataset) == {
        "data/.pending-0123456789abcdef": "leftover",
        "data/README": "foreign-file",
        "notes.txt": "foreign-file",
        data_key(physical_hash(b"link")): "symbolic-link",
    }


async def test_every_finding_says_what_to_do(dataset: Dataset, builder: ChainBuilder, tmp_path: Path) -> None:
    flip(tmp_path / block_key(builder.blocks[1].hash))
    flip(tmp_path / data_key(physical_hash(b"first slice")))
    (tmp_path / "notes.txt").write_bytes(b"?")
    async for finding in fsck(dataset):
        assert finding.remedy
        assert finding.message
        assert set(finding.as_dict()) == {"place", "key", "code", "message", "remedy"}


async def test_leftovers_are_removed_once_old(dataset: Dataset, tmp_path: Path) -> None:
    old, young = (tmp_path / "data" / f".pending-{name * 16}" for name in "01")
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (1_000, 1_000))
    assert remove_leftovers(tmp_path, before=2_000) == [f"data/{old.name}"]
    assert await found(dataset) == {f"data/{young.name}": "leftover"}


async def test_a_repository_is_checked_whole_and_places_are_named(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path)
    for number, name in enumerate(("a", "b"), 1):
        entry = await repository.create(DatasetAlias.from_text(name), dataset_id(number))
        await entry.dataset.append(chain(["x"], number=number).blocks, expected_head=None)
    assert await found(repository) == {}
    flip(next((tmp_path / dataset_id(2).multibase / "blocks").iterdir()))
    (tmp_path / ".deleted-0123456789abcdef").mkdir()
    findings = [finding async for finding in fsck(repository)]
    assert [(finding.place, finding.code) for finding in findings] == [
        ("", "leftover"),
        (dataset_id(2).multibase, "damaged-block"),
    ]


async def test_a_dataset_in_the_folder_of_another_is_named(tmp_path: Path) -> None:
    repository = Repository.init(tmp_path)
    entry = await repository.create(DatasetAlias.from_text("a"), dataset_id(1))
    await entry.dataset.append(chain(["x"], number=1).blocks, expected_head=None)
    entry.path.rename(tmp_path / dataset_id(2).multibase)
    assert await found(repository) == {dataset_id(2).multibase: "wrong-folder"}


@pytest.mark.parametrize("name", sorted(path.name for path in VECTORS.iterdir() if path.is_dir()))
async def test_datasets_of_the_reference_are_sound_and_any_flipped_byte_is_named(tmp_path: Path, name: str) -> None:
    copy = tmp_path / name
    shutil.copytree(VECTORS / name, copy)
    repository = Repository.open(copy)
    assert await found(repository) == {}
    files = sorted(path for folder in ("blocks", "data", "refs", "checkpoints") for path in copy.glob(f"{folder}/*"))
    chance = random.Random(name)
    for path in files:
        before = path.read_bytes()
        flip(path, chance.randrange(len(before)))
        key = str(path.relative_to(copy))
        findings = await found(repository)
        assert key in findings or (key == "refs/head" and "missing-block" in findings.values())
        path.write_bytes(before)
