"""Run as a program: the engine as shipped, walled in, but for Spark, which it does not start."""

from __future__ import annotations

import sys

import pipeline.engine
from pipeline.engine import main, open_with_spark
from tests.pipeline.plain_engine import NoSpark

if __name__ == "__main__":
    vars(pipeline.engine)["_start_spark"] = lambda *_: NoSpark()
    main(sys.argv, open_with_spark)
