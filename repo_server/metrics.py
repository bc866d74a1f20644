"""What monitoring asks, in the text form of Prometheus. No label is made of what callers send."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from catalog.catalog import Catalog
from catalog.standings import StandingTotals
from repo_server.job_metrics import JobCollector
from repo_server.mirror_states import lag_s
from repo_server.webhook_metrics import WebhookMetrics
from storage.scrub import Scrubbed
from storage.wrappers.measured import StoreMetrics

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_MIRROR_GAUGES = {
    "odf_mirror_lag_seconds": "For how long the dataset has been behind that is longest.",
    "odf_mirror_failures": "Failed runs since the last good one.",
    "odf_mirror_last_success_timestamp_seconds": "When a run last went well; 0 if never.",
    "odf_mirror_next_run_timestamp_seconds": "When the next run is due.",
}


_STANDINGS = ("verified", "failing", "stale", "unknown")


class Metrics:
    """The metrics of one server process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("odf_requests", "Requests answered.", ("method", "status"), registry=self.registry)
        self._seconds = Histogram(
            "odf_request_seconds",
            "How long requests took from their header to the end of the answer, conversations and streams included.",
            ("route",),
            registry=self.registry,
            buckets=(0.005, 0.025, 0.1, 0.3, 1, 3, 10, 60),
        )
        self._running = Gauge("odf_requests_running", "Requests being answered.", registry=self.registry)
        self._unindexed = Gauge(
            "odf_datasets_unindexed", "Datasets yet to be looked at for lists and searches.", registry=self.registry
        )
        self.stores = StoreMetrics(self.registry)
        self._mirrors = {
            name: Gauge(name, text, ("mirror", "direction"), registry=self.registry)
            for name, text in _MIRROR_GAUGES.items()
        }

        self._jobs = JobCollector(self.registry)
        self._standings = Gauge(
            "odf_datasets", "Datasets by what their last report says.", ("verification",), registry=self.registry
        )
        self._verify_lag = Gauge(
            "odf_verification_lag_seconds",
            "For how long the head has been there that waits longest to be verified.",
            registry=self.registry,
        )
        self._replays = Gauge(
            "odf_replays_last_hour", "Reports for which derivatives were computed again.", registry=self.registry
        )
        self.webhooks = WebhookMetrics(self.registry)
        self._scrubbed = Counter("odf_scrub_bytes", "Bytes read again by scrubbing.", registry=self.registry)
        self._damages = Counter(
            "odf_scrub_damages", "Damaged or missing files that scrubbing found.", registry=self.registry
        )
        self._healed = Counter("odf_scrub_healed", "Those of them that were healed.", registry=self.registry)
        self._scrub_end = Gauge(
            "odf_scrub_last_end_timestamp_seconds",
            "When a scrub last came to its end; 0 if never.",
            registry=self.registry,
        )

    def scrubbed(self, done: Scrubbed) -> None:
        """A block or object was read again."""
        self._scrubbed.inc(done.size)
        self._damages.inc(done.damage is not None)
        self._healed.inc(done.healed)

    def answered(self, method: str, status: int, route: str | None, seconds: float) -> None:
        """A request ended; methods that nobody knows count as one. ``route`` is its pattern in the route table."""
        known = method if method in {"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"} else "other"
        self._requests.labels(known, str(status)).inc()
        if route is not None:
            self._seconds.labels(route).observe(seconds)

    async def text(self, catalog: Catalog, *, running: int, now: float, unindexed: int = 0) -> bytes:
        """Everything as it is ``now`` (seconds since 1970)."""
        self._running.set(running)
        self._unindexed.set(unindexed)
        self._scrub_end.set((await catalog.scrubs.state()).last_end_at or 0)
        self._jobs.totals = await catalog.job_totals.by_kind()
        self._show_standings(await catalog.standings.totals())
        self.webhooks.show(await catalog.webhooks.counts())
        for gauge in self._mirrors.values():
            gauge.clear()
        for mirror in await catalog.mirrors.list():
            lag = lag_s(await catalog.mirrors.datasets(mirror.id), now)
            values = (lag, mirror.failures, mirror.last_success_at or 0, mirror.next_run_at)
            for gauge, value in zip(self._mirrors.values(), values, strict=True):
                gauge.labels(str(mirror.id), mirror.direction.value).set(value)
        return generate_latest(self.registry)

    def _show_standings(self, totals: StandingTotals) -> None:
        for name in _STANDINGS:
            self._standings.labels(name).set(getattr(totals, name))
        self._verify_lag.set(totals.lag_s)
        self._replays.set(totals.replays)
