"""The page of a dataset: what its chain says, how it grew, how it stands, and how to take it along."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from catalog.facts_of_blocks import BlockFacts, Facts
from catalog.reports import KeptReport
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.did import DatasetId
from opendatafabric.metadata.annotations import AttachmentEmbedded
from opendatafabric.multihash import Multihash
from repo_server.harvest.described import Described
from repo_server.harvest.schema_org import embedded, schema_org_dataset
from repo_server.pages.addresses import web_address
from repo_server.pages.citations import bibtex, citation, ways_to_pull
from repo_server.pages.frame import Frame
from repo_server.pages.history_strip import history_strip
from repo_server.pages.in_force import TEXT_CHARS_MAX, InForce, Source
from repo_server.pages.lineage_drawing import WORDS, Drawing
from repo_server.pages.markdown import sanitised_html
from repo_server.pages.plots import Plot, plot_of
from repo_server.pages.templates import number, render, size
from repo_server.previews import Preview
from verify.standing import Standing

_COLUMNS_MAX: Final = 30
"""More columns than that are shown to those who want to see them."""

_READMES_REMEMBERED: Final = 64
_sanitised = lru_cache(_READMES_REMEMBERED)(sanitised_html)


@dataclass(frozen=True, slots=True)
class SeenDataset:
    """Everything that the page is made from. ``inputs`` has the addresses of those datasets that the caller may see."""

    alias: DatasetAlias
    id: DatasetId
    visibility: str
    facts: Facts
    current: bool
    points: Sequence[BlockFacts]
    recent: Sequence[BlockFacts]
    reports: Sequence[KeptReport]
    signers: Sequence[str]
    standing: Standing
    in_force: InForce
    inputs: dict[str, str]
    base_url: str
    preview: Preview | None = None
    lineage: Drawing | None = None
    described: Described | None = None
    """For search engines; nothing of datasets that are not public."""


@dataclass(frozen=True, slots=True)
class BlockRow:
    """A block in a list; ``added`` are its records."""

    sequence_number: int
    event: str
    system_time: float
    added: int
    hash: Multihash


@dataclass(frozen=True, slots=True)
class Growth:
    """A plot, and what it shows in words."""

    title: str
    plot: Plot
    last: str
    since: float
    until: float

    @property
    def said(self) -> str:
        return f"{self.title} grew to {self.last}"


def dataset_page(seen: SeenDataset, frame: Frame) -> str:
    """The whole page."""
    facts = seen.facts
    readme = next((each for each in seen.in_force.files if _is_readme(each)), None)
    return render(
        "dataset.html",
        frame=frame,
        alias=seen.alias,
        structured=None if seen.described is None else embedded(schema_org_dataset(seen.described)),
        address=f"{seen.base_url}/{seen.alias}",
        dataset_id=seen.id,
        visibility=seen.visibility,
        facts=facts,
        columns_max=_COLUMNS_MAX,
        current=seen.current,
        preview=seen.preview,
        lineage=seen.lineage,
        words=WORDS,
        standing=seen.standing.value,
        readme=None if readme is None else {"path": readme.path, "html": _sanitised(readme.content)},
        plots=growth(seen.points),
        sources=[_source(each, seen.inputs) for each in seen.in_force.sources],
        recent=block_rows(seen.recent)[:-1] if facts.blocks > len(seen.recent) else block_rows(seen.recent),
        files=[_file(each) for each in seen.in_force.files if each is not readme],
        last_report=seen.reports[0] if seen.reports else None,
        history=history_strip(seen.reports[:20]),
        signers=seen.signers,
        pulls=ways_to_pull(seen.alias, seen.base_url),
        licence_url=None if facts.license is None else web_address(facts.license.website_url),
        citation=citation(seen.alias, seen.id, facts, seen.base_url),
        bibtex=bibtex(seen.alias, seen.id, facts, seen.base_url),
    )


def block_rows(newest_first: Sequence[BlockFacts]) -> list[BlockRow]:
    """With what each added; of the last one that is known only when it is the first of the chain."""
    before = [each.records for each in newest_first[1:]]
    if newest_first:
        last = newest_first[-1]
        before.append(0 if last.sequence_number == 0 else last.records)
    return [
        BlockRow(each.sequence_number, each.event, each.system_time, each.records - records, each.hash)
        for each, records in zip(newest_first, before, strict=True)
    ]


def growth(points: Sequence[BlockFacts]) -> list[Growth]:
    """Records and bytes over time."""
    ordered = sorted(points, key=lambda block: block.system_time)  # times of blocks that were forced need not rise
    records = _growth("Records", ordered, [block.records for block in ordered], number)
    size_of_data = _growth("Bytes", ordered, [block.bytes for block in ordered], size)
    return [each for each in (records, size_of_data) if each is not None]


def _growth(
    title: str, ordered: Sequence[BlockFacts], values: Sequence[int], told: Callable[[int], str]
) -> Growth | None:
    if len(set(values) - {0}) < 2:
        return None  # what came at once did not grow
    drawn = plot_of([(block.system_time, float(value)) for block, value in zip(ordered, values, strict=True)])
    if drawn is None:
        return None
    return Growth(title, drawn, told(values[-1]), ordered[0].system_time, ordered[-1].system_time)


def _is_readme(item: AttachmentEmbedded) -> bool:
    return item.path.lower().rpartition("/")[2] in {"readme.md", "readme"}


def _file(item: AttachmentEmbedded) -> dict[str, str]:
    return {"path": item.path, "text": item.content[:TEXT_CHARS_MAX]}


def _source(source: Source, addresses: dict[str, str]) -> dict[str, Any]:
    inputs = [(str(each.dataset_ref), each.alias) for each in source.inputs]
    return {
        "title": source.title,
        "yaml": source.yaml,
        "engine": source.engine,
        "queries": [{"alias": each.alias, "text": each.query} for each in source.queries],
        "inputs": [{"name": addresses.get(ref, alias or ref), "path": addresses.get(ref)} for ref, alias in inputs],
    }
