"""YAML text as nodes that know where they stand. JSON is read as YAML, as the reference does.

The scanner is libyaml's; composing is done here, so that every node keeps its line and column, nesting and repetition
by anchors are bounded before anything is built of them, and nothing but plain YAML gets through: no custom tags.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from opendatafabric.codec.yaml_scalars import (
    PlainValue,
    is_null,
    resolve,
    resolve_bool,
    resolve_float,
    resolve_integer,
)
from opendatafabric.errors import LimitExceeded, MalformedManifest
from opendatafabric.limits import MANIFEST_BYTES_MAX, MANIFEST_DEPTH_MAX, MANIFEST_NODES_MAX

_LOADER: Final[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_CORE_TAG: Final = "tag:yaml.org,2002:"
_TAGGED: Final[dict[str, Callable[[str], PlainValue]]] = {
    "bool": resolve_bool,
    "int": resolve_integer,
    "float": resolve_float,
    "null": lambda text: None,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """``line`` and ``column`` count from 1; ``nodes`` and ``height`` (0 for a scalar) count what anchors repeat."""

    line: int
    column: int
    nodes: int = 1
    height: int = 1

    @property
    def place(self) -> str:
        return f"line {self.line}, column {self.column}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalar(Node):
    """``value`` is what the scalar means; ``text`` what it says, whatever it means; ``plain`` is one without quotes."""

    text: str
    value: PlainValue
    plain: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Sequence(Node):
    items: tuple[Node, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mapping(Node):
    """Entries as written: keys may repeat and need not be text."""

    entries: tuple[tuple[Node, Node], ...]


@dataclass(slots=True)
class _Composer:
    events: Iterator[Any]
    anchors: dict[str, Node | None] = field(default_factory=dict)

    def node(self, event: Any, depth: int) -> Node:
        if depth > MANIFEST_DEPTH_MAX and isinstance(event, yaml.CollectionStartEvent):
            raise LimitExceeded(f"manifest nests too deep at {_place(event)}", expected=f"depth ≤ {MANIFEST_DEPTH_MAX}")
        if isinstance(event, yaml.AliasEvent):
            return self._anchored(event, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        node = self._composed(event, depth)
        if node.nodes > MANIFEST_NODES_MAX:
            raise LimitExceeded(f"manifest holds too much at {node.place}", expected=f"{MANIFEST_NODES_MAX} values")
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _anchored(self, event: Any, depth: int) -> Node:
        found = self.anchors.get(event.anchor)
        if found is None:
            raise MalformedManifest(f"*{event.anchor} at {_place(event)} names nothing that ended before it")
        if depth + found.height > MANIFEST_DEPTH_MAX + 1:
            raise LimitExceeded(f"manifest nests too deep at {_place(event)}", expected=f"depth ≤ {MANIFEST_DEPTH_MAX}")
        return found

    def _composed(self, event: Any, depth: int) -> Node:
        if isinstance(event, yaml.ScalarEvent):
            return _scalar(event)
        if event.tag is not None and not event.tag.startswith(_CORE_TAG):
            raise _foreign_tag(event)
        if isinstance(event, yaml.SequenceStartEvent):
            items = tuple(self._until(yaml.SequenceEndEvent, depth))
            return Sequence(**_extent(event, items), items=items)
        parts = tuple(self._until(yaml.MappingEndEvent, depth))
        return Mapping(**_extent(event, parts), entries=tuple(zip(parts[::2], parts[1::2], strict=True)))

    def _until(self, end: type, depth: int) -> Iterator[Node]:
        total = 0
        while not isinstance(event := next(self.events), end):
            node = self.node(event, depth + 1)
            total += node.nodes
            if total > MANIFEST_NODES_MAX:
                raise LimitExceeded(f"manifest holds too much at {node.place}", expected=f"{MANIFEST_NODES_MAX} values")
            yield node


def read_documents(text: str) -> Iterator[Node]:
    """The root of each document of a stream; an empty document is a null scalar.

    Raises:
        MalformedManifest: not YAML, a byte-order mark, a tag or anchor that means nothing.
        LimitExceeded: over the maxima of ``limits.py``.
    """
    if len(text) > MANIFEST_BYTES_MAX:
        raise LimitExceeded("manifest is too large", expected=f"at most {MANIFEST_BYTES_MAX} bytes", found=len(text))
    if text.startswith("\ufeff"):
        raise MalformedManifest(
            "manifest begins with a byte-order mark (line 1, column 1)", hint="save the file as UTF-8 without BOM"
        )
    try:
        yield from _documents(yaml.parse(text, Loader=_LOADER))
    except yaml.MarkedYAMLError as error:
        raise _not_yaml(error) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise MalformedManifest(f"manifest is not YAML: {error}") from None


def _documents(events: Iterator[Any]) -> Iterator[Node]:
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            yield _Composer(events).node(next(events), 1)


def _not_yaml(error: yaml.MarkedYAMLError) -> MalformedManifest:
    mark = error.problem_mark or error.context_mark
    place = "" if mark is None else f" at line {mark.line + 1}, column {mark.column + 1}"
    return MalformedManifest(f"manifest is not YAML{place}: {error.problem or error.context}")


def _scalar(event: Any) -> Scalar:
    return Scalar(**{**_extent(event, ()), "height": 0}, text=event.value, value=_meaning(event), plain=not event.style)


def _meaning(event: Any) -> PlainValue:
    """The value of a scalar by its style and tag."""
    text: str = event.value
    if event.tag is None:
        return text if event.style else resolve(text)
    if not event.tag.startswith(_CORE_TAG):
        raise _foreign_tag(event)
    name = event.tag.removeprefix(_CORE_TAG)
    if name == "null" and is_null(text):
        return None
    return _tagged(event, _TAGGED[name](text)) if name in _TAGGED else text


def _tagged(event: Any, value: PlainValue) -> PlainValue:
    if value is None:
        raise MalformedManifest(f"{event.value[:100]!r} at {_place(event)} is not of the type its tag says")
    return value


def _foreign_tag(event: Any) -> MalformedManifest:
    return MalformedManifest(
        f"tag {event.tag[:100]!r} at {_place(event)} has no meaning here", hint="leave the tag out"
    )


def _extent(event: Any, parts: tuple[Node, ...]) -> dict[str, int]:
    return {
        "line": event.start_mark.line + 1,
        "column": event.start_mark.column + 1,
        "nodes": 1 + sum(part.nodes for part in parts),
        "height": 1 + max((part.height for part in parts), default=0),
    }


def _place(event: Any) -> str:
    return f"line {event.start_mark.line + 1}, column {event.start_mark.column + 1}"
