"""Starts the JVM that Spark lives in, without Spark's own launcher: one process fewer, and every option is ours.

The JVM ends when its standard input closes, so it never outlives the process that started it. What it prints goes to
a file, for a JVM that dies says why only there.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Final

from opendatafabric.errors import EngineDied, EngineUnavailable
from opendatafabric.limits import ENGINE_START_S_MAX, JVM_START_S_MAX
from pipeline.java import Java

_MAIN: Final = "org.apache.spark.api.python.PythonGatewayServer"
_LOG: Final = "jvm.log"
_POLL_S: Final = 0.02
_LOG_TAIL_BYTES: Final = 2_000
_STARTS_MAX: Final = 2
"""A JVM that dies at its start is tried once more: seen rarely, on machines short of memory or processes."""
_OPENED: Final = (
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
)
"""Packages of the JDK that Spark reaches into. Its launcher also adds ``jdk.incubator.vector``, which the runtime of
the wheel lacks and nothing here uses."""


@dataclass(frozen=True, slots=True)
class JvmOptions:
    """``heap_bytes`` is the most the heap may take; ``work`` is the one folder the JVM writes to.

    ``archive`` is a file of classes laid out for a quick start: used if it is there, else made when the JVM is stopped.
    """

    work: Path
    heap_bytes: int
    archive: Path | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Jvm:
    """A JVM that answers on ``port`` to who knows ``secret``."""

    process: subprocess.Popen[bytes]
    port: int
    secret: str
    options: JvmOptions

    def stop(self, wait_s: float = ENGINE_START_S_MAX) -> None:
        """Close its input and wait until it has ended, which takes a while if it leaves an archive.

        One that does not end is killed.
        """
        if self.process.stdin is not None:
            self.process.stdin.close()
        try:
            ended = self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self.process.kill()
            ended = self.process.wait()
        _keep_archive(self.options.archive, whole=ended == 0)

    def last_words(self) -> str:
        """The end of what it printed."""
        return _last_words(self.options.work / _LOG)


def start_jvm(java: Java, options: JvmOptions) -> Jvm:
    """A JVM ready for a Spark session.

    Raises:
        EngineUnavailable: pyspark is not installed.
        EngineDied: the JVM died or kept silent; the message ends with its own words.
    """
    for _ in range(_STARTS_MAX - 1):
        with suppress(EngineDied):
            return _start(java, options)
    return _start(java, options)


def spark_home() -> Path:
    """Where pyspark and its jars lie.

    Raises:
        EngineUnavailable: it is not installed.
    """
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise EngineUnavailable("pyspark is not installed", hint="install odf-repository[spark]")
    return Path(found.origin).parent


def archive_name(java: Java) -> str:
    """What the archive of classes is called: another Java or pyspark has another one."""
    told = f"{java.path} {java.version} {spark_home()} {version('pyspark')}"
    return hashlib.sha3_256(told.encode()).hexdigest()[:16] + ".jsa"


def jvm_command(java: Java, options: JvmOptions, home: Path) -> list[str]:
    """The whole command line."""
    jars = sorted(map(str, (home / "jars").glob("*.jar")))
    properties = {
        "java.io.tmpdir": str(options.work),
        "user.timezone": "UTC",
        "user.language": "en",
        "user.country": "US",
        "file.encoding": "UTF-8",
        "jdk.reflect.useDirectMethodHandle": "false",
        "io.netty.tryReflectionSetAccessible": "true",
        "log4j2.configurationFile": str(Path(__file__).parent / "log4j2.properties"),
        **options.properties,
    }
    return [
        str(java.path),
        f"-Xmx{options.heap_bytes}",
        "-XX:-UsePerfData",
        "-XX:+ExitOnOutOfMemoryError",
        *_archive_options(options.archive),
        *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
        *_options_of_version(java.major),
        *(f"-D{name}={value}" for name, value in properties.items()),
        "-cp",
        ":".join(jars),
        _MAIN,
    ]


def _archive_options(archive: Path | None) -> list[str]:
    if archive is None:
        return []
    if archive.exists():
        return [f"-XX:SharedArchiveFile={archive}"]
    return [f"-XX:ArchiveClassesAtExit={_unfinished(archive)}", "-Xlog:cds=off", "-Xlog:cds+dynamic=off"]


def _unfinished(archive: Path) -> Path:
    return archive.with_suffix(f".{os.getpid()}.part")


def _keep_archive(archive: Path | None, *, whole: bool) -> None:
    """Give the archive its name once the JVM that made it has ended well; what others left behind goes."""
    if archive is None or archive.exists():
        return
    made = _unfinished(archive)
    if whole and made.exists():
        made.replace(archive)
    made.unlink(missing_ok=True)


def _options_of_version(major: int) -> list[str]:
    newer = ["--enable-native-access=ALL-UNNAMED"]
    return [*(newer if major >= 22 else []), *(["--sun-misc-unsafe-memory-access=allow"] if major >= 23 else [])]


def _start(java: Java, options: JvmOptions) -> Jvm:
    home = spark_home()
    log, answer = options.work / _LOG, options.work / "jvm.answer"
    answer.unlink(missing_ok=True)
    environment = {
        "PATH": "/usr/bin:/bin",
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "HOME": str(options.work),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "_PYSPARK_DRIVER_CONN_INFO_PATH": str(answer),
    }
    with log.open("ab") as output:
        process = subprocess.Popen(
            jvm_command(java, options, home),
            cwd=options.work,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
    port, secret = _wait_for_answer(process, answer, log)
    return Jvm(process, port, secret, options)


def _wait_for_answer(process: subprocess.Popen[bytes], answer: Path, log: Path) -> tuple[int, str]:
    deadline = time.monotonic() + JVM_START_S_MAX
    while not answer.exists():
        if process.poll() is not None:
            raise EngineDied(f"the JVM ended with code {process.returncode} at its start: {_last_words(log)}")
        if time.monotonic() > deadline:
            process.kill()
            process.wait()
            raise EngineDied(f"the JVM said nothing for {JVM_START_S_MAX} s: {_last_words(log)}")
        time.sleep(_POLL_S)
    told = answer.read_bytes()
    answer.unlink()
    return int.from_bytes(told[:4], "big"), told[8:].decode()


def _last_words(log: Path) -> str:
    told = log.read_bytes()[-_LOG_TAIL_BYTES:].decode(errors="replace").strip()
    return told or "it printed nothing"
