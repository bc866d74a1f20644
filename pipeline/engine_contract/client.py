"""Asks an engine at an address, ours or any other that keeps the contract."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any, Final

import grpc

from opendatafabric.codec.engine_codec import encode_grpc
from opendatafabric.engine_limits import ENGINE_SILENCE_S_MAX
from opendatafabric.errors import EngineDied, EngineFailed, EngineUnavailable, InvalidQuery, OdfError
from pipeline.engine_contract.methods import MESSAGE_OPTIONS, Method, Request, Success, alive_options

_OPTIONS: Final = [*MESSAGE_OPTIONS, ("grpc.enable_http_proxy", 0)]


async def ask(
    address: str,
    method: Method[Request, Success],
    request: Request,
    *,
    progress: Callable[[], object] = lambda: None,
    timeout_s: float | None = None,
) -> Success:
    """What the engine at ``address`` (``host:port``) makes of the request; ``progress`` is called at each sign of life.

    Cancelling it tells the engine to stop.

    Raises:
        InvalidQuery: in the engine's words.
        EngineUnavailable: nobody listens there.
        EngineFailed: it took longer than ``timeout_s``, or failed for a reason of its own.
        EngineDied: the answer ended in the middle.
        ProtocolViolation, UnsupportedVersion: what is there is no engine, or a newer one.
    """
    async with aclosing(_answers(address, method, encode_grpc(request), timeout_s)) as answers:
        async for answer in answers:
            if not isinstance(answer, method.progress):
                return _success(address, method, answer)
            progress()
    raise EngineDied(f"the engine at {address} stopped without an answer", hint="its log may say why")


async def listens(address: str, *, timeout_s: float) -> bool:
    """Whether something that speaks gRPC answers there within that time.

    A port that is open proves nothing: runtimes of containers open it before the engine does.
    """
    options = [*_OPTIONS, ("grpc.min_reconnect_backoff_ms", 100), ("grpc.initial_reconnect_backoff_ms", 100)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        try:
            async with asyncio.timeout(timeout_s):
                await channel.channel_ready()
        except TimeoutError:
            return False
        return True


async def _answers(
    address: str, method: Method[Any, Any], request: bytes, timeout_s: float | None
) -> AsyncGenerator[Any, None]:
    has_begun = False
    options = [*_OPTIONS, *alive_options(ENGINE_SILENCE_S_MAX)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        try:
            async for data in channel.unary_stream(method.path)(request, timeout=timeout_s):
                has_begun = True
                yield method.decode(data)
        except grpc.aio.AioRpcError as error:
            raise _told(address, error, has_begun=has_begun) from None


def _success(address: str, method: Method[Request, Success], answer: Any) -> Success:
    if isinstance(answer, method.success):
        return answer
    if hasattr(answer, "backtrace"):
        raise EngineFailed(f"the engine at {address} failed: {answer.message}", hint="its log may say more")
    raise InvalidQuery(f"the query failed: {answer.message}")


def _told(address: str, error: Any, *, has_begun: bool) -> OdfError:
    """What gRPC says of a call that failed."""
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE and not has_begun:
        return EngineUnavailable(f"no engine answers at {address}", hint="start it, or correct its address")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return EngineFailed(f"the engine at {address} took too long")
    return EngineDied(f"the engine at {address} broke off: {code.name.lower()}: {error.details()}")
