"""Manifests for people: blocks, events and dataset snapshots as YAML or JSON (spec: Metadata Format, Manifests).

A manifest is ``kind``, ``version`` and ``content``. What is read is checked to the last field; what is written is, byte
for byte, what the reference writes. For programs ``to_plain`` gives the same as dicts and lists.
"""

from __future__ import annotations

from typing import Any, Final

from opendatafabric.codec.manifest_place import Place
from opendatafabric.codec.manifest_reader import read_fields, read_integer, read_table, read_text, read_union
from opendatafabric.codec.plain import to_plain
from opendatafabric.codec.tables import table_of
from opendatafabric.codec.yaml_reader import Node, read_documents
from opendatafabric.codec.yaml_writer import write_yaml
from opendatafabric.errors import MalformedManifest, UnsupportedVersion
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import MetadataEvent
from opendatafabric.metadata.snapshot import DatasetSnapshot

__all__ = [
    "MANIFEST_VERSIONS",
    "read_block_manifest",
    "read_event_manifest",
    "read_snapshot",
    "read_snapshots",
    "to_plain",
    "write_block_manifest",
    "write_event_manifest",
    "write_snapshot",
]

MANIFEST_VERSIONS: Final = {"DatasetSnapshot": 1, "MetadataBlock": 2, "MetadataEvent": 1}
"""The kinds of manifests, each in the one version that is read and written."""

_EVENT: Final = table_of(MetadataBlock).fields[-1].target
_I32: Final = 2**31


def read_block_manifest(text: str) -> MetadataBlock:
    """A ``MetadataBlock`` manifest, version 2.

    Raises:
        MalformedManifest: not such a manifest; the message names path, line and column.
        UnsupportedVersion: a form of another version of the format, named.
        LimitExceeded: over the maxima of ``limits.py``.
    """
    block: MetadataBlock = read_table(_content(_only_document(text), "MetadataBlock"), MetadataBlock)
    return block


def read_event_manifest(text: str) -> MetadataEvent:
    """A ``MetadataEvent`` manifest, version 1; errors as ``read_block_manifest``."""
    event: MetadataEvent = read_union(_content(_only_document(text), "MetadataEvent"), _EVENT)
    return event


def read_snapshot(text: str) -> DatasetSnapshot:
    """The one ``DatasetSnapshot`` manifest of a text; errors as ``read_block_manifest``."""
    return _snapshot(_only_document(text))


def read_snapshots(text: str) -> list[DatasetSnapshot]:
    """The ``DatasetSnapshot`` manifests of a stream of documents, at least one; errors as ``read_block_manifest``."""
    documents = list(read_documents(text))
    if not documents:
        raise MalformedManifest("there is no manifest in this text", expected="kind, version, content")
    return [_snapshot(document) for document in documents]


def write_block_manifest(block: MetadataBlock) -> str:
    """The manifest of a block as YAML. That of an ``UnknownEvent`` says what it is and cannot be read back."""
    return _write("MetadataBlock", to_plain(block))


def write_event_manifest(event: MetadataEvent) -> str:
    """The manifest of one event as YAML."""
    return _write("MetadataEvent", to_plain(event))


def write_snapshot(snapshot: DatasetSnapshot) -> str:
    """The manifest of a snapshot as YAML."""
    return _write("DatasetSnapshot", to_plain(snapshot))


def _write(kind: str, content: dict[str, Any]) -> str:
    return write_yaml({"kind": kind, "version": MANIFEST_VERSIONS[kind], "content": content})


def _snapshot(document: Node) -> DatasetSnapshot:
    snapshot: DatasetSnapshot = read_table(_content(document, "DatasetSnapshot"), DatasetSnapshot)
    return snapshot


def _only_document(text: str) -> Node:
    documents = list(read_documents(text))
    if len(documents) != 1:
        raise MalformedManifest(
            "this text holds more than one document" if documents else "there is no manifest in this text",
            expected="one document",
            found=len(documents),
        )
    return documents[0]


def _content(document: Node, kind: str) -> Place:
    """The content of a manifest of ``kind`` in the version that is read."""
    place = Place(document, any_word=True)
    fields = read_fields(place, "Manifest", ("kind", "version", "content"))
    for name in ("kind", "version", "content"):
        if name not in fields:
            raise place.wrong(f"field {name} is missing", expected="kind, version, content")
    _check_kind(fields["kind"], kind)
    _check_version(fields["version"], kind)
    return fields["content"]


def _check_kind(place: Place, kind: str) -> None:
    if read_text(place) != kind:
        raise place.wrong(f"this is no manifest of kind {kind}", expected=kind)


def _check_version(place: Place, kind: str) -> None:
    version = read_integer(place, minimum=-_I32, maximum=_I32 - 1)
    if version != MANIFEST_VERSIONS[kind]:
        state = "obsolete" if version < MANIFEST_VERSIONS[kind] else "newer than this software"
        raise UnsupportedVersion(
            place.locate(f"version {version} of {kind} is {state}"), expected=MANIFEST_VERSIONS[kind], found=version
        )
