"""The catalog as one thing to open, pass on and close."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Hashable
from contextlib import asynccontextmanager

from catalog.account_ends import AccountEnds
from catalog.accounts import Accounts
from catalog.attempts import Attempts
from catalog.attestations import AttestationKeys, Attestations
from catalog.audit import Audit
from catalog.belongings import Belongings
from catalog.browser_sessions import BrowserSessions
from catalog.dataset_facts import DatasetFacts
from catalog.dataset_lists import DatasetLists
from catalog.datasets import Datasets
from catalog.device_logins import DeviceLogins
from catalog.engine import Database, open_database
from catalog.events import Events
from catalog.external_identities import ExternalIdentities
from catalog.former_account_names import FormerAccountNames
from catalog.gates import Gates
from catalog.ingest_plans import IngestPlans
from catalog.ipfs import IpfsTables
from catalog.ipns import IpnsRecords
from catalog.job_totals import JobTotals
from catalog.jobs import Jobs
from catalog.lineage import Lineage
from catalog.mirror_lags import MirrorLags
from catalog.mirrors import Mirrors
from catalog.public_datasets import PublicDatasets
from catalog.publishers import Publishers
from catalog.quotas import Quotas
from catalog.repeats import Repeats
from catalog.reports import Reports
from catalog.roles import Roles
from catalog.schedules import Schedules
from catalog.scrubs import Scrubs
from catalog.standings import Standings
from catalog.stored_tables import StoredTables
from catalog.teams import Teams
from catalog.tokens import Tokens
from catalog.tombstones import Tombstones
from catalog.transfer_offers import TransferOffers
from catalog.watches import Watches
from catalog.webhook_deliveries import WebhookDeliveries
from catalog.webhook_turns import WebhookTurns
from catalog.webhooks import Webhooks


class Catalog:
    """Accounts, tokens, datasets and what is known of them in IPFS, over one database."""

    def __init__(self, database: Database, now: Callable[[], float]) -> None:
        self.accounts = Accounts(database, now)
        self.account_ends = AccountEnds(database, now)
        self.former_account_names = FormerAccountNames(database, now)
        self.tokens = Tokens(database, now)
        self.datasets = Datasets(database, now)
        self.roles = Roles(database, now)
        self.teams = Teams(database)
        self.dataset_facts = DatasetFacts(database, now)
        self.events = Events(database, now)
        self.repeats = Repeats(database, now)
        self.attempts = Attempts(database, now)
        self.dataset_lists = DatasetLists(database)
        self.lineage = Lineage(database)
        self.public_datasets = PublicDatasets(database)
        self.quotas = Quotas(database, now)
        self.audit = Audit(database, now)
        self.ipfs = IpfsTables(database, now)
        self.ipns = IpnsRecords(database)
        self.stores = StoredTables(database, now)
        self.mirrors = Mirrors(database, now)
        self.mirror_lags = MirrorLags(database)
        self.scrubs = Scrubs(database, now)
        self.ingest_plans = IngestPlans(database, now)
        self.jobs = Jobs(database, now)
        self.job_totals = JobTotals(database, now)
        self.schedules = Schedules(database, now)
        self.attestations = Attestations(database)
        self.gates = Gates(database)
        self.webhooks = Webhooks(database, now)
        self.webhook_turns = WebhookTurns(database, now)
        self.webhook_deliveries = WebhookDeliveries(database)
        self.standings = Standings(database, now)
        self.attestation_keys = AttestationKeys(database, now)
        self.watches = Watches(database, now)
        self.reports = Reports(database)
        self.browser_sessions = BrowserSessions(database, self.accounts, now)
        self.device_logins = DeviceLogins(database, self.accounts, now)
        self.external_identities = ExternalIdentities(database, self.accounts, now)
        self.tombstones = Tombstones(database, now)
        self.transfer_offers = TransferOffers(database, now)
        self.belongings = Belongings(database)
        self.publishers = Publishers(database, now)
        self._database = database

    def version(self) -> Hashable | None:
        """What differs after every change to the catalog by any process; ``None`` where that is unknown."""
        return self._database.version()


@asynccontextmanager
async def open_catalog(url: str, *, now: Callable[[], float] = time.time) -> AsyncIterator[Catalog]:
    """The catalog at an SQLAlchemy URL, its schema brought up to date; ``now`` in seconds since 1970.

    Raises:
        MalformedInput: no usable URL.
        TransientStorageError: the database cannot be opened.
    """
    database = open_database(url)
    try:
        await database.upgrade()
        yield Catalog(database, now)
    finally:
        await database.close()
