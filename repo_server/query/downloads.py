"""Records of a dataset as files: what is asked for, what the file is called, and making it once.

A file is called by what it is made of: slices, moment, columns, format and the version of what writes it. The same
name always means the same bytes, so it is a strong ETag and a broken download goes on where it was, also when the file
had to be made anew meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from weakref import WeakValueDictionary

import pyarrow as pa

from opendatafabric.canonical_json import canonical_json
from opendatafabric.errors import MalformedInput
from opendatafabric.instant import Instant
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.multihash import Multihash, physical_hash
from pipeline.query.answer_form import AnswerForm, FileKind
from pipeline.query.request import RecordsWanted
from repo_server.query.running import Queries
from repo_server.query.words import only_known, whole_number
from storage.dataset import Dataset
from storage.local.large_derived import LargeDerivedFiles
from storage.records.moment import KnownRecords, Moment
from storage.records.state import Wanted

_OFFSET_MAX: Final = 2**62
_WRITER: Final = 1
"""To be raised when the same records become other bytes."""

PARAMETERS: Final = {
    "from": "first offset",
    "to": "last offset",
    "since": "only what was added after this block",
    "block": "only what the chain said up to this block",
    "asAt": "only what was known at this system time",
    "asOf": "the state of what had happened by this event time",
    "state": "the state instead of the changelog",
}


@dataclass(frozen=True, slots=True)
class Download:
    """What is asked for."""

    kind: FileKind
    first: int = 0
    last: int = _OFFSET_MAX
    since: Multihash | None = None
    moment: Moment = Moment()  # noqa: RUF009 - it is frozen
    wanted: Wanted = Wanted()  # noqa: RUF009 - it is frozen


def download_from(kind: FileKind, parameters: Mapping[str, str]) -> Download:
    """From a query string.

    Raises:
        MalformedInput: a parameter that is unknown or cannot be read.
    """
    only_known(parameters, PARAMETERS)
    since, block = (parameters.get(name) for name in ("since", "block"))
    as_at, as_of = (parameters.get(name) for name in ("asAt", "asOf"))
    return Download(
        kind,
        whole_number(parameters.get("from", "0"), "from", most=_OFFSET_MAX),
        whole_number(parameters.get("to", str(_OFFSET_MAX)), "to", most=_OFFSET_MAX),
        None if since is None else Multihash.from_text(since),
        Moment(
            None if block is None else Multihash.from_text(block),
            None if as_at is None else Instant.from_rfc3339(as_at),
        ),
        Wanted(_flag(parameters.get("state", "false")), None if as_of is None else Instant.from_rfc3339(as_of)),
    )


class Downloads:
    """Makes files for downloads, each once, and keeps them as long as there is room."""

    def __init__(self, queries: Queries, files: LargeDerivedFiles) -> None:
        self._queries, self._files = queries, files
        self._making: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def prepared(self, dataset: Dataset, asked: Download) -> PreparedDownload:
        """What would be sent, by its name; nothing is made yet.

        Raises:
            RefNotFound, BlockNotFound: as ``known_records``.
        """
        known = await self._queries.known(dataset, asked.moment)
        first = asked.first
        if asked.since is not None:
            before = await self._queries.known(dataset, Moment(asked.since))
            first = max(first, before.next_offset)
        return PreparedDownload(dataset, asked, known, RecordsWanted(first, asked.last))

    async def file(self, prepared: PreparedDownload) -> Path:
        """The file, made if it is not there.

        Raises:
            LimitExceeded, MalformedData, EngineUnavailable, StorageError and others: it cannot be made.
        """
        name = prepared.name
        async with self._making.setdefault(name, asyncio.Lock()):
            found = await self._files.find(name)
            return found or await self._made(prepared, name)

    async def sweep(self, *, unused_for_s: float, now: float) -> None:
        """Remove files that nobody asked for."""
        await self._files.sweep(unused_for_s=unused_for_s, now=now)

    async def _made(self, prepared: PreparedDownload, name: str) -> Path:
        form = AnswerForm(prepared.asked.kind)
        async with self._queries.records(
            prepared.dataset, prepared.known, prepared.records, form, wanted=prepared.asked.wanted, whole=True
        ) as made:
            return await self._files.keep(name, made)


@dataclass(frozen=True, slots=True)
class PreparedDownload:
    """A download whose records are known."""

    dataset: Dataset
    asked: Download
    known: KnownRecords
    records: RecordsWanted

    @property
    def only_slice(self) -> DataSlice | None:
        """The slice that is the file already: all of it is asked for, and nothing else."""
        asked, slices = self.asked, self.known.slices
        if asked.kind is not FileKind.PARQUET or not asked.wanted.is_changelog or len(slices) != 1:
            return None
        interval = slices[0].offset_interval
        return slices[0] if self.records.first <= interval.start and interval.end <= self.records.last else None

    @property
    def name(self) -> str:
        """The same for the same bytes, and no other."""
        wanted, known = self.asked.wanted, self.known
        made_of = {
            "writer": f"{_WRITER} {pa.__version__}",
            "kind": self.asked.kind.value,
            "slices": [str(each.physical_hash) for each in known.slices],
            "schema": str(physical_hash(known.schema.serialize().to_pybytes())),
            "columns": list(known.vocabulary.system_columns),
            "key": None if known.primary_key is None else list(known.primary_key),
            "offsets": [str(self.records.first), str(self.records.last)],
            "state": wanted.state,
            "asOf": None if wanted.as_of is None else str(wanted.as_of),
        }
        return str(physical_hash(canonical_json(made_of)))


def _flag(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise MalformedInput("a flag is true or false", found=text[:100])
    return text.lower() == "true"
