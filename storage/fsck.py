"""Explain damage: every block and object read again and hashed, everything counted against the chain.

Findings are values, not errors: a check goes on behind a broken place and tells the rest. What is checked is that bytes
are what their names say and that nothing named is missing; whether a chain keeps its rules is said by
``verify/integrity.py``. Nothing is changed here.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

from opendatafabric.chain.objects import ObjectFile, objects_of
from opendatafabric.errors import (
    BlockNotFound,
    HashMismatch,
    MalformedIdentifier,
    MalformedInput,
    ObjectNotFound,
    OdfError,
)
from opendatafabric.layout import BLOCKS, CHECKPOINTS, DATA, REPORTS, block_key, parse_key
from opendatafabric.limits import INLINE_HASH_BYTES_MAX
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import Seed
from opendatafabric.multihash import Hasher, Multihash
from storage.dataset import Dataset, object_key
from storage.places import DatasetPlace
from storage.protocols import Inspected, NamingRefStore
from storage.repositories import DatasetRepository
from storage.values import FsckFinding

_RESTORE = "odf fsck --repair --from DIR|URL replaces it from any sound copy; so does pushing the dataset again"
_SWEEP = "harmless: left by an interrupted push or a forced one; odf gc removes it"


async def fsck(target: DatasetRepository | Dataset, *, read_objects: bool = True) -> AsyncIterator[FsckFinding]:
    """Every finding about a dataset or about all of a repository, as it is found.

    ``read_objects`` off compares the sizes of slices and checkpoints and does not hash them.
    """
    if isinstance(target, Dataset):
        async for finding in _fsck_dataset(target, read_objects):
            yield finding
        return
    for finding in await target.strays():
        yield finding
    async for place in target.places():
        async for finding in _fsck_place(place, read_objects):
            yield replace(finding, place=place.name)


async def _fsck_place(place: DatasetPlace, read_objects: bool) -> AsyncIterator[FsckFinding]:
    async for finding in _fsck_dataset(place.dataset, read_objects):
        yield finding
    if place.dataset_id is None or place.pending:
        return
    try:
        seed_id = (await place.dataset.seed()).dataset_id
    except OdfError:
        return  # told above
    if seed_id != place.dataset_id:
        yield FsckFinding(
            "wrong-folder", place.name, f"the Seed says {seed_id}", "move the folder to the name of its id"
        )


@dataclass(slots=True)
class _Reached:
    """What the refs lead to."""

    blocks: set[Multihash] = field(default_factory=set)
    files: dict[ObjectFile, None] = field(default_factory=dict)
    broken: bool = False
    """A chain could not be followed to its end, so nothing can be called an orphan."""
    told: set[str] = field(default_factory=set)
    """Keys with a finding already."""

    def add(self, block: HashedBlock) -> None:
        self.blocks.add(block.hash)
        self.files.update(dict.fromkeys(objects_of(block)))


async def _fsck_dataset(dataset: Dataset, read_objects: bool) -> AsyncIterator[FsckFinding]:
    if isinstance(dataset.objects, Inspected):
        for finding in await dataset.objects.strays():
            yield finding
    reached = _Reached()
    async for finding in _check_chains(dataset, reached):
        yield finding
    for file in reached.files:
        found = await _check_object(dataset, file, read_objects)
        if found is not None:
            yield found
    if dataset.objects.capabilities.listable:
        async for finding in _check_unreached(dataset, reached):
            yield finding
        async for finding in _check_reports(dataset):
            yield finding


async def _check_chains(dataset: Dataset, reached: _Reached) -> AsyncIterator[FsckFinding]:
    for name in await _ref_names(dataset):
        try:
            head = await dataset.head(name)
        except MalformedIdentifier as error:
            reached.broken = True
            yield FsckFinding("damaged-ref", f"refs/{name}", error.message, error.hint or _RESTORE)
            continue
        if head is not None:
            finding = await _follow(dataset, head, reached)
            if finding is not None:
                reached.broken = True
                reached.told.add(finding.key)
                yield finding


async def _ref_names(dataset: Dataset) -> Sequence[str]:
    if isinstance(dataset.refs, NamingRefStore):
        return await dataset.refs.names()
    return sorted(await dataset.refs.list())


async def _follow(dataset: Dataset, head: Multihash, reached: _Reached) -> FsckFinding | None:
    following: Multihash | None = head
    try:
        async for batch in dataset.walk(head):
            for block in batch:
                reached.add(block)
                following = block.prev_block_hash
        return _check_first(reached, block)
    except OdfError:
        pass  # somewhere in that batch: block by block from here
    while following is not None:
        try:
            block = await dataset.read_block(following)
        except OdfError as error:
            return _block_finding(following, error)
        reached.add(block)
        following = block.prev_block_hash
    return None


def _check_first(reached: _Reached, first: HashedBlock) -> FsckFinding | None:
    if isinstance(first.event, Seed):
        return None
    return FsckFinding("no-seed", block_key(first.hash), "the chain does not begin with a Seed", _RESTORE)


def _block_finding(block_hash: Multihash, error: OdfError) -> FsckFinding:
    code = "unreadable-block"
    if isinstance(error, BlockNotFound):
        code = "missing-block"
    elif isinstance(error, HashMismatch):
        code = "damaged-block"
    elif isinstance(error, MalformedInput):
        code = "malformed-block"
    return FsckFinding(code, block_key(block_hash), error.message, _RESTORE)


async def _check_object(dataset: Dataset, file: ObjectFile, read_objects: bool) -> FsckFinding | None:
    key = object_key(file)
    try:
        size = (await dataset.objects.stat(key)).size
        if size != file.size:
            return FsckFinding("wrong-size", key, f"{size} bytes, the chain says {file.size}", _RESTORE)
        found = await _hash_of(dataset, key) if read_objects else file.physical_hash
    except ObjectNotFound:
        return FsckFinding("missing-object", key, "named by the chain and not stored", _RESTORE)
    except OdfError as error:
        return FsckFinding("unreadable-object", key, error.message, error.hint or _RESTORE)
    if found != file.physical_hash:
        return FsckFinding("damaged-object", key, f"its bytes hash to {found}", _RESTORE)
    return None


async def _check_unreached(dataset: Dataset, reached: _Reached) -> AsyncIterator[FsckFinding]:
    named = {object_key(file) for file in reached.files} | {block_key(block) for block in reached.blocks}
    for folder in (BLOCKS, DATA, CHECKPOINTS):
        async for info in dataset.objects.list(f"{folder}/"):
            if info.key in named or info.key in reached.told:
                continue
            found = await _hash_of(dataset, info.key)
            if found != parse_key(info.key)[1]:
                yield _damaged_unreached(info.key, found, reached)
            elif not reached.broken:
                yield FsckFinding("orphan", info.key, "no ref leads to it", _SWEEP)


async def _check_reports(dataset: Dataset) -> AsyncIterator[FsckFinding]:
    async for info in dataset.objects.list(f"{REPORTS}/"):
        found = await _hash_of(dataset, info.key)
        if found != parse_key(info.key)[1]:
            yield FsckFinding(
                "damaged-report", info.key, f"its bytes hash to {found}", "remove it; odf verify makes one"
            )


def _damaged_unreached(key: str, found: Multihash, reached: _Reached) -> FsckFinding:
    message = f"its bytes hash to {found}"
    if not reached.broken:
        return FsckFinding("damaged-orphan", key, f"{message}; no ref leads to it", _SWEEP)
    return FsckFinding("damaged-block" if key.startswith(BLOCKS) else "damaged-object", key, message, _RESTORE)


async def _hash_of(dataset: Dataset, key: str) -> Multihash:
    hasher = Hasher()
    async for piece in dataset.objects.stream(key):
        if len(piece) <= INLINE_HASH_BYTES_MAX:
            hasher.update(piece)
        else:
            await asyncio.to_thread(hasher.update, piece)
    return hasher.finish()
