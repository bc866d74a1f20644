"""A Spark worker of a benchmark's own, with what it takes."""

from __future__ import annotations

import atexit
import subprocess
import sys

from benchmarks.harness import cpu_seconds
from benchmarks.processes import Server, command_of, forget_peak, peak_mib, scratch
from pipeline.worker_client import WorkerClient
from pipeline.worker_place import WorkerOptions, WorkerPlace


class Worker:
    """A worker, its clients and what it takes."""

    def __init__(self) -> None:
        place, options = scratch("worker"), WorkerOptions()
        place.chmod(0o700)
        WorkerPlace(place)
        command = [sys.executable, "-m", "pipeline.worker", str(place), options.to_json()]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        self._server = Server(0, [process])
        atexit.register(self._server.stop)
        self.client = WorkerClient(place, options)

    def cpu(self) -> float:
        return cpu_seconds() + self._server.cpu()

    def forget_peak(self) -> None:
        for process in self._engine_and_jvm():
            forget_peak(process)

    def peak_mib(self) -> float:
        """Of the engine, without its JVM."""
        return peak_mib(self._engine_and_jvm()[0])

    def jvm_peak_mib(self) -> float:
        """Of the JVM; 0 if there is none yet."""
        return sum(map(peak_mib, self._engine_and_jvm()[1:]))

    def _engine_and_jvm(self) -> list[int]:
        commands = {each: command_of(each) for each in self._server.family()}
        (engine,) = [each for each, command in commands.items() if b"\0pipeline.engine\0" in command]
        return [engine, *(each for each, command in commands.items() if b"PythonGatewayServer" in command)]
