"""A tree that any web server can give away: datasets under their aliases, laid out as the simple protocol asks for
them, beside an index of them. Here is a tree in a folder; one in S3 is in ``storage/s3/static_tree.py``.

A dataset is in the tree when its ``refs/head`` is. What is exported there is for ``sync/static_export.py`` to say.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Final, Protocol

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import Conflict
from opendatafabric.layout import REFS
from opendatafabric.limits import STATIC_INDEX_BYTES_MAX
from storage import folder_changes
from storage.dataset import Dataset
from storage.local import durable
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore

INDEX_NAME: Final = "_datasets.json"
"""No dataset and no account is called so."""


class StaticTree(Protocol):
    """Where datasets are exported to. One program at a time writes it; any number read it meanwhile."""

    async def read_index(self) -> bytes | None:
        """The index, or ``None`` where nothing was exported yet.

        Raises:
            Conflict: something else is there.
        """
        ...

    async def write_index(self, data: bytes) -> None:
        """Replace the index, atomically for readers."""
        ...

    async def dataset(self, alias: DatasetAlias) -> Dataset:
        """The stores of the dataset of that name, whether or not there is one."""
        ...

    async def remove(self, alias: DatasetAlias) -> None:
        """Take a dataset away, its refs first; an absent one is no error."""
        ...


class LocalStaticTree:
    """A StaticTree in the folder ``root``, made when it is first written to."""

    def __init__(self, root: Path) -> None:
        self._root = root

    async def read_index(self) -> bytes | None:
        return await asyncio.to_thread(self._read_index)

    async def write_index(self, data: bytes) -> None:
        await asyncio.to_thread(self._write_index, data)

    async def dataset(self, alias: DatasetAlias) -> Dataset:
        folder = self._root / str(alias)
        await asyncio.to_thread(self._make, folder)
        return Dataset(LocalObjectStore(folder), LocalRefStore(folder))

    async def remove(self, alias: DatasetAlias) -> None:
        await asyncio.to_thread(self._remove, self._root / str(alias))

    # --- in a thread

    def _read_index(self) -> bytes | None:
        try:
            with durable.opened_folder(self._root) as folder:
                return durable.read_file(folder, INDEX_NAME, size_max=STATIC_INDEX_BYTES_MAX)
        except OSError as error:
            if not durable.is_absent(error):
                raise durable.storage_error(error, f"read {INDEX_NAME}") from error
        if self._root.exists() and any(self._root.iterdir()):
            raise Conflict(f"{self._root} holds something else than an export", hint="give a new or an empty folder")
        return None

    def _write_index(self, data: bytes) -> None:
        with durable.translated(f"write {INDEX_NAME}"):
            self._root.mkdir(parents=True, exist_ok=True)
            with durable.opened_folder(self._root) as folder:
                durable.replace_file(folder, INDEX_NAME, data)

    def _make(self, folder: Path) -> None:
        with (
            durable.translated(f"make {folder}"),
            durable.opened_folder(self._root, *folder.relative_to(self._root).parts, create=True),
        ):
            pass

    def _remove(self, folder: Path) -> None:
        with durable.translated(f"remove {folder}"):
            if folder.exists():
                (folder / REFS).mkdir(exist_ok=True)  # its export may have ended before there was one
                folder_changes.hide(self._root, folder)
            for hidden in folder_changes.hidden_folders(self._root):
                folder_changes.remove(hidden)
