"""``odf show``: what one dataset is: identity, size, where it comes from, its schema."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from cli.datasets import Opened, opened
from cli.options import AsJson, RepositoryOption
from cli.output import format_bytes, print_json, print_line
from opendatafabric.chain.objects import ObjectKind, objects_of
from opendatafabric.codec.yaml_codec import to_plain
from opendatafabric.metadata.block import HashedBlock
from opendatafabric.metadata.events import (
    AddData,
    AddPushSource,
    ExecuteTransform,
    MetadataEvent,
    Seed,
    SetDataSchema,
    SetInfo,
    SetLicense,
    SetPollingSource,
    SetTransform,
    SetVocab,
)

DESCRIBING = (SetInfo, SetLicense, SetPollingSource, AddPushSource, SetTransform, SetVocab, SetDataSchema)


@dataclass(slots=True)
class Summary:
    """What one walk from the head to the seed finds."""

    block_count: int = 0
    records: int = 0
    slices: int = 0
    data_bytes: int = 0
    checkpoint_bytes: int = 0
    created_at: str = ""
    updated_at: str = ""
    watermark: str | None = None
    seed: Seed | None = None
    latest: dict[str, MetadataEvent] = field(default_factory=dict)

    def add(self, block: HashedBlock) -> None:
        """Take the next block, going back in time."""
        self.block_count += 1
        self.created_at = str(block.block.system_time)
        self.updated_at = self.updated_at or self.created_at
        event = block.event
        if isinstance(event, Seed):
            self.seed = event
        elif isinstance(event, DESCRIBING):
            self.latest.setdefault(type(event).__name__, event)
        elif isinstance(event, AddData | ExecuteTransform):
            self._add_data(event, block)

    def _add_data(self, event: AddData | ExecuteTransform, block: HashedBlock) -> None:
        if event.new_watermark is not None and self.watermark is None:
            self.watermark = str(event.new_watermark)
        if event.new_data is not None:
            interval = event.new_data.offset_interval
            self.records += interval.end - interval.start + 1
            self.slices += 1
        for file in objects_of(block):
            if file.kind is ObjectKind.DATA_SLICE:
                self.data_bytes += file.size
            else:
                self.checkpoint_bytes += file.size


def command(
    ref: Annotated[str, typer.Argument(metavar="REF|DIR|URL", help="The dataset.")],
    repository: RepositoryOption = ".",
    as_json: AsJson = False,
) -> None:
    """Show what a dataset is: identity, size, source, schema.

    \b
    Example:
        odf show examples/us.noaa.seattle-weather
        odf show http://127.0.0.1:8080/examples/us.faa.airports/ --json
    """
    plain = asyncio.run(_describe(ref, repository))
    if as_json:
        print_json(plain)
    else:
        _print_for_people(plain)


async def _describe(ref: str, repository: str) -> dict[str, Any]:
    async with opened(ref, repository) as found:
        summary = Summary()
        async for batch in found.dataset.walk(found.head):
            for block in batch:
                summary.add(block)
        return _plain(found, summary)


def _plain(found: Opened, summary: Summary) -> dict[str, Any]:
    seed = summary.seed
    return {
        "name": found.name,
        "id": None if seed is None else str(seed.dataset_id),
        "kind": None if seed is None else seed.dataset_kind.name.capitalize(),
        "head": str(found.head),
        "blocks": summary.block_count,
        "records": summary.records,
        "slices": summary.slices,
        "dataBytes": summary.data_bytes,
        "checkpointBytes": summary.checkpoint_bytes,
        "createdAt": summary.created_at,
        "updatedAt": summary.updated_at,
        "watermark": summary.watermark,
        "events": {name: to_plain(event) for name, event in summary.latest.items()},
    }


def _print_for_people(plain: dict[str, Any]) -> None:
    events = plain["events"]
    info, license_ = events.get("SetInfo", {}), events.get("SetLicense", {})
    rows = {
        "name": plain["name"],
        "id": plain["id"],
        "kind": plain["kind"],
        "about": info.get("description"),
        "keywords": ", ".join(info.get("keywords") or ()),
        "licence": license_.get("name"),
        "head": plain["head"],
        "blocks": plain["blocks"],
        "records": f"{plain['records']} in {plain['slices']} slices, {format_bytes(plain['dataBytes'])}",
        "created": plain["createdAt"],
        "updated": plain["updatedAt"],
        "watermark": plain["watermark"],
        "source": ", ".join(name for name in ("SetPollingSource", "AddPushSource", "SetTransform") if name in events),
    }
    for label, value in rows.items():
        if value not in (None, ""):
            print_line(f"{label + ':':<11}{value}")
    schema = (events.get("SetDataSchema") or {}).get("schema") or {}
    for number, column in enumerate(schema.get("fields", ())):
        print_line(f"{'schema:' if number == 0 else '':<11}{column['name']}  {_type_name(column['type'])}")


def _type_name(plain: Any) -> str:
    if not isinstance(plain, dict):
        return str(plain)
    if plain.get("kind") == "Option":
        return _type_name(plain.get("inner")) + "?"
    return str(plain.get("kind"))
