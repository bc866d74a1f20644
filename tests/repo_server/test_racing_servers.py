"""Two server processes over one repository, on one disk or in one bucket: of pushes that race, one wins each round."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import pytest

from catalog.catalog import open_catalog
from catalog.sqlite_files import sqlite_url
from opendatafabric.errors import ChainsDiverged, RefConflict
from opendatafabric.names import AccountName
from storage.dataset import Dataset
from storage.open import init_repository
from sync.pull import pull_dataset
from sync.push import push_dataset
from sync.remote import RemoteLocation, parse_remote
from sync.transfer import DatasetTarget
from tests.repo_server.served import served
from tests.storage.chains import ChainBuilder
from tests.storage.s3.servers import KEYS, versitygw
from tests.sync.scenarios.stage import assert_holds, fill, history
from tests.sync.smart_server import memory_dataset

pytestmark = pytest.mark.slow

ROUNDS = 200
OBJECT_EVERY = 10
"""So many rounds have one whose blocks bring an object."""


@dataclass
class Rival:
    """A client that pushes to one of the servers."""

    session: aiohttp.ClientSession
    location: RemoteLocation
    token: str
    local: Dataset = field(default_factory=memory_dataset)

    async def push(self) -> None:
        await push_dataset(self.session, self.local, self.location, token=self.token)

    async def head(self) -> str:
        async with self.session.get(f"{self.location.url}refs/head", headers=self._headers) as response:
            return await response.text()

    async def pulled(self) -> Dataset:
        found = memory_dataset()
        await pull_dataset(self.session, self.location, DatasetTarget(found), token=self.token)
        return found

    async def take(self, builder: ChainBuilder, *, common: int) -> None:
        """Have the blocks of ``builder``, of which the first ``common`` are here already."""
        await self.local.writable_objects().put_many(
            {f"data/{name}": content for name, content in builder.slices.items()}
        )
        head = await self.local.head()
        await self.local.append(builder.blocks[common:], expected_head=head, force=True)

    @property
    def _headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


@pytest.fixture(params=["one disk", "one bucket"])
def repository(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where the servers keep everything."""
    if request.param == "one disk":
        yield str(tmp_path / "datasets")
        return
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with versitygw(tmp_path / "buckets") as store:
        yield f"{store.address}datasets"


@pytest.fixture
async def rivals(repository: str, tmp_path: Path) -> AsyncIterator[list[Rival]]:
    """A client of each of two server processes over the repository and one catalog."""
    await init_repository(repository)
    catalog_url = sqlite_url(tmp_path / "catalog.sqlite")
    async with AsyncExitStack() as stack:
        catalog = await stack.enter_async_context(open_catalog(catalog_url))
        token = await catalog.tokens.create(await catalog.accounts.find_or_create(AccountName("alice")))
        session = await stack.enter_async_context(aiohttp.ClientSession())
        servers = [await stack.enter_async_context(served(repository, ODF_CATALOG_URL=catalog_url)) for _ in range(2)]
        yield [Rival(session, parse_remote(f"odf+{server.address}/alice/weather"), token) for server in servers]


async def race(rivals: list[Rival], builder: ChainBuilder, number: int) -> tuple[ChainBuilder, list[BaseException]]:
    """Every rival pushes a next block of its own at the same moment; the chain that won, and what the others got."""
    forks = [builder.fork(len(builder.blocks)) for _ in rivals]
    for at, (rival, fork) in enumerate(zip(rivals, forks, strict=True)):
        text = f"round {number}, rival {at}"
        if number % OBJECT_EVERY:
            fork.info(text)
        else:
            fork.data(text.encode())
        await rival.take(fork, common=len(builder.blocks) - 1)
    ended = await asyncio.gather(*(rival.push() for rival in rivals), return_exceptions=True)
    winners = [fork for fork, error in zip(forks, ended, strict=True) if error is None]
    assert len(winners) == 1, ended
    return winners[0], [error for error in ended if error is not None]


async def test_one_wins_each_round_and_nothing_that_won_is_lost(rivals: list[Rival]) -> None:
    builder = history()
    for rival in rivals:
        await fill(rival.local, builder)
    await rivals[0].push()
    refusals: list[BaseException] = []
    for number in range(ROUNDS):
        builder, refused = await race(rivals, builder, number)
        refusals += refused
        assert {await rival.head() for rival in rivals} == {str(builder.head)}
    assert {type(error) for error in refusals} <= {RefConflict, ChainsDiverged}, refusals
    assert any(isinstance(error, RefConflict) for error in refusals), "no two pushes were under way at once"
    for rival in rivals:
        await assert_holds(await rival.pulled(), builder)
