"""Export datasets as a tree that any web server, bucket or CDN can give to clients of the simple protocol.

Only what is new is copied, and all of it is proved by its hash on the way; heads move last, each by itself. The index
names every dataset that may lie in the tree before anything of it is copied, so that one which is not to be seen any
more is found and removed, whatever was interrupted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import orjson

from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import MalformedInput, OdfError
from storage.progress import Progress, silent
from storage.repository import DatasetEntry
from storage.static_tree import INDEX_NAME, StaticTree
from sync.simple import copy_held_chain
from sync.transfer import DatasetTarget, TransferOptions, TransferResult


@dataclass(frozen=True, slots=True)
class IndexedDataset:
    """One dataset of the index; without a ``head`` its first export has not ended."""

    name: str
    id: str
    head: str | None = None

    def as_dict(self) -> dict[str, str | None]:
        """Plain JSON values."""
        return {"name": self.name, "id": self.id, "path": f"{self.name}/", "head": self.head}


@dataclass(frozen=True, slots=True)
class Exported:
    """What one dataset came to: ``result``, or ``None`` when it was removed from the tree."""

    alias: DatasetAlias
    result: TransferResult | None


async def export_static(
    entries: Sequence[DatasetEntry], tree: StaticTree, *, progress: Progress = silent
) -> AsyncIterator[Exported]:
    """Make ``tree`` hold these datasets as they are now, and no others.

    Raises:
        Conflict: something else than an export is there.
        HashMismatch, ObjectNotFound, BlockNotFound: a dataset is damaged; those before it are exported.
        StorageError, StorageFull: it can be repeated and goes on where it stopped.
    """
    index = await _read_index(tree)
    wanted = {str(entry.alias): IndexedDataset(str(entry.alias), str(entry.id)) for entry in entries}
    for gone in [each for each in index.values() if not _is_same(each, wanted.get(each.name))]:
        alias = DatasetAlias.from_text(gone.name)
        await tree.remove(alias)
        del index[gone.name]
        yield Exported(alias, None)
    await _write_index(tree, index := {**wanted, **index})
    for entry in entries:
        target = DatasetTarget(await tree.dataset(entry.alias))
        result = await copy_held_chain(entry.dataset, target, options=TransferOptions(force=True), progress=progress)
        index[str(entry.alias)] = replace(index[str(entry.alias)], head=str(result.new_head))
        yield Exported(entry.alias, result)
    await _write_index(tree, index)


def _is_same(known: IndexedDataset, wanted: IndexedDataset | None) -> bool:
    """A dataset that was made anew under the old name is another one."""
    return wanted is not None and known.id == wanted.id


async def _read_index(tree: StaticTree) -> dict[str, IndexedDataset]:
    data = await tree.read_index()
    try:
        listed = [] if data is None else orjson.loads(data)["datasets"]
        return {each["name"]: _indexed(each) for each in listed}
    except (orjson.JSONDecodeError, KeyError, TypeError, OdfError):
        raise MalformedInput(
            f"{INDEX_NAME} of the export is damaged", hint="remove the whole tree and export again"
        ) from None


def _indexed(plain: dict[str, Any]) -> IndexedDataset:
    name = str(DatasetAlias.from_text(plain["name"]))
    return IndexedDataset(name, plain["id"], plain["head"])


async def _write_index(tree: StaticTree, index: dict[str, IndexedDataset]) -> None:
    datasets = [index[name].as_dict() for name in sorted(index)]
    await tree.write_index(orjson.dumps({"datasets": datasets}, option=orjson.OPT_INDENT_2))
