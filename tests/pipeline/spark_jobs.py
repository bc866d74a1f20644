"""Jobs that the tests of the engine ask for."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from opendatafabric.data.slice_format import system_fields
from pipeline.gate import dataframe
from pipeline.jobs import JOBS as REAL_JOBS
from pipeline.jobs import JobContext, JsonObject
from pipeline.slices import write_slice

NAMES = ("add_up", "query", "read", "java_process", "computers")
JOBS = {**REAL_JOBS, **{name: f"tests.pipeline.spark_jobs:{name}" for name in NAMES}}


def add_up(context: JobContext, arguments: JsonObject) -> JsonObject:
    """Sums a file by a gated query and writes the sum as a slice."""
    context.session.read.csv(arguments["from"], schema="n bigint").createOrReplaceTempView("input")
    total = dataframe(context.session, "select sum(n) as total from input", ["input"]).toArrow()
    now = pa.array([datetime(2020, 1, 1, tzinfo=UTC)])
    system = {"offset": pa.array([0]), "op": pa.array([0]), "system_time": now, "event_time": now}
    records = pa.table({**system, "total": total.column("total")})
    schema = pa.schema([*system_fields(), ("total", pa.int64())])
    written = write_slice(records, schema, Path(arguments["to"]))
    return {"total": total.column("total")[0].as_py(), "size": written.size}


def query(context: JobContext, arguments: JsonObject) -> JsonObject:
    return {"rows": dataframe(context.session, arguments["sql"], []).count()}


def read(context: JobContext, arguments: JsonObject) -> JsonObject:
    try:
        return {"rows": context.session.read.csv(arguments["path"]).count()}
    except Exception as error:
        return {"refused": str(error)}


def java_process(context: JobContext, _: JsonObject) -> JsonObject:
    """As this machine counts: inside the sandbox processes have other numbers."""
    itself = context.session.sparkContext._jvm.java.io.File("/proc/self").getCanonicalPath()
    return {"process": int(Path(itself).name)}


def computers(context: JobContext, _: JsonObject) -> JsonObject:
    """Where Spark computes: the driver counts as one."""
    spark = context.session.sparkContext
    count = spark._jsc.sc().getExecutorMemoryStatus().size()
    return {"master": spark.master, "computers": count, "memory": spark.getConf().get("spark.executor.memory")}
