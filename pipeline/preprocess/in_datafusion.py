"""Preprocess queries of the engine ``datafusion``: in process, in one partition, so that the order of rows is fixed."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from opendatafabric.errors import EngineUnavailable, InvalidQuery
from opendatafabric.metadata.transform import SqlQueryStep


def run_queries(records: pa.Table, steps: Sequence[SqlQueryStep]) -> pa.Table:
    """The result of the last step; errors as ``run_preprocess``."""
    try:
        from datafusion import SessionConfig, SessionContext, SQLOptions  # noqa: PLC0415
    except ImportError:
        raise EngineUnavailable("the package datafusion is not installed", hint="odf-repository[spark]") from None
    context = SessionContext(SessionConfig().with_target_partitions(1).with_information_schema(False))
    context.register_record_batches("input", [records.to_batches() or records.schema.empty_table().to_batches()])
    only_queries = SQLOptions().with_allow_ddl(False).with_allow_dml(False).with_allow_statements(False)
    try:
        for step in steps[:-1]:
            frame = context.sql_with_options(step.query, only_queries)
            context.register_view(step.alias or "", frame)
        return context.sql_with_options(steps[-1].query, only_queries).to_arrow_table()
    except pa.ArrowException as error:
        raise InvalidQuery(f"the preprocess query failed: {error}") from None
    except Exception as error:  # the package raises bare exceptions
        raise InvalidQuery(f"the preprocess query failed: {str(error).splitlines()[0][:1_000]}") from None
