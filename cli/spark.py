"""The Spark worker of this user: one for all repositories, started when it is first needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cli.output import print_note
from pipeline.engine_contract.preprocessing import PreprocessElsewhere
from pipeline.worker_client import WorkerClient
from repo_server.config import Settings


def spark_worker(progress: Callable[[dict[str, Any]], object] | None = None) -> PreprocessElsewhere:
    """The worker, by the settings; preprocess queries of engines elsewhere are asked there.

    Says on standard error what it waits for, and to ``progress`` what its jobs tell.
    """
    settings = Settings()
    client = WorkerClient(
        settings.spark_worker_place,
        settings.spark_worker_options,
        say=lambda what: print_note(f"odf: {what} ..."),
        progress=progress,
    )
    return PreprocessElsewhere(client, settings.engines_elsewhere)
