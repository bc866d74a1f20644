"""Logs of a chain, polled of a double of a node."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from aiohttp import web
from eth_abi.abi import encode

from opendatafabric.errors import (
    AccessDenied,
    Conflict,
    InvalidQuery,
    LimitExceeded,
    MalformedManifest,
    MalformedSource,
    OdfError,
    PeerUnavailable,
    ProtocolViolation,
    UnsupportedOperation,
)
from opendatafabric.metadata.sources import FetchStepEthereumLogs, ReadStepParquet
from pipeline.fetch import FetchOptions, ethereum, fetch
from pipeline.fetch.ethereum import node
from pipeline.fetch.ethereum.event_signature import parse_event
from pipeline.fetch.fetched import ETAG, Fetched, state_of
from tests.pipeline.fetch.ethereum.node_double import Chain, running
from tests.pipeline.polling import poller

OPTIONS = FetchOptions({"KEY": "secret"})
A, B = bytes(20), bytes([1] * 20)
SIGNATURE = "Sent(address indexed to,\n uint256 amount)"
SENT = parse_event(SIGNATURE.replace("\n", " ")).selector


def topic(address: bytes) -> bytes:
    """An address as wide as a topic."""
    return address.rjust(32, b"\0")


def amount(number: int) -> bytes:
    """The data of a log."""
    return encode(["uint256"], [number])


@pytest.fixture
def chain() -> Chain:
    """Ten blocks, logs in three of them."""
    found = Chain()
    found.log(8, B, bytes(32))
    found.log(1, A, SENT, topic(A), data=amount(5), blockTimestamp="0x5e0c0000")
    found.log(7, A, SENT, topic(B), data=amount(2**255))
    return found


@pytest.fixture
async def url(chain: Chain) -> AsyncIterator[str]:
    """Its node."""
    async with running(chain) as found:
        yield found


async def rows(step: FetchStepEthereumLogs, folder: Path) -> list[dict[str, Any]]:
    """What a first poll gives."""
    found = await fetch(step, None, folder, OPTIONS)
    assert found is not None
    return pq.read_table(found.file).to_pylist()


async def test_logs_come_in_the_order_of_the_chain_with_the_columns_of_the_reference(url: str, tmp_path: Path) -> None:
    step = FetchStepEthereumLogs(node_url=url)
    assert [row["block_number"] for row in await rows(step, tmp_path)] == [1, 7, 8]
    schema = pq.read_schema(tmp_path / "fetched")
    assert schema.names == [
        "block_number", "block_hash", "block_timestamp", "transaction_index", "transaction_hash", "log_index",
        "address", "topic0", "topic1", "topic2", "topic3", "data",
    ]  # fmt: skip


async def test_an_event_becomes_a_struct(url: str, tmp_path: Path) -> None:
    found = await rows(FetchStepEthereumLogs(node_url=url, signature=SIGNATURE), tmp_path)
    assert [row["event"] for row in found] == [{"to": A, "amount": "5"}, {"to": B, "amount": str(2**255)}]
    assert str(found[0]["block_timestamp"]) == "2020-01-01 02:12:16+00:00"
    assert found[1]["block_timestamp"] is None


async def test_the_node_is_asked_for_what_the_filter_says(chain: Chain, url: str, tmp_path: Path) -> None:
    conditions = f"block_number > 1 and block_number <= 8 and address = X'{A.hex()}' and topic1 = X'{topic(B).hex()}'"
    found = await rows(FetchStepEthereumLogs(node_url=url, filter=conditions, signature=SIGNATURE), tmp_path)
    assert [row["block_number"] for row in found] == [7]
    assert chain.ranges == [(2, 8)]


async def test_a_range_too_wide_for_the_node_is_halved(chain: Chain, url: str, tmp_path: Path) -> None:
    chain.widest = 3
    assert len(await rows(FetchStepEthereumLogs(node_url=url), tmp_path)) == 3
    assert chain.ranges == [(0, 9), (0, 4), (0, 1), (2, 3), (4, 5), (6, 7), (8, 9)]


async def test_a_node_that_refuses_even_one_block_is_not_asked_for_ever(chain: Chain, url: str, tmp_path: Path) -> None:
    chain.widest = 0
    with pytest.raises(PeerUnavailable, match="refuses") as caught:
        await fetch(FetchStepEthereumLogs(node_url=url), None, tmp_path, OPTIONS)
    assert "secret" not in str(caught.value.as_dict())


@pytest.mark.parametrize("limit", ["FETCH_RECORDS_TARGET", "ETHEREUM_BLOCKS_MAX"])
async def test_a_long_way_becomes_several_blocks(
    chain: Chain, url: str, tmp_path: Path, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ethereum, limit, 1)
    monkeypatch.setattr(ethereum, "ETHEREUM_RANGE_BLOCKS", 2)
    state, numbers = None, []
    for folder in "abcde" if limit == "ETHEREUM_BLOCKS_MAX" else "abc":
        (tmp_path / folder).mkdir()
        found = await fetch(FetchStepEthereumLogs(node_url=url), state, tmp_path / folder, OPTIONS)
        assert isinstance(found, Fetched)
        state = found.state
        if found.file.stat().st_size:
            numbers += [row["block_number"] for row in pq.read_table(found.file).to_pylist()]
    assert numbers == [1, 7, 8]
    assert state == state_of(ETAG, f"9@{chain.hash_of(9)[2:]}")
    assert await fetch(FetchStepEthereumLogs(node_url=url), state, tmp_path, OPTIONS) is None


async def test_a_polled_chain_from_its_first_day_to_its_last(chain: Chain, tmp_path: Path) -> None:
    async with running(chain) as url:
        step = FetchStepEthereumLogs(node_url=url, chain_id=1, signature=SIGNATURE)
        polled = await poller(tmp_path, step, ReadStepParquet())
        assert len(await polled.poll()) == 1
        assert await polled.state() == state_of(ETAG, f"9@{chain.hash_of(9)[2:]}")
        head = await polled.head()
        assert (await polled.poll(), await polled.head()) == ([], head)
        chain.newest = 12
        chain.log(11, B, SENT, topic(B), data=amount(7))
        await polled.die_in_the_middle()
        assert await polled.head() == head
        assert len(await polled.poll()) == 1
        chain.newest = 13
        assert [outcome.answer.data for outcome in await polled.poll()] == [None]
        assert [amount["amount"] for (amount,) in await polled.records("event")] == ["5", str(2**255), "7"]
        head = await polled.head()
    with pytest.raises(PeerUnavailable):
        await polled.poll()
    assert await polled.head() == head


async def test_blocks_without_logs_move_the_state_before_there_is_any_record(tmp_path: Path) -> None:
    async with running(Chain()) as url:
        polled = await poller(tmp_path, FetchStepEthereumLogs(node_url=url), ReadStepParquet())
        assert [outcome.changed for outcome in await polled.poll()] == [True]
        assert await polled.poll() == []


async def test_a_chain_that_was_reorganised_is_not_gone_on_with(chain: Chain, url: str, tmp_path: Path) -> None:
    state = state_of(ETAG, f"5@{chain.hash_of(5)[2:]}")
    chain.fork = "b"
    with pytest.raises(Conflict, match="reorganised"):
        await fetch(FetchStepEthereumLogs(node_url=url), state, tmp_path, OPTIONS)


async def test_blocks_that_may_change_can_be_left_alone(chain: Chain, url: str, tmp_path: Path) -> None:
    options = replace(OPTIONS, ethereum_confirmations=3)
    found = await fetch(FetchStepEthereumLogs(node_url=url), None, tmp_path, options)
    assert found is not None
    assert found.state == state_of(ETAG, f"6@{chain.hash_of(6)[2:]}")


async def test_a_state_of_another_kind_of_source_is_no_place_to_go_on_from(url: str, tmp_path: Path) -> None:
    assert await fetch(FetchStepEthereumLogs(node_url=url), state_of(ETAG, '"v1"'), tmp_path, OPTIONS) is not None


async def test_a_chain_without_a_node_is_asked_of_the_one_that_is_known(url: str, tmp_path: Path) -> None:
    step = FetchStepEthereumLogs(chain_id=1)
    assert await fetch(step, None, tmp_path, replace(OPTIONS, ethereum_nodes={1: url})) is not None
    with pytest.raises(MalformedManifest, match="no node"):
        await fetch(step, None, tmp_path, OPTIONS)


async def test_a_node_of_another_chain_is_told_from_the_right_one(url: str, tmp_path: Path) -> None:
    with pytest.raises(MalformedSource, match="another chain"):
        await fetch(FetchStepEthereumLogs(node_url=url, chain_id=5), None, tmp_path, OPTIONS)


async def test_a_filter_that_nothing_matches_asks_nobody(tmp_path: Path) -> None:
    step = FetchStepEthereumLogs(node_url="http://127.0.0.1:1", filter="block_number < 0")
    assert await fetch(step, None, tmp_path, OPTIONS) is None


@pytest.mark.parametrize(
    ("step", "family"),
    [
        (FetchStepEthereumLogs(node_url="ws://127.0.0.1/"), UnsupportedOperation),
        (FetchStepEthereumLogs(node_url="http://x", filter="1"), InvalidQuery),
        (FetchStepEthereumLogs(node_url="http://x", signature="1"), MalformedManifest),
        (FetchStepEthereumLogs(node_url="http://127.0.0.1:1/${{ env.KEY }}"), PeerUnavailable),
        (FetchStepEthereumLogs(node_url="http://127.0.0.1:1/${{ env.NO }}"), AccessDenied),
    ],
)
async def test_what_cannot_be_polled_is_refused(
    step: FetchStepEthereumLogs, family: type[OdfError], tmp_path: Path
) -> None:
    with pytest.raises(family) as caught:
        await fetch(step, None, tmp_path, OPTIONS)
    assert "secret" not in str(caught.value.as_dict())


async def test_strangers_reach_no_node_of_this_network(url: str, tmp_path: Path) -> None:
    with pytest.raises(AccessDenied, match="network"):
        await fetch(FetchStepEthereumLogs(node_url=url), None, tmp_path, FetchOptions(private_places=False))


@pytest.mark.parametrize(
    ("answer", "family"),
    [
        (web.Response(status=429), PeerUnavailable),
        (web.Response(status=302, headers={"Location": "http://127.0.0.1:1/"}), PeerUnavailable),
        (web.Response(text="nonsense"), ProtocolViolation),
        (web.json_response([]), ProtocolViolation),
        (web.json_response({"result": {"number": "0x", "hash": "0x"}}), ProtocolViolation),
        (web.json_response({"result": {"number": hex(2**70), "hash": "0x"}}), ProtocolViolation),
        (web.json_response({"result": {"number": "0x1", "hash": "zz"}}), ProtocolViolation),
        (web.json_response({"error": "text"}), PeerUnavailable),
        (web.Response(body=b" " * 101), LimitExceeded),
    ],
)
async def test_a_node_that_breaks_the_rules_is_told_by_its_family(
    chain: Chain,
    url: str,
    answer: web.Response,
    family: type[OdfError],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(node, "ETHEREUM_ANSWER_BYTES_MAX", 100)
    chain.answer = answer
    with pytest.raises(family):
        await fetch(FetchStepEthereumLogs(node_url=url), None, tmp_path, OPTIONS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"blockNumber": "0x3e8"}, {"removed": True}, {"topics": None}, {"topics": [f"0x{'00' * 32}"] * 5},
        {"data": "x"},
        {"address": "0x00"}, {"logIndex": None}, {"blockTimestamp": 5},
    ],
)  # fmt: skip
async def test_logs_that_are_none_are_refused(wrong: dict[str, Any], tmp_path: Path) -> None:
    chain = Chain()
    chain.log(1, A, bytes(32))

    def lie(_: dict[str, Any]) -> dict[str, Any]:
        return {"result": [chain.logs[0] | wrong]}

    chain.eth_getLogs = lie  # type: ignore[method-assign]
    async with running(chain) as url:
        with pytest.raises(ProtocolViolation):
            await fetch(FetchStepEthereumLogs(node_url=url), None, tmp_path, OPTIONS)
