"""Reads a dataset from a program: the records of a moment as Arrow, streamed, every slice proved by its hash.

The calls wait; underneath, an event loop in a thread of its own serves the reader, so they work in notebooks too.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

import pyarrow as pa

from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset
from storage.open import open_repository
from storage.records.moment import Moment, known_records, schema_of
from storage.records.records import records
from storage.records.slice_files import place_slice
from storage.records.state import Wanted

Result = TypeVar("Result")


class DatasetReader:
    """One dataset to read from; a context manager.

    Every reading looks at the chain anew. ``columns`` are names, by default all; ``offsets`` the first and the last;
    ``at_block`` and ``as_at`` (a time as in RFC 3339) say up to which block, or system time, the chain counts.
    ``state`` carries retractions and corrections out; so does ``as_of``, and leaves what had not happened by then.

    Raises, whatever is read:
        NotFound: there is no such column or block, or an object is missing.
        HashMismatch: a block or a slice is damaged.
        MalformedInput: times, hashes or slices that cannot be read.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._thread, self._runner = ThreadPoolExecutor(1, "dataset-reader"), asyncio.Runner()
        self._dataset = dataset

    @classmethod
    def open(cls, repository: str, ref: str) -> DatasetReader:
        """The dataset ``ref`` (``name``, ``account/name`` or ``did:odf:…``) of the repository in a folder or on S3.

        Raises:
            NotARepository, DatasetNotFound, MalformedIdentifier: as they say.
        """

        async def find() -> Dataset:
            return (await (await open_repository(repository)).find(parse_dataset_ref(ref))).dataset

        with ThreadPoolExecutor(1) as thread:
            return cls(thread.submit(asyncio.run, find()).result())

    def to_arrow(
        self,
        columns: Sequence[str] | None = None,
        *,
        offsets: tuple[int, int] | None = None,
        at_block: str | None = None,
        as_at: str | None = None,
        as_of: str | None = None,
        state: bool = False,
    ) -> pa.Table:
        """The records as a table, in the order of offsets."""
        reader = self.batches(columns, offsets=offsets, at_block=at_block, as_at=as_at, as_of=as_of, state=state)
        return reader.read_all()

    def batches(
        self,
        columns: Sequence[str] | None = None,
        *,
        offsets: tuple[int, int] | None = None,
        at_block: str | None = None,
        as_at: str | None = None,
        as_of: str | None = None,
        state: bool = False,
    ) -> pa.RecordBatchReader:
        """The records piece by piece: slices are fetched and proved as they are reached; the schema is known before."""
        moment = Moment(
            None if at_block is None else Multihash.from_text(at_block),
            None if as_at is None else Instant.from_rfc3339(as_at),
        )
        wanted = Wanted(state, None if as_of is None else Instant.from_rfc3339(as_of))
        known = self._wait(known_records(self._dataset, moment))
        interval = None if offsets is None else OffsetInterval(*offsets)

        def found() -> Iterator[pa.RecordBatch]:
            with tempfile.TemporaryDirectory(prefix="odf-read-") as folder:
                yield from records(
                    known, lambda each: self._placed(each, Path(folder)), wanted, columns=columns, offsets=interval
                )

        return pa.RecordBatchReader.from_batches(schema_of(known, columns), found())

    def close(self) -> None:
        """End the thread; readings under way fail."""
        self._thread.submit(self._runner.close).result()
        self._thread.shutdown()

    def __enter__(self) -> DatasetReader:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

    def _placed(self, data_slice: DataSlice, folder: Path) -> Path:
        path = folder / str(data_slice.physical_hash)
        if not path.exists():
            self._wait(place_slice(self._dataset, data_slice, path))
        return path

    def _wait(self, work: Coroutine[Any, Any, Result]) -> Result:
        return self._thread.submit(self._runner.run, work).result()
