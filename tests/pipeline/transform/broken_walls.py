"""Walls broken on purpose, each by itself, so that tests see what the others hold back.

The job ``ungated-transform`` leaves the gate out. Run as a program this is an engine outside the sandbox, with the
functions of Spark that others have not.
"""

from __future__ import annotations

import json
import sys
from typing import Any
from unittest.mock import patch

import pipeline.engine
from pipeline.engine import Opened, main, open_with_spark
from pipeline.jobs import JOBS, JobContext, JsonObject
from pipeline.transform import in_datafusion
from pipeline.transform.job import transform_job
from pipeline.worker_place import WorkerOptions, WorkerPlace

HERE = "tests.pipeline.transform.broken_walls"
WITH_UNGATED = {**JOBS, "ungated-transform": f"{HERE}:ungated_transform_job"}


def _anything(*_: object, **__: object) -> None:
    pass


def _nodes(frame: Any) -> list[Any]:
    found: list[Any] = json.loads(frame._jdf.queryExecution().analyzed().toJSON())
    return found


class _AllAllowed:
    """In place of DataFusion's options: whatever is forbidden is allowed."""

    def __getattr__(self, name: str) -> Any:
        from datafusion.context import SQLOptions  # noqa: PLC0415

        allowed = SQLOptions().with_allow_ddl(True).with_allow_dml(True).with_allow_statements(True)
        return lambda _: allowed if name == "with_allow_statements" else self


def ungated_transform_job(context: JobContext, arguments: JsonObject) -> JsonObject:
    """``transform`` as if there were no gate."""
    with (
        patch.multiple("pipeline.gate", _check_text=_anything, _check_node=_anything, _checked_nodes=_nodes),
        patch.object(in_datafusion, "check_repeatable", _anything),
        patch("datafusion.SQLOptions", _AllAllowed),
    ):
        return transform_job(context, arguments)


def open_outside(place: WorkerPlace, options: WorkerOptions) -> Opened:
    """With Spark and without walls, but saying otherwise."""
    with (
        patch.object(pipeline.engine, "_wall_in", lambda *_: True),
        patch("pipeline.session.FUNCTIONS_DROPPED", ()),
    ):
        opened = open_with_spark(place, options)
        opened.sessions.get()
        return opened


if __name__ == "__main__":
    main(sys.argv, open_outside)
