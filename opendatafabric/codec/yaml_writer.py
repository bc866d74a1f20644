"""Plain values as YAML, laid out and quoted as the reference does it, so that texts can be compared byte for byte.

The emitter is libyaml's, without a limit on line length; decided here is only which texts need quotes: those that
would read back as something else. Text of several lines becomes a block.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from opendatafabric.codec.yaml_scalars import resolve
from opendatafabric.errors import MalformedInput
from opendatafabric.metadata.attributes import float_text

_DUMPER: Final[Any] = getattr(yaml, "CDumper", yaml.Dumper)
_STAND_IN: Final = "\ue000"
_BEYOND_BASIC_PLANE: Final = re.compile("[\ue000\U00010000-\U0010ffff]")


def write_yaml(value: Any) -> str:
    """One document: mappings with text for keys, lists, and scalars, in the order given.

    Raises:
        MalformedInput: text with half a surrogate pair, which no file can hold.
    """
    stream = io.StringIO()
    dumper = _DUMPER(stream, allow_unicode=True, width=-1)
    events = _Events()
    try:
        for event in events.document(value):
            dumper.emit(event)
    except UnicodeEncodeError as error:
        raise MalformedInput(f"text cannot be written as UTF-8: {error}") from None
    finally:
        dumper.dispose()
    return events.restore(stream.getvalue())


@dataclass(slots=True)
class _Events:
    """What the emitter is told. libyaml escapes characters that the reference leaves as they are, those beyond the
    basic plane; so a stand-in goes through the emitter and they are put back in their order."""

    kept: list[str] = field(default_factory=list)

    def document(self, value: Any) -> Iterator[Any]:
        yield yaml.StreamStartEvent()
        yield yaml.DocumentStartEvent(explicit=False)
        yield from self._value(value)
        yield yaml.DocumentEndEvent(explicit=False)
        yield yaml.StreamEndEvent()

    def restore(self, text: str) -> str:
        kept = iter(self.kept)
        return re.sub(_STAND_IN, lambda _: next(kept), text) if self.kept else text

    def _value(self, value: Any) -> Iterator[Any]:
        match value:
            case dict():
                yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=False)
                for key, item in value.items():
                    yield self._text(key)
                    yield from self._value(item)
                yield yaml.MappingEndEvent()
            case list():
                yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=False)
                for item in value:
                    yield from self._value(item)
                yield yaml.SequenceEndEvent()
            case str():
                yield self._text(value)
            case _:
                yield yaml.ScalarEvent(None, None, (True, True), _word(value))

    def _text(self, text: str) -> Any:
        self.kept += _BEYOND_BASIC_PLANE.findall(text)
        return yaml.ScalarEvent(None, None, (True, True), _BEYOND_BASIC_PLANE.sub(_STAND_IN, text), style=_style(text))


def _style(text: str) -> str | None:
    if "\n" in text:
        return "|"
    return None if isinstance(resolve(text), str) else "'"


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
