"""What the Spark worker can do: named functions, loaded when they are first asked for.

A job is a function ``(context, arguments) -> result``; arguments and result are JSON objects, everything larger lies in
files of ``in/`` and ``out/``. To add one, write it in a module of this package and name it in ``JOBS``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from opendatafabric.errors import NotFound

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOBS: Final[Mapping[str, str]] = {
    "check-queries": "pipeline.transform.query_words:check_queries_job",
    "contract-transform": "pipeline.engine_contract.contract_jobs:contract_transform_job",
    "describe": "pipeline.describe:describe",
    "ingest": "pipeline.ingest_job:ingest_job",
    "raw-query": "pipeline.engine_contract.contract_jobs:raw_query_job",
    "read-source": "pipeline.engine_contract.contract_jobs:read_source_job",
    "transform": "pipeline.transform.job:transform_job",
    "transform-consecutive": "pipeline.transform.consecutive_job:consecutive_job",
}
"""Name of a job → ``module:function``."""

JsonObject = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JobContext:
    """What a job works with. ``tell`` sends progress to the client; ``sandboxed`` says what holds for this engine.

    ``open_session`` gives the same session every time; the first call may take as long as a JVM takes to start.
    """

    open_session: Callable[[], SparkSession]
    tell: Callable[[JsonObject], None]
    sandboxed: bool

    @property
    def session(self) -> SparkSession:
        """Of Spark: ask for it only where it is needed.

        Raises:
            EngineUnavailable, EngineDied: there is none, and why.
        """
        return self.open_session()


Job = Callable[[JobContext, JsonObject], JsonObject]


def load_job(jobs: Mapping[str, str], name: str) -> Job:
    """The function of that name.

    Raises:
        NotFound: there is none.
    """
    if name not in jobs:
        raise NotFound(f"the Spark worker has no job '{name}'", expected=", ".join(sorted(jobs)))
    module, _, function = jobs[name].partition(":")
    found: Job = getattr(importlib.import_module(module), function)
    return found
