"""A server with datasets as people have them, and one that somebody made to do harm, looked at with a real browser."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from playwright.async_api import Browser, BrowserContext, Page
from yarl import URL

from catalog.accounts import AccountKind
from catalog.datasets import DatasetRecord
from catalog.mirrors import Direction, MirroredDataset, Mirrors, NewMirror
from catalog.roles import Role
from catalog.visibility import Visibility
from opendatafabric.dataset_ref import DatasetAlias
from opendatafabric.layout import data_key
from opendatafabric.metadata.annotations import AttachmentEmbedded, AttachmentsEmbedded
from opendatafabric.metadata.data_schema import DataField, DataSchema, DataTypeInt64
from opendatafabric.metadata.events import AddData, SetAttachments, SetDataSchema, SetInfo, SetLicense
from opendatafabric.names import AccountName
from repo_server.config import Tenancy
from storage.dataset import Dataset
from storage.repository import DatasetEntry
from sync.pull import pull_dataset
from sync.remote import parse_remote
from sync.transfer import RepositoryTarget
from tests.browser.derived import add_derived
from tests.chromium import chromium
from tests.repo_server.browsing import PASSWORD
from tests.repo_server.hosted import Hosted, hosted
from tests.source_tree import ROOT
from tests.storage.chains import ChainBuilder, dataset_id
from verify.recording import Recorder
from verify.report_room import ReportRoom

WAIT_MS: Final = 60_000
_EXAMPLES: Final = ROOT / "examples" / "datasets"
_NAMES: Final = ("us.noaa.seattle-weather", "seattle-weather.fahrenheit", "com.yahoo.stocks.monthly", "us.faa.airports")
ODD: Final = ("evil", "empty", "wide")
"""Datasets that somebody made to do harm, that have nothing, and that have very many columns."""
HOSTILE: Final = "<script>window.harmed=1</script><img src=x onerror='window.harmed=2'>\"'>"

FOR_ROOT: Final = frozenset({"tokens", "webhooks", "mirrors", "administration"})
STATUSES: Final = {"mistake": 400, "absent": 404}
"""Of pages on which something was asked that cannot be answered."""

DESKTOP: Final[Mapping[str, Any]] = {"viewport": {"width": 1200, "height": 900}}
PHONE: Final[Mapping[str, Any]] = {"viewport": {"width": 360, "height": 780}, "device_scale_factor": 2}
DARK: Final[Mapping[str, Any]] = {"color_scheme": "dark"}


@dataclass
class Site:
    """The server and the browser; ``pages`` has the path of each page by a word for it."""

    server: Hosted
    browser: Browser
    pages: dict[str, str] = field(default_factory=dict)
    logged_in: Any = None
    """What a browser keeps in which the administrator is logged in."""

    def keeps(self, name: str) -> dict[str, Any]:
        """What the browser needs for the page of that name."""
        return {"storage_state": self.logged_in} if name in FOR_ROOT else {}

    @asynccontextmanager
    async def opened(self, **options: Any) -> AsyncIterator[Page]:
        """A page of a browser that was never here, as ``DESKTOP`` unless said otherwise."""
        context: BrowserContext = await self.browser.new_context(**{**DESKTOP, **options})
        context.set_default_timeout(WAIT_MS)
        try:
            yield await context.new_page()
        finally:
            await context.close()

    async def go(self, page: Page, name: str) -> None:
        """Look at the page of that name."""
        answer = await page.goto(self.server.url + self.pages[name])
        assert answer is not None
        assert answer.status == STATUSES.get(name, 200)


@asynccontextmanager
async def site(folder: Path) -> AsyncIterator[Site]:
    """Everything running, for as long as the tests of a module take."""
    async with hosted(folder, Tenancy.MULTI, run_worker=False, preview_records=5) as server, chromium() as browser:
        await server.catalog.accounts.set_password(AccountName("root"), PASSWORD)
        found = Site(server, browser)
        await _fill(found)
        found.logged_in = await _logged_in(found)
        yield found


async def _fill(found: Site) -> None:
    server = found.server
    entries = [await _example(server, name) for name in _NAMES]
    weather = entries[0]
    made = await add_derived(server, weather, entries[1])
    for each in made:
        await _moved(server, each)
    recorder = Recorder(None, ReportRoom(server.catalog.reports, keep_last=9))
    recorded = await recorder.verified(weather.dataset, str(weather.alias))
    stocks = entries[2]
    await recorder.verified(stocks.dataset, str(stocks.alias))
    await damage(stocks.dataset)
    damaged = await recorder.verified(stocks.dataset, str(stocks.alias))
    evil = _evil()
    for name, chain in zip(ODD, (evil, ChainBuilder(dataset_id(667)), _wide()), strict=True):
        await _moved(server, await server.add(name, chain))
    await _office(server)
    await _until_listed(server, len(_NAMES) + len(made) + 4)
    here, head = server.path(_NAMES[0]), await weather.dataset.head()
    await _mirrored(server.catalog.mirrors)
    found.pages |= {
        "home": "/",
        "search": "/?q=weather",
        "search with filters": "/?q=seattle&kind=root&updatedSince=2020-01-01&sort=size",
        "nothing found": "/?q=nothing+at+all",
        "account": "/alice",
        "dataset": here,
        "derivative": server.path(_NAMES[1]),
        "lineage": f"{server.path(_NAMES[1])}/lineage",
        "log": f"{here}/log",
        "block": f"{here}/log/{head}",
        "reports": f"{here}/reports",
        "report": f"{here}/reports/{recorded.hash}",
        "damaged dataset": server.path(_NAMES[2]),
        "damage": f"{server.path(_NAMES[2])}/reports/{damaged.hash}",
        "ask": str(URL("/query").with_query(dataset=here[1:])),
        "answer": str(URL("/query").with_query(query=f'SELECT weather, count(*) AS days FROM "{here[1:]}" GROUP BY 1')),
        "mistake": str(URL("/query").with_query(query=f'SELECT wether\nFROM "{here[1:]}"')),
        "empty dataset": server.path("empty"),
        "wide dataset": server.path("wide"),
        "organisation": "/office",
        "absent": "/alice/absent",
        "login": "/v/login",
        "tokens": "/v/tokens",
        "webhooks": "/v/webhooks",
        "mirrors": "/system/mirrors",
        "administration": "/v/admin",
        "error": "/system/errors/not-found",
        "evil dataset": server.path("evil"),
        "evil block": f"{server.path('evil')}/log/{evil.head}",
    }


async def _mirrored(mirrors: Mirrors) -> None:
    """A mirror that was behind for a while."""
    mirror_id = await mirrors.add(NewMirror(Direction.PUSH, "https://other.example/", "alice/%", "@hourly"))
    for hours in (0, 1, 3, 2):
        await mirrors.claim(mirror_id, "tests", lease_s=60)
        behind_since = time.time() - 3_600 * hours if hours else None
        await mirrors.keep(mirror_id, f"alice/{_NAMES[0]}", MirroredDataset(behind_since=behind_since))
        await mirrors.finish(mirror_id, "tests", error=None, failures=0, next_run_at=time.time() + 3_600)


async def _logged_in(found: Site) -> Any:
    async with found.opened() as page:
        await found.go(page, "login")
        await page.get_by_label("Account").fill("root")
        await page.get_by_label("Password").fill(PASSWORD)
        await page.get_by_role("button", name="Log in").click()
        await page.get_by_role("heading", name="Logged in").wait_for()
        return await page.context.storage_state()


async def _example(server: Hosted, name: str) -> DatasetEntry:
    alias = DatasetAlias.from_text(f"alice/{name}")
    await pull_dataset(server.session, parse_remote(str(_EXAMPLES / name)), RepositoryTarget(server.repository, alias))
    entry = await server.repository.find(alias)
    record = DatasetRecord(entry.id, alias, server.accounts["alice"].id, Visibility.PUBLIC)
    await server.catalog.datasets.put(record)
    await _moved(server, entry)
    return entry


async def _moved(server: Hosted, entry: DatasetEntry) -> None:
    head = await entry.dataset.head()
    await server.catalog.datasets.log_move(entry.id, None, expected_head=None, new_head=head)


async def damage(dataset: Dataset) -> None:
    """One bit of the newest slice is another one."""
    head = await dataset.head()
    assert head is not None
    blocks = [block async for group in dataset.walk(head) for block in group]
    added = next(block.event.new_data for block in blocks if isinstance(block.event, AddData))
    assert added is not None
    path = dataset.objects.local_path(data_key(added.physical_hash))
    assert path is not None
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.chmod(0o644)
    path.write_bytes(content)


def _evil() -> ChainBuilder:
    chain = ChainBuilder(dataset_id(666))
    chain.add(SetInfo(HOSTILE, (HOSTILE,)))
    chain.add(SetLicense(HOSTILE, HOSTILE, HOSTILE, "javascript:window.harmed=3"))
    chain.add(SetDataSchema(schema=DataSchema((DataField(HOSTILE, DataTypeInt64()),))))
    files = (
        AttachmentEmbedded("README.md", f"# {HOSTILE}\n\n{HOSTILE}\n\n[x](javascript:window.harmed=4)\n"),
        AttachmentEmbedded(HOSTILE, HOSTILE),
    )
    chain.add(SetAttachments(AttachmentsEmbedded(files)))
    return chain


def _wide() -> ChainBuilder:
    chain = ChainBuilder(dataset_id(668))
    chain.info("What a hundred sensors measure, each in a column of its own. " * 5)
    names = (f"sensor_{number:03}_in_the_north_wing_of_the_building" for number in range(100))
    chain.add(SetDataSchema(schema=DataSchema(tuple(DataField(name, DataTypeInt64()) for name in names))))
    return chain


async def _office(server: Hosted) -> None:
    """An organisation of alice's with a dataset."""
    accounts = server.catalog.accounts
    office = await accounts.create(AccountName("office"), kind=AccountKind.ORGANIZATION)
    await server.catalog.roles.grant(office.id, server.accounts["alice"], Role.OWNER)
    await server.catalog.roles.grant(office.id, server.accounts["bob"], Role.WRITER)
    chain = ChainBuilder(dataset_id(669))
    chain.info("Who came and went")
    entry = await server.repository.create(DatasetAlias.from_text("office/visitors"), chain.id)
    await server.catalog.datasets.put(DatasetRecord(chain.id, entry.alias, office.id, Visibility.PUBLIC))
    await entry.dataset.append(chain.blocks, expected_head=None)
    await _moved(server, entry)


async def _until_listed(server: Hosted, count: int) -> None:
    async with asyncio.timeout(WAIT_MS / 1_000):
        while len(await server.catalog.dataset_lists.list(None, count=100)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
