"""A real server on a free port over a repository that the test fills, with accounts and tokens."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
import orjson

from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.datasets import DatasetRecord
from catalog.scopes import Scope, parse_patterns
from catalog.sqlite_files import sqlite_path
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.layout import data_key
from opendatafabric.multihash import Multihash
from opendatafabric.names import AccountName
from pipeline.ingest import Engine
from repo_server.app import running
from repo_server.config import Settings, Tenancy
from storage.open import Connection, init_repository
from storage.repositories import DatasetRepository
from storage.repository import DatasetEntry
from tests.repo_server.documented import documented
from tests.storage.chains import ChainBuilder, dataset_id

SMALL, LARGE = b"a small slice", bytes(range(256)) * 4_096


@dataclass(frozen=True)
class Answer:
    """What came back, read whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


def code_of(answer: Answer) -> tuple[int, str]:
    """Status and code of a problem document."""
    return answer.status, orjson.loads(answer.body)["code"]


@dataclass
class Hosted:
    """The server under test. ``path`` gives the path of a dataset in the tenancy it runs in."""

    url: str
    settings: Settings
    repository: DatasetRepository
    catalog: Catalog
    session: aiohttp.ClientSession
    accounts: dict[str, Account] = field(default_factory=dict)
    tokens: dict[str, str] = field(default_factory=dict)

    def alias(self, name: str, account: str = "alice") -> DatasetAlias:
        return DatasetAlias.from_text(f"{account}/{name}" if self.settings.multi_tenant else name)

    def path(self, name: str, account: str = "alice") -> str:
        return f"/{self.alias(name, account)}"

    def as_(self, who: str | None) -> dict[str, str]:
        """The header of an account's token, of none, or of a literal token."""
        return {} if who is None else {"Authorization": f"Bearer {self.tokens.get(who, who)}"}

    async def ask(
        self,
        method: str,
        path: str,
        *,
        who: str | None = None,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        sent = {**self.as_(who), **(headers or {})}
        async with self.session.request(method, self.url + path, data=data, headers=sent) as response:
            answer, asked = Answer(response.status, response.headers, await response.read()), response.url.raw_path
        documented(self.settings).check(method, asked, answer.status, answer.headers.get("Content-Type"), answer.body)
        return answer

    async def token(self, account: str, *scopes: Scope) -> str:
        return await self.catalog.tokens.create(self.accounts[account], scopes or tuple(Scope))

    async def bound_token(self, account: str, *patterns: str) -> str:
        """A token that is good for everything, but only at some datasets."""
        return await self.catalog.tokens.create(self.accounts[account], tuple(Scope), datasets=parse_patterns(patterns))

    async def add(self, name: str, chain: ChainBuilder, visibility: Visibility = Visibility.PUBLIC) -> DatasetEntry:
        """A dataset of alice's with everything of ``chain`` in it."""
        entry = await self.add_pending(name, chain, visibility)
        for content_hash, content in chain.slices.items():
            await entry.dataset.writable_objects().put(data_key(content_hash), content)
        await entry.dataset.append(chain.blocks, expected_head=None)
        return entry

    async def add_pending(self, name: str, chain: ChainBuilder, visibility: Visibility) -> DatasetEntry:
        """A dataset of alice's whose first push has not ended."""
        entry = await self.repository.create(self.alias(name), chain.id)
        record = DatasetRecord(chain.id, entry.alias, self.accounts["alice"].id, visibility)
        await self.catalog.datasets.put(record)
        return entry


def a_chain(number: int = 1) -> ChainBuilder:
    """Seed, info, schema, a small and a large slice."""
    chain = ChainBuilder(dataset_id(number))
    chain.info("for tests")
    chain.data(SMALL)
    chain.data(LARGE)
    return chain


def hash_of(content: bytes, chain: ChainBuilder) -> Multihash:
    return next(name for name, held in chain.slices.items() if held == content)


@asynccontextmanager
async def hosted(
    folder: Path, tenancy: Tenancy, *, address: str | None = None, engine: Engine | None = None, **options: object
) -> AsyncIterator[Hosted]:
    """A server in ``folder``, or at an ``address`` elsewhere, with accounts alice, bob and root, a token of each."""
    place = address or str(folder / "datasets")
    (folder / "datasets").mkdir(parents=True, exist_ok=True)  # for the catalog, which is opened first
    settings = Settings.model_validate({"repo": place, "tenancy": tenancy, "port": 0, "preview_records": 0, **options})
    accounts, tokens = await _people(settings.database_url)
    async with open_catalog(settings.database_url) as catalog, aiohttp.ClientSession() as to_node:
        repository = await init_repository(place, Connection(to_node, tables=catalog.stores))
        async with running(settings, engine=engine) as url, aiohttp.ClientSession(auto_decompress=False) as session:
            yield Hosted(url, settings, repository, catalog, session, accounts, tokens)


People = tuple[dict[str, Account], dict[str, str]]
"""Accounts by name, and a token of each."""

_MADE: dict[str, tuple[bytes, People]] = {}
"""A catalog with them, made once: to lay out its tables and write the rows takes longer than many a test."""


async def _people(url: str) -> People:
    """Those of the catalog at ``url``, which is new."""
    file = sqlite_path(url)
    if file is None:
        return await _make_people(url)
    if not _MADE:
        people = await _make_people(url)
        _MADE["catalog"] = file.read_bytes(), people
    content, (accounts, tokens) = _MADE["catalog"]
    file.write_bytes(content)
    return dict(accounts), dict(tokens)


async def _make_people(url: str) -> People:
    async with open_catalog(url) as catalog:
        accounts = {
            name: await catalog.accounts.create(AccountName(name), is_admin=name == "root")
            for name in ("alice", "bob", "root")
        }
        return accounts, {name: await catalog.tokens.create(each, tuple(Scope)) for name, each in accounts.items()}
