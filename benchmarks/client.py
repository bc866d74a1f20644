"""What does it cost to read a dataset of a server through the client, next to fetching its files and reading them?

The bare way knows which files there are, fetches them one after another and proves nothing. The client fetches the
chain and checks it, hashes every slice as it comes in, and keeps it; the second time it only hashes what it kept. Wall
seconds count: a program waits for its table. The server does the same for both.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import odf_client
from benchmarks.harness import Goal, Question, Way, main
from benchmarks.processes import start_ours
from benchmarks.records import ALIAS, made_records
from catalog.catalog import open_catalog
from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.names import AccountName
from repo_server.config import Settings
from storage.dataset import Dataset
from storage.repository import Repository

HOSTED = DatasetAlias.from_text(f"bench/{ALIAS}")


async def show(dataset: Dataset, repository: Path) -> None:
    """Give it to an account, and let everybody read it."""
    await Repository.open(repository).rename(ALIAS, HOSTED)
    async with open_catalog(Settings(repo=repository).database_url) as catalog:
        owner = await catalog.accounts.find_or_create(AccountName("bench"))
        identity = (await dataset.seed()).dataset_id
        await catalog.datasets.put(DatasetRecord(identity, HOSTED, owner.id, Visibility.PUBLIC))


def fetched(url: str, names: list[str], folder: Path) -> Callable[[], object]:
    """Every file by ``GET``, then their records."""

    def run() -> None:
        for name in names:
            urllib.request.urlretrieve(f"{url}/data/{name}", folder / name)
        assert pa.concat_tables(pq.read_table(folder / name) for name in names).num_rows

    return run


def opened(url: str, folder: Path, *, anew: bool) -> Callable[[], object]:
    """The same through the client, with nothing kept or with everything."""

    def run() -> None:
        if anew:
            shutil.rmtree(folder, ignore_errors=True)
        assert odf_client.open(f"odf+{url}", cache=odf_client.Cache(folder)).to_arrow().num_rows

    return run


def ask(quick: bool) -> Question:
    rows = 100_000 if quick else 1_000_000
    dataset, root = made_records(8, rows)
    repository = root / "repository"
    asyncio.run(show(dataset, repository))
    server = start_ours(repository)
    url = f"http://127.0.0.1:{server.port}/{HOSTED}"
    names = [path.name for path in repository.glob("**/data/f1620*")]
    folders = [Path(tempfile.mkdtemp(dir=root)) for _ in range(3)]
    units = 8 * rows / 1e6
    return Question(
        f"Reading {8 * rows:,} records of eight slices from a server",
        "M records",
        [
            Way("urllib and pyarrow", fetched(url, names, folders[0]), units),
            Way("the client, nothing kept", opened(url, folders[1], anew=True), units),
            Way("the client, everything kept", opened(url, folders[2], anew=False), units),
        ],
        [
            Goal(
                "",
                "as fast as a bare download",
                "the client, nothing kept",
                "urllib and pyarrow",
                0.25,
                measure="wall_speed",
            )
        ],
    )


if __name__ == "__main__":
    main(ask)
