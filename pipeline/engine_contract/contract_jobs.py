"""The jobs that coordinators ask for. What they bring is read here, inside the sandbox, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from opendatafabric.codec.yaml_codec import read_event_manifest, write_event_manifest
from opendatafabric.data.arrow_schema import arrow_schema_to_odf
from opendatafabric.data.arrow_storage import without_views
from opendatafabric.errors import MalformedData
from opendatafabric.metadata.events import SetDataSchema, SetTransform
from pipeline.ingest_request import IngestRequest
from pipeline.jobs import JobContext, JsonObject
from pipeline.preprocess import run_preprocess
from pipeline.readers import read_pieces
from pipeline.transform.job import transform_job


def contract_transform_job(context: JobContext, arguments: JsonObject) -> JsonObject:
    """A step of a derivative whose inputs have their schema in a file."""
    inputs = [{**each, "schema": _schema_in(Path(each["schema_file"]))} for each in arguments["inputs"]]
    return transform_job(context, {**arguments, "inputs": inputs})


def raw_query_job(context: JobContext, arguments: JsonObject) -> JsonObject:
    """A query over the rows of files, which are its table ``input``; without any row there is no result file.

    Raises:
        InvalidQuery, LimitExceeded, UnsupportedOperation, MalformedData: as ``run_preprocess``.
        MalformedData: a file is no Parquet.
    """
    transform = read_event_manifest(arguments["transform"])
    assert isinstance(transform, SetTransform)
    files = [Path(each) for each in arguments["files"]]
    made = Path(arguments["made"])
    return {"records": _write(run_preprocess(context.open_session, _rows(files), transform.transform), made)}


def read_source_job(_: JobContext, arguments: JsonObject) -> JsonObject:
    """What a source gave as one file; ``None`` records of an empty one that nobody knows the columns of.

    Raises:
        MalformedSource, MalformedData, LimitExceeded, UnsupportedOperation: as ``read_pieces``.
    """
    request = IngestRequest.from_message(arguments)
    pieces = read_pieces(request.file, request.source.read)
    return {"records": None if pieces is None else _written(pieces, request.made)}


def _schema_in(file: Path) -> str:
    """Of a Parquet file, as a block would say it."""
    try:
        schema = pq.read_schema(file)
    except (pa.ArrowException, OSError) as error:
        raise MalformedData(f"the file with the schema of an input cannot be read: {error}") from None
    return write_event_manifest(SetDataSchema(schema=arrow_schema_to_odf(schema)))


def _rows(files: list[Path]) -> Iterator[pa.Table]:
    for file in files:
        try:
            yield without_views(pq.read_table(file, partitioning=None)).replace_schema_metadata()
        except (pa.ArrowException, OSError) as error:
            raise MalformedData(f"an input file cannot be read: {error}") from None


def _write(pieces: Iterator[pa.Table], made: Path) -> int:
    records = _written(pieces, made)
    if not records:
        made.unlink()
    return records


def _written(pieces: Iterator[pa.Table], made: Path) -> int:
    first = next(pieces)
    records = 0
    with pq.ParquetWriter(made, first.schema) as writer:
        for piece in (first, *pieces):
            writer.write_table(piece)
            records += len(piece)
    return records
