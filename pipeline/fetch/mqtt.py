"""Mqtt: the messages that a broker holds for a dataset, taken until none comes for a while, as lines of JSON.

The broker remembers the dataset by its id, so nothing of it is in the chain. Messages are settled when their records
are committed: a poll that was killed gets them again.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from pathlib import Path

from opendatafabric.errors import MalformedManifest, MalformedSource, PeerUnavailable
from opendatafabric.limits import READ_CHUNK_BYTES
from opendatafabric.metadata.sources import FetchStepMqtt
from opendatafabric.source_limits import FETCH_RECORDS_TARGET, FETCH_SILENCE_S_MAX, MQTT_DRAIN_S_MAX, MQTT_IDLE_S
from pipeline.fetch.fetched import Fetched, FetchOptions
from pipeline.fetch.mqtt_session import Login, Message, MqttSession
from pipeline.fetch.places import reachable_address
from pipeline.fetch.sink import Sink
from pipeline.fetch.templates import resolve


async def fetch_mqtt(step: FetchStepMqtt, target: Path, options: FetchOptions) -> Fetched | None:
    """What the broker has; errors as ``fetch``."""
    if not step.topics or not 0 < step.port < 0x10000:
        raise MalformedManifest("a source of messages has topics and a port", found=step.port)
    password = None if step.password is None else resolve(step.password, options.variables)
    session = await _connected(step, options)
    try:
        await session.log_in(Login(f"odf-ingest-{options.dataset}", step.username, password))
        await session.subscribe(step.topics)
        with Sink(target, f"{step.host}:{step.port}", options.progress) as sink:
            messages = await _drained(session, sink)
        if not sink.size:
            await session.settle(messages)
            await session.close()
            return None
    except BaseException:
        await session.close()
        raise
    return Fetched(target, None, has_more=_may_have_more(messages), receipt=_Receipt(session, messages))


@dataclass(frozen=True, slots=True)
class _Receipt:
    """Of the messages of one poll."""

    session: MqttSession
    messages: list[Message]

    async def confirm(self) -> None:
        """The broker may forget them."""
        await self.session.settle(self.messages)

    async def close(self) -> None:
        """Without it the broker keeps them."""
        await self.session.close()


async def _connected(step: FetchStepMqtt, options: FetchOptions) -> MqttSession:
    place = f"{step.host}:{step.port}"
    address = await reachable_address(step.host, step.port, options, place)
    try:
        async with asyncio.timeout(FETCH_SILENCE_S_MAX):
            return MqttSession(*await asyncio.open_connection(address, step.port, limit=READ_CHUNK_BYTES))
    except (OSError, TimeoutError, UnicodeError) as error:
        raise PeerUnavailable(f"the broker {place} cannot be reached: {type(error).__name__}") from None


async def _drained(session: MqttSession, sink: Sink) -> list[Message]:
    """The messages of one block, their payloads written as lines; the payloads are not kept."""
    taken: list[Message] = []
    end = time.monotonic() + MQTT_DRAIN_S_MAX
    while len(taken) < FETCH_RECORDS_TARGET and time.monotonic() < end:
        message = await session.next(idle_s=MQTT_IDLE_S)
        if message is None:
            break
        if not (session.resumed and message.retained):
            await asyncio.to_thread(sink.write, _line(message))
        taken.append(replace(message, topic=b"", payload=b""))
    return taken


def _line(message: Message) -> bytes:
    """JSON has no newlines but between values."""
    text = message.payload.strip()
    try:
        text.decode()
    except UnicodeDecodeError:
        raise MalformedSource(f"a message of the topic '{message.topic.decode(errors='replace')}' is no text") from None
    return text.replace(b"\r", b" ").replace(b"\n", b" ") + b"\n" if text else b""


def _may_have_more(messages: list[Message]) -> bool:
    """A full block, or a broker that waits with further messages until these are settled."""
    return len(messages) >= FETCH_RECORDS_TARGET or any(message.qos for message in messages)
