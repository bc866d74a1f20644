"""``odf engine serve``: the service as a process, with an engine of its own."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from opendatafabric.metadata.engine_messages import RawQueryResponseSuccess
from pipeline.engine_contract.client import ask
from pipeline.engine_contract.methods import RAW_QUERY
from tests.cli.workers import own_worker
from tests.pipeline.engine_contract.coordinator import Coordinator, query


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
def test_a_coordinator_is_answered_until_the_process_is_asked_to_end(tmp_path: Path) -> None:
    coordinator = Coordinator(tmp_path / "shared")
    coordinator.folder.mkdir()
    command = [sys.executable, "-m", "cli.main", "engine", "serve", "--port", "0", "--root", str(coordinator.folder)]
    with own_worker(tmp_path / "spark"), pytest.MonkeyPatch.context() as patch:
        patch.setenv("ODF_SPARK_UNSANDBOXED_FOREIGN_QUERIES", "true")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            address = process.stdout.readline().decode().strip()
            request = coordinator.raw(
                query("select city from input where population > 10"), coordinator.cities(kyiv=30)
            )
            assert asyncio.run(ask(address, RAW_QUERY, request)) == RawQueryResponseSuccess(1)
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
    assert coordinator.rows("city") == [{"city": "kyiv"}]
