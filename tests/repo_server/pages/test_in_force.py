"""What is in force is read from the blocks that the index names."""

from __future__ import annotations

from pathlib import Path

from catalog.facts_of_blocks import Facts, with_block
from opendatafabric.layout import block_key
from opendatafabric.metadata.annotations import AttachmentEmbedded, AttachmentsEmbedded
from opendatafabric.metadata.events import AddPushSource, SetAttachments
from opendatafabric.metadata.sources import MergeStrategyAppend, ReadStepCsv
from repo_server.pages.in_force import InForce, read_in_force
from storage.dataset import Dataset
from storage.local.objects import LocalObjectStore
from storage.local.refs import LocalRefStore
from tests.storage.chains import ChainBuilder


async def facts_in(folder: Path, chain: ChainBuilder) -> tuple[Dataset, Facts]:
    dataset = Dataset(LocalObjectStore(folder), LocalRefStore(folder))
    await dataset.append(chain.blocks, expected_head=None)
    facts = Facts()
    for block in chain.blocks:
        facts, _ = with_block(facts, block)
    return dataset, facts


def a_chain() -> ChainBuilder:
    chain = ChainBuilder()
    chain.add(AddPushSource("devices", ReadStepCsv(), None, MergeStrategyAppend()))
    chain.add(SetAttachments(AttachmentsEmbedded((AttachmentEmbedded("README.md", "# Hello"),))))
    return chain


async def test_sources_and_files_are_read(tmp_path: Path) -> None:
    found = await read_in_force(*await facts_in(tmp_path, a_chain()))
    assert [(each.title, "kind: AddPushSource" in each.yaml) for each in found.sources] == [
        ("Push source devices", True)
    ]
    assert [each.path for each in found.files] == ["README.md"]


async def test_a_block_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    chain = a_chain()
    dataset, facts = await facts_in(tmp_path, chain)
    (tmp_path / block_key(chain.blocks[1].hash)).unlink()
    found = await read_in_force(dataset, facts)
    assert (list(found.sources), len(found.files)) == ([], 1)


async def test_of_a_chain_that_says_nothing_nothing_is_in_force(tmp_path: Path) -> None:
    assert await read_in_force(*await facts_in(tmp_path, ChainBuilder())) == InForce([], [])
