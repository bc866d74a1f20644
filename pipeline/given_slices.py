"""Slices of datasets, handed to a job as files of the folder that it may read."""

from __future__ import annotations

import asyncio
from pathlib import Path

from opendatafabric.layout import data_key
from opendatafabric.multihash import Multihash
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset


async def give_slice(dataset: Dataset, physical_hash: Multihash, folders: JobFolders) -> Path:
    """As ``give_object``."""
    return await give_object(dataset, data_key(physical_hash), str(physical_hash), folders)


async def give_object(dataset: Dataset, key: str, name: str, folders: JobFolders) -> Path:
    """A second name of the object where it lies here, else a copy of it; each once. What is in it is not looked at."""
    target = folders.given / name
    if await asyncio.to_thread(target.exists):
        return target
    local = dataset.objects.local_path(key)
    if local is not None:
        return await asyncio.to_thread(folders.give, local, target.name)
    with target.open("xb") as file:
        async for piece in dataset.objects.stream(key):
            await asyncio.to_thread(file.write, piece)
    return target
