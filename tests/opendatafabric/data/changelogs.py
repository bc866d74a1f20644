"""Small changelogs, and a real one."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from opendatafabric.data.changelog import OperationType
from tests.vectors.load import FOLDER

AIRPORTS = FOLDER / "datasets" / "us.faa.airports" / "data"
SCHEMA = pa.schema([("offset", pa.int64()), ("op", pa.int32()), ("city", pa.string()), ("n", pa.int64())])
A, R, CF, CT = OperationType


def records(*rows: tuple[Any, ...]) -> pa.Table:
    return pa.table(
        [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), SCHEMA, strict=True)]
        if rows
        else [pa.array([], field.type) for field in SCHEMA],
        schema=SCHEMA,
    )


def primary_key_of_airports() -> list[str]:
    text = AIRPORTS.parent.with_name("us.faa.airports.log.yaml").read_text()
    lines = text.split("primaryKey:\n")[1].splitlines()
    return [
        line.strip(" -")
        for line in lines[: next(i for i, line in enumerate(lines) if not line.strip().startswith("-"))]
    ]
