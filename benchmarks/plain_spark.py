"""Spark without anything of ours but its start: what benchmarks compare with."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.processes import Server, scratch
from opendatafabric.errors import EngineUnavailable
from pipeline.java import find_java
from pipeline.jvm import JvmOptions, start_jvm

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class PlainSpark:
    """A warm session, the process under it and a folder of its own."""

    session: SparkSession
    process: Server
    work: Path


def plain_spark() -> PlainSpark | None:
    """``None`` where there is no Java or no pyspark."""
    try:
        java = find_java()
    except EngineUnavailable:
        return None
    from pipeline.session import spark_session  # noqa: PLC0415

    work = scratch("spark")
    jvm = start_jvm(java, JvmOptions(work, 2 * 1024**3, properties={"spark.local.dir": str(work)}))
    return PlainSpark(spark_session(jvm), Server(0, [jvm.process]), work)
