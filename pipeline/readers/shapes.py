"""The shapes of a .shp file as GeoJSON objects: points, lines, polygons; measures and heights are left out."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Final

from opendatafabric.errors import MalformedSource

_FILE_CODE: Final = 9994
_HEADER_BYTES: Final = 100
_NULL, _POINT, _LINE, _POLYGON, _MULTIPOINT = 0, 1, 3, 5, 8

Position = tuple[float, float]


def read_shapes(raw: bytes) -> Iterator[dict[str, Any] | None]:
    """A geometry per record, ``None`` where there is none.

    Raises:
        MalformedSource: not such a file, or a kind of shape that has no GeoJSON.
        struct.error: cut off.
    """
    if len(raw) < _HEADER_BYTES or struct.unpack_from(">i", raw)[0] != _FILE_CODE:
        raise MalformedSource("the .shp file does not begin like one")
    position = _HEADER_BYTES
    while position < len(raw):
        number, words = struct.unpack_from(">ii", raw, position)
        yield _shape(raw, position + 8, number)
        position += 8 + max(words, 2) * 2


def _shape(raw: bytes, start: int, number: int) -> dict[str, Any] | None:
    (kind,) = struct.unpack_from("<i", raw, start)
    base = kind % 10 if kind < 30 else kind  # 11… have heights, 21… measures behind the same beginning
    if base == _NULL:
        return None
    if base == _POINT:
        return {"type": "Point", "coordinates": struct.unpack_from("<2d", raw, start + 4)}
    if base == _MULTIPOINT:
        (count,) = struct.unpack_from("<i", raw, start + 36)
        return {"type": "MultiPoint", "coordinates": _positions(raw, start + 40, count)}
    if base in (_LINE, _POLYGON):
        parts = _parts(raw, start)
        return _lines(parts) if base == _LINE else _polygons(parts)
    raise MalformedSource(f"record {number} has a shape of kind {kind}, which is not read")


def _parts(raw: bytes, start: int) -> list[list[Position]]:
    part_count, point_count = struct.unpack_from("<2i", raw, start + 36)
    firsts = struct.unpack_from(f"<{part_count}i", raw, start + 44)
    points = _positions(raw, start + 44 + 4 * part_count, point_count)
    return [points[first:last] for first, last in zip(firsts, (*firsts[1:], point_count), strict=True)]


def _positions(raw: bytes, start: int, count: int) -> list[Position]:
    numbers = struct.unpack_from(f"<{2 * count}d", raw, start)
    return list(zip(numbers[::2], numbers[1::2], strict=True))


def _lines(parts: list[list[Position]]) -> dict[str, Any]:
    if len(parts) == 1:
        return {"type": "LineString", "coordinates": parts[0]}
    return {"type": "MultiLineString", "coordinates": parts}


def _polygons(rings: list[list[Position]]) -> dict[str, Any]:
    """Outer rings run clockwise; the holes behind one belong to it."""
    polygons: list[list[list[Position]]] = []
    for ring in rings:
        if _area(ring) <= 0 or not polygons:
            polygons.append([ring])
        else:
            polygons[-1].append(ring)
    if len(polygons) == 1:
        return {"type": "Polygon", "coordinates": polygons[0]}
    return {"type": "MultiPolygon", "coordinates": polygons}


def _area(ring: list[Position]) -> float:
    """Twice the area, negative for a ring that runs clockwise."""
    following = [*ring[1:], *ring[:1]]
    return sum(x * next_y - next_x * y for (x, y), (next_x, next_y) in zip(ring, following, strict=True))
