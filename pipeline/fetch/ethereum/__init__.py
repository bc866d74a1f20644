"""EthereumLogs: what contracts of a chain logged, by ranges of blocks, each range a block of the dataset.

The state is the last block that was looked at, ``<number>@<hash>``. A chain that has another block there by now was
reorganised: what was taken from it is no longer true, and nothing is added to it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from opendatafabric.errors import Conflict, MalformedManifest, MalformedSource, PeerRefusal, UnsupportedOperation
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import FetchStepEthereumLogs
from opendatafabric.source_limits import ETHEREUM_BLOCKS_MAX, ETHEREUM_RANGE_BLOCKS, FETCH_RECORDS_TARGET
from pipeline.fetch.ethereum.event_signature import Event, parse_event
from pipeline.fetch.ethereum.log_filter import LogFilter, parse_filter
from pipeline.fetch.ethereum.logs import rows_of, table_of
from pipeline.fetch.ethereum.node import Node, open_node
from pipeline.fetch.fetched import ETAG, Fetched, FetchOptions, state_of
from pipeline.fetch.places import named_place, parsed
from pipeline.fetch.templates import resolve

__all__ = ["fetch_ethereum_logs"]

_AT: Final = "@"


async def fetch_ethereum_logs(
    step: FetchStepEthereumLogs, state: SourceState | None, target: Path, options: FetchOptions
) -> Fetched | None:
    """The logs behind ``state``, as Parquet; errors as ``fetch``."""
    event = None if step.signature is None else parse_event(step.signature.replace("\n", " "))
    wanted = LogFilter() if step.filter is None else parse_filter(step.filter)
    if event is not None:
        wanted &= LogFilter.of_column("topic0", frozenset({event.selector}))
    if wanted.matches_nothing:
        return None
    url, place = _address(step, options)
    async with open_node(url, place, options) as node:
        await _check_chain(node, step)
        scan = await _begun(node, wanted, state, options)
        if scan.next > scan.last:
            return None
        while not scan.is_enough:
            await scan.go_on(node)
        number, block_hash = await node.block(scan.next - 1)
    await asyncio.to_thread(_write, scan.rows, event, target)
    return Fetched(target, state_of(ETAG, f"{number}{_AT}{block_hash}"), has_more=scan.next <= scan.last)


@dataclass
class _Scan:
    """How far it got; ``step`` is how many blocks the node is asked for at once."""

    wanted: LogFilter
    next: int
    last: int
    step: int
    rows: list[dict[str, Any]] = field(default_factory=list)
    blocks_seen: int = 0

    @property
    def is_enough(self) -> bool:
        """For one block of the dataset."""
        full = len(self.rows) >= FETCH_RECORDS_TARGET or self.blocks_seen >= ETHEREUM_BLOCKS_MAX
        return full or self.next > self.last

    async def go_on(self, node: Node) -> None:
        """By one range; where the node finds that too wide, by half of it."""
        end = min(self.last, self.next + self.step - 1)
        try:
            answer = await node.ask("eth_getLogs", self.wanted.request(self.next, end))
        except PeerRefusal:
            if end == self.next:
                raise
            self.step = max(1, (end - self.next + 1) // 2)
            return
        self.rows += await asyncio.to_thread(rows_of, answer, self.wanted, self.next, end)
        self.blocks_seen += end - self.next + 1
        self.next = end + 1


async def _begun(node: Node, wanted: LogFilter, state: SourceState | None, options: FetchOptions) -> _Scan:
    newest, _ = await node.block(None)
    newest -= options.ethereum_confirmations
    last = newest if wanted.last is None else min(wanted.last, newest)
    left = _left(state)
    if left is None:
        return _Scan(wanted, wanted.first, last, ETHEREUM_RANGE_BLOCKS)
    number, block_hash = left
    if number <= newest and await node.block(number) != left:
        raise Conflict(
            f"the chain was reorganised: it has another block {number} than the dataset",
            expected=block_hash,
            hint="what was taken must be reset; ODF_ETHEREUM_CONFIRMATIONS keeps away from blocks that may change",
        )
    return _Scan(wanted, max(wanted.first, number + 1), last, ETHEREUM_RANGE_BLOCKS)


def _left(state: SourceState | None) -> tuple[int, str] | None:
    """Where the scan stopped; ``None`` if another kind of source left the state."""
    if state is None or state.kind != ETAG:
        return None
    number, _, block_hash = state.value.partition(_AT)
    return (int(number), block_hash.removeprefix("0x")) if number.isascii() and number.isdigit() else None


def _address(step: FetchStepEthereumLogs, options: FetchOptions) -> tuple[str, str]:
    """Where the node is, and how to call it."""
    if step.node_url is not None:
        place, url = named_place(step.node_url), resolve(step.node_url, options.variables)
    elif step.chain_id is not None and step.chain_id in options.ethereum_nodes:
        place, url = f"of chain {step.chain_id}", options.ethereum_nodes[step.chain_id]
    else:
        raise MalformedManifest(
            f"the source names no node, and none is known of chain {step.chain_id}", hint="ODF_ETHEREUM_NODES"
        )
    if parsed(url, place).scheme not in {"http", "https"}:
        raise UnsupportedOperation("nodes are asked over HTTP only", expected="http or https")
    return url, place


async def _check_chain(node: Node, step: FetchStepEthereumLogs) -> None:
    if step.chain_id is not None and (found := await node.chain_id()) != step.chain_id:
        raise MalformedSource("the node serves another chain", expected=step.chain_id, found=found)


def _write(rows: list[dict[str, Any]], event: Event | None, target: Path) -> None:
    """Without logs an empty file: nothing but the state is to be remembered."""
    if rows:
        pq.write_table(table_of(rows, event), target)
    else:
        target.touch()
