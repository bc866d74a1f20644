"""YAML and JSON text as a tree of nodes that know where they stand.

The scanner is libyaml's, as in the reference. On top of it: nothing that anchors repeat may grow without bound, nothing
may nest without bound, and tags other than YAML's own are refused. What a node means is for ``yaml_reader.py`` to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from opendatafabric.codec.yaml_scalars import Scalar, resolve
from opendatafabric.errors import LimitExceeded, MalformedManifest
from opendatafabric.limits import MANIFEST_BYTES_MAX, MANIFEST_DEPTH_MAX

_TAGS: Final = "tag:yaml.org,2002:"
_BYTE_ORDER_MARK: Final = "\ufeff"
_REPEATS_MAX: Final = 100
"""How many times larger than its text a tree may become through anchors."""


@dataclass(slots=True)
class Node:
    """One of three: ``scalar`` text, ``pairs`` of a mapping, ``items`` of a sequence. Lines and columns from 1."""

    line: int
    column: int
    scalar: str | None = None
    is_text: bool = False
    pairs: list[tuple[Node, Node]] | None = None
    items: list[Node] | None = None
    size: int = field(default=1)

    @property
    def value(self) -> Scalar:
        """What a scalar means by the core schema."""
        return self.scalar if self.is_text else resolve(self.scalar or "")

    @property
    def is_null(self) -> bool:
        return self.scalar is not None and self.value is None

    def describe(self) -> str:
        """What it is, for error messages."""
        if self.pairs is not None:
            return "a mapping"
        if self.items is not None:
            return "a list"
        value = self.value
        return "null" if value is None else f"{_TYPE_NAMES[type(value)]} {(self.scalar or '')[:60]!r}"

    def error(self, message: str, path: str, *, hint: str | None = None) -> MalformedManifest:
        """An error that says where."""
        where = f"line {self.line}, column {self.column}"
        return MalformedManifest(f"{where}: {path}: {message}" if path else f"{where}: {message}", hint=hint)


_TYPE_NAMES: Final[dict[type, str]] = {bool: "boolean", int: "integer", float: "number", str: "text"}


def read_documents(text: str) -> Iterator[Node | None]:
    """The documents of a stream, one after another; ``None`` for one without content.

    Raises:
        MalformedManifest: not YAML; the message names line and column.
        LimitExceeded: too long, too deep, or too much repeated through anchors.
    """
    if len(text) > MANIFEST_BYTES_MAX:
        raise LimitExceeded(
            "manifest is too long", expected=f"at most {MANIFEST_BYTES_MAX} characters", found=len(text)
        )
    if text.startswith(_BYTE_ORDER_MARK):
        raise MalformedManifest("line 1, column 1: a byte order mark", hint="save the file as UTF-8 without one")
    try:
        yield from _documents(yaml.parse(text, Loader=yaml.CSafeLoader), _Composer(len(text)))
    except yaml.YAMLError as error:
        raise _not_yaml(error) from None


def _documents(events: Iterator[Any], composer: _Composer) -> Iterator[Node | None]:
    for event in events:
        if isinstance(event, yaml.DocumentStartEvent):
            composer.anchors.clear()
            yield composer.node(next(events), events, 0)


class _Composer:
    def __init__(self, text_length: int) -> None:
        self.anchors: dict[str, Node] = {}
        self._left = max(text_length, 1000) * _REPEATS_MAX

    def node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        if depth > MANIFEST_DEPTH_MAX:
            raise LimitExceeded("manifest nests too deep", expected=f"at most {MANIFEST_DEPTH_MAX} levels")
        if isinstance(event, yaml.AliasEvent):
            return self._repeated(event)
        node = self._new(event, events, depth)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        return node

    def _repeated(self, event: Any) -> Node:
        node = self.anchors.get(event.anchor)
        if node is None:
            raise MalformedManifest(f"{_where(event.start_mark)}: unknown anchor {event.anchor!r}")
        self._charge(node.size)
        return node

    def _charge(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise LimitExceeded("manifest repeats too much through its anchors")

    def _new(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        node = Node(event.start_mark.line + 1, event.start_mark.column + 1)
        if isinstance(event, yaml.ScalarEvent):
            node.scalar, node.is_text = event.value, _is_text(event, node)
        elif isinstance(event, yaml.MappingStartEvent):
            _require_own_tag(event.tag, "map", node)
            node.pairs = list(self._pairs(events, depth))
            node.size += sum(key.size + value.size for key, value in node.pairs)
        else:
            _require_own_tag(event.tag, "seq", node)
            node.items = list(self._items(events, depth))
            node.size += sum(item.size for item in node.items)
        return node

    def _pairs(self, events: Iterator[Any], depth: int) -> Iterator[tuple[Node, Node]]:
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = self.node(event, events, depth + 1)
            yield key, self.node(next(events), events, depth + 1)

    def _items(self, events: Iterator[Any], depth: int) -> Iterator[Node]:
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            yield self.node(event, events, depth + 1)


def _is_text(event: Any, node: Node) -> bool:
    if event.tag in (None, "!"):
        return not event.implicit[0] or event.tag == "!"
    if not event.tag.startswith(_TAGS) or event.tag[len(_TAGS) :] not in {"str", "int", "float", "bool", "null"}:
        raise node.error(f"tag {event.tag!r} is not known", "")
    return bool(event.tag == _TAGS + "str")


def _require_own_tag(tag: str | None, expected: str, node: Node) -> None:
    if tag not in (None, "!", _TAGS + expected):
        raise node.error(f"tag {tag!r} is not known", "")


def _not_yaml(error: yaml.YAMLError) -> MalformedManifest:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be read"
    return MalformedManifest(f"{_where(mark)}: {problem}" if mark else f"not YAML: {problem}")


def _where(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"
