"""Gathers what harvesters are told of one dataset; of those that are not public nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from catalog.facts_of_blocks import Facts
from catalog.public_datasets import PublicDataset
from catalog.visibility import Visibility
from opendatafabric.did import DatasetId
from opendatafabric.errors import OdfError
from opendatafabric.metadata.events import AddData, ExecuteTransform
from opendatafabric.metadata.slices import DataSlice
from opendatafabric.metadata.transform import TransformInput
from repo_server.directory import Hosted
from repo_server.harvest.described import Described, Input
from repo_server.pages.addresses import address_of
from repo_server.pages.in_force import InForce, read_in_force
from repo_server.services import Services

_INPUTS_MAX: Final = 100


async def described(
    services: Services, hosted: Hosted, facts: Facts, in_force: InForce | None = None
) -> Described | None:
    """The dataset, unless it is not public; ``in_force`` where that was read already."""
    if hosted.record.visibility is not Visibility.PUBLIC:
        return None
    dataset = await services.catalog.public_datasets.find(hosted.entry.id)
    if dataset is None:
        return None
    in_force = in_force or await read_in_force(hosted.entry.dataset, facts)
    inputs = [each for source in in_force.sources for each in source.inputs][:_INPUTS_MAX]
    return Described(
        dataset,
        address_of(services.settings, dataset.alias),
        services.base_url,
        await _only_slice(services, hosted, dataset),
        [await _input(services, each) for each in inputs],
    )


async def _only_slice(services: Services, hosted: Hosted, dataset: PublicDataset) -> DataSlice | None:
    block = await services.catalog.public_datasets.only_data(dataset)
    if block is None:
        return None
    try:
        event = (await hosted.entry.dataset.read_block(block.hash)).event
    except OdfError:  # the chain is damaged, which others tell of
        return None
    return event.new_data if isinstance(event, AddData | ExecuteTransform) else None


async def _input(services: Services, each: TransformInput) -> Input:
    """Under the name that it has here if it is public, else under the one that the chain has for it."""
    found = await services.directory.find(each.dataset_ref)
    if found is not None and not found.entry.pending and found.record.visibility is Visibility.PUBLIC:
        address = address_of(services.settings, found.entry.alias)
        return Input(str(address), str(found.entry.id), f"{services.base_url}/{address}")
    known = str(each.dataset_ref) if isinstance(each.dataset_ref, DatasetId) else None
    return Input(each.alias or str(each.dataset_ref), known, None)


def listed(services: Services, datasets: Sequence[PublicDataset]) -> Sequence[Described]:
    """Some datasets by what the index knows, without a look at their chains."""
    return [Described(each, address_of(services.settings, each.alias), services.base_url) for each in datasets]
