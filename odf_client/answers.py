"""What a server answered to a query: records, the blocks they were computed at, and the signature over both."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import orjson
import pyarrow as pa

from opendatafabric.codec.yaml_codec import read_event_manifest
from opendatafabric.data.event_schema import arrow_schema
from opendatafabric.errors import MalformedInput
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.query_proof import check_answer


@dataclass(frozen=True, slots=True)
class Answer:
    """``table`` has the records, ``signer`` is the ``did:key`` that signed them; ``raw`` is to be kept as proof."""

    table: pa.Table
    signer: str
    datasets: dict[str, str]
    """The block that each dataset was read at, by the name in the query."""
    raw: bytes = field(repr=False)

    def to_pandas(self) -> Any:
        """The records as a data frame (the extra ``pandas``)."""
        return self.table.to_pandas()


def read_answer(raw: bytes) -> Answer:
    """An answer, if its hashes and its signature hold. Whose key that is, is for ``Repository.verify``.

    Raises:
        MalformedInput: it is none.
        HashMismatch, InvalidSignature: a part of it is not what was signed.
    """
    signer = check_answer(raw)
    answer = orjson.loads(raw)
    try:
        output, datasets = answer["output"], answer["input"]["datasets"]
        schema = _schema(output["schema"])
        return Answer(
            _table(output["data"], schema), signer, {each["alias"]: each["blockHash"] for each in datasets}, raw
        )
    except (KeyError, TypeError, ValueError, pa.ArrowException) as error:
        raise MalformedInput(f"the answer is not what was asked for: {type(error).__name__} {error}") from None


def _schema(told: Any) -> pa.Schema:
    content = {"kind": "SetDataSchema", "schema": told}
    manifest = orjson.dumps({"kind": "MetadataEvent", "version": 1, "content": content}).decode()
    event = read_event_manifest(manifest)
    assert isinstance(event, SetDataSchema)
    return arrow_schema(event).remove_metadata()


def _table(rows: list[list[Any]], schema: pa.Schema) -> pa.Table:
    columns = zip(*rows, strict=True) if rows else [()] * len(schema)
    return pa.table([_column(values, each.type) for values, each in zip(columns, schema, strict=True)], schema=schema)


def _column(values: Any, kind: pa.DataType) -> Any:
    """Values of JSON as those of Arrow: times and decimals are text there, bytes hexadecimal."""
    types = pa.types
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        return pa.array([None if each is None else bytes.fromhex(each) for each in values], kind)
    if types.is_temporal(kind) or types.is_decimal(kind):
        return pa.array(values, pa.string()).cast(kind)
    return pa.array(values, kind)
