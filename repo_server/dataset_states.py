"""What is told of datasets and their blocks as JSON values: for the API."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typing_extensions import TypedDict

from catalog.dataset_lists import Counts, ListedDataset
from catalog.facts_of_blocks import BlockFacts, Facts, LicenseFacts
from opendatafabric.chain.objects import objects_of
from opendatafabric.codec.yaml_codec import to_plain
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.metadata.block import HashedBlock
from repo_server.moments import moment


class ListedEntry(TypedDict):
    """A dataset in a list; ``records`` and ``bytes`` are those of its data slices."""

    id: str
    alias: str
    visibility: str
    kind: str
    records: int
    bytes: int
    updatedAt: str
    description: str | None


class FoundEntry(ListedEntry):
    """The same with its licence in a word, and how it stands by its last verification."""

    license: str | None
    standing: str


class DatasetCounts(TypedDict):
    """How many datasets there would be of each kind, standing and licence if that was chosen."""

    kind: dict[str, int]
    standing: dict[str, int]
    license: dict[str, int]


class DatasetList(TypedDict):
    """Some datasets; ``next`` is the path of those that follow. Of more than 2,000 ``total`` is ``null``, and nothing
    counted. It is not ``complete`` while datasets are looked at anew, as after an upgrade."""

    datasets: list[FoundEntry]
    total: int | None
    counts: DatasetCounts
    complete: bool
    next: str | None


class LicenseEntry(TypedDict):
    """The licence of a dataset."""

    shortName: str
    name: str
    spdxId: str | None
    websiteUrl: str


class ColumnEntry(TypedDict):
    """A column; the type in words, with ``?`` where a value may miss."""

    name: str
    type: str


class DatasetEntryFacts(ListedEntry):
    """What the chain of a dataset says, up to ``head``."""

    head: str
    blocks: int
    watermark: str | None
    keywords: list[str]
    license: LicenseEntry | None
    columns: list[ColumnEntry]


class BlockEntry(TypedDict):
    """A block; ``records`` and ``bytes`` are those of the chain up to it."""

    sequenceNumber: int
    hash: str
    systemTime: str
    event: str
    records: int
    bytes: int


class BlockList(TypedDict):
    """Some blocks of a chain that has ``total`` of them, the newest first."""

    total: int
    blocks: list[BlockEntry]


class ReadBlock(TypedDict):
    """A block as it reads; ``size`` of its bytes, ``objects`` by their paths below the dataset."""

    hash: str
    size: int
    objects: list[str]
    block: dict[str, Any]


def plain_dataset(dataset_id: DatasetId, alias: DatasetAlias, visibility: str, facts: Facts) -> DatasetEntryFacts:
    """Everything that the index knows of a dataset."""
    return {
        "id": str(dataset_id),
        "alias": str(alias),
        "visibility": visibility,
        "kind": facts.kind,
        "records": facts.records,
        "bytes": facts.bytes,
        "updatedAt": moment(facts.updated_at),
        "description": facts.description,
        "head": str(facts.head),
        "blocks": facts.blocks,
        "watermark": facts.watermark,
        "keywords": list(facts.keywords),
        "license": None if facts.license is None else _license(facts.license),
        "columns": [{"name": each.name, "type": each.type} for each in facts.columns],
    }


def plain_counts(counts: Counts) -> DatasetCounts:
    """How many there are of each."""
    return {"kind": {**counts.kinds}, "standing": {**counts.standings}, "license": {**counts.licenses}}


def plain_listed(address: DatasetAlias, listed: ListedDataset) -> FoundEntry:
    """A dataset in a list."""
    return {
        "id": str(listed.id),
        "alias": str(address),
        "visibility": listed.visibility.value,
        "kind": listed.kind,
        "records": listed.records,
        "bytes": listed.bytes,
        "updatedAt": moment(listed.updated_at),
        "description": listed.description,
        "license": listed.license,
        "standing": listed.standing.value,
    }


def plain_blocks(newest_first: Sequence[BlockFacts], total: int) -> BlockList:
    """Some blocks of a chain."""
    return {"total": total, "blocks": [_block(each) for each in newest_first]}


def plain_block(block: HashedBlock) -> ReadBlock:
    """One block, read."""
    objects = [f"{each.kind.value}/{each.physical_hash}" for each in objects_of(block)]
    return {"hash": str(block.hash), "size": len(block.raw), "objects": objects, "block": to_plain(block.block)}


def _block(block: BlockFacts) -> BlockEntry:
    return {
        "sequenceNumber": block.sequence_number,
        "hash": str(block.hash),
        "systemTime": moment(block.system_time),
        "event": block.event,
        "records": block.records,
        "bytes": block.bytes,
    }


def _license(license_: LicenseFacts) -> LicenseEntry:
    return {
        "shortName": license_.short_name,
        "name": license_.name,
        "spdxId": license_.spdx_id,
        "websiteUrl": license_.website_url,
    }
