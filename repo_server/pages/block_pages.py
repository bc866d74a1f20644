"""The blocks of a dataset in a list, and one block with what it says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from catalog.facts_of_blocks import BlockFacts
from opendatafabric.chain.objects import ObjectKind, objects_of
from opendatafabric.codec.yaml_codec import write_block_manifest
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import UnknownEvent
from opendatafabric.multihash import Multihash
from repo_server.pages.dataset_page import block_rows
from repo_server.pages.frame import Frame
from repo_server.pages.templates import render

MANIFEST_CHARS_MAX: Final = 100_000
_TITLES: Final = {ObjectKind.DATA_SLICE: "Data slice", ObjectKind.CHECKPOINT: "Checkpoint"}


def log_page(alias: DatasetAlias, rows: Sequence[BlockFacts], total: int, frame: Frame, *, count: int) -> str:
    """``count`` blocks, newest first; ``rows`` has one more if there are more."""
    shown = block_rows(rows)[:count]
    path = f"{frame.root}/{alias}/log"
    newer = shown[0].sequence_number + 1 + count if shown else 0
    return render(
        "log.html",
        frame=frame,
        alias=alias,
        rows=shown,
        total=total,
        older=f"{path}?before={shown[-1].sequence_number}" if len(rows) > count else None,
        newer=f"{path}?before={newer}" if shown and shown[0].sequence_number < total - 1 else None,
    )


def block_page(
    alias: DatasetAlias, block: HashedBlock, frame: Frame, *, following: Multihash | None, on_chain: bool
) -> str:
    """One block; ``following`` is the next one on the chain."""
    manifest = write_block_manifest(block.block)
    event = block.event
    return render(
        "block.html",
        frame=frame,
        alias=alias,
        number=block.sequence_number,
        event="event of a later version" if isinstance(event, UnknownEvent) else type(event).__name__,
        hash=block.hash,
        system_time=str(block.block.system_time),
        size=len(block.raw),
        previous=block.prev_block_hash,
        following=following,
        on_chain=on_chain,
        objects=[
            {
                "title": _TITLES[each.kind],
                "path": f"{each.kind.value}/{each.physical_hash}",
                "name": each.physical_hash,
                "size": each.size,
            }
            for each in objects_of(block)
        ],
        manifest=manifest[:MANIFEST_CHARS_MAX],
        cut=len(manifest) > MANIFEST_CHARS_MAX,
    )
