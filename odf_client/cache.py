"""Where what was read and proved is kept, so that it is fetched once: chains, and the slices that were asked for.

One folder per address, laid out as a dataset, so any process of the user may go on with it. It holds whatever its user
may read; nobody else may look into it.
"""

from __future__ import annotations

import os
import shutil
import time
from contextlib import suppress
from pathlib import Path

from opendatafabric.client_limits import CLIENT_CACHE_BYTES_MAX, CLIENT_CACHE_USED_S
from opendatafabric.errors import StorageError
from opendatafabric.layout import DATA
from opendatafabric.multihash import physical_hash
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore


class Cache:
    """Up to ``bytes_max`` of slices below ``folder``, by default ``~/.cache/odf/client`` (``$XDG_CACHE_HOME``).

    >>> cache = Cache("/tmp/odf-cache", bytes_max=10 * 1024**3)
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, *, bytes_max: int = CLIENT_CACHE_BYTES_MAX
    ) -> None:
        self.folder = _usual_folder() if folder is None else Path(folder)
        self.bytes_max = bytes_max

    def dataset_at(self, url: str) -> Dataset:
        """What is kept of the dataset at ``url``."""
        folder = self._folder_of(url)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            hint = "odf_client.Cache(FOLDER) keeps it elsewhere"
            raise StorageError(f"{folder} cannot be used: {error.strerror or error}", hint=hint) from error
        return Dataset(LocalObjectStore(folder), LocalRefStore(folder))

    def make_room(self) -> None:
        """Remove slices until the others fit: those not used for longest, and none that may be in use."""
        kept = sorted((_used_at(path), path.stat().st_size, path) for path in self._slices())
        too_many, since = sum(size for _, size, _ in kept) - self.bytes_max, time.time() - CLIENT_CACHE_USED_S
        for used_at, size, path in kept:
            if too_many <= 0 or used_at > since:
                return
            with suppress(OSError):
                path.unlink()
                too_many -= size

    def forget(self, url: str) -> None:
        """Keep nothing of the dataset at ``url``."""
        shutil.rmtree(self._folder_of(url), ignore_errors=True)

    def clear(self) -> None:
        """Keep nothing at all."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _folder_of(self, url: str) -> Path:
        return self.folder / str(physical_hash(url.rstrip("/").encode()))

    def _slices(self) -> list[Path]:
        return [path for path in self.folder.glob(f"*/{DATA}/f1620*") if path.is_file()]


def _used_at(path: Path) -> float:
    found = path.stat()
    return max(found.st_atime, found.st_mtime)


def _usual_folder() -> Path:
    configured = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(configured) if configured.startswith("/") else Path.home() / ".cache") / "odf" / "client"
