"""Slices as files of this machine, each proved by its hash before anybody reads a record of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from opendatafabric.data.parquet_records import ParquetRecords
from opendatafabric.errors import HashMismatch, LimitExceeded, MalformedData, ObjectNotFound
from opendatafabric.layout import data_key
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.multihash import Hasher, Multihash
from storage.dataset import Dataset
from storage.hashing_stream import hash_while


@dataclass(frozen=True, slots=True)
class Placing:
    """A store that is ``trusted`` proved what lies in it when it came: local files are not read again for that. Of
    distant slices no more than ``fetch_bytes_max`` are fetched for one purpose.
    """

    trusted: bool = False
    fetch_bytes_max: int | None = None


AS_PROVED: Final = Placing()


async def place_slices(
    dataset: Dataset, slices: Sequence[DataSlice], folder: Path, placing: Placing = AS_PROVED
) -> None:
    """Put ``slices`` into the new ``folder``, under names that sort as they stand.

    Raises:
        LimitExceeded: too much would have to be fetched.
        HashMismatch, ObjectNotFound, StorageError, PeerUnavailable: as ``place_slice``.
    """
    most = placing.fetch_bytes_max
    distant = sum(each.size for each in slices if dataset.objects.local_path(data_key(each.physical_hash)) is None)
    if most is not None and distant > most:
        raise LimitExceeded(
            "too much would have to be fetched from a distant store", expected=f"at most {most} bytes", found=distant
        )
    await asyncio.to_thread(folder.mkdir)
    for number, data_slice in enumerate(slices):
        await place_slice(dataset, data_slice, folder / f"{number:09}", trusted=placing.trusted)


async def place_slice(dataset: Dataset, data_slice: DataSlice, target: Path, *, trusted: bool = False) -> None:
    """Make ``target`` lead to the proved bytes of the slice: a link to where they lie, or a copy of distant ones.

    Raises:
        HashMismatch: they are not what the chain says.
        ObjectNotFound, StorageError, PeerUnavailable: they cannot be had.
    """
    key = data_key(data_slice.physical_hash)
    local = dataset.objects.local_path(key)
    if local is not None and trusted:
        await dataset.objects.stat(key)
        found = data_slice.physical_hash
    elif local is not None:
        found = await asyncio.to_thread(hash_of_file, local)
    else:
        with target.open("xb") as file:
            found, _ = await hash_while(file.write, dataset.objects.stream(key), size_max=data_slice.size)
    if found != data_slice.physical_hash:
        raise HashMismatch(
            f"{key} is damaged",
            expected=data_slice.physical_hash,
            found=found,
            hint="run odf fsck; fetch it again from a mirror",
        )
    if local is not None:
        await asyncio.to_thread(lambda: target.symlink_to(local.resolve()))


def slice_batches(
    path: Path, schema: pa.Schema, columns: Sequence[str], rows: range | None = None
) -> Iterator[pa.RecordBatch]:
    """Those columns of the slice at ``path``, batch by batch, in the types of ``schema``; what it lacks is null.

    With ``rows`` only batches of row groups that hold some of these positions.

    Raises:
        MalformedData: no readable Parquet file, or values that do not fit the schema.
    """
    fields = [schema.field(name) for name in columns]
    with closing(ParquetRecords(str(path))) as records:
        there = [name for name in dict.fromkeys(columns) if name in records.schema.names]
        for batch in records.batches(columns=there, within=rows):
            arrays = [_column(batch, field) for field in fields]
            yield pa.RecordBatch.from_arrays(arrays, schema=pa.schema(fields))


def _column(batch: pa.RecordBatch, field: pa.Field) -> Any:
    if field.name not in batch.schema.names:
        if not field.nullable:
            raise MalformedData(f"a slice has no column '{field.name}'", found=", ".join(batch.schema.names))
        return pa.nulls(batch.num_rows, field.type)
    try:
        return batch.column(field.name).cast(field.type)
    except pa.ArrowException as error:
        raise MalformedData(f"column '{field.name}' of a slice does not fit its type {field.type}: {error}") from None


def hash_of_file(path: Path) -> Multihash:
    """The physical hash of a slice; ``ObjectNotFound`` when there is none."""
    hasher = Hasher()
    try:
        with path.open("rb") as file:
            while piece := file.read(READ_CHUNK_BYTES):
                hasher.update(piece)
    except FileNotFoundError:
        raise ObjectNotFound(f"{path.name} is named by a block and not stored", hint="run odf fsck") from None
    return hasher.finish()
