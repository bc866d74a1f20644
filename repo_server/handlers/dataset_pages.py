"""A dataset and its blocks, looked up in the index: as JSON, or as pages for those who ask for HTML."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final

from aiohttp import web

from catalog.facts_of_blocks import BlockFacts, Facts
from catalog.lineage import Reach
from catalog.permissions import Access
from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.errors import MalformedInput, NotFound
from opendatafabric.metadata.transform import TransformInput
from repo_server.dataset_states import (
    BlockList,
    DatasetEntryFacts,
    ReadBlock,
    plain_block,
    plain_blocks,
    plain_dataset,
)
from repo_server.gate import VISIT, Visit, access_of
from repo_server.handlers.simple import hash_of
from repo_server.harvest.describing import described
from repo_server.html_response import VARIES, frame_of, html_response, wants_html
from repo_server.lineages import lineage_of, look_of
from repo_server.openapi.described import Parameter, Tag, describes, json_or_page
from repo_server.openapi.parameters import EXAMPLE_BLOCK
from repo_server.pages.addresses import address_of
from repo_server.pages.block_pages import block_page, log_page
from repo_server.pages.dataset_page import SeenDataset, dataset_page
from repo_server.pages.in_force import InForce, read_in_force
from repo_server.pages.lineage_drawing import Drawing, drawing_of
from repo_server.pages.plots import sampled
from repo_server.previews import Preview
from repo_server.problems import json_response
from verify.standing import standing_of

_RECENT: Final = 8
_BLOCKS_A_PAGE: Final = 50
_DIGITS_MAX: Final = 15
_BESIDE: Final = Reach(depth_max=1, nodes_max=9)


@describes(Tag.REPOSITORY, json_or_page(DatasetEntryFacts), shown=True)
async def get_dataset(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}``: what its chain says."""
    found = request[VISIT]
    facts = await _facts(found)
    if not wants_html(request):
        hosted = found.dataset
        told = plain_dataset(hosted.entry.id, _address(found), hosted.record.visibility.value, facts)
        return json_response(told, headers=VARIES)
    seen = await _seen(found, facts)
    return html_response(await asyncio.to_thread(dataset_page, seen, frame_of(request)))


@describes(
    Tag.REPOSITORY,
    json_or_page(BlockList),
    parameters=(Parameter("before", "blocks before that of this number", {"type": "integer", "minimum": 0}, value=9),),
    shown=True,
)
async def get_log(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/log``: its blocks, the newest first; with ``?before=N`` those before that one."""
    found, wanted = request[VISIT], _number(request.query.get("before"))
    facts = await _facts(found)
    before = facts.blocks if wanted is None else min(wanted, facts.blocks)
    index = found.services.catalog.dataset_facts
    rows = await index.blocks_before(found.dataset.entry.id, before, count=_BLOCKS_A_PAGE + 1)
    if not wants_html(request):
        return json_response(plain_blocks(rows[:_BLOCKS_A_PAGE], facts.blocks), headers=VARIES)
    page = log_page(_address(found), rows, facts.blocks, frame_of(request), count=_BLOCKS_A_PAGE)
    return html_response(page)


@describes(Tag.REPOSITORY, json_or_page(ReadBlock), shown={"hash": EXAMPLE_BLOCK})
async def get_logged_block(request: web.Request) -> web.StreamResponse:
    """``GET /{dataset}/log/{hash}``: one block, read; its bytes are under ``blocks/``."""
    found, block_hash = request[VISIT], hash_of(request)
    block = await found.dataset.entry.dataset.read_block(block_hash)
    if not wants_html(request):
        return json_response(await asyncio.to_thread(plain_block, block), headers=VARIES)
    index, dataset_id = found.services.catalog.dataset_facts, found.dataset.entry.id
    await _facts(found)
    here, following = [
        await index.block(dataset_id, number) for number in (block.sequence_number, block.sequence_number + 1)
    ]
    on_chain = here is not None and here.hash == block_hash
    next_hash = following.hash if on_chain and following is not None else None
    page = await asyncio.to_thread(
        block_page, _address(found), block, frame_of(request), following=next_hash, on_chain=on_chain
    )
    return html_response(page)


async def _facts(found: Visit) -> Facts:
    entry = found.dataset.entry
    facts = await found.services.indexing.facts_of(entry.id, entry.dataset)
    if facts is None:
        raise NotFound("the chain of the dataset is being read", hint="try again in a moment")
    return facts


async def _seen(found: Visit, facts: Facts) -> SeenDataset:
    entry, catalog = found.dataset.entry, found.services.catalog
    head = await entry.dataset.head()
    reports = await catalog.reports.of(entry.id)
    in_force = await read_in_force(entry.dataset, facts)
    return SeenDataset(
        alias=_address(found),
        id=entry.id,
        visibility=found.dataset.record.visibility.value,
        facts=facts,
        current=head == facts.head,
        points=await catalog.dataset_facts.blocks_at(entry.id, sampled(facts.blocks)),
        recent=await _newest(found, facts),
        reports=reports,
        signers=sorted({each.signer for each in await catalog.attestations.list(entry.id, head=head)}),
        standing=standing_of(reports[0] if reports else None, head),
        in_force=in_force,
        inputs=await _inputs(found, in_force),
        preview=await _preview(found, facts),
        lineage=await _lineage(found),
        base_url=found.services.base_url,
        described=await described(found.services, found.dataset, facts, in_force),
    )


async def _lineage(found: Visit) -> Drawing | None:
    """The datasets beside it, if there are any."""
    graph = await lineage_of(found, _BESIDE)
    if len(graph.nodes) == 1:
        return None
    return drawing_of(graph, await look_of(found.services, graph))


async def _preview(found: Visit, facts: Facts) -> Preview | None:
    entry, head = found.dataset.entry, facts.head
    if head is None or not facts.records:
        return None
    return await found.services.previews.of(entry.id, entry.dataset, head)


async def _newest(found: Visit, facts: Facts) -> Sequence[BlockFacts]:
    index = found.services.catalog.dataset_facts
    return await index.blocks_before(found.dataset.entry.id, facts.blocks, count=_RECENT + 1)


async def _inputs(found: Visit, in_force: InForce) -> dict[str, str]:
    """The addresses of those inputs that are here and that the caller may see."""
    inputs: list[TransformInput] = [each for source in in_force.sources for each in source.inputs]
    addresses = {str(each.dataset_ref): await _seen_address(found, each.dataset_ref) for each in inputs}
    return {ref: str(address) for ref, address in addresses.items() if address is not None}


async def _seen_address(found: Visit, ref: DatasetRef) -> DatasetAlias | None:
    services = found.services
    hosted = await services.directory.find(ref)
    if hosted is None or hosted.entry.pending:
        return None
    if await access_of(services, hosted, found.caller) < Access.READ:
        return None
    return address_of(services.settings, hosted.entry.alias)


def _address(found: Visit) -> DatasetAlias:
    return address_of(found.services.settings, found.dataset.entry.alias)


def _number(text: str | None) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS_MAX):
        raise MalformedInput("blocks are called by their numbers", hint="?before=100")
    return int(text)
