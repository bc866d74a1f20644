"""The job that says what a worker computes with."""

from __future__ import annotations

from pipeline.jobs import JobContext, JsonObject
from pipeline.session import fingerprint


def describe(context: JobContext, _: JsonObject) -> JsonObject:
    """Versions, the hash of the settings, and whether queries of strangers are walled in."""
    return {**fingerprint(context.session).as_dict(), "sandboxed": context.sandboxed}
