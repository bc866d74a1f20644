"""The schema of records as Arrow has it, from the event that says it in either of its forms."""

from __future__ import annotations

import pyarrow as pa

from opendatafabric.data.arrow_schema import read_legacy_schema
from opendatafabric.data.arrow_storage import without_views
from opendatafabric.data.odf_schema import odf_schema_to_arrow
from opendatafabric.metadata.events import SetDataSchema


def arrow_schema(event: SetDataSchema) -> pa.Schema:
    """The schema that records of a dataset have, text and bytes in their plain layout."""
    schema = (
        read_legacy_schema(event.raw_arrow_schema or b"") if event.schema is None else odf_schema_to_arrow(event.schema)
    )
    plain: pa.Schema = without_views(schema.empty_table()).schema
    return plain
