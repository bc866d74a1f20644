"""Equal objects of several datasets share their bytes on disk; nothing else about them changes."""

from __future__ import annotations

import asyncio
import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.layout import data_key
from opendatafabric.multihash import physical_hash
from storage import share
from storage.collect import collect
from storage.folders import MARKER_NAME
from storage.fsck import fsck
from storage.local import durable
from storage.repository import DatasetEntry, Repository
from storage.scrub import scrub
from storage.share import share_objects
from tests.faults.faulty_os import FaultyOs, input_output_error
from tests.storage.chains import ChainBuilder, dataset_id
from tests.suites.dataset import fill

pytestmark = pytest.mark.slow

COMMON, OWN = b"the same in both", b"own of %d"
COMMON_KEY = data_key(physical_hash(COMMON))


def chain_with(number: int, *contents: bytes) -> ChainBuilder:
    builder = ChainBuilder(dataset_id(number))
    for content in contents:
        builder.data(content)
    return builder


async def add(repository: Repository, number: int, *contents: bytes) -> DatasetEntry:
    entry = await repository.create(DatasetAlias.from_text(f"alice/d{number}"), dataset_id(number))
    await fill(entry.dataset, chain_with(number, *contents))
    return entry


@pytest.fixture
async def repository(tmp_path: Path) -> Repository:
    """Three datasets with one slice in common, and one of their own each."""
    repository = Repository.init(tmp_path)
    for number in range(1, 4):
        await add(repository, number, COMMON, OWN % number)
    return repository


def inodes(repository: Repository, key: str = COMMON_KEY) -> set[int]:
    return {path.stat().st_ino for path in repository.root.glob(f"*/{key}")}


def name_of(repository: Repository, number: int, key: str = COMMON_KEY) -> Path:
    return repository.root / dataset_id(number).multibase / key


async def shared(repository: Repository, *, dry_run: bool = False) -> tuple[int, int]:
    saved = await share_objects(repository, grace_s=-60, dry_run=dry_run)
    return saved.count, saved.bytes


async def assert_sound(repository: Repository) -> None:
    assert [finding async for finding in fsck(repository)] == []


async def test_equal_objects_are_stored_once_and_read_as_before(repository: Repository) -> None:
    assert len(inodes(repository)) == 3
    assert await shared(repository) == (2, 2 * len(COMMON))
    assert len(inodes(repository)) == 1
    await assert_sound(repository)
    assert await shared(repository) == (0, 0)


async def test_a_dry_run_only_counts(repository: Repository) -> None:
    assert await shared(repository, dry_run=True) == (2, 2 * len(COMMON))
    assert len(inodes(repository)) == 3


async def test_the_young_are_left_by_themselves(repository: Repository) -> None:
    assert (await share_objects(repository, grace_s=3_600)).count == 0


async def test_what_another_program_laid_out_is_left_as_it_is(repository: Repository) -> None:
    (repository.root / MARKER_NAME).unlink()
    assert await shared(repository) == (0, 0)


async def test_what_belongs_to_somebody_else_or_is_closed_to_others_is_not_shared(repository: Repository) -> None:
    name_of(repository, 1).chmod(0o600)
    assert (await shared(repository))[0] == 1
    assert name_of(repository, 1).stat().st_nlink == 1


async def test_a_dataset_that_is_deleted_or_collected_takes_only_its_own_names(repository: Repository) -> None:
    await shared(repository)
    await repository.delete(dataset_id(1))
    entry = await repository.find(dataset_id(2))
    replaced = chain_with(2)
    replaced.info("without data")
    await entry.dataset.append(replaced.blocks[1:], expected_head=await entry.dataset.head(), force=True)
    assert (await collect(entry.dataset, grace_s=-1)).freed["data"].count == 2
    assert await (await repository.find(dataset_id(3))).dataset.objects.read(COMMON_KEY) == COMMON
    await assert_sound(repository)


@pytest.mark.parametrize("damaged", [1, 2, 3])
async def test_damaged_bytes_are_never_given_to_others(repository: Repository, damaged: int) -> None:
    name_of(repository, damaged).write_bytes(COMMON[::-1])
    await shared(repository)
    sound = {number for number in (1, 2, 3) if name_of(repository, number).read_bytes() == COMMON}
    assert sound >= {1, 2, 3} - {damaged}


async def test_damage_of_shared_bytes_is_healed_under_every_name(repository: Repository, tmp_path: Path) -> None:
    copy = Repository.init(tmp_path / ".copy")
    source = (await add(copy, 1, COMMON, OWN % 1)).dataset.objects
    await shared(repository)
    name_of(repository, 2).write_bytes(COMMON[::-1])  # in place: all three names lead there
    healed = [
        done.key
        async for entry in repository.iterate()
        async for done in scrub(entry.dataset, sources=[source])
        if done.healed
    ]
    assert healed == [COMMON_KEY] * 3
    await assert_sound(repository)
    assert (await shared(repository))[0] == 2


async def test_replacing_one_name_by_a_new_upload_leaves_the_others(repository: Repository) -> None:
    await shared(repository)
    os.utime(name_of(repository, 1))
    entry = await repository.find(dataset_id(1))

    async def pieces():  # type: ignore[no-untyped-def]
        yield COMMON

    store = entry.dataset.writable_objects()
    await store.publish(await store.quarantine(pieces(), size_max=100), COMMON_KEY)
    assert len(inodes(repository)) == 2
    assert name_of(repository, 2).stat().st_nlink == 2
    await assert_sound(repository)


@pytest.mark.parametrize("number", [errno.EMLINK, errno.EPERM, errno.EXDEV, errno.EOPNOTSUPP])
async def test_where_there_can_be_no_link_both_files_stay(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patched:
        patched.setattr(share.os, "link", refuse)  # type: ignore[attr-defined]
        assert await shared(repository) == (0, 0)
    assert len(inodes(repository)) == 3
    await assert_sound(repository)


async def test_when_a_file_has_all_the_links_it_may_have_the_next_one_is_shared_on(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(repository, 4, COMMON)
    link, refused = os.link, []

    def refuse_once(*arguments: object, **keywords: object) -> None:
        if not refused:
            refused.append(True)
            raise OSError(errno.EMLINK, os.strerror(errno.EMLINK))
        link(*arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(share.os, "link", refuse_once)  # type: ignore[attr-defined]
    assert (await shared(repository))[0] == 2
    assert len(inodes(repository)) == 2


async def test_any_call_may_fail(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    for strike_at in range(1, 200):
        faulty = FaultyOs(strike_at, input_output_error)
        with monkeypatch.context() as patched:
            for module in (share, durable):
                patched.setattr(module, "os", faulty)
            await asyncio.gather(shared(repository), return_exceptions=True)
        await assert_sound(repository)
        if len(faulty.calls) < strike_at:
            break
    assert len(inodes(repository)) == 1


@given(contents=st.lists(st.sets(st.sampled_from([b"a", b"bb", b"ccc"])), min_size=2, max_size=4))
def test_what_is_read_is_the_same_before_and_after(contents: list[set[bytes]]) -> None:
    async def check(root: Path) -> None:
        repository = Repository.init(root)
        for number, each in enumerate(contents, 1):
            await add(repository, number, *sorted(each))
        saved, _ = await shared(repository)
        total = sum(map(len, contents))
        assert saved == total - len(set().union(*contents))
        for number, each in enumerate(contents, 1):
            for content in each:
                assert name_of(repository, number, data_key(physical_hash(content))).read_bytes() == content
        await assert_sound(repository)

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder)))
