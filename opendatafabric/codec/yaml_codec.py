"""Manifests for people: blocks, single events and dataset snapshots as YAML or JSON (JSON is read as YAML).

The envelope is ``kind``, ``version``, ``content``; unknown fields are refused at every level. Resources of ODF 0.39 and
manifests of ODF before 0.34 are told apart and refused by what they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from opendatafabric.codec.plain import to_plain
from opendatafabric.codec.tables import UnionSpec, table_of
from opendatafabric.codec.yaml_nodes import Node, read_documents
from opendatafabric.codec.yaml_reader import fields_of, integer_of, read_content, read_event
from opendatafabric.codec.yaml_writer import write_yaml
from opendatafabric.errors import MalformedManifest, UnsupportedVersion
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import MetadataEvent
from opendatafabric.metadata.snapshot import DatasetSnapshot

__all__ = [
    "read_block_manifest",
    "read_event_manifest",
    "read_snapshot",
    "read_snapshots",
    "to_plain",
    "write_block_manifest",
    "write_event_manifest",
    "write_snapshot",
]

_EVENT: Final[UnionSpec] = table_of(MetadataBlock).fields[-1].target
_VERSIONS: Final = {"MetadataBlock": 2, "MetadataEvent": 1, "DatasetSnapshot": 1}
_ENVELOPE: Final = ("kind", "version", "content")
_OLD_SNAPSHOT_FIELDS: Final = {"id": "ODF 0.17 or older", "source": "ODF 0.17 or older", "vocab": "ODF 0.17 or older"}
_I32: Final = (-(2**31), 2**31 - 1)


@dataclass(frozen=True, slots=True)
class _Manifest:
    kind: str
    content: Node


def read_block_manifest(text: str) -> MetadataBlock:
    """One ``MetadataBlock`` manifest.

    Raises:
        MalformedManifest: the message names line, column and field.
        UnsupportedVersion: another version of the manifest.
    """
    block: MetadataBlock = read_content(_only(text, "MetadataBlock"), MetadataBlock, "content")
    return block


def read_event_manifest(text: str) -> MetadataEvent:
    """One ``MetadataEvent`` manifest; errors as ``read_block_manifest``."""
    event: MetadataEvent = read_event(_only(text, "MetadataEvent"), _EVENT, "content")
    return event


def read_snapshot(text: str) -> DatasetSnapshot:
    """One ``DatasetSnapshot`` manifest; errors as ``read_block_manifest``."""
    return _snapshot(_only(text, "DatasetSnapshot"))


def read_snapshots(text: str) -> list[DatasetSnapshot]:
    """A stream of ``DatasetSnapshot`` manifests, at least one; an empty document is an error."""
    snapshots = [_snapshot(_open(node, "DatasetSnapshot").content) for node in read_documents(text)]
    if not snapshots:
        raise MalformedManifest("there is no manifest in the text", hint="it begins with 'kind: DatasetSnapshot'")
    return snapshots


def write_block_manifest(block: MetadataBlock) -> str:
    """The text the reference would write."""
    return _write("MetadataBlock", block)


def write_event_manifest(event: MetadataEvent) -> str:
    """The text the reference would write."""
    return _write("MetadataEvent", event)


def write_snapshot(snapshot: DatasetSnapshot) -> str:
    """The text the reference would write."""
    return _write("DatasetSnapshot", snapshot)


def _write(kind: str, value: Any) -> str:
    return write_yaml({"kind": kind, "version": _VERSIONS[kind], "content": to_plain(value)})


def _snapshot(content: Node) -> DatasetSnapshot:
    for key, _ in content.pairs or []:
        if key.scalar in _OLD_SNAPSHOT_FIELDS:
            raise key.error(
                f"unknown field {key.scalar!r}: this is a DatasetSnapshot of {_OLD_SNAPSHOT_FIELDS[key.scalar]}",
                "content",
                hint="write it anew with name, kind and metadata",
            )
    snapshot: DatasetSnapshot = read_content(content, DatasetSnapshot, "content")
    return snapshot


def _only(text: str, kind: str) -> Node:
    documents: Iterator[Node | None] = read_documents(text)
    content = _open(next(documents, None), kind).content
    if (second := next(documents, _END)) is not _END:
        line = f"line {second.line}: " if isinstance(second, Node) else ""
        raise MalformedManifest(f"{line}a second document in the text", hint="one manifest a file")
    return content


_END: Final = object()


def _open(node: Node | None, kind: str) -> _Manifest:
    if node is None:
        raise MalformedManifest("there is no manifest in the text", hint=f"it begins with 'kind: {kind}'")
    fields = fields_of(node, "")
    _refuse_resources(fields)
    for name in _ENVELOPE:
        if name not in fields:
            raise node.error(
                f"missing field {name!r}", "", hint=f"a manifest of kind {kind} begins with 'kind: {kind}'"
            )
    for name, value in fields.items():
        if name not in _ENVELOPE:
            raise value.error(f"unknown field {name!r}", "", hint="a manifest has kind, version and content")
    _check_envelope(fields, kind)
    return _Manifest(kind, fields["content"])


def _refuse_resources(fields: dict[str, Node]) -> None:
    if "$schema" in fields:
        raise UnsupportedVersion(
            f"line {fields['$schema'].line}: this is a resource manifest of ODF 0.39 or newer, which is not supported",
            found=fields["$schema"].scalar,
            hint="write it as a DatasetSnapshot, version 1",
        )


def _check_envelope(fields: dict[str, Node], kind: str) -> None:
    if fields["kind"].scalar != kind:
        raise fields["kind"].error(f"expected a {kind}, found {fields['kind'].scalar!r}", "kind")
    version = integer_of(fields["version"], "version", *_I32)
    if version != _VERSIONS[kind]:
        state = "obsolete" if version < _VERSIONS[kind] else "newer than this software"
        raise UnsupportedVersion(
            f"line {fields['version'].line}: {kind} manifest version {version} is {state}",
            expected=_VERSIONS[kind],
            found=version,
        )
