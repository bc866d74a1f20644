"""In which form an answer is written: JSON in the shapes of the reference's API, or a file; with the schema or not."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum


class JsonShape(StrEnum):
    """How rows become JSON, called as in the reference."""

    AOS = "JsonAoS"
    """An array of objects."""
    SOA = "JsonSoA"
    """An object of arrays, one for each column."""
    AOA = "JsonAoA"
    """An array of arrays."""


class SchemaFormat(StrEnum):
    """How a schema is written, called as in the reference."""

    ARROW_JSON = "ArrowJson"
    ODF_JSON = "OdfJson"
    ODF_YAML = "OdfYaml"
    PARQUET = "Parquet"
    PARQUET_JSON = "ParquetJson"


class FileKind(Enum):
    """A file that holds the records alone; the value is its suffix."""

    CSV = "csv"
    NDJSON = "ndjson"
    ARROW = "arrow"
    PARQUET = "parquet"


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """``canonical`` JSON can be hashed as it is: keys sorted, nothing but ASCII. Only JSON takes a schema with it."""

    shape: JsonShape | FileKind = FileKind.ARROW
    schema_format: SchemaFormat | None = None
    canonical: bool = False


ARROW_STREAM = AnswerForm()
