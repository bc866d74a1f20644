"""The same input gives the same logical hash, however Spark divides its work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.events import AddPushSource
from opendatafabric.metadata.sources import (
    MergeStrategy,
    MergeStrategyAppend,
    MergeStrategyLedger,
    MergeStrategySnapshot,
    MergeStrategyUpsertStream,
    ReadStepNdJson,
)
from opendatafabric.metadata.transform import SqlQueryStep, Transform, TransformSql
from opendatafabric.multihash import Multihash
from pipeline.ingest_job import make_slice
from pipeline.ingest_request import HistoryFiles, IngestRequest
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import WorkerOptions
from tests.pipeline.datasets import day, new_dataset, push
from tests.pipeline.merge.scenario import files_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYED = {"key": st.integers(0, 20), "value": st.sampled_from([None, 1.5, -0.0, 2.0]), "text": st.text(max_size=3)}
ROWS = st.lists(st.fixed_dictionaries(KEYED), max_size=30, unique_by=lambda row: row["key"])
SETTINGS = st.fixed_dictionaries(
    {
        "spark.sql.shuffle.partitions": st.sampled_from(["1", "3", "7"]),
        "spark.sql.adaptive.enabled": st.sampled_from(["true", "false"]),
        "spark.sql.files.maxPartitionBytes": st.sampled_from(["1000", "134217728"]),
        "spark.sql.autoBroadcastJoinThreshold": st.sampled_from(["-1", "10485760"]),
        "spark.sql.leafNodeDefaultParallelism": st.sampled_from(["1", "2", "5"]),
        "spark.sql.execution.arrow.maxRecordsPerBatch": st.sampled_from(["1", "10000"]),
    }
)
STRATEGIES = [
    MergeStrategySnapshot(("text",)),
    MergeStrategyLedger(("text",)),
    MergeStrategyUpsertStream(("text",)),
]
QUERIES = {
    "grouped": "select text, count(*) as n, max(key) as key, sum(value) as total from input group by text",
    "windowed": "select key, text, row_number() over (partition by text order by key) as place from input",
    "joined": "select l.key, l.text, r.key as other from input l join input r on l.text = r.text",
    "distinct": "select distinct text, value from input",
    "united": "select text, key from input union select text, key + 1 as key from input",
    "row by row": "select key, upper(text) as text, value * 2 as value from input where value is not null",
}


def queried(query: str) -> Transform:
    """A preprocess query for Spark."""
    return TransformSql("spark", queries=(SqlQueryStep(query=query),))


def source_of(query: str, merge: MergeStrategy) -> AddPushSource:
    """Of rows of a key, a value and a text, queried by Spark."""
    read = ReadStepNdJson(schema=("key BIGINT", "value DOUBLE", "text STRING"))
    return AddPushSource("default", read, queried(query), merge)


class Runs:
    """The same two writes under any settings; every run in a folder of its own."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark, self._folder, self._count = spark, folder, 0

    def hashes(
        self,
        writes: list[list[dict[str, Any]]],
        merge: MergeStrategy,
        conf: dict[str, str],
        query: str = QUERIES["grouped"],
    ) -> list[Multihash | None]:
        """Of the slice of each write."""
        self._count += 1
        folder = self._folder / str(self._count)
        folder.mkdir()
        before = {name: self._spark.conf.get(name, None) for name in conf}
        try:
            for name, value in conf.items():
                self._spark.conf.set(name, value)
            return self._write_all(writes, merge, folder, query)
        finally:
            for name, kept in before.items():
                self._put_back(name, kept)

    def _put_back(self, name: str, kept: str | None) -> None:
        if kept is None:
            self._spark.conf.unset(name)
        else:
            self._spark.conf.set(name, kept)

    def _write_all(
        self, writes: list[list[dict[str, Any]]], merge: MergeStrategy, folder: Path, query: str
    ) -> list[Multihash | None]:
        source = source_of(query, merge)
        schema, runs, next_offset, found = None, (), 0, []
        for number, rows in enumerate(writes):
            file, made = folder / f"input-{number}", folder / f"slice-{number}"
            file.write_text("".join(json.dumps(row) + "\n" for row in rows))
            history = HistoryFiles(folder / f"runs-{number}", runs)
            history.made.mkdir()
            request = IngestRequest(
                source, file, made, day(1), day(1), DatasetVocabulary(), schema, next_offset, history
            )
            answer = make_slice(lambda: self._spark, request)
            schema = schema or answer.schema
            found.append(None if answer.data is None else answer.data.logical_hash)
            if answer.data is not None:
                runs, next_offset = files_of(answer, history), answer.data.offset_interval.end + 1
        return found


@pytest.fixture
def runs(spark: SparkSession, tmp_path: Path) -> Runs:
    """On the shared session."""
    return Runs(spark, tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("merge", STRATEGIES, ids=lambda merge: type(merge).__name__)
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=ROWS, second=ROWS, conf=SETTINGS)
def test_what_a_query_that_groups_adds_does_not_depend_on_partitions(
    runs: Runs, merge: MergeStrategy, first: list[Any], second: list[Any], conf: dict[str, str]
) -> None:
    assert runs.hashes([first, second], merge, {}) == runs.hashes([first, second], merge, conf)


@pytest.mark.slow
@pytest.mark.parametrize("query", QUERIES.values(), ids=QUERIES)
@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, conf=SETTINGS)
def test_a_query_of_any_kind_does_not_depend_on_partitions(
    runs: Runs, query: str, rows: list[Any], conf: dict[str, str]
) -> None:
    merge = MergeStrategyAppend()
    assert runs.hashes([rows], merge, {}, query) == runs.hashes([rows], merge, conf, query)


@pytest.mark.slow
async def test_one_core_gives_what_two_cores_give(java_and_pyspark: None, tmp_path: Path) -> None:
    file = tmp_path / "rows"
    rows = [{"key": number, "value": number / 7, "text": f"text {number % 97}"} for number in range(5_000)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = []
    for cores in (1, 2):
        client = WorkerClient(tmp_path / f"place-{cores}", WorkerOptions(cores=cores, heap_bytes=1024**3))
        try:
            found.append([await logical_hash_of(client, query, file) for query in QUERIES.values()])
        finally:
            await client.end()
    assert found[0] == found[1]


async def logical_hash_of(client: WorkerClient, query: str, file: Path) -> Multihash:
    """Of the slice that a new dataset gets."""
    dataset = await new_dataset(source_of(query, MergeStrategyAppend()))
    outcome = await push(dataset, client, file, on=2)
    assert outcome.answer.data is not None
    return outcome.answer.data.logical_hash
