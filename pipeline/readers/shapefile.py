"""EsriShapefile: a zip of .shp and .dbf files; attributes become columns, ``geometry`` the GeoJSON text of the shape.

Formats: the ESRI Shapefile Technical Description of 1998, and dBase III tables.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

import orjson
import pyarrow as pa

from opendatafabric.errors import MalformedSource
from opendatafabric.metadata.sources import ReadStepEsriShapefile
from pipeline.readers.bounded_zip import read_member
from pipeline.readers.dbase import read_dbase
from pipeline.readers.declared import declared_schema, no_rows
from pipeline.readers.json import read_objects
from pipeline.readers.shapes import read_shapes

_SHAPES: Final = ".shp"


def read_shapefile(path: Path, step: ReadStepEsriShapefile) -> Iterator[pa.Table] | None:
    """The records of the one shapefile in a zip, or of the one that ``subPath`` names; errors as ``read_pieces``."""
    schema = declared_schema(step.schema)
    if not path.stat().st_size:
        return no_rows(schema)
    try:
        with ZipFile(path) as archive:
            rows = _rows(archive, _chosen(archive.namelist(), step.sub_path))
    except BadZipFile as error:
        raise MalformedSource(f"the file is no zip archive: {error}") from None
    return read_objects(rows, schema, lambda row: f"record {row + 1}")


def _chosen(names: list[str], pattern: str | None) -> str:
    found = [name for name in names if name.lower().endswith(_SHAPES) and (not pattern or fnmatchcase(name, pattern))]
    if len(found) != 1:
        raise MalformedSource(
            f"there are {len(found)} shapefiles in the archive that could be meant",
            found=", ".join(found or names)[:500],
            hint="name one by subPath",
        )
    return found[0]


def _rows(archive: ZipFile, name: str) -> list[dict[str, Any]]:
    shapes_raw = read_member(archive, name)
    table_raw = read_member(archive, _beside(archive, name, ".dbf"))
    try:
        shapes, rows = list(read_shapes(shapes_raw)), list(read_dbase(table_raw))
    except (struct.error, IndexError, UnicodeDecodeError) as error:
        raise MalformedSource(f"{name} or its table is damaged or cut off: {error}") from None
    if len(shapes) != len(rows):
        raise MalformedSource(f"{name} and its table do not fit", expected=len(shapes), found=len(rows))
    return [
        {**row, "geometry": None if shape is None else orjson.dumps(shape).decode()}
        for row, shape in zip(rows, shapes, strict=True)
    ]


def _beside(archive: ZipFile, name: str, suffix: str) -> str:
    wanted = (name[: -len(_SHAPES)] + suffix).lower()
    for each in archive.namelist():
        if each.lower() == wanted:
            return each
    raise MalformedSource(f"{name} has no {suffix} beside it in the archive")
