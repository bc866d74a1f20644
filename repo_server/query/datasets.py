"""Which datasets a question is about, of those that the caller may read; of others nothing is told, not even that they
exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from catalog.permissions import Access
from opendatafabric.dataset_ref import DatasetAlias, DatasetRef, parse_dataset_ref
from opendatafabric.errors import BlockNotFound, DatasetNotFound
from opendatafabric.multihash import Multihash
from pipeline.query.request import QueryRequest
from repo_server.directory import Hosted
from repo_server.gate import access_of
from repo_server.identity import Caller
from repo_server.query.question import NamedDataset, Question
from repo_server.services import Services
from storage.dataset import Dataset
from storage.records.moment import Moment


@dataclass(slots=True)
class ReadableDatasets:
    """Finds datasets for ``caller``; ``found`` are those that a query named, by what it calls them."""

    services: Services
    caller: Caller
    given: dict[str, Hosted] = field(default_factory=dict)
    found: dict[str, Hosted] = field(default_factory=dict)

    async def take(self, question: Question) -> dict[str, Multihash]:
        """Look up the datasets that ``question`` names by id; the blocks up to which they count, by alias.

        Raises:
            DatasetNotFound: there is none, or not for this caller.
            BlockNotFound: the block is not on its chain.
        """
        blocks = {}
        for named in question.datasets:
            hosted = self.given[named.alias] = await self._readable(named.dataset_id, str(named.dataset_id))
            if named.block_hash is not None:
                await self._check_block(hosted, named.block_hash)
                blocks[named.alias] = named.block_hash
        return blocks

    async def find(self, name: str) -> Dataset:
        """The dataset that a query calls ``name``.

        Raises:
            DatasetNotFound, MalformedIdentifier: as ``Catalogue``.
        """
        hosted = self.given.get(name) or await self._readable(parse_dataset_ref(name), name)
        self.found[name] = hosted
        return hosted.entry.dataset

    async def used(self, request: QueryRequest) -> list[NamedDataset]:
        """The datasets that ``request`` reads, up to the blocks that count in it."""
        used = {}
        for table in request.tables:
            hosted = self.found[table.name]
            block = table.known.head or await hosted.entry.dataset.head()
            used[table.name] = NamedDataset(hosted.entry.id, table.name, block)
        return list(used.values())

    async def _readable(self, ref: DatasetRef, text: str) -> Hosted:
        hosted = await self.services.directory.find(ref)
        is_there, by_name = hosted is not None and not hosted.entry.pending, isinstance(ref, DatasetAlias)
        if hosted is None or not is_there or not await self._may_read(hosted, named=by_name):
            raise DatasetNotFound(f"dataset {text} is not here", found=text)
        return hosted

    async def _may_read(self, hosted: Hosted, *, named: bool) -> bool:
        return await access_of(self.services, hosted, self.caller, named=named) >= Access.READ

    async def _check_block(self, hosted: Hosted, block: Multihash) -> None:
        try:
            await self.services.queries.known(hosted.entry.dataset, Moment(at_block=block))
        except BlockNotFound:
            told = f"block {block} is not on the chain of dataset {hosted.entry.id}"
            raise BlockNotFound(told, expected=hosted.entry.id, found=block) from None
