"""Requests as spans of OpenTelemetry, sent to a collector that listens."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from opendatafabric.errors import UnsupportedOperation
from repo_server.config import Tenancy
from repo_server.tracing import trace_requests
from tests.repo_server.hosted import Hosted, a_chain, hosted

SECRET = "very-secret"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@dataclass
class Collector:
    """Takes spans as a collector does: protobuf by POST."""

    bodies: list[bytes] = field(default_factory=list)

    async def take(self, request: web.Request) -> web.Response:
        self.bodies.append(await request.read())
        return web.Response(content_type="application/x-protobuf")

    def spans(self) -> Iterator[dict[str, Any]]:
        for body in self.bodies:
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
                for scope in resource.scope_spans:
                    for span in scope.spans:
                        told = {each.key: each.value for each in span.attributes}
                        yield {"name": span.name, "trace": span.trace_id.hex(), "failed": span.status.code == 2} | told


@asynccontextmanager
async def collecting(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Collector]:
    collector, application = Collector(), web.Application()
    application.router.add_post("/v1/traces", collector.take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        yield collector
    finally:
        await runner.cleanup()


async def asked(server: Hosted) -> None:
    await server.add("weather", a_chain())
    await server.ask(
        "GET", f"/alice/weather/refs/head?token={SECRET}", headers={"traceparent": f"00-{TRACE}-00f067aa0ba902b7-01"}
    )
    await server.ask("GET", "/alice/nothing/refs/head", headers={"X-Request-Id": "mine"})
    await server.ask("GET", f"/{SECRET}/x/y/z/no/such/route")


async def test_a_request_is_a_span_with_its_route_and_status_and_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with collecting(monkeypatch) as collector:
        async with hosted(tmp_path, Tenancy.MULTI, tracing=True) as server:
            await asked(server)
        found, missing, lost = collector.spans()
        assert found["name"] == "GET /{account}/{name}/refs/{ref}"
        assert (found["trace"], found["http.response.status_code"].int_value) == (TRACE, 200)
        assert missing["http.response.status_code"].int_value == 404
        assert missing["odf.request_id"].string_value == "mine"
        assert missing["failed"] is False
        assert lost["name"] == "GET unknown"
        assert not [body for body in collector.bodies if SECRET.encode() in body or b"weather" in body]


async def test_nothing_is_sent_unless_it_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with collecting(monkeypatch) as collector:
        async with hosted(tmp_path, Tenancy.MULTI) as server:
            await asked(server)
        assert collector.bodies == []


async def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(UnsupportedOperation, match="not installed") as raised:
        trace_requests(web.Application())
    assert "odf-repository[otel]" in str(raised.value.as_dict())
