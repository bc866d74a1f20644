"""The gRPC service around our engine: answers are streamed, progress first, then what came of it."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, Final

import grpc

from opendatafabric.codec.engine_codec import decode_grpc
from opendatafabric.engine_limits import COORDINATOR_SILENCE_S_MAX, ENGINE_HEARTBEAT_S
from opendatafabric.errors import IncompatibleSchema, InvalidQuery, OdfError, StorageError, UnsupportedOperation
from opendatafabric.limits import WORKER_CLIENTS_MAX
from pipeline.engine_contract.methods import MESSAGE_OPTIONS, RAW_QUERY, SERVICE, TRANSFORM, Method, alive_options
from pipeline.engine_contract.served import ServedEngine

LOG: Final = logging.getLogger("odf.engine")
_OF_THE_QUERY: Final = (InvalidQuery, IncompatibleSchema, UnsupportedOperation)
_STOP_S: Final = 5


@asynccontextmanager
async def serving(engine: ServedEngine, *, host: str, port: int) -> AsyncIterator[int]:
    """The service listens while the context lasts, on the port that is given: that asked for, or of 0 a free one.

    Raises:
        StorageError: the address cannot be had.
    """
    server = grpc.aio.server(
        options=[*MESSAGE_OPTIONS, *alive_options(COORDINATOR_SILENCE_S_MAX), ("grpc.so_reuseport", 0)],
        maximum_concurrent_rpcs=WORKER_CLIENTS_MAX,
    )
    server.add_generic_rpc_handlers([_service(engine)])
    try:
        bound = server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
    except RuntimeError:
        raise StorageError(f"cannot listen on {host} port {port}", hint="another program may have it") from None
    await server.start()
    try:
        yield bound
    finally:
        await server.stop(_STOP_S)


def _service(engine: ServedEngine) -> Any:
    methods: list[tuple[Method[Any, Any], Callable[[Any], Coroutine[Any, Any, Any]]]] = [
        (RAW_QUERY, engine.raw_query),
        (TRANSFORM, engine.transform),
    ]
    handlers = {method.name: grpc.unary_stream_rpc_method_handler(_handler(method, do)) for method, do in methods}
    return grpc.method_handlers_generic_handler(SERVICE, handlers)


def _handler(method: Method[Any, Any], do: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
    async def handle(data: bytes, context: Any) -> AsyncIterator[bytes]:
        try:
            request = decode_grpc(data, method.request)
        except OdfError as error:
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            raise
        async with aclosing(answers(method, do(request))) as told:
            async for answer in told:
                yield method.encode(answer)

    return handle


async def answers(
    method: Method[Any, Any], work: Awaitable[Any], *, every_s: float = ENGINE_HEARTBEAT_S
) -> AsyncGenerator[Any, None]:
    """Progress at once and again as long as it takes, then the outcome. Whoever stops listening ends the work."""
    task = asyncio.ensure_future(work)
    try:
        while not task.done():
            yield method.progress()
            await asyncio.wait({task}, timeout=every_s)
        yield _outcome(method, task)
    finally:
        if not task.done():
            task.cancel()
            with suppress(asyncio.CancelledError, OdfError):
                await task


def _outcome(method: Method[Any, Any], task: asyncio.Future[Any]) -> Any:
    try:
        return task.result()
    except _OF_THE_QUERY as error:
        return method.invalid_query(_in_words(error))
    except OdfError as error:
        LOG.warning("%s: %s", method.name, error)
        return method.internal_error(f"{error.code}: {_in_words(error)}", None)
    except Exception as error:  # what goes wrong in one request does not end the others
        LOG.exception(method.name)
        return method.internal_error(f"{type(error).__name__}: {error}", traceback.format_exc())


def _in_words(error: OdfError) -> str:
    """All that is known, for the contract has one text for it."""
    more = {"expected": error.expected, "found": error.found, "hint": error.hint}
    return "; ".join([error.message, *(f"{name}: {text}" for name, text in more.items() if text)])
