"""The process that does the jobs of a worker: started by it, it takes one after another from its input.

It knows nothing of clients, queues or times; it is killed by the worker when a job takes too long or too much. First it
walls itself in (``sandbox.py``), while it is a single thread. It takes jobs at once: Spark starts for the first that
asks for it, or after the first that does not.
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
from pipeline.cluster import check_master, cluster_settings, is_cluster
from pipeline.java import find_java, java_folders
from pipeline.jobs import JobContext, load_job
from pipeline.jvm import Jvm, JvmOptions, archive_name, start_jvm
from pipeline.messages import Message, decode, encode, error_message
from pipeline.own_processes import end_with_parent, keep_own_processes
from pipeline.sandbox import enter_sandbox
from pipeline.session_on_demand import SessionOnDemand
from pipeline.worker_place import WorkerOptions, WorkerPlace

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


_DIED: Final = 70


@dataclass(frozen=True, slots=True)
class Opened:
    """What jobs work with: a session when they ask for it, and whether all of it is walled in."""

    sessions: SessionOnDemand
    sandboxed: bool


def main(arguments: list[str], open_engine: Callable[[WorkerPlace, WorkerOptions], Opened]) -> None:
    """Serve jobs until the input ends; ``arguments`` are those of the process.

    When the JVM is gone under a job the process ends in the middle of it: the worker tells that and starts another.
    """
    end_with_parent()
    answers = _Answers(os.fdopen(os.dup(1), "wb", buffering=0))
    os.dup2(2, 1)
    place, options = WorkerPlace(Path(arguments[1])), WorkerOptions.from_json(arguments[2])
    try:
        opened = open_engine(place, options)
    except OdfError as error:
        answers.send(error_message(error))
        return
    answers.send({"ready": {"sandboxed": opened.sandboxed}})
    sessions = opened.sessions
    context = JobContext(sessions.get, lambda progress: answers.send({"progress": progress}), opened.sandboxed)
    for line in sys.stdin.buffer:
        answer = _answer(context, options, decode(line))
        if not sessions.is_sound():
            sys.exit(_DIED)
        answers.send(answer)
        sessions.warm_up()
    sessions.close()


def open_with_spark(place: WorkerPlace, options: WorkerOptions) -> Opened:
    """Inside the sandbox, if there is one; a JVM and a session in it when they are needed.

    There is none for a driver of a cluster, which needs the network and its credentials.
    """
    _empty(place.work)
    os.chdir(place.work)
    sandboxed = not is_cluster(check_master(options.master)) and _wall_in(place, options)
    return Opened(SessionOnDemand(lambda: _start_spark(place, options)), sandboxed)


@dataclass(frozen=True, slots=True)
class _Spark:
    """A session in a JVM of ours."""

    session: SparkSession
    jvm: Jvm

    def answers(self) -> bool:
        from pipeline.session import answers  # noqa: PLC0415

        return answers(self.session)

    def close(self) -> None:
        self.session.stop()
        self.jvm.stop()


def _start_spark(place: WorkerPlace, options: WorkerOptions) -> _Spark:
    """Errors are those of ``find_java`` and ``start_jvm``."""
    from pipeline.session import spark_session  # noqa: PLC0415  (inside the sandbox, and for those who need it)

    java = find_java(_java_home(options))
    properties = {"spark.local.dir": str(place.work), "spark.sql.warehouse.dir": str(place.work / "warehouse")}
    archive = place.root / "classes" / archive_name(java)
    jvm = start_jvm(java, JvmOptions(place.work, options.heap_bytes, archive, properties))
    settings = {} if options.cluster_settings is None else cluster_settings(Path(options.cluster_settings))
    return _Spark(spark_session(jvm, master=options.master, cores=options.cores, settings=settings), jvm)


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
                "there is no sandbox for queries of others",
                hint="allow user namespaces and Landlock, and leave ODF_SPARK_MASTER at local;"
                " or set ODF_SPARK_UNSANDBOXED_FOREIGN_QUERIES",
            )
        answer = {"result": load_job(options.jobs, request["job"])(context, request["arguments"])}
        encode(answer)
    except OdfError as error:
        return error_message(error)
    except Exception as error:  # whatever a job raises must not end the engine
        traceback.print_exc()
        return error_message(OdfError(f"{type(error).__name__}: {_first_line(error)}"))
    return answer


def _java_home(options: WorkerOptions) -> Path | None:
    return None if options.java_home is None else Path(options.java_home)


def _wall_in(place: WorkerPlace, options: WorkerOptions) -> bool:
    readable = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parent.parent]
    readable += [*java_folders(_java_home(options)), place.root / "in", *map(Path, options.readable)]
    writable = [place.work, place.root / "out", place.root / "classes"]
    walled = enter_sandbox(readable=readable, writable=writable)
    return walled and keep_own_processes()


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [""])[0][:1_000]


if __name__ == "__main__":
    main(sys.argv, open_with_spark)
