"""Logs of a chain as the records of a source: the columns that the reference gives them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa

from opendatafabric.errors import ProtocolViolation
from pipeline.fetch.ethereum.event_signature import Event
from pipeline.fetch.ethereum.log_filter import LogFilter
from pipeline.fetch.ethereum.node import bytes_of, number_of

_NUMBERS: Final = ("block_number", "transaction_index", "log_index")
_TOPICS_MAX: Final = 4
RAW_SCHEMA: Final = pa.schema(
    [
        pa.field("block_number", pa.uint64(), False),
        pa.field("block_hash", pa.binary(), False),
        pa.field("block_timestamp", pa.timestamp("s", "UTC")),
        pa.field("transaction_index", pa.uint64(), False),
        pa.field("transaction_hash", pa.binary(), False),
        pa.field("log_index", pa.uint64(), False),
        pa.field("address", pa.binary(), False),
        *(pa.field(f"topic{index}", pa.binary()) for index in range(_TOPICS_MAX)),
        pa.field("data", pa.binary(), False),
    ]
)


def rows_of(answer: object, wanted: LogFilter, first: int, last: int) -> list[dict[str, Any]]:
    """The logs of an answer about those blocks, in their order on the chain.

    Raises:
        ProtocolViolation: it is no list of such logs.
    """
    if not isinstance(answer, list):
        raise ProtocolViolation("the node gives no list of logs")
    rows = [_row(each) for each in answer]
    for row in rows:
        topics = [row[f"topic{index}"] for index in range(_TOPICS_MAX) if row[f"topic{index}"] is not None]
        if not first <= row["block_number"] <= last or not wanted.takes(row["address"], topics):
            raise ProtocolViolation("the node gives logs that it was not asked for", found=row["block_number"])
    return sorted(rows, key=lambda row: (row["block_number"], row["log_index"]))


def table_of(rows: Sequence[dict[str, Any]], event: Event | None) -> pa.Table:
    """The records; with an event its parameters as a struct.

    Raises:
        MalformedSource: a log is none of the event.
    """
    raw = pa.Table.from_pylist(list(rows), RAW_SCHEMA)
    if event is None:
        return raw
    decoded = [event.decoded(_topics(row), row["data"]) for row in rows]
    return raw.append_column(pa.field("event", event.arrow, False), pa.array(decoded, event.arrow))


def _topics(row: dict[str, Any]) -> list[bytes]:
    found = [row[f"topic{index}"] for index in range(_TOPICS_MAX)]
    return [topic for topic in found if topic is not None]


def _row(log: object) -> dict[str, Any]:
    if not isinstance(log, dict) or log.get("removed") is True:
        raise ProtocolViolation("the node gives what is no log of its chain")
    topics = log.get("topics")
    if not isinstance(topics, list) or len(topics) > _TOPICS_MAX:
        raise ProtocolViolation("the node gives a log without topics, or with more than four")
    timestamp = log.get("blockTimestamp")
    row: dict[str, Any] = {
        "block_number": number_of(log.get("blockNumber")),
        "block_hash": bytes_of(log.get("blockHash"), 32),
        "block_timestamp": None if timestamp is None else number_of(timestamp),
        "transaction_index": number_of(log.get("transactionIndex")),
        "transaction_hash": bytes_of(log.get("transactionHash"), 32),
        "log_index": number_of(log.get("logIndex")),
        "address": bytes_of(log.get("address"), 20),
        "data": bytes_of(log.get("data")),
    }
    found = [bytes_of(topic, 32) for topic in topics]
    return row | {f"topic{index}": found[index] if index < len(found) else None for index in range(_TOPICS_MAX)}
