"""How webhooks are, as metrics: what this server told them, and what the catalog says of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from catalog.webhook_schedule import Attempt, WebhookState

_RECEIVERS_S: Final = (0.03, 0.1, 0.3, 1, 3, 10, 20)


class WebhookMetrics:
    """Those of one server process."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._tellings = Counter(
            "odf_webhook_tellings",
            "What was told to webhooks, and whether it was taken.",
            ("taken",),
            registry=registry,
        )
        self._seconds = Histogram(
            "odf_webhook_seconds", "How long receivers of webhooks took.", registry=registry, buckets=_RECEIVERS_S
        )
        self._states = Gauge("odf_webhooks", "Webhooks by their state.", ("state",), registry=registry)

    def told(self, attempt: Attempt) -> None:
        """One was told something, or was not."""
        self._tellings.labels("yes" if attempt.taken else "no").inc()
        self._seconds.observe(attempt.duration_s)

    def show(self, counts: Mapping[WebhookState, int]) -> None:
        """So many are in each state."""
        for state, count in counts.items():
            self._states.labels(state.value).set(count)
