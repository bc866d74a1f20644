"""From settings to a running server: services made at the start, routes, one middleware, an orderly stop."""

from __future__ import annotations

import asyncio
import gc
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Final

import aiohttp
from aiohttp import WSCloseCode, web

from catalog.account_lifecycle import AccountLifecycle
from catalog.accounts import Account
from catalog.catalog import Catalog, open_catalog
from catalog.lifecycle import Lifecycle
from catalog.reindex import reindex
from opendatafabric.errors import MalformedInput, OdfError, StorageError, UnsupportedOperation
from opendatafabric.limits import BODY_BUFFER_BYTES, DERIVED_IN_MEMORY_BYTES_MAX
from opendatafabric.names import AccountName
from opendatafabric.server_limits import HEADER_BYTES_MAX
from pipeline.engine_contract.preprocessing import PreprocessElsewhere
from pipeline.ingest import Engine
from repo_server.audit_queue import AuditQueue
from repo_server.background.indexing import Indexing
from repo_server.background.mirror import MirrorRunner
from repo_server.background.mirror_target import MirrorPlace
from repo_server.background.scrub import ScrubPlan, ScrubRunner
from repo_server.background.worker import WorkerProcess
from repo_server.config import Settings
from repo_server.connections import CountingRunner
from repo_server.cors import open_to_origins
from repo_server.directory import Directory
from repo_server.event_feed import EventFeed
from repo_server.identity import Identities
from repo_server.incoming import Incoming
from repo_server.ingesting import ForeignEngine, Ingests
from repo_server.ipfs.keys import IpnsKeys
from repo_server.ipfs.publishing import Publisher
from repo_server.logs import SERVER, start_logging
from repo_server.metering import Meter
from repo_server.metrics import Metrics
from repo_server.middleware import around
from repo_server.oidc.issuers import Issuers
from repo_server.previews import Previews
from repo_server.query.downloads import Downloads
from repo_server.query.indexed import IndexedRecords
from repo_server.query.looks import Looks
from repo_server.query.running import Queries
from repo_server.rate_limits import RateLimits
from repo_server.routes import add_routes
from repo_server.services import SERVICES, Services
from repo_server.sweeping import collect_for_ever, sweep_for_ever
from repo_server.tracing import trace_requests
from repo_server.upstream import Upstream, upstream_of
from repo_server.webhooks.at_server import tell_webhooks_for_ever
from storage.ipfs.access import IpfsAccess
from storage.ipfs.node_place import NodePlace
from storage.local.derived import LocalDerivedStore
from storage.local.large_derived import LargeDerivedFiles
from storage.memory import MemoryDerivedStore
from storage.open import Connection, open_repository
from storage.repositories import DatasetRepository
from sync.mirror import MirrorTools

_EVERY_ADDRESS: Final = frozenset({"0.0.0.0", "::", ""})
_BACKLOG: Final = 1_024
_PUBLISHING_ENDS_S: Final = 5
"""How long a dataset that is being published to IPFS is waited for at the end; it is begun again next time."""


def _engine(settings: Settings) -> Engine:
    return PreprocessElsewhere(ForeignEngine(settings), settings.engines_elsewhere)


def create_app(settings: Settings, *, engine: Engine | None = None) -> web.Application:
    """The application; it opens repository and catalog when it starts. ``engine`` is the Spark worker unless given."""
    application = web.Application(middlewares=[around])
    add_routes(application, settings.tenancy, with_ipfs=settings.ipfs_provider)
    application.cleanup_ctx.append(_services(settings, engine or _engine(settings)))
    application.on_response_prepare.append(open_to_origins)
    application.on_shutdown.append(_end_conversations)
    if settings.tracing:
        trace_requests(application)
    return application


async def serve(settings: Settings, *, on_ready: Callable[[str], None], engine: Engine | None = None) -> None:
    """Serve until SIGTERM or SIGINT; ``on_ready`` gets the address once requests are taken.

    Raises:
        NotARepository, MalformedInput, StorageError: it cannot start; the message says what is wrong.
    """
    start_logging(settings.log_level)
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        async with running(settings, engine=engine) as address:
            gc.freeze()  # what was loaded to start never becomes garbage: looking through it would hold up requests
            on_ready(address)
            await stop.wait()
            SERVER.info("stopping")
    finally:
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(number)


@asynccontextmanager
async def running(settings: Settings, *, engine: Engine | None = None) -> AsyncIterator[str]:
    """A server that listens; the address it listens on. At the end running requests are finished first."""
    _check_public_url(settings)
    application = create_app(settings, engine=engine)
    runner = CountingRunner(
        application,
        settings,
        access_log=None,
        auto_decompress=False,
        handler_cancellation=True,
        keepalive_timeout=settings.idle_s,
        lingering_time=1.0,
        max_line_size=HEADER_BYTES_MAX,
        max_field_size=HEADER_BYTES_MAX,
        read_bufsize=BODY_BUFFER_BYTES,
        shutdown_timeout=settings.stop_s,
    )
    await runner.setup()
    try:
        await _listen(runner, settings)
        address = _address_of(runner, settings)
        application[SERVICES].base_url = (settings.public_url or address).rstrip("/")
        yield address
    finally:
        await runner.cleanup()


def _check_public_url(settings: Settings) -> None:
    # The addresses of objects that clients are given are made of it; what a request says of the host is not trusted.
    if settings.public_url is None and settings.host in _EVERY_ADDRESS:
        raise MalformedInput(
            f"a server on every address ({settings.host or 'all'}) must be told what clients call it",
            hint=f"ODF_PUBLIC_URL=http://HOST:{settings.port or 'PORT'}, or listen on one address: --host 127.0.0.1",
        )


async def _listen(runner: web.AppRunner, settings: Settings) -> None:
    site = web.TCPSite(runner, settings.host, settings.port, backlog=_BACKLOG, reuse_port=settings.reuse_port or None)
    try:
        await site.start()
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise StorageError(
            f"cannot listen on {where}: {error.strerror or error}", hint="is it in use? --port 0 takes a free one"
        ) from error


def _address_of(runner: web.AppRunner, settings: Settings) -> str:
    port = runner.addresses[0][1]
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{port}"


def _services(settings: Settings, engine: Engine) -> Callable[[web.Application], AsyncIterator[None]]:
    async def prepared(application: web.Application) -> AsyncIterator[None]:
        async with _opened(settings) as (repository, catalog):
            owner = await catalog.accounts.find_or_create(AccountName(settings.default_account))
            await reindex(
                repository,
                catalog.accounts,
                catalog.datasets,
                default_owner=owner,
                default_visibility=settings.default_visibility,
            )
            metrics = Metrics()
            async with upstream_of(settings, catalog.stores, owner, metrics.stores) as upstream:
                services = await made_services(
                    settings, repository, catalog, owner, engine, upstream=upstream, metrics=metrics
                )
                application[SERVICES] = services
                async with _mirrors(services, owner), _in_background(services):
                    yield
                await services.indexing.settle()
                await services.previews.settle()
                await services.queries.close()
                await services.identities.settle()
                await services.directory.settle()
                await services.audit.settle()

    return prepared


@asynccontextmanager
async def _opened(settings: Settings) -> AsyncIterator[tuple[DatasetRepository, Catalog]]:
    """Repository and catalog. No catalog is made in a folder that is no repository, so that is opened first."""
    if not isinstance(settings.repo, NodePlace):
        near = _packs(settings) or MemoryDerivedStore(bytes_max=DERIVED_IN_MEMORY_BYTES_MAX)
        repository = await open_repository(str(settings.repo), near=near)
        async with open_catalog(settings.database_url) as catalog:
            yield repository, catalog
        return
    token = None if settings.ipfs_token is None else settings.ipfs_token.get_secret_value()
    async with open_catalog(settings.database_url) as catalog, aiohttp.ClientSession() as session:
        connection = Connection(
            session,
            ipfs=IpfsAccess(settings.repo.rpc, token),
            tables=catalog.stores,
            cache_bytes_max=settings.block_cache_bytes_max,
        )
        yield await open_repository(str(settings.repo), connection), catalog


async def made_services(
    settings: Settings,
    repository: DatasetRepository,
    catalog: Catalog,
    owner: Account,
    engine: Engine,
    *,
    upstream: Upstream | None,
    metrics: Metrics,
) -> Services:
    """What handlers need, over an open repository and catalog."""
    directory = Directory(
        repository,
        catalog.datasets,
        catalog.roles,
        catalog.version,
        default_owner=owner,
        default_visibility=settings.default_visibility,
        metrics=metrics.stores,
        upstream=upstream,
    )
    queries, identities = Queries(settings), Identities(catalog.tokens, catalog.version)
    indexing = Indexing(repository, catalog, default_owner=owner, default_visibility=settings.default_visibility)
    looks = Looks(queries, IndexedRecords(catalog.dataset_facts, indexing.facts_of))
    lifecycle = Lifecycle(repository, catalog, settings.terms, time.time)
    services = Services(
        settings=settings,
        repository=repository,
        catalog=catalog,
        identities=identities,
        issuers=Issuers(settings.own_issuers),
        directory=directory,
        now=time.time,
        feed=EventFeed(catalog.events, catalog.version, before_telling=identities.look_at_listeners),
        indexing=indexing,
        incoming=Incoming(settings.incoming_path, bytes_max=settings.ingest_bytes_max, lease_s=settings.upload_lease_s),
        lifecycle=lifecycle,
        account_lifecycle=AccountLifecycle(catalog, lifecycle, settings.terms, default_account=owner.name),
        engine=engine,
        queries=queries,
        downloads=_downloads(settings, queries),
        looks=looks,
        previews=Previews(looks, records=settings.preview_records),
        ingests=Ingests(engine, catalog.ingest_plans, at_once=settings.ingests_at_once, now=time.time),
        audit=AuditQueue(catalog.audit, time.monotonic),
        meter=Meter(catalog.quotas, settings.quota_limits, repository),
        rates=RateLimits(settings, catalog.attempts, time.monotonic),
        metrics=metrics,
        pulls=asyncio.Semaphore(settings.pulls_at_once),
        pushes=asyncio.Semaphore(settings.pushes_at_once),
        packs=_packs(settings),
    )
    if settings.ipfs_provider:
        keys = await asyncio.to_thread(IpnsKeys.open, settings.ipfs_key_path)
        services.publisher = Publisher(repository, directory, catalog, keys, services.now)
    if settings.run_worker:
        services.worker = WorkerProcess(settings, catalog.jobs)
    return services


def _downloads(settings: Settings, queries: Queries) -> Downloads:
    files = LargeDerivedFiles(settings.query_path / "downloads", bytes_max=settings.downloads_bytes_max)
    return Downloads(queries, files)


def _packs(settings: Settings) -> LocalDerivedStore | None:
    bytes_max = settings.packs_bytes_max
    path = settings.packs_path
    return LocalDerivedStore(path, bytes_max=bytes_max) if bytes_max and path is not None else None


@asynccontextmanager
async def _mirrors(services: Services, owner: Account) -> AsyncIterator[None]:
    """A runner of mirrors, with connections of its own, where this server runs them."""
    async with aiohttp.ClientSession() as session:
        if services.settings.run_mirrors:
            limits = services.settings.quota_limits
            place = MirrorPlace(services.repository, services.catalog, owner.id, services.now, limits)
            tools = MirrorTools(session, services.catalog.ipfs, services.settings.ipfs_access)
            services.mirrors = MirrorRunner(place, tools)
        yield


@asynccontextmanager
async def _in_background(services: Services) -> AsyncIterator[None]:
    """What goes on beside the requests, ended before the services are closed."""
    tasks = [asyncio.create_task(job(services)) for job in (sweep_for_ever, collect_for_ever)]
    look_every_s = services.settings.index_interval_s
    tasks.append(asyncio.create_task(services.feed.run_for_ever()))
    tasks.append(asyncio.create_task(services.indexing.run_for_ever(look_every_s=look_every_s)))
    tasks += [asyncio.create_task(each.run_for_ever()) for each in (services.audit, services.meter)]
    if services.mirrors is not None:
        tasks.append(asyncio.create_task(services.mirrors.run_for_ever()))
    if services.worker is not None:
        tasks.append(asyncio.create_task(services.worker.run_for_ever()))
    if services.settings.run_webhooks:
        tasks.append(asyncio.create_task(tell_webhooks_for_ever(services)))
    if services.settings.scrub_interval_s:
        tasks.append(asyncio.create_task(_scrubbing(services).run_for_ever()))
    publishing = [] if services.publisher is None else [asyncio.create_task(services.publisher.run())]
    try:
        yield
    finally:
        if services.publisher is not None:
            services.publisher.stop()
            await asyncio.wait(publishing, timeout=_PUBLISHING_ENDS_S)
        tasks += publishing
        for task in tasks:
            task.cancel()
            with suppress(asyncio.CancelledError, OdfError, UnsupportedOperation):
                await task


def _scrubbing(services: Services) -> ScrubRunner:
    settings = services.settings
    plan = ScrubPlan(settings.scrub_interval_s, settings.scrub_bytes_per_s, settings.scrub_sources)
    return ScrubRunner(services.repository, services.catalog, plan, services.metrics.scrubbed)


async def _end_conversations(application: web.Application) -> None:
    services = application[SERVICES]
    services.stopping = True
    services.feed.wake_all()
    if services.worker is not None:
        services.worker.stop()
    sockets = list(services.sockets)
    if sockets:
        closing = (socket.close(code=WSCloseCode.GOING_AWAY, message=b"the server stops") for socket in sockets)
        await asyncio.gather(*closing, return_exceptions=True)
