"""Three S3 servers for every test here, and an empty place in their buckets for each."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from storage.s3.location import S3Location, parse_s3_address
from tests.storage.s3.servers import KEYS, S3Server, minio, moto, versitygw


@pytest.fixture(
    scope="session",
    params=["versitygw", pytest.param("moto", marks=pytest.mark.slow), pytest.param("minio", marks=pytest.mark.slow)],
)
def s3_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A server of each kind."""
    folder = tmp_path_factory.mktemp(request.param) / "buckets"
    servers = {"versitygw": lambda: versitygw(folder), "moto": moto, "minio": lambda: minio(folder)}
    with servers[request.param]() as server:
        yield server


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings of AWS that the servers expect."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def location(s3_server: S3Server) -> S3Location:
    """A place where nothing is."""
    return parse_s3_address(f"{s3_server.address}tests/{uuid.uuid4().hex}")
