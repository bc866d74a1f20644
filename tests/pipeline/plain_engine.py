"""An engine without Spark: the worker does not care what runs its jobs, and this one starts at once.

Its jobs are what a hostile or unlucky job may do: crash, hang, take all memory, say too much.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any, cast

from opendatafabric.errors import EngineUnavailable, MalformedData
from pipeline.engine import Opened, main
from pipeline.jobs import JobContext, JsonObject
from pipeline.session_on_demand import SessionOnDemand
from pipeline.worker_place import WorkerOptions, WorkerPlace

JOBS = {
    name: f"tests.pipeline.plain_engine:{name}"
    for name in ("echo", "crash", "sleep", "hoard", "talk", "fail", "refuse", "shout", "process_of", "describe_world")
}


def echo(_: JobContext, arguments: JsonObject) -> JsonObject:
    return arguments


def process_of(_: JobContext, __: JsonObject) -> JsonObject:
    return {"process": os.getpid(), "worker": os.getppid()}


def crash(_: JobContext, __: JsonObject) -> JsonObject:
    print("I am about to crash", file=sys.stderr, flush=True)
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def sleep(context: JobContext, arguments: JsonObject) -> JsonObject:
    context.tell({"asleep": True})
    time.sleep(arguments["seconds"])
    return {}


def hoard(_: JobContext, __: JsonObject) -> JsonObject:
    hoarded = []
    while True:
        hoarded.append(os.urandom(10_000_000))
        time.sleep(0.01)


def talk(context: JobContext, arguments: JsonObject) -> JsonObject:
    for number in range(arguments["times"]):
        context.tell({"rows": number})
        print("a library prints to standard output")
    return {"said": arguments["times"]}


def fail(_: JobContext, __: JsonObject) -> JsonObject:
    raise ZeroDivisionError("no division\nby zero")


def refuse(_: JobContext, __: JsonObject) -> JsonObject:
    raise MalformedData("the data are bad", expected="good", found="bad", hint="better ones")


def shout(_: JobContext, arguments: JsonObject) -> JsonObject:
    return {"text": "x" * arguments["bytes"]}


def describe_world(context: JobContext, _: JsonObject) -> JsonObject:
    return {"environment": sorted(os.environ), "folder": os.getcwd(), "sandboxed": context.sandboxed}


class NoSpark:
    """Held by an engine whose jobs ask for none."""

    session = cast(Any, None)

    def answers(self) -> bool:
        return True

    def close(self) -> None:
        pass


def open_nothing(place: WorkerPlace, options: WorkerOptions) -> Opened:
    if options.java_home == "none":
        raise EngineUnavailable("there is no Java", hint="install one")
    return Opened(SessionOnDemand(NoSpark), options.java_home == "walled")


if __name__ == "__main__":
    main(sys.argv, open_nothing)
