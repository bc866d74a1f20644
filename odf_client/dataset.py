"""One dataset, for programs and notebooks.

Every call waits for its result; underneath, coroutines run in a loop of the client's own, so the calls work where
another loop runs already.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Unpack

import pyarrow as pa
import pyarrow.dataset as pads

from odf_client.address import Address
from odf_client.bars import Shown, shown
from odf_client.cache import Cache
from odf_client.chosen import Chosen, Time, read_choice, text_of
from odf_client.extras import package_of
from odf_client.held import Held
from odf_client.listening import Event, events_at
from odf_client.reading import known_at, reader_of
from odf_client.sending import Ingested, Records, Visibility, ingested, pulled_to, pushed
from odf_client.vouching import Vouched, vouched
from odf_client.waiting import each, wait
from opendatafabric.codec.plain import to_plain
from opendatafabric.did import DatasetId
from opendatafabric.multihash import Multihash
from storage.records.moment import KnownRecords, Moment


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a chain; ``event`` as it reads in a manifest."""

    hash: str
    sequence_number: int
    system_time: datetime
    event: dict[str, Any]


class Dataset:
    """A dataset up to the head it had when it was opened, by ``odf_client.open``, or last refreshed.

    What is read is checked: blocks against their hashes, the rules of the chain and the head; slices against the hashes
    that the blocks name. Slices that a reading needs are fetched whole, since a hash is over the whole, and kept in
    the cache; of their columns only those that are asked for are decoded.

    Raises, whatever is read:
        HashMismatch, ChainError: what came is not what the chain says.
        ObjectNotFound, PeerUnavailable, StorageError: it cannot be had.
        NotFound: there is no such column or block.
    """

    def __init__(self, address: Address, cache: Cache, *, replace: bool = False, progress: Shown = None) -> None:
        self._held = Held(address, cache)
        self._head = self._refreshed(replace, progress)

    def __repr__(self) -> str:
        return f"<Dataset {self.url} at {self.head}>"

    @property
    def url(self) -> str:
        """Where it is."""
        return self._held.address.shown

    @property
    def head(self) -> str:
        """The hash of the last block that counts here."""
        return str(self._head)

    @property
    def id(self) -> str:
        """Its DID."""
        return str(wait(self._held.here.seed()).dataset_id)

    def refresh(self, *, progress: Shown = None) -> Dataset:
        """Go on to the head that it has now."""
        self._head = self._refreshed(False, progress)
        return self

    @property
    def schema(self) -> pa.Schema:
        """The columns of its records, with their types."""
        return self._known().schema

    @property
    def count(self) -> int:
        """How many records there are, of all operations."""
        return self._known().count

    @property
    def metadata(self) -> dict[str, dict[str, Any]]:
        """The last event of each kind, as in a manifest: ``dataset.metadata["SetInfo"]["description"]``."""
        plain = (to_plain(event) for event in self._known().newest.values())
        return {event.pop("kind"): event for event in plain}

    def blocks(self) -> Iterator[Block]:
        """The chain, the newest block first."""
        return each(self._blocks())

    def scan(
        self, columns: Sequence[str] | None = None, *, progress: Shown = None, **chosen: Unpack[Chosen]
    ) -> pa.RecordBatchReader:
        """The records batch by batch; slices are fetched as they are reached.

        >>> for batch in dataset.scan(["iata"], offsets=(0, 99)):
        ...     print(batch.num_rows)
        """
        choice = read_choice(columns, {"at_block": self.head, **chosen})
        return reader_of(self._held, choice, progress)

    def to_arrow(
        self, columns: Sequence[str] | None = None, *, progress: Shown = None, **chosen: Unpack[Chosen]
    ) -> pa.Table:
        """The records as a table, in the order of offsets.

        >>> dataset.to_arrow(["city", "population"], projected=True)
        """
        return self.scan(columns, progress=progress, **chosen).read_all()

    def to_pandas(
        self, columns: Sequence[str] | None = None, *, progress: Shown = None, **chosen: Unpack[Chosen]
    ) -> Any:
        """The records as a data frame (the extra ``pandas``).

        >>> dataset.to_pandas(event_time=("2024-01-01T00:00:00Z", None))
        """
        package_of("pandas", "pandas")
        return self.to_arrow(columns, progress=progress, **chosen).to_pandas()

    def tail(self, count: int = 10) -> pa.Table:
        """The newest records."""
        last = self._known().next_offset - 1
        return self.to_arrow(offsets=(max(0, last - count + 1), max(0, last)))

    def files(self, *, progress: Shown = None) -> list[Path]:
        """The slices as Parquet files of this machine, each proved, for other programs: read them, change nothing."""
        with shown(progress) as advance:
            return self._held.slices.all(self._known().slices, advance)

    def arrow_dataset(self, *, progress: Shown = None) -> pads.Dataset:
        """Every record as a ``pyarrow.dataset`` over these files.

        >>> dataset.arrow_dataset().to_table(filter=pc.field("population") > 1000)
        """
        return pads.dataset(list(map(str, self.files(progress=progress))), schema=self.schema, format="parquet")

    def duckdb(self, connection: Any = None, *, progress: Shown = None, **chosen: Unpack[Chosen]) -> Any:
        """A relation of DuckDB (the extra ``duckdb``): over the files, or over what was chosen.

        >>> dataset.duckdb(projected=True).aggregate("city, sum(population)")
        """
        if connection is None:
            connection = package_of("duckdb", "duckdb").connect()
        if chosen:
            return connection.from_arrow(self.to_arrow(progress=progress, **chosen))
        return connection.from_arrow(self.arrow_dataset(progress=progress))

    def spark(self, session: Any, *, progress: Shown = None, **chosen: Unpack[Chosen]) -> Any:
        """A data frame of the Spark ``session`` (the extra ``spark``): over the files, or over what was chosen.

        >>> dataset.spark(session).groupBy("city").count()
        """
        if chosen:
            return session.createDataFrame(self.to_arrow(progress=progress, **chosen))
        return session.read.parquet(*map(str, self.files(progress=progress)))

    def pull(
        self,
        to: str | os.PathLike[str],
        *,
        name: str | None = None,
        force: bool = False,
        progress: Shown = None,
    ) -> Dataset:
        """A whole copy of it: in a repository under ``name``, or in a folder of its own. Done again after a failure, it
        fetches what is missing; done again later, what is new. ``force`` replaces a chain that has diverged.

        >>> copy = dataset.pull("my-repository", name="weather", progress=True)
        """
        with shown(progress) as advance:
            address = wait(pulled_to(self._held, os.fspath(to), name, force=force, progress=advance))
        return Dataset(address, self._held.cache)

    def push(
        self,
        to: str,
        *,
        token: str | None = None,
        force: bool = False,
        visibility: Visibility = "private",
        progress: Shown = None,
    ) -> str:
        """Send it to a server or a folder, making it there with that ``visibility`` if it is new; the head that was
        sent.

        >>> odf_client.open("my-dataset").push("https://data.example/alice/weather", token=token)

        Raises:
            ChainsDiverged, RefConflict: what is there is not below it, and ``force`` is off.
            AuthenticationRequired, AccessDenied, TransferRejected: the server does not take it.
        """
        with shown(progress) as advance:
            sending = pushed(self._held, Address(to, token), force=force, visibility=visibility, progress=advance)
            return wait(sending)

    def ingest(
        self,
        records: Records,
        *,
        source_name: str | None = None,
        event_time: Time | None = None,
        progress: Shown = None,
    ) -> Ingested:
        """Add records by the push source of the dataset: a file as that reads it, or a table, a data frame, a list of
        dicts. Sent in pieces, going on after a cut; they enter once. ``refresh`` shows them here.

        >>> dataset.ingest([{"city": "kyiv", "population": 3_000_000}], event_time="2024-01-01T00:00:00Z")
        """
        happened = None if event_time is None else text_of(event_time)
        with shown(progress) as advance:
            return wait(ingested(self._held.address, records, source_name, happened, advance))

    def subscribe(self, since: str | None = None) -> Iterator[Event]:
        """What happens to it, as it does, without end; after a cut it goes on where it was. ``since`` is the ``id`` of
        the last event that is known already.

        >>> for event in dataset.subscribe():
        ...     dataset.refresh()
        """
        return each(events_at(self._held.address, since))

    def verify_attestation(self, *, trust: Sequence[str] = (), require: int = 1) -> Vouched:
        """What was signed of this very head. ``trust`` are keys (``did:key:…``) and servers whose published keys count;
        without any, the server is believed that has the dataset. ``require`` says how many keys must agree.

        >>> dataset.verify_attestation(trust=["did:key:z6Mk…"]).verdict
        'valid'

        Raises:
            InvalidSignature: too few of the keys have signed the same of this head.
        """
        subject = (DatasetId.from_text(self.id), self._head)
        return wait(vouched(self._held.address, subject, trust, require))

    def _refreshed(self, replace: bool, progress: Shown) -> Multihash:
        with shown(progress) as advance:
            return wait(self._held.refresh(replace=replace, progress=advance))

    def _known(self) -> KnownRecords:
        return known_at(self._held, Moment(self._head))

    async def _blocks(self) -> AsyncGenerator[Block, None]:
        async for batch in self._held.here.walk(self._head):
            for found in batch:
                block = found.block
                plain = to_plain(block.event)
                yield Block(str(found.hash), block.sequence_number, block.system_time.to_datetime(), plain)
