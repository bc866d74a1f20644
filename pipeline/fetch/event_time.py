"""When records happened that do not say it themselves: by the metadata of their source, or by its name."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from opendatafabric.errors import MalformedManifest, MalformedSource
from opendatafabric.instant import Instant
from opendatafabric.metadata.sources import EventTimeSource, EventTimeSourceFromMetadata, EventTimeSourceFromPath

_DATE: Final = "%Y-%m-%d"
_CHRONO: Final = {
    "%F": "%Y-%m-%d", "%T": "%H:%M:%S", "%X": "%H:%M:%S", "%R": "%H:%M", "%D": "%m/%d/%y", "%x": "%m/%d/%y",
    "%e": "%d", "%k": "%H", "%l": "%I", "%h": "%b", "%:z": "%z", "%.f": ".%f", "%.3f": ".%f", "%.6f": ".%f",
    "%3f": "%f", "%6f": "%f", "%n": "\n", "%t": "\t",
}  # fmt: skip
"""Directives that the reference knows and Python does not, or under another name."""
_SECONDS: Final = "%s"


def by_metadata(source: EventTimeSource | None, moment: Instant | None) -> Instant | None:
    """``moment``, unless the source says that it means nothing."""
    return moment if source is None or isinstance(source, EventTimeSourceFromMetadata) else None


def time_in_name(name: str, source: EventTimeSourceFromPath) -> Instant:
    """What the first group of the pattern holds. Patterns are matched in linear time, whatever they are.

    Raises:
        MalformedManifest: the pattern is none.
        MalformedSource: the name does not match, or holds no time of that format.
    """
    text = _first_group(name, source.pattern)
    try:
        if text is None:
            raise ValueError("it does not match")
        moment = _moment(text, source.timestamp_format or _DATE)
    except (ValueError, OverflowError, OSError) as error:
        raise MalformedSource(f"the name {name} holds no event time: {error}", expected=source.pattern) from None
    return Instant.from_datetime(moment if moment.tzinfo else moment.replace(tzinfo=UTC))


def _first_group(name: str, pattern: str) -> str | None:
    names = pa.array([name])
    try:
        if not pc.match_substring_regex(names, pattern=pattern)[0].as_py():
            return None
        whole = f"(?s)^.*?(?:{pattern}).*$"
        found: str = pc.replace_substring_regex(names, pattern=whole, replacement=r"\1")[0].as_py()
    except pa.ArrowException:
        raise MalformedManifest("the pattern of the event time is no pattern with a group", found=pattern) from None
    return found


def _moment(text: str, form: str) -> datetime:
    if form == _SECONDS:
        return datetime.fromtimestamp(int(text), UTC)
    for chrono, python in _CHRONO.items():
        form = form.replace(chrono, python)
    return datetime.strptime(text, form)
