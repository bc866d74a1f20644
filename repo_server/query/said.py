"""What the chain of a dataset says of it last, as the reference's API gives it: ``metadata``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from enum import StrEnum
from typing import Any, Final

from opendatafabric.codec.plain import to_plain
from opendatafabric.metadata.events import Seed, SetAttachments, SetDataSchema, SetInfo, SetLicense
from pipeline.query.answer_form import SchemaFormat
from pipeline.query.schema_text import schema_value
from storage.records.moment import KnownRecords


class Said(StrEnum):
    """What may be asked for."""

    ATTACHMENTS = "attachments"
    INFO = "info"
    LICENSE = "license"
    REFS = "refs"
    SCHEMA = "schema"
    SEED = "seed"
    VOCAB = "vocab"


_EVENTS: Final[dict[Said, type]] = {
    Said.ATTACHMENTS: SetAttachments,
    Said.INFO: SetInfo,
    Said.LICENSE: SetLicense,
    Said.SEED: Seed,
}
_CAMEL: Final = {
    "offset_column": "offsetColumn",
    "operation_type_column": "operationTypeColumn",
    "system_time_column": "systemTimeColumn",
    "event_time_column": "eventTimeColumn",
}


def plain_metadata(known: KnownRecords, asked: set[Said], schema_format: SchemaFormat) -> dict[str, Any]:
    """Those of ``asked`` that the chain says something of; names of columns have defaults."""
    writers: dict[Said, Callable[[], dict[str, Any]]] = {
        Said.REFS: lambda: {"refs": [{"name": "head", "blockHash": str(known.head)}]},
        Said.SCHEMA: lambda: _schema(known, schema_format),
        Said.VOCAB: lambda: {"vocab": {_CAMEL[name]: given for name, given in asdict(known.vocabulary).items()}},
    }
    found: dict[str, Any] = {}
    for each in sorted(asked):
        found |= writers[each]() if each in writers else _event(known, each)
    return found


def _event(known: KnownRecords, said: Said) -> dict[str, Any]:
    event = known.newest.get(_EVENTS[said])
    if event is None:
        return {}
    plain = to_plain(event)
    return {said.value: {name: given for name, given in plain.items() if name != "kind"}}


def _schema(known: KnownRecords, schema_format: SchemaFormat) -> dict[str, Any]:
    if SetDataSchema not in known.newest:
        return {}
    return {"schema": schema_value(known.schema, schema_format), "schemaFormat": schema_format.value}
