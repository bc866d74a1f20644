"""``/metrics`` tells how jobs are, whoever does them."""

from __future__ import annotations

import re
from pathlib import Path

from catalog.jobs import VERIFY, JobId
from repo_server.config import Tenancy
from tests.repo_server.hosted import hosted
from tests.storage.chains import dataset_id


async def test_jobs_are_counted_by_kind(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.SINGLE, run_worker=False) as server:
        for number in (1, 2, 3):
            await server.catalog.jobs.request(JobId(VERIFY, dataset_id(number)))
        failed = await server.catalog.jobs.claim_due([VERIFY], "worker", lease_s=60)
        assert failed is not None
        await server.catalog.jobs.finish(failed, error="it does not hold")
        await server.catalog.jobs.claim_due([VERIFY], "worker", lease_s=60)
        text = (await server.ask("GET", "/metrics", who="root")).text
    shown = dict(re.findall(r'^(odf_jobs?_\w+)\{job="verify"\} (\S+)$', text, re.MULTILINE))
    counts = {name: float(value) for name, value in shown.items() if not name.endswith(("seconds", "seconds_total"))}
    assert counts == {
        "odf_jobs_waiting": 1,
        "odf_jobs_running": 1,
        "odf_jobs_failing": 1,
        "odf_job_runs_total": 1,
        "odf_job_failures_total": 1,
    }
    assert float(shown["odf_jobs_lag_seconds"]) >= 0
    assert float(shown["odf_job_seconds_total"]) >= 0
    assert 'odf_jobs_waiting{job="poll"} 0.0' in text
