"""Text forms of other versions of the format: what they are called, so that they can be refused by name.

Only forms that say the same as a form of today are read (``ddlSchema`` of ODF 0.38). The rest is recognised, because a
person is helped more by "this is the form of ODF 0.33" than by "unknown field".
"""

from __future__ import annotations

from typing import Final

SAME_FIELD: Final = {"ddlSchema": "schema"}
"""Fields of read steps that were renamed without a change: the list of DDL columns, by its name since ODF 0.38."""

_ANCIENT: Final = "a form older than ODF 0.22"
_BEFORE_034: Final = "a form older than ODF 0.34"
_FORMER_FIELDS: Final[dict[str, dict[str, tuple[str, str | None]]]] = {
    "Manifest": {
        "apiVersion": (_ANCIENT, "version"),
        "$schema": ("the form of resources since ODF 0.39", None),
        "headers": ("the form of resources since ODF 0.39", None),
        "spec": ("the form of resources since ODF 0.39", None),
    },
    "DatasetSnapshot": {
        "id": (_ANCIENT, "name"),
        "source": (_ANCIENT, "kind and metadata"),
        "vocab": (_ANCIENT, "an event SetVocab in metadata"),
    },
    "MetadataBlock": {
        "blockHash": (_ANCIENT, None),
        "outputSlice": (_ANCIENT, "an event AddData or ExecuteTransform"),
        "outputWatermark": (_ANCIENT, "newWatermark of an event"),
        "inputSlices": (_ANCIENT, "an event ExecuteTransform"),
        "source": (_ANCIENT, "an event SetPollingSource or SetTransform"),
        "vocab": (_ANCIENT, "an event SetVocab"),
    },
    "AddPushSource": {"source": ("the form of ODF 0.33.0", "sourceName")},
    "DisablePushSource": {"source": ("the form of ODF 0.33.0", "sourceName")},
    "AddData": {
        "inputCheckpoint": (_BEFORE_034, "prevCheckpoint"),
        "outputData": (_BEFORE_034, "newData"),
        "outputCheckpoint": (_BEFORE_034, "newCheckpoint"),
        "outputWatermark": (_BEFORE_034, "newWatermark"),
        "sourceState": (_BEFORE_034, "newSourceState"),
    },
    "ExecuteTransform": {
        "inputCheckpoint": (_BEFORE_034, "prevCheckpoint"),
        "outputData": (_BEFORE_034, "newData"),
        "outputCheckpoint": (_BEFORE_034, "newCheckpoint"),
        "outputWatermark": (_BEFORE_034, "newWatermark"),
    },
    "TransformInput": {"id": (_BEFORE_034, "datasetRef"), "name": (_BEFORE_034, "alias")},
    "MergeStrategySnapshot": dict.fromkeys(
        ("observationColumn", "obsvAdded", "obsvChanged", "obsvRemoved"), (_BEFORE_034, None)
    ),
    "ReadStepCsv": dict.fromkeys(
        (
            *("comment", "enforceSchema", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace", "emptyValue"),
            *("nanValue", "positiveInf", "negativeInf", "multiLine"),
        ),
        (_BEFORE_034, None),
    ),
    "ReadStepNdJson": dict.fromkeys(("multiLine", "primitivesAsString"), ("a form older than ODF 0.32", None)),
}
_FORMER_KINDS: Final = {
    "ReadStep": {
        "JsonLines": ("a form older than ODF 0.32", "NdJson"),
        "jsonLines": ("a form older than ODF 0.32", "NdJson"),
    }
}


def former_field(table: str, field: str) -> tuple[str, str | None] | None:
    """Which form has ``field`` in ``table``, and what it is called today if it still exists."""
    return _FORMER_FIELDS.get(table, {}).get(field)


def former_kind(union: str, kind: str) -> tuple[str, str | None] | None:
    """The same for the ``kind`` of a member of a union."""
    return _FORMER_KINDS.get(union, {}).get(kind)


def former_value(table: str, field: str, *, is_text: bool, is_mapping: bool) -> tuple[str, str | None] | None:
    """The same for a field that kept its name and changed what it holds."""
    if table == "SetDataSchema" and field == "schema" and is_text:
        return "the form of ODF 0.33 to 0.36", "rawArrowSchema"
    if table.startswith("ReadStep") and field == "schema" and is_mapping:
        return "the form of ODF 0.38", None
    if field in {"type", "itemType", "keyType", "valueType", "inner"} and is_text:
        return "the short form of ODF 0.38", "a mapping {kind: …}"
    return None
