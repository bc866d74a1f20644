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
from pathlib import Path
from typing import BinaryIO

from opendatafabric.errors import EngineUnavailable, OdfError
from pipeline.jobs import JobContext, load_job
from pipeline.messages import Message, decode, encode, error_message
from pipeline.worker_place import WorkerOptions, WorkerPlace


def main(root: str, options_json: str) -> None:
    """Serve jobs until the input ends."""
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    place, options = WorkerPlace(Path(root)), WorkerOptions.from_json(options_json)
    try:
        engine = Engine(place, options, answers)
    except OdfError as error:
        answers.write(encode(error_message(error)))
        return
    answers.write(encode({"ready": {"sandboxed": engine.context.sandboxed}}))
    for line in sys.stdin.buffer:
        engine.run(decode(line))
    engine.close()


class Engine:
    """A session, ready for jobs.

    Raises:
        EngineUnavailable: there is no Java or no pyspark, or the JVM does not start.
    """

    def __init__(self, place: WorkerPlace, options: WorkerOptions, answers: BinaryIO) -> None:
        from pipeline.java import find_java  # noqa: PLC0415

        self._options, self._answers, self._lock = options, answers, threading.Lock()
        _empty(place.work)
        os.chdir(place.work)
        java = find_java(None if options.java_home is None else Path(options.java_home))
        sandboxed = _wall_in(place, options, java.path)
        # Only now: threads of libraries would keep the sandbox from being entered.
        from pipeline.jvm import JvmOptions, archive_name, start_jvm  # noqa: PLC0415
        from pipeline.session import spark_session  # noqa: PLC0415

        archive = place.root / "classes" / archive_name(java)
        properties = {"spark.local.dir": str(place.work), "spark.sql.warehouse.dir": str(place.work / "warehouse")}
        self._jvm = start_jvm(java, JvmOptions(place.work, options.heap_bytes, archive, properties))
        session = spark_session(self._jvm, cores=options.cores)
        self.context = JobContext(session, self._tell, sandboxed)

    def run(self, request: Message) -> None:
        """Do one job and send what came of it."""
        try:
            if request.get("foreign") and not (self.context.sandboxed or self._options.unsandboxed_foreign_queries):
                raise EngineUnavailable(
                    "this machine has no sandbox for queries of others",
                    hint="allow user namespaces and Landlock, or set ODF_SPARK_UNSANDBOXED_FOREIGN_QUERIES",
                )
            job = load_job(self._options.jobs, request["job"])
            self._send({"result": job(self.context, request["arguments"])})
        except OdfError as error:
            self._send(error_message(error))
        except Exception as error:  # whatever a job raises must not end the engine
            traceback.print_exc()
            self._send(error_message(OdfError(f"{type(error).__name__}: {_first_line(error)}")))

    def close(self) -> None:
        """End the session and the JVM, which may leave an archive of its classes."""
        self.context.session.stop()
        self._jvm.stop()

    def _tell(self, progress: Message) -> None:
        self._send({"progress": progress})

    def _send(self, message: Message) -> None:
        with self._lock:
            self._answers.write(encode(message))


def _wall_in(place: WorkerPlace, options: WorkerOptions, java: Path) -> bool:
    from pipeline.sandbox import enter_sandbox  # noqa: PLC0415

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
    main(*sys.argv[1:])
