"""How the jobs of workers are, as metrics: workers are processes of their own, so the catalog is asked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from catalog.job_totals import JobTotal

_GAUGES: Final = {
    "waiting": ("odf_jobs_waiting", "Jobs that are due and that nobody does."),
    "running": ("odf_jobs_running", "Jobs being done."),
    "failing": ("odf_jobs_failing", "Jobs whose last run failed."),
    "lag_s": ("odf_jobs_lag_seconds", "For how long the job has been due that waits longest."),
}
_COUNTERS: Final = {
    "runs": ("odf_job_runs", "Runs of jobs that ended."),
    "runs_failed": ("odf_job_failures", "Those of them that failed."),
    "busy_s": ("odf_job_seconds", "Time that they took."),
}


class JobCollector(Collector):
    """Shows ``totals``, which is what the catalog said last."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.totals: Mapping[str, JobTotal] = {}
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        """One family for each number, a sample for each kind of job."""
        families: dict[str, GaugeMetricFamily | CounterMetricFamily] = {
            field: GaugeMetricFamily(*named, labels=["job"]) for field, named in _GAUGES.items()
        }
        families |= {field: CounterMetricFamily(*named, labels=["job"]) for field, named in _COUNTERS.items()}
        for field, family in families.items():
            for kind, total in self.totals.items():
                family.add_metric([kind], getattr(total, field))
        yield from families.values()
