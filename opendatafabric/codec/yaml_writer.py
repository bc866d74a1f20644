"""Plain values as YAML, laid out and quoted as the reference does it, so that texts can be compared byte for byte.

The emitter is libyaml's, without a limit on line length; decided here is only which texts need quotes: those that
would read back as something else. Text of several lines becomes a block.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any, Final

import yaml

from opendatafabric.codec.yaml_scalars import resolve
from opendatafabric.metadata.attributes import float_text

_EMITTER: Final[Any] = getattr(yaml, "CDumper", yaml.Dumper)


def write_yaml(value: Any) -> str:
    """One document: mappings with text for keys, lists, and scalars, in the order given."""
    events = [
        yaml.StreamStartEvent(),
        yaml.DocumentStartEvent(explicit=False),
        *_events(value),
        yaml.DocumentEndEvent(explicit=False),
        yaml.StreamEndEvent(),
    ]
    stream = io.StringIO()
    emitter = _EMITTER(stream, allow_unicode=True, width=-1)
    try:
        for event in events:
            emitter.emit(event)
    finally:
        emitter.dispose()
    return stream.getvalue()


def _events(value: Any) -> Iterator[Any]:
    match value:
        case dict():
            yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=False)
            for key, item in value.items():
                yield _text(key)
                yield from _events(item)
            yield yaml.MappingEndEvent()
        case list():
            yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=False)
            for item in value:
                yield from _events(item)
            yield yaml.SequenceEndEvent()
        case str():
            yield _text(value)
        case _:
            yield yaml.ScalarEvent(None, None, (True, True), _word(value))


def _text(text: str) -> yaml.ScalarEvent:
    if "\n" in text:
        style = "|"
    else:
        style = None if isinstance(resolve(text), str) else "'"
    return yaml.ScalarEvent(None, None, (True, True), text, style=style)


def _word(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value).replace("e+", "e")
        case _:
            return str(value)
