"""What monitoring asks, in the text form of Prometheus. No label is made of what callers send."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

from catalog.mirrors import Mirrors
from repo_server.mirror_states import lag_s

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_MIRROR_GAUGES = {
    "odf_mirror_lag_seconds": "For how long the dataset has been behind that is longest.",
    "odf_mirror_failures": "Failed runs since the last good one.",
    "odf_mirror_last_success_timestamp_seconds": "When a run last went well; 0 if never.",
    "odf_mirror_next_run_timestamp_seconds": "When the next run is due.",
}


class Metrics:
    """The metrics of one server process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Counter("odf_requests", "Requests answered.", ("method", "status"), registry=self.registry)
        self._running = Gauge("odf_requests_running", "Requests being answered.", registry=self.registry)
        self._mirrors = {
            name: Gauge(name, text, ("mirror", "direction"), registry=self.registry)
            for name, text in _MIRROR_GAUGES.items()
        }

    def answered(self, method: str, status: int) -> None:
        """A request ended; methods that nobody knows count as one."""
        known = method if method in {"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS"} else "other"
        self._requests.labels(known, str(status)).inc()

    async def text(self, mirrors: Mirrors, *, running: int, now: float) -> bytes:
        """Everything as it is ``now`` (seconds since 1970)."""
        self._running.set(running)
        for gauge in self._mirrors.values():
            gauge.clear()
        for mirror in await mirrors.list():
            lag = lag_s(await mirrors.datasets(mirror.id), now)
            values = (lag, mirror.failures, mirror.last_success_at or 0, mirror.next_run_at)
            for gauge, value in zip(self._mirrors.values(), values, strict=True):
                gauge.labels(str(mirror.id), mirror.direction.value).set(value)
        return generate_latest(self.registry)
