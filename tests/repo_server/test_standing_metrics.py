"""Monitoring sees how many datasets are verified, and how far behind verifying is."""

from __future__ import annotations

import re
from pathlib import Path

from catalog.reports import KeptReport
from opendatafabric.multihash import physical_hash
from repo_server.config import Tenancy
from tests.repo_server.hosted import a_chain, hosted
from tests.storage.chains import dataset_id


async def test_datasets_are_counted_by_how_they_stand(tmp_path: Path) -> None:
    async with hosted(tmp_path, Tenancy.MULTI, run_worker=False, metrics_access="public") as server:
        for number in (1, 2):
            await server.add(f"dataset{number}", a_chain(number))
        report = KeptReport(dataset_id(1), physical_hash(b"r"), a_chain(1).head, "invalid", True, 1.0)
        await server.catalog.reports.add(report)
        text = (await server.ask("GET", "/metrics")).text
    shown = dict(re.findall(r'^odf_datasets\{verification="(\w+)"\} (\S+)$', text, re.MULTILINE))
    assert shown == {"verified": "0.0", "failing": "1.0", "stale": "0.0", "unknown": "1.0"}
    assert "odf_verification_lag_seconds 0.0" in text
    assert "odf_replays_last_hour 0.0" in text
