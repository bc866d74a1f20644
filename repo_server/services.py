"""What handlers need, made once per process and passed on by the application."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import Callable
from dataclasses import dataclass, field

from aiohttp import web

from catalog.account_lifecycle import AccountLifecycle
from catalog.catalog import Catalog
from catalog.lifecycle import Lifecycle
from pipeline.ingest import Engine
from repo_server.audit_queue import AuditQueue
from repo_server.background.indexing import Indexing
from repo_server.background.mirror import MirrorRunner
from repo_server.background.worker import WorkerProcess
from repo_server.config import Settings
from repo_server.directory import Directory
from repo_server.event_feed import EventFeed
from repo_server.identity import Identities
from repo_server.incoming import Incoming
from repo_server.ingesting import Ingests
from repo_server.ipfs.publishing import Publisher
from repo_server.metering import Meter
from repo_server.metrics import Metrics
from repo_server.oidc.issuers import Issuers
from repo_server.previews import Previews
from repo_server.query.downloads import Downloads
from repo_server.query.looks import Looks
from repo_server.query.running import Queries
from repo_server.rate_limits import RateLimits
from storage.local.derived import LocalDerivedStore
from storage.repositories import DatasetRepository


@dataclass(slots=True)
class Services:
    """``now`` in seconds since 1970; ``base_url`` is what clients call this server, without a slash at its end."""

    settings: Settings
    repository: DatasetRepository
    catalog: Catalog
    identities: Identities
    directory: Directory
    now: Callable[[], float]
    incoming: Incoming
    audit: AuditQueue
    rates: RateLimits
    meter: Meter
    ingests: Ingests
    indexing: Indexing
    queries: Queries
    looks: Looks
    previews: Previews
    lifecycle: Lifecycle
    account_lifecycle: AccountLifecycle
    downloads: Downloads
    feed: EventFeed
    engine: Engine
    """What strangers wrote is computed there."""
    base_url: str = ""
    issuers: Issuers = field(default_factory=Issuers)
    """Whose tokens say who somebody is."""
    mirrors: MirrorRunner | None = None
    """Set where the server runs mirrors."""
    worker: WorkerProcess | None = None
    """Set where the server starts a worker."""
    metrics: Metrics = field(default_factory=Metrics)
    publisher: Publisher | None = None
    """Set where the server provides for IPFS."""
    pulls: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    pushes: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    packs: LocalDerivedStore | None = None
    """Finished answers to long pulls, shared with all processes on this repository; absent when none are kept."""
    sockets: weakref.WeakSet[web.WebSocketResponse] = field(default_factory=weakref.WeakSet)
    stopping: bool = False
    requests: int = 0
    """How many are being served; those who listen to events do not count."""
    listeners: int = 0
    """How many listen to events."""

    def busy(self) -> bool:
        """Whether as many requests are served as may be at once."""
        return self.requests >= self.settings.requests_at_once


SERVICES: web.AppKey[Services] = web.AppKey("services", Services)
