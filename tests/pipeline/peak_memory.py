"""Run as a program: appends a file of many rows and prints how much memory that took, in bytes beyond the start.

Row groups and sorted runs are a tenth of what they are in earnest, so that a few megabytes show what gigabytes do.
"""

from __future__ import annotations

import resource
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as arrow_csv
import pyarrow.parquet as pq

from opendatafabric.data import slice_format
from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.events import AddPushSource
from opendatafabric.metadata.sources import (
    MergeStrategyAppend,
    ReadStep,
    ReadStepCsv,
    ReadStepNdJson,
    ReadStepParquet,
)
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from pipeline.append_job import append_slice
from pipeline.history_files import HistoryFiles
from pipeline.ingest_request import IngestRequest
from pipeline.merge import time_order
from pipeline.readers import blocks
from tests.pipeline.datasets import day
from tests.pipeline.local_engine import no_spark

COLUMNS = ("event_time TIMESTAMP", "n BIGINT", "text STRING")
QUERY = TransformSql("datafusion", queries=(SqlQueryStep(query="select event_time, n + 1 as n, text from input"),))
READS: dict[str, ReadStep] = {
    "csv": ReadStepCsv(schema=COLUMNS, header=True),
    "ndjson": ReadStepNdJson(schema=COLUMNS),
    "parquet": ReadStepParquet(),
}


def write_input(path: Path, form: str, rows: int, *, in_order: bool) -> None:
    """Rows of about 60 bytes, one piece after another."""
    writers = {"csv": arrow_csv.CSVWriter, "parquet": pq.ParquetWriter}
    schema = pa.schema([("event_time", pa.timestamp("ms", "UTC")), ("n", pa.int64()), ("text", pa.string())])
    if form == "ndjson":
        line = '{{"event_time": "2024-01-01T00:00:00Z", "n": {}, "text": "some text of some bytes"}}\n'
        with path.open("w") as file:
            file.writelines(line.format(number) for number in range(rows))
        return
    with writers[form](path, schema) as writer:
        for start in range(0, rows, 50_000):
            numbers = np.arange(start, min(rows, start + 50_000))
            times = numbers if in_order else (numbers * 7_919) % 1_000_003
            columns = [
                pa.array(times).cast(schema.types[0]),
                numbers,
                pa.array(["some text of some bytes"] * len(numbers)),
            ]
            writer.write_table(pa.table(columns, schema=schema))


def append(file: Path, form: str, preprocess: TransformSql | None) -> None:
    """As the job of an engine."""
    made = file.with_suffix(".slice")
    source = AddPushSource("default", READS[form], preprocess, MergeStrategyAppend())
    history = HistoryFiles(file.with_suffix(".runs"), ())
    answer = append_slice(
        no_spark, IngestRequest(source, file, made, day(1), day(1), DatasetVocabulary(), None, 0, history), id
    )
    assert answer.data is not None
    made.unlink()


def main(folder: Path, form: str, rows: int, how: str) -> None:
    """``how`` is ``plain``, ``queried`` or ``unordered``."""
    slice_format.ROW_GROUP_ROWS = 100_000  # type: ignore[misc]
    time_order.SORT_RUN_BYTES = 6_000_000  # type: ignore[misc]
    time_order.SORT_BATCH_BYTES = 100_000  # type: ignore[misc]
    blocks.BLOCK_BYTES = 400_000  # type: ignore[misc]
    query = QUERY if how == "queried" else None
    for count in (1_000, rows):
        write_input(folder / "input", form, count, in_order=how != "unordered")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        append(folder / "input", form, query)
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4])
