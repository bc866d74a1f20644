"""A repository with the example datasets: what ``make run`` starts.

On the first start it makes ``var/repository``, takes the datasets in and computes those that are derived from them; on
every start it checks each byte, then serves until Ctrl-C and says what to try.

Run it: python examples/run.py [--host H] [--port N] [--var DIR]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from hashlib import sha3_256
from pathlib import Path

import aiohttp

from catalog.catalog import open_catalog
from catalog.datasets import DatasetRecord
from catalog.visibility import Visibility
from opendatafabric.chain.snapshot_blocks import blocks_from_snapshot
from opendatafabric.codec.yaml_codec import read_snapshots
from opendatafabric.dataset_ref import DatasetAlias, DatasetRef
from opendatafabric.did import DatasetId, new_dataset_id
from opendatafabric.errors import DatasetNotFound, OdfError
from opendatafabric.instant import Instant
from opendatafabric.metadata.snapshot import DatasetSnapshot
from opendatafabric.names import AccountName, DatasetName
from pipeline.in_process import InProcess
from pipeline.transform.input_chains import inputs_in
from pipeline.transform.run import transform
from repo_server.app import serve
from repo_server.config import Settings
from storage.repository import DatasetEntry, Repository
from sync.pull import pull_dataset
from sync.remote import parse_remote
from sync.transfer import RepositoryTarget
from verify.integrity import verify_integrity
from verify.report import Verdict

DATASETS = Path(__file__).parent / "datasets"
DERIVED = ("weather-anomalies.yaml", "weather-exceptional.yaml")
DERIVED_AT = Instant.from_rfc3339("2026-11-21T03:00:00Z")
SOURCES = Path(__file__).parent / "sources"
ACCOUNT = AccountName("examples")

WHAT_TO_TRY = """
The repository is at {address}. In a second terminal, in this folder:

  export PATH="$PWD/.venv/bin:$PATH"
  curl -s {address}/examples/us.faa.airports/refs/head
  odf log {address}/examples/us.faa.airports/
  odf lineage --repo {repository} examples/seattle-weather.exceptional
  odf init mine && odf pull --repo mine odf+{address}/examples/us.faa.airports

  odf token create alice --repo {repository} | odf login {address}
  odf add --repo mine examples/sources/electricity.yaml
  odf push --repo mine iowa.electricity --to odf+{address}/alice/electricity --visibility public

  kamu pull odf+{address}/examples/us.noaa.seattle-weather

Ctrl-C stops it. The tutorial is docs/tutorial/first-repository.md"""


async def prepare(settings: Settings) -> None:
    """Host the example datasets, for everybody to read, and check them."""
    repository = Repository.init(settings.repo)
    async with open_catalog(settings.database_url) as catalog, aiohttp.ClientSession() as session:
        owner = await catalog.accounts.find_or_create(ACCOUNT)

        async def host(entry: DatasetEntry) -> None:
            await catalog.datasets.put(DatasetRecord(entry.id, entry.alias, owner.id, Visibility.PUBLIC))
            await check(entry)

        for folder in sorted(path for path in DATASETS.iterdir() if path.is_dir()):
            alias = DatasetAlias(ACCOUNT, DatasetName(folder.name))
            await pull_dataset(session, parse_remote(str(folder)), RepositoryTarget(repository, alias))
            await host(await repository.find(alias))
        for name in DERIVED:
            await host(await derive(repository, declared(name)))


async def derive(repository: Repository, snapshot: DatasetSnapshot) -> DatasetEntry:
    """The derivative that is declared, up to date with its inputs.

    Its id and all times are fixed, so that it has the same hashes on every machine.
    """
    alias = DatasetAlias(ACCOUNT, snapshot.name.name)
    entry = await find_or_create(repository, alias)
    if await entry.dataset.head() is None:
        known: dict[DatasetRef, DatasetId] = {each.alias: each.id async for each in repository.iterate()}
        blocks = blocks_from_snapshot(
            snapshot,
            dataset_id=entry.id,
            system_time=DERIVED_AT,
            resolve_input=lambda ref: known.get(DatasetAlias(ACCOUNT, DatasetName(str(ref)))),
        )
        await entry.dataset.append(blocks, expected_head=None)
    await transform(entry.dataset, inputs_in(repository), InProcess(), system_time=DERIVED_AT)  # the queries are ours
    return await repository.find(alias)


def declared(name: str) -> DatasetSnapshot:
    (snapshot,) = read_snapshots((SOURCES / name).read_text())
    return snapshot


async def find_or_create(repository: Repository, alias: DatasetAlias) -> DatasetEntry:
    """With an id that follows from the name: nobody else is to add to an example."""
    try:
        return await repository.find(alias, include_pending=True)
    except DatasetNotFound:
        return await repository.create(alias, new_dataset_id(sha3_256(str(alias).encode()).digest()))


async def check(entry: DatasetEntry) -> None:
    """Print what was checked; damage ends the program."""
    report = await verify_integrity(entry.dataset)
    counts = report.counts
    looked_at = f"{counts.blocks} blocks, {counts.objects} objects, {counts.records} records"
    print(f"  {report.verdict.value}  {entry.alias}  ({looked_at})", flush=True)
    if report.verdict is not Verdict.VALID:
        sys.exit(report.as_text())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--var", type=Path, default=Path("var"))
    chosen = parser.parse_args()
    settings = Settings(repo=chosen.var / "repository", host=chosen.host, port=chosen.port)

    def tell(address: str) -> None:
        print(WHAT_TO_TRY.format(address=address, repository=settings.repo), flush=True)

    try:
        print(f"example datasets in {settings.repo}:", flush=True)
        asyncio.run(prepare(settings))
        asyncio.run(serve(settings, on_ready=tell))
    except OdfError as error:
        sys.exit(f"{error.message}\n{error.hint or ''}".rstrip())


if __name__ == "__main__":
    main()
