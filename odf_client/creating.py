"""A new dataset in a folder, as a manifest declares it; it goes elsewhere by ``Dataset.push``."""

from __future__ import annotations

import asyncio
import os
import secrets
from datetime import UTC, datetime
from pathlib import Path

from odf_client.address import Address
from odf_client.cache import Cache
from odf_client.dataset import Dataset
from odf_client.waiting import wait
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.codec.yaml_codec import read_snapshot
from opendatafabric.did import new_dataset_id
from opendatafabric.instant import Instant
from storage.open import open_dataset


def create(manifest: str, folder: str | os.PathLike[str]) -> Dataset:
    """The dataset that the text of a ``DatasetSnapshot`` declares, with an id of its own, in a new ``folder``.

    >>> dataset = create(Path("cities.yaml").read_text(), "cities")
    >>> dataset.push("https://data.example/alice/cities", token=token)

    Raises:
        MalformedManifest, InvalidSnapshot: it is none.
        DatasetNotFound: inputs that are named otherwise than by their id.
        RefConflict: there is a dataset already.
    """
    wait(_made(manifest, Path(folder)))
    return Dataset(Address(os.fspath(folder)), Cache())


async def _made(manifest: str, folder: Path) -> None:
    blocks = blocks_from_snapshot(
        read_snapshot(manifest),
        dataset_id=new_dataset_id(secrets.token_bytes(32)),
        system_time=Instant.from_datetime(datetime.now(UTC)),
        resolve_input=lambda _: None,
    )
    await asyncio.to_thread(folder.mkdir, parents=True, exist_ok=True)
    await open_dataset(str(folder)).append(blocks, expected_head=None)
