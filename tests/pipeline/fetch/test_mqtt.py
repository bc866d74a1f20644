"""Messages of a real broker: all of them, once, in their order, whatever happens to who polls."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from opendatafabric.errors import AccessDenied, MalformedManifest, MalformedSource, PeerUnavailable
from opendatafabric.metadata.sources import FetchStepMqtt, MqttQos, MqttTopicSubscription, ReadStepNdJson
from pipeline.fetch import FetchOptions, fetch, mqtt
from tests.pipeline.fetch.broker import RunningBroker, broker
from tests.pipeline.polling import Poller, poller

OPTIONS = FetchOptions({"PASSWORD": "secret"}, "fed01")
READ = ReadStepNdJson(schema=("n INT",))

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """This broker is near."""
    monkeypatch.setattr(mqtt, "MQTT_IDLE_S", 0.1)


@pytest.fixture
async def running(unused_tcp_port: int, tmp_path: Path) -> AsyncIterator[RunningBroker]:
    """A broker for everybody."""
    async with broker(unused_tcp_port, tmp_path) as found:
        yield found


def step(port: int, *topics: str, qos: MqttQos | None = MqttQos.AT_LEAST_ONCE, **fields: Any) -> FetchStepMqtt:
    """Those topics of a broker on this machine."""
    wanted = tuple(MqttTopicSubscription(topic, qos) for topic in topics or ("t",))
    fields = {"username": None, "password": None, **fields}
    return FetchStepMqtt("127.0.0.1", port, topics=wanted, **fields)


async def a_poller(running: RunningBroker, folder: Path, qos: MqttQos | None) -> Poller:
    """One that the broker knows already."""
    polled = await poller(folder, step(running.port, qos=qos), READ)
    assert await polled.poll() == []
    return polled


def numbers(*values: int) -> list[bytes]:
    """As messages."""
    return [json.dumps({"n": value}).encode() for value in values]


@pytest.mark.parametrize("qos", [MqttQos.AT_LEAST_ONCE, MqttQos.EXACTLY_ONCE])
async def test_polled_topics_from_their_first_day_to_their_last(
    unused_tcp_port: int, tmp_path: Path, qos: MqttQos
) -> None:
    async with broker(unused_tcp_port, tmp_path) as running:
        polled = await a_poller(running, tmp_path, qos)
        await running.publish("t", *numbers(1, 2, 3), qos=qos.value)
        assert [outcome.answer.rows.appended for outcome in await polled.poll()] == [3]
        head = await polled.head()
        assert (await polled.poll(), await polled.head()) == ([], head)
        await running.publish("t", *numbers(4, 5), qos=qos.value)
        await polled.die_in_the_middle()
        assert await polled.head() == head
        await running.publish("t", *numbers(6), qos=qos.value)
        await polled.poll()
        assert await polled.records("n") == [(1,), (2,), (3,), (4,), (5,), (6,)]
        assert await polled.state() is None
        head = await polled.head()
    with pytest.raises(PeerUnavailable):
        await polled.poll()
    assert await polled.head() == head


async def test_more_than_a_block_holds_becomes_several(
    running: RunningBroker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mqtt, "FETCH_RECORDS_TARGET", 2)
    polled = await a_poller(running, tmp_path, MqttQos.AT_LEAST_ONCE)
    await running.publish("t", *numbers(1, 2, 3))
    assert [outcome.answer.rows.appended for outcome in await polled.poll()] == [2, 1]


async def test_a_broker_that_waits_for_answers_gives_all_the_same(unused_tcp_port: int, tmp_path: Path) -> None:
    async with broker(unused_tcp_port, tmp_path, settings="max_inflight_messages 2") as running:
        polled = await a_poller(running, tmp_path, MqttQos.AT_LEAST_ONCE)
        await running.publish("t", *numbers(1, 2, 3))
        assert [outcome.answer.rows.appended for outcome in await polled.poll()] == [2, 1]


async def test_a_retained_message_is_taken_once(running: RunningBroker, tmp_path: Path) -> None:
    await running.publish("t", *numbers(1), retain=True)
    polled = await poller(tmp_path, step(running.port), READ)
    assert len(await polled.poll()) == 1
    assert await polled.poll() == []


async def test_topics_may_have_wildcards_and_any_quality(running: RunningBroker, tmp_path: Path) -> None:
    polled = await poller(tmp_path, step(running.port, "a/+", "b/#", qos=None), READ)
    await running.publish("a/x", *numbers(1), qos=0, retain=True)
    await running.publish("b/x/y", *numbers(2), qos=0, retain=True)
    await running.publish("c", *numbers(3), qos=0, retain=True)
    await polled.poll()
    assert sorted(await polled.records("n")) == [(1,), (2,)]


async def test_a_message_may_be_written_over_several_lines_or_be_empty(running: RunningBroker, tmp_path: Path) -> None:
    polled = await a_poller(running, tmp_path, MqttQos.AT_LEAST_ONCE)
    await running.publish("t", b'\n{\n "n":\r\n 1 }\n', b" ", b'{"n": 2}')
    await polled.poll()
    assert await polled.records("n") == [(1,), (2,)]


async def test_a_message_that_is_no_text_is_named_by_its_topic(running: RunningBroker, tmp_path: Path) -> None:
    polled = await a_poller(running, tmp_path, MqttQos.AT_LEAST_ONCE)
    await running.publish("t", b"\xff")
    with pytest.raises(MalformedSource, match="topic 't'"):
        await polled.poll()


async def test_a_broker_knows_its_users(unused_tcp_port: int, tmp_path: Path) -> None:
    async with broker(unused_tcp_port, tmp_path, user="publisher"):
        known = step(unused_tcp_port, username="publisher", password="${{ env.PASSWORD }}")
        assert await fetch(known, None, tmp_path, OPTIONS) is None
        wrong = step(unused_tcp_port, username="publisher", password="wrong")
        with pytest.raises(AccessDenied) as caught:
            await fetch(wrong, None, tmp_path / "b", OPTIONS)
        assert "wrong" not in str(caught.value.as_dict())


@pytest.mark.parametrize(("port", "topics"), [(0, ("t",)), (70_000, ("t",)), (-1, ("t",)), (1883, ())])
async def test_what_can_be_no_source_is_refused(port: int, topics: tuple[str, ...], tmp_path: Path) -> None:
    wanted = tuple(map(MqttTopicSubscription, topics))
    with pytest.raises(MalformedManifest):
        await fetch(FetchStepMqtt("127.0.0.1", port, None, None, wanted), None, tmp_path, OPTIONS)


async def test_strangers_reach_no_broker_of_this_network(tmp_path: Path) -> None:
    with pytest.raises(AccessDenied, match="network"):
        await fetch(step(1883), None, tmp_path, FetchOptions(private_places=False))
