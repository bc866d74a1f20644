"""The process that holds the Spark session: started by the worker, it takes one job after another from its input.

It knows nothing of clients, queues or times; it is killed by the worker when a job takes too long or too much. First it
walls itself in (``sandbox.py``), while it is a single thread and nothing of Spark is loaded.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from opendatafabric.errors import EngineUnavailable, OdfError
from pipeline.java import find_java
from pipeline.jobs import JobContext, load_job
from pipeline.jvm import JvmOptions, archive_name, start_jvm
from pipeline.messages import Message, decode, encode, error_message
from pipeline.sandbox import enter_sandbox
from pipeline.worker_place import WorkerOptions, WorkerPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_DIED: Final = 70


@dataclass(frozen=True, slots=True)
class Opened:
    """A session, whether it is walled in, what ends it, and whether what it needs is alive."""

    session: SparkSession
    sandboxed: bool
    close: Callable[[], object]
    is_alive: Callable[[], bool]


def main(arguments: list[str], open_session: Callable[[WorkerPlace, WorkerOptions], Opened]) -> None:
    """Serve jobs until the input ends; ``arguments`` are those of the process.

    Without what its session needs the process ends in the middle of the job: the worker tells that and starts another.
    """
    answers = _Answers(os.fdopen(os.dup(1), "wb", buffering=0))
    os.dup2(2, 1)
    place, options = WorkerPlace(Path(arguments[1])), WorkerOptions.from_json(arguments[2])
    try:
        opened = open_session(place, options)
    except OdfError as error:
        answers.send(error_message(error))
        return
    answers.send({"ready": {"sandboxed": opened.sandboxed}})
    context = JobContext(opened.session, lambda progress: answers.send({"progress": progress}), opened.sandboxed)
    for line in sys.stdin.buffer:
        answer = _answer(context, options, decode(line))
        if not opened.is_alive():
            sys.exit(_DIED)
        answers.send(answer)
    opened.close()


def open_spark(place: WorkerPlace, options: WorkerOptions) -> Opened:
    """A JVM and a session in it, both inside the sandbox.

    Raises:
        EngineUnavailable: there is no Java or no pyspark, or the JVM does not start.
    """
    _empty(place.work)
    os.chdir(place.work)
    java = find_java(None if options.java_home is None else Path(options.java_home))
    sandboxed = _wall_in(place, options, java.path)
    # Only now: threads of libraries would keep the sandbox from being entered.
    from pipeline.session import answers, spark_session  # noqa: PLC0415

    properties = {"spark.local.dir": str(place.work), "spark.sql.warehouse.dir": str(place.work / "warehouse")}
    archive = place.root / "classes" / archive_name(java)
    jvm = start_jvm(java, JvmOptions(place.work, options.heap_bytes, archive, properties))
    session = spark_session(jvm, cores=options.cores)

    def close() -> None:
        session.stop()
        jvm.stop()

    return Opened(session, sandboxed, close, lambda: answers(session))


class _Answers:
    """To the worker; jobs may tell their progress from any thread."""

    def __init__(self, sink: BinaryIO) -> None:
        self._sink, self._lock = sink, threading.Lock()

    def send(self, message: Message) -> None:
        with self._lock:
            self._sink.write(encode(message))


def _answer(context: JobContext, options: WorkerOptions, request: Message) -> Message:
    """What came of one job."""
    try:
        if request.get("foreign") and not (context.sandboxed or options.unsandboxed_foreign_queries):
            raise EngineUnavailable(
                "this machine has no sandbox for queries of others",
                hint="allow user namespaces and Landlock, or set ODF_SPARK_UNSANDBOXED_FOREIGN_QUERIES",
            )
        answer = {"result": load_job(options.jobs, request["job"])(context, request["arguments"])}
        encode(answer)
    except OdfError as error:
        return error_message(error)
    except Exception as error:  # whatever a job raises must not end the engine
        traceback.print_exc()
        return error_message(OdfError(f"{type(error).__name__}: {_first_line(error)}"))
    return answer


def _wall_in(place: WorkerPlace, options: WorkerOptions, java: Path) -> bool:
    readable = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parent.parent, java.resolve().parents[1]]
    readable += [place.root / "in", *map(Path, options.readable)]
    writable = [place.work, place.root / "out", place.root / "classes"]
    return enter_sandbox(readable=readable, writable=writable)


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:1_000]


if __name__ == "__main__":
    main(sys.argv, open_spark)
