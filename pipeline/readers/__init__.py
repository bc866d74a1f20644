"""From the bytes that a source gave to a table of records: one module per format (spec: Read Step).

Rows stand in the order of the input, in the types that were declared. Formats, options and values that the reference
refuses are refused. What is in the rows is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from opendatafabric.metadata import sources
from pipeline.readers.csv import read_csv
from pipeline.readers.json import read_geojson, read_json, read_nd_geojson, read_ndjson
from pipeline.readers.parquet import read_parquet
from pipeline.readers.shapefile import read_shapefile

_READERS: Final[dict[type, Callable[[Path, Any], pa.Table | None]]] = {
    sources.ReadStepCsv: read_csv,
    sources.ReadStepJson: read_json,
    sources.ReadStepNdJson: read_ndjson,
    sources.ReadStepGeoJson: read_geojson,
    sources.ReadStepNdGeoJson: read_nd_geojson,
    sources.ReadStepEsriShapefile: read_shapefile,
    sources.ReadStepParquet: read_parquet,
}


def read_records(path: Path, step: sources.ReadStep) -> pa.Table | None:
    """The records of the file, or ``None``: it is empty and no schema says what its columns are.

    Raises:
        MalformedSource: the file is not what the step says; names line and column where they are known.
        UnsupportedOperation: an option that is not supported.
        MalformedData: the schema of the step is no schema.
        LimitExceeded: as the formats say.
        OSError: the file cannot be read.
    """
    return _READERS[type(step)](path, step)
