"""The folder in which projections are kept between ingests, on the client's side of the engine.

```
<place>/projections/<name>/     one per dataset and shape of its projection
    state                       which block the runs stand for, and their names in order; replaced as a whole
    <run>                       files of ``runs.py``
    lock                        held while state and files are exchanged or handed out
```
Everything here may be deleted at any time: what is lost is found anew in the slices. Nothing is flushed to disk, for
what does not fit its check sum counts as lost.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from opendatafabric.codec.yaml_codec import write_event_manifest
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.limits import PROJECTIONS_BYTES_MAX
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.sources import MergeStrategy
from opendatafabric.multihash import Multihash
from storage.local.durable import opened_folder

_FORMAT: Final = 1
"""Of everything that lies here; another one is another folder."""
_NAME: Final = re.compile(r"[0-9a-f]{16}", re.ASCII)
_WORTH_COUNTING_BYTES: Final = 1024 * 1024
"""Less than that is no reason to count what all projections take: what grows by small runs has them merged one day."""


@dataclass(frozen=True, slots=True)
class Kept:
    """Runs that stand for all records up to the block ``head``, as files for the engine."""

    head: Multihash | None = None
    runs: tuple[Path, ...] = ()


class KeptProjection:
    """The projection of one dataset by one strategy, in a folder of ``root``."""

    def __init__(
        self,
        root: Path,
        dataset_id: DatasetId,
        strategy: MergeStrategy,
        vocabulary: DatasetVocabulary,
        schema: SetDataSchema,
    ) -> None:
        told = [_FORMAT, str(dataset_id), type(strategy).__name__, strategy.primary_key, asdict(vocabulary)]  # type: ignore[union-attr]
        name = hashlib.sha3_256(json.dumps([*told, write_event_manifest(schema)]).encode()).hexdigest()[:32]
        self._root, self._folder = root, root / name

    def give(self, folder: Path) -> Kept:
        """Second names of the runs in ``folder``; none if anything is amiss."""
        with self._locked():
            try:
                state = json.loads((self._folder / "state").read_bytes())
                names = [str(name) for name in state["runs"]]
                if not all(map(_NAME.fullmatch, names)):
                    return Kept()
                for name in names:
                    os.link(self._folder / name, folder / name, follow_symlinks=False)
                return Kept(Multihash.from_text(state["head"]), tuple(folder / name for name in names))
            except (OSError, ValueError, TypeError, KeyError, OdfError):
                return Kept()

    def keep(self, head: Multihash, names: Sequence[str], made: Path) -> None:
        """From now on the runs of these names stand for the records up to ``head``; new ones are moved from ``made``.

        The engine says the names and owns ``made``: neither a name nor a link in that way leads anywhere else.
        """
        if not all(map(_NAME.fullmatch, names)):
            return
        with self._locked(), suppress(OSError):
            new_bytes = self._take(names, made)
            state = self._folder / "state"
            state.with_suffix(".new").write_text(json.dumps({"head": str(head), "runs": [*names]}))
            state.with_suffix(".new").replace(state)
            for path in self._folder.iterdir():
                if path.name not in {*names, "state", "lock"}:
                    path.unlink()
            if new_bytes >= _WORTH_COUNTING_BYTES:
                _shrink(self._root, PROJECTIONS_BYTES_MAX)

    def _take(self, names: Sequence[str], made: Path) -> int:
        """Move the runs here that are not here yet; their bytes. A link moves as a link, and none leads out."""
        new = [name for name in names if not (self._folder / name).exists()]
        with opened_folder(made.parents[1], made.parent.name, made.name) as folder:
            for name in new:
                os.rename(name, self._folder / name, src_dir_fd=folder)
        found = [(self._folder / name).lstat() for name in new]
        if not all(stat.S_ISREG(each.st_mode) for each in found):
            raise OSError("a run is a plain file")
        return sum(each.st_size for each in found)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self._folder / "lock").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _shrink(root: Path, bytes_max: int) -> None:
    """Delete the projections that were not used for longest, until the rest fits."""
    folders = {folder: sum(file.stat().st_size for file in folder.iterdir()) for folder in root.iterdir()}
    total = sum(folders.values())
    for folder in sorted(folders, key=lambda each: each.stat().st_mtime)[:-1]:
        if total <= bytes_max:
            return
        total -= folders[folder]
        shutil.rmtree(folder, ignore_errors=True)
