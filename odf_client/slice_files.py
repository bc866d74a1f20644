"""Slices as files of this machine, each proved by its hash before anybody reads a record of it.

Those that are missing are fetched, several at once, while the first are read already. What an earlier process left in
the cache is hashed once more by the next; what turns out to be damaged there is fetched anew.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path

from odf_client.waiting import begin, wait
from opendatafabric.chain.objects import ObjectFile, ObjectKind
from opendatafabric.errors import HashMismatch, ObjectNotFound
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset, object_key
from storage.progress import OBJECTS, Progress, silent
from storage.protocols import ObjectReader
from storage.records.slice_files import hash_of_file
from sync.objects import copy_objects

Source = Callable[[], AbstractAsyncContextManager[ObjectReader]]


class SliceFiles:
    """The slices of ``here``; those that are missing come from ``source``, if there is one."""

    def __init__(self, here: Dataset, source: Source | None) -> None:
        self._here, self._source = here, source
        self._proved: set[Multihash] = set()

    @contextmanager
    def fetching(
        self, slices: Sequence[DataSlice], progress: Progress = silent
    ) -> Iterator[Callable[[DataSlice], Path]]:
        """Inside, what is missing of ``slices`` comes in; gives where each lies, when it does.

        Raises:
            HashMismatch, SizeMismatch: other bytes came, or lie there, than the chain says.
            ObjectNotFound, PeerUnavailable, StorageError: they cannot be had.
        """
        arriving = wait(self._begin([_file_of(each) for each in slices], progress))
        try:
            yield lambda data_slice: wait(self._path(_file_of(data_slice), arriving))
        finally:
            begin(arriving.stop())  # a reader may be given up in any thread

    def all(self, slices: Sequence[DataSlice], progress: Progress = silent) -> list[Path]:
        """The files of all of them; errors as in ``fetching``."""
        with self.fetching(slices, progress) as path_of:
            return [path_of(each) for each in slices]

    async def _begin(self, files: Sequence[ObjectFile], progress: Progress) -> _Arriving:
        missing = [] if self._source is None else await self._here.missing_objects(files)
        return _Arriving(self._here, self._source, missing, progress)

    async def _path(self, file: ObjectFile, arriving: _Arriving) -> Path:
        await arriving.wait_for(file)
        path = self._here.objects.local_path(object_key(file))
        assert path is not None
        if file.physical_hash not in self._proved and file not in arriving.files:
            await self._prove(file, path)
        self._proved.add(file.physical_hash)
        return path

    async def _prove(self, file: ObjectFile, path: Path) -> None:
        found = await asyncio.to_thread(hash_of_file, path)
        if found == file.physical_hash:
            return
        if self._source is None:
            raise HashMismatch(
                f"{object_key(file)} is damaged", expected=file.physical_hash, found=found, hint="run odf fsck"
            )
        await self._here.writable_objects().delete(object_key(file))
        async with self._source() as source:
            await copy_objects(source, self._here.writable_objects(), [file])


class _Arriving:
    """Files on their way."""

    def __init__(self, here: Dataset, source: Source | None, files: Sequence[ObjectFile], progress: Progress) -> None:
        self.files = set(files)
        self._here, self._progress = here, progress
        self._news = asyncio.Event()
        copying = None if source is None or not files else self._copy(source, files)
        self._task = None if copying is None else asyncio.create_task(copying)

    async def wait_for(self, file: ObjectFile) -> None:
        """Return when it is there."""
        while file in self.files and self._task is not None:
            news = self._news
            if not await self._here.missing_objects([file]):
                return
            if self._task.done():
                self._task.result()
                raise ObjectNotFound(f"{object_key(file)} did not arrive")
            waiting = asyncio.create_task(news.wait())
            await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()

    async def stop(self) -> None:
        """Fetch nothing more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _copy(self, source: Source, files: Sequence[ObjectFile]) -> None:
        async with source() as reader:
            await copy_objects(reader, self._here.writable_objects(), files, progress=self._told)

    def _told(self, label: str, done: int, total: int | None) -> None:
        self._progress(label, done, total)
        if label == OBJECTS:
            self._news.set()
            self._news = asyncio.Event()


def _file_of(data_slice: DataSlice) -> ObjectFile:
    return ObjectFile(ObjectKind.DATA_SLICE, data_slice.physical_hash, data_slice.size)
