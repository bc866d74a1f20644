"""A job of an engine: looks at the text of queries whose inputs have no schema yet."""

from __future__ import annotations

from pipeline.epochs.version import is_in_epochs
from pipeline.jobs import JobContext, JsonObject
from pipeline.transform.in_datafusion import check_repeatable
from pipeline.transform.request import TransformRequest


def check_queries_job(context: JobContext, arguments: JsonObject) -> JsonObject:
    """That queries are made of what they may be made of, and read nothing but their inputs and earlier steps.

    Raises:
        InvalidQuery, LimitExceeded: they are not.
        UnsupportedVersion: a dialect that is not known.
    """
    request = TransformRequest.from_message(arguments)
    if request.transform.transform.engine.lower() == "datafusion":
        for step in request.steps:
            check_repeatable(step.query)
        return {}
    from pipeline.gate import admit  # noqa: PLC0415 - loads Spark

    in_order = not is_in_epochs(request.transform.transform)
    relations = [each.alias or str(each.dataset_ref) for each in request.transform.inputs]
    for step in request.steps:
        admit(context.session, step.query, relations, rows_in_order=in_order)
        relations.append(step.alias or "")
    return {}
