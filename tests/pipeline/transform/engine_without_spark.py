"""Run as a program: the engine as shipped, walled in, but for Spark, which it does not start.

The job ``halting-transform`` begins as ``transform`` does, and never ends.
"""

from __future__ import annotations

import sys
import threading

import pipeline.engine
from pipeline.engine import main, open_with_spark
from pipeline.jobs import JOBS, JobContext, JsonObject
from tests.pipeline.plain_engine import NoSpark

HERE = "tests.pipeline.transform.engine_without_spark"
WITH_HALTING = {**JOBS, "halting-transform": f"{HERE}:halting_transform_job"}


def halting_transform_job(context: JobContext, _: JsonObject) -> JsonObject:
    context.tell({"halted": True})
    threading.Event().wait()
    return {}


if __name__ == "__main__":
    vars(pipeline.engine)["_start_spark"] = lambda *_: NoSpark()
    main(sys.argv, open_with_spark)
