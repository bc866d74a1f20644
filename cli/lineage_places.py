"""Where lineage is known: in the chains of a repository here, or at a server that is asked for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

import aiohttp
import orjson
from pydantic import TypeAdapter, ValidationError
from yarl import URL

from catalog.lineage import Reach
from catalog.lineage_graph import LineageGraph
from catalog.lineage_reading import ReadChains, Unread, read_chains
from cli.datasets import opened_repository
from cli.server_reports import located_on_server
from opendatafabric.dataset_ref import parse_dataset_ref
from opendatafabric.did import DatasetId
from opendatafabric.errors import DatasetNotFound, MalformedInput, ObjectNotFound, OdfError
from opendatafabric.index_limits import LINEAGE_ANSWER_BYTES_MAX
from opendatafabric.limits import READ_CHUNK_BYTES
from pipeline.lineage.run_events import Teller, producer
from repo_server.handlers.health import software_version
from repo_server.lineage_states import LineageTold, plain_lineage
from repo_server.lineages import standings_in
from repo_server.pages.lineage_drawing import Look, drawing_of, svg_alone
from repo_server.run_events import NamedDataset, StepReader
from storage.http.answer import HttpFolder
from storage.open import scheme_of
from storage.reading import joined
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from sync.credentials import headers_for
from verify.report_room import list_stored

_A_PAGE: Final = 100
_DIGITS_MAX: Final = 20
_TOLD: Final = TypeAdapter(LineageTold)


class LineagePlace(Protocol):
    """What knows the lineage of one dataset."""

    async def told(self, depth: int | None) -> LineageTold:
        """The graph, ``depth`` steps up and down or as far as there is any."""
        ...

    async def svg(self, depth: int | None) -> str:
        """A drawing of it."""
        ...

    def run_events(self) -> AsyncIterator[Mapping[str, Any]]:
        """Its steps as run events of OpenLineage, oldest first."""
        ...

    @property
    def unread(self) -> Sequence[Unread]:
        """Datasets that could not be placed."""
        ...


@asynccontextmanager
async def lineage_at(ref: str, repository: str) -> AsyncIterator[LineagePlace]:
    """The place for the dataset that ``ref`` names; errors as in ``locate``."""
    there = await located_on_server(ref, repository)
    if there is not None:
        async with aiohttp.ClientSession() as session:
            yield AtServer(there.name, HttpFolder(session, there.location, headers_for(there.location)))
        return
    async with opened_repository(repository) as root:
        entry = await root.find(parse_dataset_ref(ref))
        async with read_chains(root) as chains:
            yield Here(root, _address(repository), entry, chains)


@dataclass(frozen=True, slots=True)
class Here:
    """In a repository whose chains were read."""

    repository: DatasetRepository
    address: str
    entry: DatasetEntry
    chains: ReadChains

    @property
    def unread(self) -> Sequence[Unread]:
        return self.chains.unread

    async def told(self, depth: int | None) -> LineageTold:
        graph = await self._graph(depth)
        return plain_lineage(graph, await self._look(graph))

    async def svg(self, depth: int | None) -> str:
        graph = await self._graph(depth)
        return svg_alone(drawing_of(graph, await self._look(graph)))

    async def run_events(self) -> AsyncIterator[Mapping[str, Any]]:
        reader = StepReader(self.chains.catalog.dataset_facts, self._find)
        teller = Teller(self.address, producer(software_version()))
        after: int | None = -1
        while after is not None:
            found = await reader.steps(_named(self.entry), after=after, count=_A_PAGE)
            for step in found.steps:
                yield teller.run_event(step)
            after = found.after

    async def _graph(self, depth: int | None) -> LineageGraph:
        return await self.chains.lineage(self.entry, Reach() if depth is None else Reach(depth_max=depth))

    async def _look(self, graph: LineageGraph) -> Look:
        """By the reports that lie beside the datasets."""
        reports = self.chains.catalog.reports
        addresses = {each: node.alias for each, node in graph.nodes.items() if node.alias is not None}
        for dataset_id in addresses:
            known = await self._find(dataset_id)
            if known is not None:
                await list_stored(reports, known.dataset.objects)
        return Look(await standings_in(graph, reports), {}, addresses)

    async def _find(self, dataset_id: DatasetId) -> NamedDataset | None:
        try:
            return _named(await self.repository.find(dataset_id))
        except OdfError:
            return None


@dataclass(frozen=True, slots=True)
class AtServer:
    """At a server, by its API."""

    name: str
    folder: HttpFolder
    unread: Sequence[Unread] = ()

    async def told(self, depth: int | None) -> LineageTold:
        raw, _ = await self._read("lineage", _depth(depth))
        try:
            told = _TOLD.validate_json(raw)
        except ValidationError:
            raise self._malformed("a lineage") from None
        if told["dataset"] not in {each["id"] for each in told["nodes"]}:
            raise self._malformed("a lineage")
        return told

    async def svg(self, depth: int | None) -> str:
        raw, _ = await self._read("lineage.svg", _depth(depth))
        return raw.decode(errors="replace")

    async def run_events(self) -> AsyncIterator[Mapping[str, Any]]:
        query, before = {"limit": str(_A_PAGE)}, -1
        while True:
            raw, after = await self._read("lineage/openlineage", query)
            for event in self._events(raw):
                yield event
            if after is None:
                return
            if after <= before:
                raise self._malformed("pages of events that end")
            query["after"], before = str(after), after

    def _events(self, raw: bytes) -> list[Mapping[str, Any]]:
        try:
            events = orjson.loads(raw)
        except ValueError:
            events = None
        if not isinstance(events, list):
            raise self._malformed("events")
        return events

    async def _read(self, path: str, query: Mapping[str, str]) -> tuple[bytes, int | None]:
        """The answer, and after which block it goes on."""
        try:
            async with self.folder.request("GET", path, query=query) as response:
                chunks = response.content.iter_chunked(READ_CHUNK_BYTES)
                raw = await joined(path, chunks, size_max=LINEAGE_ANSWER_BYTES_MAX)
                following = response.links["next"]["url"] if "next" in response.links else None
        except ObjectNotFound:
            raise DatasetNotFound(f"there is no dataset {self.name} that you may see") from None
        return raw, None if following is None else self._after(URL(str(following)).query.get("after", ""))

    def _after(self, text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < _DIGITS_MAX):
            raise self._malformed("a way to the next events")
        return int(text)

    def _malformed(self, wanted: str) -> MalformedInput:
        return MalformedInput(f"{self.name} is answered otherwise than with {wanted}")


def _depth(depth: int | None) -> Mapping[str, str]:
    return {} if depth is None else {"depth": str(depth)}


def _named(entry: DatasetEntry) -> NamedDataset:
    owner = entry.alias.account
    return NamedDataset(entry.id, entry.dataset, str(entry.alias), None if owner is None else str(owner))


def _address(repository: str) -> str:
    return repository if scheme_of(repository) else Path(repository).resolve().as_uri()
