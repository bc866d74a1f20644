"""Traces of requests by OpenTelemetry, where settings ask for them; the extra ``otel`` brings what is needed.

A span is named after the pattern of the route. Addresses are left out: names, hashes and what stands in queries may be
secret. Where spans go is said by the variables of OpenTelemetry, such as ``OTEL_EXPORTER_OTLP_ENDPOINT``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final

from aiohttp import web
from aiohttp.typedefs import Middleware

from opendatafabric.errors import UnsupportedOperation
from repo_server.conversations import ANSWERED
from repo_server.middleware import REQUEST_ID, route_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

_SERVICE: Final = "odf-repository"
_UNKNOWN_ROUTE: Final = "unknown"
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def trace_requests(application: web.Application) -> None:
    """Have every request of ``application`` traced, and what is left sent when it ends.

    Raises:
        UnsupportedOperation: the extra is not installed.
    """
    provider = _provider()
    application.middlewares.insert(0, _around(provider))

    async def end(_: web.Application) -> None:
        await asyncio.to_thread(provider.shutdown)

    application.on_cleanup.append(end)


def _provider() -> TracerProvider:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError:
        hint = "pip install 'odf-repository[otel]', or unset ODF_TRACING"
        raise UnsupportedOperation("traces need packages that are not installed", hint=hint) from None
    resource = Resource({SERVICE_NAME: _SERVICE}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _around(provider: TracerProvider) -> Middleware:
    from opentelemetry.propagate import extract  # noqa: PLC0415
    from opentelemetry.trace import SpanKind  # noqa: PLC0415

    tracer = provider.get_tracer(_SERVICE)

    @web.middleware
    async def traced(request: web.Request, handler: Handler) -> web.StreamResponse:
        route = route_of(request) or _UNKNOWN_ROUTE
        with tracer.start_as_current_span(
            f"{request.method} {route}",
            context=extract(request.headers),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": request.method, "http.route": route},
            record_exception=False,
        ) as span:
            response = await handler(request)
            _tell(span, request.get(ANSWERED, response.status), response.headers)
            return response

    return traced


def _tell(span: Span, status: int, headers: Any) -> None:
    from opentelemetry.trace import StatusCode  # noqa: PLC0415

    span.set_attribute("http.response.status_code", status)
    span.set_attribute("odf.request_id", headers.get(REQUEST_ID, ""))
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        span.set_status(StatusCode.ERROR)
