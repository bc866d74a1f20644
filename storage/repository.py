"""A repository: a folder that holds many datasets. Find, create, list, rename and delete them.

A dataset without a head is *pending*: it can be pushed into by whoever creates it and is invisible to everybody else.
Every change holds the lock of the root folder, so several processes may work on one repository. What is inside a
dataset belongs to ``dataset.py``; which folders count as datasets, to ``folders.py``.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import DatasetId
from opendatafabric.errors import (
    DatasetNotFound,
    NameCollision,
    OdfError,
    StorageError,
    UnsupportedOperation,
)
from storage import folder_changes, folders
from storage.chain_states import ChainStates
from storage.dataset import Dataset
from storage.folders import DatasetFolder, RepositoryLayout, RetiredDataset
from storage.fsck_files import check_repository_files
from storage.local import durable
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from storage.places import DatasetPlace
from storage.retired import discard, id_of, require_free, require_retired, was_deleted
from storage.values import FsckFinding


@dataclass(frozen=True, slots=True)
class DatasetEntry:
    """A dataset and what it is called; ``path`` where it is a folder; ``pending`` ones have no head yet."""

    id: DatasetId
    alias: DatasetAlias
    dataset: Dataset
    path: Path | None
    pending: bool = False

    @property
    def place(self) -> str:
        """What its folder is called in the repository; where there are no folders, what it would be called."""
        return self.id.multibase if self.path is None else self.path.name

    @property
    def folder(self) -> Path:
        """``path``, for those who know that it is a folder."""
        assert self.path is not None
        return self.path


class Repository:
    """The datasets under ``root``; made by ``open`` or ``init``."""

    def __init__(self, root: Path, layout: RepositoryLayout) -> None:
        self.root = root
        self.layout = layout
        self._states = ChainStates()
        self._paths: dict[DatasetAlias, Path] = {}
        self._seed_ids: dict[tuple[Path, int], DatasetId] = {}

    @classmethod
    def init(cls, path: Path, layout: RepositoryLayout = RepositoryLayout.BY_ID) -> Repository:
        """Make ``path`` a repository, or open it if it is one.

        Raises:
            NotARepository: the folder has other things in it.
        """
        with durable.translated(f"create {path}"):
            path.mkdir(parents=True, exist_ok=True)
            if any(not inner.name.startswith(".") for inner in path.iterdir()):
                return cls.open(path)
            with durable.opened_folder(path) as folder:
                durable.replace_file(folder, folders.MARKER_NAME, f"{layout.value}\n".encode())
        return cls(path, layout)

    @classmethod
    def open(cls, path: Path) -> Repository:
        """The repository, or the single dataset, in the folder ``path``.

        Raises:
            NotARepository: no folder, or one that is neither.
        """
        layout = folders.layout_of(path)
        if layout is None:
            raise folders.not_a_repository(path)
        return cls(path, layout)

    @staticmethod
    def is_at(path: Path) -> bool:
        """Whether ``open`` finds a repository of many datasets in ``path``."""
        return folders.layout_of(path) not in {None, RepositoryLayout.SINGLE}

    async def check(self) -> None:
        """Return if the folder can be used now.

        Raises:
            StorageError: it cannot.
        """
        if not await asyncio.to_thread(os.access, self.root, os.R_OK | os.W_OK | os.X_OK):
            raise StorageError("the folder of the repository cannot be written to")

    # --- finding

    async def find(self, ref: DatasetRef, *, include_pending: bool = False) -> DatasetEntry:
        """The dataset of that id or alias.

        Raises:
            DatasetNotFound: there is none, or only a pending one and ``include_pending`` is off.
        """
        found = await (self._by_id(ref) if isinstance(ref, DatasetId) else self._by_alias(ref))
        if found is None or (found.pending and not include_pending):
            raise DatasetNotFound(f"dataset {ref} is not in the repository", hint="odf list shows what is")
        return found

    async def iterate(self, *, include_pending: bool = False) -> AsyncIterator[DatasetEntry]:
        """Every dataset in the order of the aliases; damaged ones that have no readable identity are left out."""
        found = await asyncio.to_thread(self._scan)
        for folder in sorted(found, key=lambda each: each.alias):
            if folder.pending and not include_pending:
                continue
            entry = await self._entry_if_sound(folder)
            if entry is not None:
                yield entry

    def address_of(self, entry: DatasetEntry) -> str:
        """As in ``DatasetRepository``."""
        return str(entry.folder)

    async def places(self) -> AsyncIterator[DatasetPlace]:
        """As in ``DatasetRepository``."""
        for folder in sorted(await asyncio.to_thread(self._scan), key=lambda each: each.alias):
            dataset = self._dataset(folder)
            name, path = folder.path.name, str(folder.path)
            yield DatasetPlace(name, path, folder.alias, folder.dataset_id, folder.pending, dataset)

    async def strays(self) -> list[FsckFinding]:
        """As in ``DatasetRepository``."""
        return await asyncio.to_thread(lambda: [*check_repository_files(self.root)])

    async def _by_id(self, dataset_id: DatasetId) -> DatasetEntry | None:
        direct = await asyncio.to_thread(folders.describe, self.root, self.root / dataset_id.multibase)
        if direct is not None:
            return await self._entry_if_sound(direct)
        async for entry in self.iterate(include_pending=True):
            if entry.id == dataset_id:
                return entry
        return None

    async def _by_alias(self, alias: DatasetAlias) -> DatasetEntry | None:
        found = await asyncio.to_thread(self._folder_of, alias)
        return None if found is None else await self._entry_if_sound(found)

    def _folder_of(self, alias: DatasetAlias) -> DatasetFolder | None:
        known = self._paths.get(alias)
        found = None if known is None else folders.describe(self.root, known)
        if found is None or found.alias != alias:
            self._scan()
            known = self._paths.get(alias)
            found = None if known is None else folders.describe(self.root, known)
        return found

    def _scan(self) -> list[DatasetFolder]:
        if self.layout is RepositoryLayout.SINGLE:
            alone = folders.describe(self.root, self.root)
            found = [] if alone is None else [alone]
        else:
            found = list(folders.scan(self.root))
        self._paths = {each.alias: each.path for each in found}
        return found

    async def _entry_if_sound(self, folder: DatasetFolder) -> DatasetEntry | None:
        dataset = self._dataset(folder)
        try:
            dataset_id = folder.dataset_id or await self._seed_id(folder, dataset)
        except OdfError:
            return None
        return DatasetEntry(dataset_id, folder.alias, dataset, folder.path, folder.pending)

    def _dataset(self, folder: DatasetFolder) -> Dataset:
        return Dataset(LocalObjectStore(folder.path), LocalRefStore(folder.path), states=self._states)

    async def _seed_id(self, folder: DatasetFolder, dataset: Dataset) -> DatasetId:
        with durable.translated(f"read {folder.path.name}/"):
            identity = (folder.path, folder.path.stat().st_ino)
        if identity not in self._seed_ids:
            self._seed_ids[identity] = (await dataset.seed()).dataset_id
        return self._seed_ids[identity]

    # --- changing

    async def create(self, alias: DatasetAlias, dataset_id: DatasetId) -> DatasetEntry:
        """A pending dataset: invisible until its head is set. Creating the same one again while it is pending is fine.

        Raises:
            RefCollision: the id exists, under whatever alias.
            NameCollision: the alias belongs to another id.
        """
        self._require_many()
        path = await asyncio.to_thread(self._create, alias, dataset_id, await self._known_ids())
        found = await asyncio.to_thread(folders.describe, self.root, path)
        entry = None if found is None else await self._entry_if_sound(found)
        if entry is None:
            raise DatasetNotFound(f"dataset {alias} was deleted while it was being created")
        return entry

    async def rename(self, ref: DatasetRef, alias: DatasetAlias) -> DatasetEntry:
        """Give a dataset another alias.

        Raises:
            DatasetNotFound, NameCollision: as they say.
        """
        self._require_many()
        entry = await self.find(ref, include_pending=True)
        await asyncio.to_thread(self._rename, entry, alias)
        return await self.find(alias, include_pending=True)

    async def delete(self, ref: DatasetRef) -> None:
        """Remove a dataset: its refs first, so that readers find it whole or not at all.

        Raises:
            DatasetNotFound: there is none.
        """
        self._require_many()
        entry = await self.find(ref, include_pending=True)
        await asyncio.to_thread(self._delete, entry)

    async def retire(self, ref: DatasetRef) -> None:
        """As in ``DatasetRepository``."""
        self._require_many()
        if isinstance(ref, DatasetId) and folders.kept_place(self.root, ref).exists():
            return
        await asyncio.to_thread(self._retire, await self.find(ref))

    async def restore(self, dataset_id: DatasetId, alias: DatasetAlias) -> DatasetEntry:
        """As in ``DatasetRepository``."""
        self._require_many()
        await asyncio.to_thread(self._restore, alias, dataset_id, await self._known_ids())
        return await self.find(alias)

    async def discard(self, dataset_id: DatasetId) -> None:
        """As in ``DatasetRepository``."""
        await asyncio.to_thread(discard, self.root, dataset_id)

    async def retired(self) -> Sequence[RetiredDataset]:
        """As in ``DatasetRepository``."""
        return await asyncio.to_thread(folders.retired_in, self.root)

    async def sweep(self, *, unused_for_s: float, now: float | None = None) -> list[Path]:
        """Remove pending datasets nobody wrote to for that long, and what interrupted changes left; what was removed.

        ``now`` in seconds since 1970, by default the clock of this machine.
        """
        if self.layout is RepositoryLayout.SINGLE:
            return []
        return await asyncio.to_thread(self._sweep, (time.time() if now is None else now) - unused_for_s)

    async def _known_ids(self) -> dict[Path, DatasetId]:
        return {entry.folder: entry.id async for entry in self.iterate(include_pending=True)}

    def _require_many(self) -> None:
        if self.layout is RepositoryLayout.SINGLE:
            raise UnsupportedOperation(
                f"{self.root} is a single dataset", hint="make a repository with odf init, and pull the dataset into it"
            )

    # --- in a thread

    def _create(self, alias: DatasetAlias, dataset_id: DatasetId, ids: dict[Path, DatasetId]) -> Path:
        with folder_changes.locked(self.root):
            found = self._scan()
            same = next((each for each in found if id_of(each, ids) == dataset_id), None)
            if same is not None and same.pending and same.alias == alias:
                return same.path
            if folders.kept_place(self.root, dataset_id).exists():
                raise was_deleted(dataset_id)
            require_free(found, ids, alias, dataset_id)
            path = self._place(alias, dataset_id)
            folder_changes.build(self.root, path, alias, dataset_id)
            return path

    def _place(self, alias: DatasetAlias, dataset_id: DatasetId) -> Path:
        if self.layout is RepositoryLayout.BY_ID:
            return self.root / dataset_id.multibase
        return self._alias_path(alias)

    def _alias_path(self, alias: DatasetAlias) -> Path:
        if alias.account is None:
            return self.root / str(alias.name)
        # The spelling of an account folder that is there already wins: names differ in case only on paper.
        wanted = str(alias.account)
        there = [path.name for path in self.root.iterdir() if path.name.lower() == wanted.lower()]
        return self.root / (there[0] if there else wanted) / str(alias.name)

    def _rename(self, entry: DatasetEntry, alias: DatasetAlias) -> None:
        with folder_changes.locked(self.root):
            self._scan()
            path = there = self._still_there(entry)
            if self._paths.get(alias, path) != path:
                raise NameCollision(f"the name {alias} is taken by another dataset", found=alias)
            if folders.id_in_name(path.name) is None:
                path = self._alias_path(alias)
                folder_changes.move(there, path)
            folder_changes.write_identity(path, alias, entry.id)
            self._paths.clear()

    def _delete(self, entry: DatasetEntry) -> None:
        with folder_changes.locked(self.root):
            hidden = folder_changes.hide(self.root, self._still_there(entry))
        folder_changes.remove(hidden)

    def _retire(self, entry: DatasetEntry) -> None:
        with folder_changes.locked(self.root):
            folder_changes.retire(self.root, self._still_there(entry), entry.alias, entry.id)

    def _restore(self, alias: DatasetAlias, dataset_id: DatasetId, ids: dict[Path, DatasetId]) -> None:
        with folder_changes.locked(self.root):
            require_retired(self.root, dataset_id)
            require_free(self._scan(), ids, alias, dataset_id)
            folder_changes.restore(self.root, self._place(alias, dataset_id), alias, dataset_id)

    def _still_there(self, entry: DatasetEntry) -> Path:
        """Its folder, unless somebody deleted or moved it before we had the lock."""
        found = folders.describe(self.root, entry.folder)
        if found is None or found.dataset_id not in {None, entry.id}:
            raise DatasetNotFound(f"dataset {entry.alias} was deleted or renamed meanwhile", hint="look at it again")
        return entry.folder

    def _sweep(self, before: float) -> list[Path]:
        def is_old(path: Path) -> bool:
            return folder_changes.last_change(path) < before

        with folder_changes.locked(self.root):
            hidden = [path for path in folder_changes.hidden_folders(self.root) if is_old(path)]
            pending = [found.path for found in self._scan() if found.pending and is_old(found.path)]
            given_up = [each for path in pending if (each := folder_changes.hide_unfinished(self.root, path))]
        for path in (*hidden, *given_up):
            folder_changes.remove(path)
        return [*hidden, *given_up]
