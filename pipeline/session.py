"""The Spark session: whatever can change a result is fixed here and recorded in its fingerprint.

``spark_session`` attaches to a JVM of ours; one process has one session at a time. Spark SQL's own doors to files,
variables and Java are closed, as a second wall behind ``gate.py``. What jobs do with the session belongs elsewhere.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from typing import Any, Final

from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.java_gateway import java_import
from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from opendatafabric.errors import EngineUnavailable
from opendatafabric.multihash import Multihash, physical_hash
from pipeline.cluster import LOCAL_MASTER, check_master, is_cluster
from pipeline.jvm import Jvm
from pipeline.spark_api import JAVA_PACKAGES_OF_VERSION

FIXED: Final[Mapping[str, str]] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.storeAssignmentPolicy": "ANSI",
    "spark.sql.decimalOperations.allowPrecisionLoss": "true",
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    "spark.sql.caseSensitive": "false",
    "spark.sql.mapKeyDedupPolicy": "EXCEPTION",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.autoBroadcastJoinThreshold": "10485760",
    "spark.sql.variable.substitute": "false",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.unionOutputPartitioning": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
}
"""Settings that change what a query gives; part of the fingerprint."""

FUNCTIONS_DROPPED: Final = ("reflect", "java_method", "try_reflect", "input_file_name")
"""They call any Java method, or tell where files lie."""

_JAVA_PACKAGES: Final = (
    "org.apache.spark.SparkConf",
    "org.apache.spark.api.java.*",
    "org.apache.spark.api.python.*",
    "org.apache.spark.resource.*",
    "org.apache.spark.sql.api.python.*",
    "scala.Tuple2",
)
"""What pyspark expects to find imported in its JVM."""


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What computed a result: enough to tell whether another machine would have computed the same."""

    engine: str
    java: str
    arrow: str
    time_zone_data: str
    """The version of the time zones that Java has."""
    settings: Mapping[str, str]

    def as_dict(self) -> dict[str, Any]:
        """As plain JSON values, with the settings and the hash of them."""
        return {
            "engine": self.engine,
            "java": self.java,
            "arrow": self.arrow,
            "timeZoneData": self.time_zone_data,
            "settings": str(self.settings_hash),
            "configuration": dict(self.settings),
        }

    @property
    def settings_hash(self) -> Multihash:
        """Of the settings by name, as canonical JSON."""
        text = json.dumps(dict(sorted(self.settings.items())), separators=(",", ":"))
        return physical_hash(text.encode())


def spark_session(
    jvm: Jvm, *, master: str = LOCAL_MASTER, cores: int = 2, settings: Mapping[str, str] | None = None
) -> SparkSession:
    """A session in ``jvm``; ``settings`` go over ``FIXED`` (tests of determinism vary them, a dialect may pin its own).

    Raises:
        UnsupportedOperation: a ``master`` where Spark cannot be reached.
        EngineUnavailable: a cluster that does not answer.
    """
    check_master(master)
    conf = SparkConf(loadDefaults=False)
    conf.setMaster(master if is_cluster(master) else f"local[{cores}]").setAppName("odf")
    conf.setAll(list({**_STILL, **FIXED, **(settings or {})}.items()))
    logging.getLogger("SQLQueryContextLogger").disabled = True
    gateway = _gateway(jvm)
    context = _context(conf, gateway)
    session = SparkSession(context)
    _drop_functions(session)
    return session


def fingerprint(session: SparkSession) -> Fingerprint:
    """What this session computes with."""
    found = versions(session)
    settings = {name: session.conf.get(name, default=None) or "" for name in FIXED}
    zones = _java(session).java.time.zone.ZoneRulesProvider.getVersions("UTC").lastEntry().getKey()
    return Fingerprint(f"pyspark {found['pyspark']}", found["java"], found["pyarrow"], str(zones), settings)


@lru_cache(maxsize=1)
def versions(session: SparkSession) -> dict[str, str]:
    """Of the software that its results depend on."""
    java = _java(session).java.lang.System.getProperty("java.runtime.version")
    return {"pyspark": session.version, "java": str(java), "pyarrow": version("pyarrow")}


def answers(session: SparkSession) -> bool:
    """Whether the JVM behind it is alive."""
    try:
        return bool(_java(session).java.lang.System.nanoTime())
    except (Py4JError, OSError):
        return False


_STILL: Final[Mapping[str, str]] = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.maxResultSize": "0",
    "spark.sql.artifact.isolation.enabled": "false",
    "spark.sql.catalogImplementation": "in-memory",
    "spark.sql.streaming.streamingQueryListeners": "",
    "spark.sql.files.maxPartitionBytes": str(32 * 1024 * 1024),
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "1000000",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "65536",
}
"""Settings that change no result: no pages, no ports, no limit but the memory of the process; files are divided by row
groups, and no task is started to look whether one is there."""


def _java(session: SparkSession) -> Any:
    """The classes of the JVM, by their dotted names."""
    return session.sparkContext._jvm


def _context(conf: SparkConf, gateway: ClientServer) -> SparkContext:
    try:
        return SparkContext(conf=conf, gateway=gateway)
    except Py4JJavaError as error:
        told = (str(error.java_exception).splitlines() or [""])[0][:1_000]
        raise EngineUnavailable(f"Spark does not start: {told}", hint="look at ODF_SPARK_MASTER and the log") from None


def _gateway(jvm: Jvm) -> ClientServer:
    """As pyspark makes one for a JVM that it started itself."""
    gateway = ClientServer(
        java_parameters=JavaParameters(port=jvm.port, auth_token=jvm.secret, auto_convert=True),
        python_parameters=PythonParameters(port=0, eager_load=False),
    )
    gateway.proc = jvm.process
    for name in (*_JAVA_PACKAGES, *JAVA_PACKAGES_OF_VERSION):
        java_import(gateway.jvm, name)
    return gateway


def _drop_functions(session: SparkSession) -> None:
    java = _java(session)
    registry = session._jsparkSession.sessionState().functionRegistry()
    identifier, some = java.org.apache.spark.sql.catalyst.FunctionIdentifier, java.scala.Some
    for name in FUNCTIONS_DROPPED:
        registry.dropFunction(identifier(name, some("builtin"), some("system")))
