"""Where a Spark worker lives, and how it is set up: one folder of its own, for its owner only.

```
<place>/                mode 0700
    lock                held by the running worker: one per place
    socket              where it listens; stale when nobody holds the lock
    log                 what the worker and its engine printed, begun anew by each worker
    in/<job>/           what a client gives to a job: read only for the engine
    out/<job>/          what a job leaves for its client
    work/               temporary files of the engine, emptied before each start
    projections/        what datasets have led to so far, see projection/kept.py; may be deleted
    chains/             what of long chains matters, see known_chains.py; may be deleted
    classes/            archives of Java classes, which make starts quick; may be deleted
```
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import secrets
import shutil
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from opendatafabric.errors import AccessDenied, StorageError
from pipeline.cluster import LOCAL_MASTER
from pipeline.jobs import JOBS

_GIB: Final = 1024**3
_SOCKET_PATH_BYTES_MAX: Final = 100
_CODE: Final = ("pipeline", "opendatafabric", "storage")


@dataclass(frozen=True, slots=True)
class WorkerOptions:
    """How a worker runs. A worker with other options than its client has is replaced when it is idle.

    ``memory_bytes_max`` counts all processes of the engine; ``readable`` are folders that jobs may read besides ``in``;
    ``engine`` is the module that an engine runs, in ``python`` or the same Python as the worker. ``master`` and the
    file ``cluster_settings`` are as in ``cluster.py``.
    ``unsandboxed_foreign_queries`` lets queries of strangers run where there is no sandbox.
    """

    java_home: str | None = None
    master: str = LOCAL_MASTER
    cluster_settings: str | None = None
    cores: int = 2
    heap_bytes: int = 2 * _GIB
    memory_bytes_max: int = 4 * _GIB
    jobs_per_engine: int = 1_000
    idle_s: float = 900
    readable: tuple[str, ...] = ()
    unsandboxed_foreign_queries: bool = False
    engine: str = "pipeline.engine"
    python: str | None = None
    jobs: Mapping[str, str] = field(default_factory=lambda: JOBS)

    def to_json(self) -> str:
        """For the command line of a worker."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> WorkerOptions:
        """What ``to_json`` gave."""
        given: dict[str, Any] = json.loads(text)
        return cls(**{**given, "readable": tuple(given["readable"])})

    def stamp(self) -> str:
        """Equal for workers that would do the same: of the same options and the same code."""
        code = Path(__file__).parent.parent
        files = sorted(path for top in _CODE for path in (code / top).rglob("*.py"))
        if self.cluster_settings is not None:
            files += [path for path in [Path(self.cluster_settings)] if path.exists()]
        told = [self.to_json(), *(f"{path}:{path.stat().st_mtime_ns}" for path in files)]
        return hashlib.sha3_256("\n".join(told).encode()).hexdigest()[:16]


class WorkerPlace:
    """The folder; made if it is not there.

    Raises:
        AccessDenied: others can get at it.
        StorageError: it cannot be made.
    """

    def __init__(self, root: Path) -> None:
        self.root = root.absolute()
        try:
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = self.root.stat()
            for name in ("in", "out", "work", "classes", "projections"):
                (self.root / name).mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise StorageError(f"the folder of the Spark worker, {root}, cannot be made: {error.strerror}") from None
        if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise AccessDenied(f"the folder of the Spark worker, {root}, is open to others", hint="chmod 700 it")

    @property
    def lock(self) -> Path:
        """Held by the one worker."""
        return self.root / "lock"

    def is_locked(self) -> bool:
        """Whether a worker runs here."""
        with locked(self.lock) as free:
            return not free

    @property
    def log(self) -> Path:
        """What was printed."""
        return self.root / "log"

    @property
    def work(self) -> Path:
        """The working folder of the engine."""
        return self.root / "work"

    def remove_leftovers(self, *, before: float) -> None:
        """Folders of jobs whose clients were killed: those that nobody touched since then (seconds since 1970)."""
        for left in [path for name in ("in", "out") for path in (self.root / name).iterdir()]:
            with suppress(FileNotFoundError):
                if left.stat().st_mtime < before:
                    shutil.rmtree(left, ignore_errors=True)

    @contextmanager
    def socket(self) -> Iterator[Path]:
        """A path of the socket that is short enough for the kernel, while the context lasts."""
        path = self.root / "socket"
        if len(os.fsencode(path)) <= _SOCKET_PATH_BYTES_MAX:
            yield path
            return
        folder = os.open(self.root, os.O_PATH | os.O_DIRECTORY)
        try:
            yield Path(f"/proc/self/fd/{folder}/socket")
        finally:
            os.close(folder)

    @contextmanager
    def job_folders(self) -> Iterator[JobFolders]:
        """An empty ``in`` and ``out`` for one job, gone afterwards."""
        name = secrets.token_hex(8)
        folders = JobFolders(
            given=self.root / "in" / name,
            made=self.root / "out" / name,
            projections=self.root / "projections",
            chains=self.root / "chains",
        )
        try:
            folders.given.mkdir(mode=0o700)
            folders.made.mkdir(mode=0o700)
            yield folders
        finally:
            shutil.rmtree(folders.given, ignore_errors=True)
            shutil.rmtree(folders.made, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class JobFolders:
    """``given`` is filled by the client and read by the job, ``made`` the other way round.

    ``projections`` and ``chains`` stay from job to job; only the client gets at them.
    """

    given: Path
    made: Path
    projections: Path
    chains: Path

    def give(self, file: Path, name: str | None = None) -> Path:
        """Put ``file`` where the job can read it: as a second name of it, else as a copy. Returns the new path.

        Raises:
            OSError: it cannot be read or copied.
        """
        target = self.given / (name or file.name)
        try:
            os.link(file.resolve(), target)
        except OSError:
            shutil.copyfile(file, target)
        return target


@contextmanager
def locked(file: Path) -> Iterator[bool]:
    """Hold the lock on ``file`` if nobody else does; whether that is so. The kernel lets go of it with the process."""
    with file.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
