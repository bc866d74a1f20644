"""Shapefiles, made here byte by byte after the description of ESRI."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from opendatafabric.errors import MalformedSource
from opendatafabric.metadata.sources import ReadStepEsriShapefile
from pipeline.readers import read_records

POINT = struct.pack("<i2d", 1, 1.5, 2.0)
NO_SHAPE = struct.pack("<i", 0)


def polygon(*rings: list[tuple[float, float]]) -> bytes:
    """A polygon of these rings."""
    points = [point for ring in rings for point in ring]
    firsts = [sum(map(len, rings[:index])) for index in range(len(rings))]
    return (
        struct.pack("<i4d2i", 5, 0, 0, 9, 9, len(rings), len(points))
        + struct.pack(f"<{len(firsts)}i", *firsts)
        + b"".join(struct.pack("<2d", *point) for point in points)
    )


def shp(*shapes: bytes) -> bytes:
    """A .shp file of these records."""
    records = [struct.pack(">ii", number, len(each) // 2) + each for number, each in enumerate(shapes, start=1)]
    return struct.pack(">i", 9994).ljust(100, b"\0") + b"".join(records)


def dbf(*names: str) -> bytes:
    """A table of a text, a whole number and a date."""
    fields = [("NAME", b"C", 8, 0), ("N", b"N", 4, 0), ("DAY", b"D", 8, 0)]
    described = b"".join(struct.pack("<11sc4xBB14x", name.encode(), *rest) for name, *rest in fields) + b"\r"
    rows = b"".join(b" " + name.encode().ljust(8) + b"   7" + b"20200131" for name in names)
    return struct.pack("<4xIHH20x", len(names), 32 + len(described), 21) + described + rows


def zipped(folder: Path, **files: bytes) -> Path:
    """An archive; ``__`` stands for the dot."""
    path = folder / "input.zip"
    with ZipFile(path, "w") as archive:
        for name, raw in files.items():
            archive.writestr(name.replace("__", "."), raw)
    return path


def rows(path: Path, **options: Any) -> list[dict[str, Any]]:
    """The records of the archive."""
    found = read_records(path, ReadStepEsriShapefile(**options))
    assert found is not None
    return found.to_pylist()


def test_attributes_are_columns_and_the_shape_is_geojson(tmp_path: Path) -> None:
    found = rows(zipped(tmp_path, a__shp=shp(POINT, NO_SHAPE), a__dbf=dbf("one", "two")))
    assert json.loads(found[0].pop("geometry")) == {"type": "Point", "coordinates": [1.5, 2.0]}
    assert found[0] == {"NAME": "one", "N": 7, "DAY": "2020-01-31"}
    assert found[1]["geometry"] is None


def test_holes_belong_to_the_ring_before_them(tmp_path: Path) -> None:
    outer = [(0.0, 0.0), (0.0, 9.0), (9.0, 9.0), (9.0, 0.0), (0.0, 0.0)]
    hole = [(1.0, 1.0), (2.0, 1.0), (2.0, 2.0), (1.0, 1.0)]
    found = rows(zipped(tmp_path, a__shp=shp(polygon(outer, hole), polygon(outer, outer)), a__dbf=dbf("x", "y")))
    first, second = (json.loads(row["geometry"]) for row in found)
    assert (first["type"], len(first["coordinates"])) == ("Polygon", 2)
    assert (second["type"], len(second["coordinates"])) == ("MultiPolygon", 2)


def test_of_several_the_sub_path_chooses(tmp_path: Path) -> None:
    path = zipped(tmp_path, a__shp=shp(POINT), a__dbf=dbf("a"), b__shp=shp(POINT), b__dbf=dbf("b"))
    assert rows(path, sub_path="b*")[0]["NAME"] == "b"
    with pytest.raises(MalformedSource, match="2 shapefiles"):
        rows(path)


@pytest.mark.parametrize("length", [1, 50, 104, 110, 120])
def test_a_file_that_is_cut_off_is_refused(tmp_path: Path, length: int) -> None:
    with pytest.raises(MalformedSource):
        rows(zipped(tmp_path, a__shp=shp(POINT)[:length], a__dbf=dbf("a")))


def test_a_table_that_is_missing_or_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MalformedSource, match=r"no \.dbf"):
        rows(zipped(tmp_path, a__shp=shp(POINT)))
    with pytest.raises(MalformedSource, match="damaged or cut off"):
        rows(zipped(tmp_path, a__shp=shp(POINT), a__dbf=dbf("a")[:-3]))


def test_other_bytes_are_no_archive(tmp_path: Path) -> None:
    path = tmp_path / "input.zip"
    path.write_bytes(b"no zip")
    with pytest.raises(MalformedSource, match="no zip"):
        rows(path)
