"""What is in force in a dataset and stands in its blocks: where its data comes from, and the files that come with it.

The index says which blocks these are; each is read by its hash.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from catalog.facts_of_blocks import PUSH_SOURCE, Facts
from opendatafabric.codec.yaml_codec import write_event_manifest
from opendatafabric.errors import OdfError
from opendatafabric.metadata.annotations import AttachmentEmbedded
from opendatafabric.metadata.events import (
    AddPushSource,
    MetadataEvent,
    SetAttachments,
    SetPollingSource,
    SetTransform,
    UnknownEvent,
)
from opendatafabric.metadata.transform import SqlQueryStep, TransformInput
from opendatafabric.multihash import Multihash
from storage.dataset import Dataset

TEXT_CHARS_MAX: Final = 20_000
"""How much of a source, a query or a file a page shows."""

_SOURCES_MAX: Final = 10
_FILES_MAX: Final = 20
_QUERIES_MAX: Final = 50


@dataclass(frozen=True, slots=True)
class Source:
    """One way by which data comes; a transform has ``queries`` over ``inputs``, all others are told as ``yaml``."""

    title: str
    yaml: str = ""
    engine: str = ""
    queries: Sequence[SqlQueryStep] = ()
    inputs: Sequence[TransformInput] = ()


@dataclass(frozen=True, slots=True)
class InForce:
    """Of one dataset."""

    sources: Sequence[Source] = ()
    files: Sequence[AttachmentEmbedded] = ()


async def read_in_force(dataset: Dataset, facts: Facts) -> InForce:
    """What the page of a dataset shows; blocks that cannot be read are left out."""
    names = [SetPollingSource.__name__, SetTransform.__name__, SetAttachments.__name__]
    names += [name for name in facts.events if name.startswith(PUSH_SOURCE)][:_SOURCES_MAX]
    wanted = [facts.events[name] for name in names if name in facts.events]
    events = [each for each in await asyncio.gather(*(_event(dataset, each) for each in wanted)) if each is not None]
    return await asyncio.to_thread(_told, events)


async def _event(dataset: Dataset, block_hash: str) -> MetadataEvent | UnknownEvent | None:
    try:
        return (await dataset.read_block(Multihash.from_text(block_hash))).event
    except OdfError:
        return None


def _told(events: Sequence[MetadataEvent | UnknownEvent]) -> InForce:
    sources = [source for event in events if (source := _source(event)) is not None]
    files = [item for event in events if isinstance(event, SetAttachments) for item in event.attachments.items]
    return InForce(sources, files[:_FILES_MAX])


def _source(event: MetadataEvent | UnknownEvent) -> Source | None:
    match event:
        case SetTransform(inputs, transform):
            steps = transform.queries or (SqlQueryStep(None, transform.query or ""),)
            shown = [SqlQueryStep(step.alias, step.query[:TEXT_CHARS_MAX]) for step in steps[:_QUERIES_MAX]]
            return Source("Transform", engine=transform.engine, queries=shown, inputs=inputs)
        case SetPollingSource():
            return Source("Polling source", yaml=write_event_manifest(event)[:TEXT_CHARS_MAX])
        case AddPushSource(name):
            return Source(f"Push source {name}", yaml=write_event_manifest(event)[:TEXT_CHARS_MAX])
    return None
