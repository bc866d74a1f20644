"""Which source of a dataset data are pushed into, and in which format."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from opendatafabric.chain.state import ChainState
from opendatafabric.errors import NotFound, UnsupportedOperation
from opendatafabric.metadata.events import AddPushSource, SetPollingSource
from opendatafabric.metadata.sources import (
    MergeStrategyAppend,
    ReadStep,
    ReadStepCsv,
    ReadStepEsriShapefile,
    ReadStepGeoJson,
    ReadStepJson,
    ReadStepNdGeoJson,
    ReadStepNdJson,
    ReadStepParquet,
)
from pipeline.ingest_request import Source

FORMATS: Final[dict[str, ReadStep]] = {
    "csv": ReadStepCsv(header=True, infer_schema=True),
    "json": ReadStepJson(),
    "ndjson": ReadStepNdJson(),
    "geojson": ReadStepGeoJson(),
    "ndgeojson": ReadStepNdGeoJson(),
    "shapefile": ReadStepEsriShapefile(),
    "parquet": ReadStepParquet(),
}
"""Names of formats, as people give them, and how such files are read where the source says nothing else."""

MEDIA_TYPES: Final = {
    "text/csv": "csv",
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "application/geo+json": "geojson",
    "application/x-ndgeojson": "ndgeojson",
    "application/vnd.shp": "shapefile",
    "x-gis/x-shapefile": "shapefile",
    "application/vnd.apache.parquet": "parquet",
}
_SUFFIXES: Final = {"shp": "shapefile", "shx": "shapefile"}
_DEFAULT_NAME: Final = "default"


def push_source(state: ChainState, name: str | None, input_format: str | None = None) -> Source:
    """The source called ``name``, or the only one. ``input_format`` stands for the format of its read step.

    A dataset without any source takes records as they come, by Append.

    Raises:
        NotFound: no source of that name, or several and none named.
        UnsupportedOperation: the dataset polls its source; an unknown format, or none where no source names one.
    """
    source = _chosen(state, name)
    if input_format is None:
        if source is None:
            raise UnsupportedOperation("the dataset has no source that names a format", hint="--input-format csv")
        return source
    step = FORMATS.get(input_format.lower())
    if step is None:
        raise UnsupportedOperation(f"there is no format '{input_format}'", expected=", ".join(FORMATS))
    if source is None:
        return AddPushSource(_DEFAULT_NAME, step, None, MergeStrategyAppend())
    return source if isinstance(source.read, type(step)) else replace(source, read=_with_schema(step, source.read))


def format_of_media_type(media_type: str) -> str:
    """The name of the format that a media type stands for; its parameters say nothing.

    Raises:
        UnsupportedOperation: no format has it.
    """
    name = MEDIA_TYPES.get(media_type.partition(";")[0].strip().lower())
    if name is None:
        raise UnsupportedOperation(
            f"there is no format of media type {media_type[:100]!r}", expected=", ".join(sorted(MEDIA_TYPES))
        )
    return name


def media_type_of_format(name: str) -> str:
    """The media type that stands for a format.

    Raises:
        UnsupportedOperation: an unknown format.
    """
    for media_type, named in MEDIA_TYPES.items():
        if named == name.lower():
            return media_type
    raise UnsupportedOperation(f"there is no format '{name}'", expected=", ".join(FORMATS))


def format_of_file(name: str) -> str | None:
    """The name of the format that the end of a file's name stands for."""
    suffix = name.rpartition(".")[2].lower()
    return _SUFFIXES.get(suffix, suffix if suffix in FORMATS else None)


def _chosen(state: ChainState, name: str | None) -> Source | None:
    names = sorted(state.push_sources)
    if name is not None:
        if name not in state.push_sources:
            raise NotFound(f"the dataset has no push source '{name}'", expected=", ".join(names) or "none at all")
        return state.push_sources[name]
    if isinstance(state.polling_source, SetPollingSource):
        return state.polling_source
    if len(names) > 1:
        raise NotFound("the dataset has several push sources", expected=", ".join(names), hint="--source-name NAME")
    return state.push_sources[names[0]] if names else None


def _with_schema(step: Any, given: ReadStep) -> ReadStep:
    declared: ReadStep = replace(step, schema=given.schema)
    return declared
