"""The two methods of the service: what each is asked, and the words it has for what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from opendatafabric.codec.engine_codec import decode_grpc, encode_grpc
from opendatafabric.engine_limits import ENGINE_REPLY_S_MAX
from opendatafabric.limits import MESSAGE_BYTES_MAX
from opendatafabric.metadata.engine_messages import (
    RawQueryRequest,
    RawQueryResponseInternalError,
    RawQueryResponseInvalidQuery,
    RawQueryResponseProgress,
    RawQueryResponseRoot,
    RawQueryResponseSuccess,
    TransformRequest,
    TransformResponseInternalError,
    TransformResponseInvalidQuery,
    TransformResponseProgress,
    TransformResponseRoot,
    TransformResponseSuccess,
)

SERVICE: Final = "engine.Engine"
PORT: Final = 2884
"""Where engines listen."""

Request = TypeVar("Request", RawQueryRequest, TransformRequest)
Success = TypeVar("Success", RawQueryResponseSuccess, TransformResponseSuccess)

_ENVELOPE_BYTES: Final = 16
MESSAGE_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MESSAGE_BYTES_MAX + _ENVELOPE_BYTES),
    ("grpc.max_send_message_length", MESSAGE_BYTES_MAX + _ENVELOPE_BYTES),
)
"""For both ends."""


def alive_options(silence_s: float) -> list[tuple[str, int]]:
    """Of an end that asks the other one, after so much silence, whether it is alive, and else hangs up.

    Without that a machine that vanished is waited for as long as the job may take.
    """
    return [
        ("grpc.keepalive_time_ms", int(silence_s * 1_000)),
        ("grpc.keepalive_timeout_ms", int(ENGINE_REPLY_S_MAX * 1_000)),
        ("grpc.http2.ping_timeout_ms", int(ENGINE_REPLY_S_MAX * 1_000)),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.max_ping_strikes", 0),
    ]


@dataclass(frozen=True, slots=True)
class Method(Generic[Request, Success]):
    """Answered by any number of ``progress``, then by one of the other three."""

    name: str
    request: type[Request]
    root: Callable[[Any], Any]
    progress: type
    success: type[Success]
    invalid_query: Callable[[str], Any]
    internal_error: Callable[[str, str | None], Any]

    @property
    def path(self) -> str:
        """Of the method in HTTP."""
        return f"/{SERVICE}/{self.name}"

    def encode(self, answer: Any) -> bytes:
        """An answer as a gRPC message."""
        return encode_grpc(self.root(answer))

    def decode(self, data: bytes) -> Any:
        """An answer; errors as ``decode_grpc``."""
        root: Any = self.root
        return decode_grpc(data, root).value


RAW_QUERY: Final = Method(
    "ExecuteRawQuery",
    RawQueryRequest,
    RawQueryResponseRoot,
    RawQueryResponseProgress,
    RawQueryResponseSuccess,
    RawQueryResponseInvalidQuery,
    RawQueryResponseInternalError,
)
TRANSFORM: Final = Method(
    "ExecuteTransform",
    TransformRequest,
    TransformResponseRoot,
    TransformResponseProgress,
    TransformResponseSuccess,
    TransformResponseInvalidQuery,
    TransformResponseInternalError,
)
