"""A dataset in Croissant 1.0, from which tools for machine learning load it.

Croissant knows checksums in SHA-256 alone, and files here are named by SHA3-256. A dataset is therefore a live one in
its sense: its files go on changing, and have no checksum there. The physical hash of the only slice is beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote

from catalog.facts_of_blocks import ColumnFacts
from pipeline.query.answer_form import FileKind
from repo_server.harvest.described import Described
from repo_server.harvest.schema_org import properties, told
from repo_server.pages.citations import bibtex

VERSION: Final = "http://mlcommons.org/croissant/1.0"
_OF_CROISSANT: Final = (
    *("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format"),
    *("includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references", "regex"),
    *("repeated", "replace", "samplingRate", "separator", "source", "subField", "transform"),
)
CONTEXT: Final[Mapping[str, Any]] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{name: f"cr:{name}" for name in _OF_CROISSANT},
}
"""The one that the specification asks for."""

_FILES: Final = {FileKind.PARQUET: "application/x-parquet", FileKind.CSV: "text/csv"}
"""With the names that loaders know."""

_RECORDS: Final = "records"
_TYPES: Final = {
    **dict.fromkeys(("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"), "sc:Integer"),
    **dict.fromkeys(("Float16", "Float32", "Float64", "Decimal"), "sc:Float"),
    "String": "sc:Text",
    "Bool": "sc:Boolean",
    "Date": "sc:Date",
    "Time": "sc:Time",
    "Timestamp": "sc:DateTime",
}
"""By the first word of a type. Croissant has no word for others: their columns are in the file alone."""


def croissant(described: Described) -> dict[str, Any]:
    """The whole description."""
    general = properties(described)
    del general["version"]  # of live datasets it is raised when their structure changes, and has three numbers
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": VERSION,
        **general,
        "isLiveDataset": True,
        "citeAs": bibtex(described.address, described.dataset.id, described.dataset.facts, described.base_url),
        "distribution": [_file(described, kind, media_type) for kind, media_type in _FILES.items()],
        **told({"recordSet": list(_record_sets(described))}),
    }


def _file(described: Described, kind: FileKind, media_type: str) -> dict[str, Any]:
    only = described.only_slice if kind is FileKind.PARQUET else None
    return told(
        {
            "@type": "cr:FileObject",
            "@id": _name(kind),
            "name": _name(kind),
            "contentUrl": described.file_url(kind),
            "encodingFormat": media_type,
            "contentSize": None if only is None else f"{only.size} B",
            "identifier": None if only is None else str(only.physical_hash),
        }
    )


def _record_sets(described: Described) -> Iterator[dict[str, Any]]:
    fields = [_field(each, type_) for each in described.dataset.facts.columns if (type_ := _type(each)) is not None]
    if fields:
        yield {"@type": "cr:RecordSet", "@id": _RECORDS, "name": _RECORDS, "field": fields}


def _field(column: ColumnFacts, type_: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{_RECORDS}/{quote(column.name, safe='')}",
        "name": column.name,
        "description": column.type,
        "dataType": type_,
        "source": {"fileObject": {"@id": _name(FileKind.PARQUET)}, "extract": {"column": column.name}},
    }


def _type(column: ColumnFacts) -> str | None:
    return _TYPES.get(column.type.rstrip("?").partition("(")[0])


def _name(kind: FileKind) -> str:
    return f"data.{kind.value}"
