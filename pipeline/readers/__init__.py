"""From the bytes that a source gave to records: one module per format (spec: Read Step).

Rows stand in the order of the input, in the types that were declared. They come in pieces, tables of one schema, so
that a large file is never whole in memory; at least one piece comes, perhaps without rows. Formats, options and values
that the reference refuses are refused. What is in the rows is not judged here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from opendatafabric.metadata import sources
from pipeline.readers.csv import read_csv
from pipeline.readers.json import read_geojson, read_json, read_nd_geojson, read_ndjson
from pipeline.readers.parquet import read_parquet
from pipeline.readers.shapefile import read_shapefile

_READERS: Final[dict[type, Callable[[Path, Any], Iterator[pa.Table] | None]]] = {
    sources.ReadStepCsv: read_csv,
    sources.ReadStepJson: read_json,
    sources.ReadStepNdJson: read_ndjson,
    sources.ReadStepGeoJson: read_geojson,
    sources.ReadStepNdGeoJson: read_nd_geojson,
    sources.ReadStepEsriShapefile: read_shapefile,
    sources.ReadStepParquet: read_parquet,
}


def read_pieces(path: Path, step: sources.ReadStep) -> Iterator[pa.Table] | None:
    """The records of the file, or ``None``: it is empty and no schema says what its columns are.

    Raises, also while the pieces are taken:
        MalformedSource: the file is not what the step says; names line and column where they are known.
        UnsupportedOperation: an option that is not supported.
        MalformedData: the schema of the step is no schema.
        LimitExceeded: as the formats say.
        OSError: the file cannot be read.
    """
    return _READERS[type(step)](path, step)


def read_records(path: Path, step: sources.ReadStep) -> pa.Table | None:
    """All records as one table; errors as ``read_pieces``."""
    pieces = read_pieces(path, step)
    return None if pieces is None else pa.concat_tables(pieces)
