"""Taking a dataset somewhere: a copy to a folder, a push to a repository, and records into it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import aiohttp
import pyarrow as pa
import pyarrow.parquet as pq

from odf_client.address import Address
from odf_client.held import Held
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.errors import UnsupportedOperation
from storage.open import local_folder, open_dataset, scheme_of
from storage.progress import Progress
from storage.repository import Repository
from sync.push import push_dataset
from sync.remote import parse_remote
from sync.send_file import FileToSend, ingest_at_server
from sync.smart.messages import Visibility as WireVisibility
from sync.transfer import DatasetTarget, RepositoryTarget, TransferOptions, TransferTarget

Visibility = Literal["public", "private"]
Records: TypeAlias = Any
"""A file, or records: a table of Arrow, a data frame, a list of dicts."""

_WIRE: Final[dict[str, WireVisibility]] = {"public": "Public", "private": "Private"}
_PARQUET: Final = "application/vnd.apache.parquet"


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of the records that were sent: how many were ``read``, and what that changed."""

    changed: bool
    head: str
    read: int
    appended: int
    retracted: int
    corrected: int


async def pulled_to(held: Held, to: str, name: str | None, *, force: bool, progress: Progress) -> Address:
    """Where the copy is; errors as ``pull_dataset``."""
    options = TransferOptions(force=force)
    if scheme_of(to) not in {"", "file"}:
        await held.pull_into(DatasetTarget(open_dataset(to)), options, progress)
        return Address(to)
    folder = local_folder(to)
    if not await asyncio.to_thread(Repository.is_at, folder):
        await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
        await held.pull_into(DatasetTarget(open_dataset(str(folder))), options, progress)
        return Address(str(folder))
    repository = Repository.open(folder)
    called = str(held.address.as_walked().dataset_name) if name is None else name
    target: TransferTarget = RepositoryTarget(repository, alias := DatasetAlias.from_text(called))
    await held.pull_into(target, options, progress)
    return Address(repository.address_of(await repository.find(alias)))


async def pushed(held: Held, to: Address, *, force: bool, visibility: Visibility, progress: Progress) -> str:
    """The head that was sent; errors as ``push_dataset``."""
    await held.complete(progress)
    options = TransferOptions(force=force, visibility=_WIRE[visibility])
    target = to.as_asked() if to.is_web else parse_remote(to.text)
    async with aiohttp.ClientSession() as session:
        result = await push_dataset(session, held.here, target, token=to.bearer, options=options, progress=progress)
    return str(result.new_head)


async def ingested(
    address: Address, records: Records, source_name: str | None, event_time: str | None, progress: Progress
) -> Ingested:
    """What became of them; errors as ``ingest_at_server``."""
    if not address.is_web:
        raise UnsupportedOperation(
            f"{address.shown} is no server: records enter where an engine is", hint="odf ingest puts them into a folder"
        )
    with tempfile.TemporaryDirectory(prefix="odf-ingest-") as folder:
        file = await asyncio.to_thread(_as_file, records, Path(folder))
        media_type = None if isinstance(records, str | os.PathLike) else _PARQUET
        async with aiohttp.ClientSession() as session:
            told = await ingest_at_server(
                session,
                address.url,
                FileToSend(file, source_name, media_type, event_time),
                token=address.bearer,
                on_progress=progress,
            )
    rows = told["rows"]
    counts = (int(rows[name]) for name in ("read", "appended", "retracted", "corrected"))
    return Ingested(bool(told["changed"]), str(told["newHead"]), *counts)


def _as_file(records: Records, folder: Path) -> Path:
    if isinstance(records, str | os.PathLike):
        return Path(records)
    file = folder / "records.parquet"
    pq.write_table(_as_table(records), file)
    return file


def _as_table(records: Any) -> pa.Table:
    if isinstance(records, pa.Table):
        return records
    if isinstance(records, pa.RecordBatch):
        return pa.Table.from_batches([records])
    if isinstance(records, Sequence):
        return pa.Table.from_pylist(list(records))
    return pa.Table.from_pandas(records, preserve_index=False)
