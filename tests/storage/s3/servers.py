"""Servers of S3 for tests: versitygw and MinIO, which check signatures and conditions, and moto, in memory."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import boto3
import pytest

ROOT: Final = Path(__file__).resolve().parents[3]
KEYS: Final = {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "only-for-tests",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
BUCKET: Final = "bucket"


@dataclass(frozen=True)
class S3Server:
    """A running server; its bucket is there. ``address`` ends in a slash."""

    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        return f"s3+{self.endpoint}/{BUCKET}/"


@contextmanager
def versitygw(folder: Path) -> Iterator[S3Server]:
    """A gateway over ``folder``, which holds the buckets."""
    program = next((ROOT / ".tools" / "bin").glob("versitygw-v*"), None) or shutil.which("versitygw")
    if program is None:
        pytest.skip("versitygw is not here: run tools/s3_server.sh, which needs Go")
    (folder / BUCKET).mkdir(parents=True)
    port = free_port()
    keys = {"ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"], "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"]}
    command = [str(program), "--port", f"127.0.0.1:{port}", "--quiet", "posix", str(folder)]
    with running(command, port, {**os.environ, **keys}):
        yield S3Server(port)


@contextmanager
def minio(folder: Path) -> Iterator[S3Server]:
    """The server that many people run at home, over ``folder``."""
    program = next((ROOT / ".tools" / "bin").glob("minio-v*"), None)
    if program is None:
        pytest.skip("MinIO is not here: run tools/minio_server.sh, which needs Go")
    port = free_port()
    keys = {"MINIO_ROOT_USER": KEYS["AWS_ACCESS_KEY_ID"], "MINIO_ROOT_PASSWORD": KEYS["AWS_SECRET_ACCESS_KEY"]}
    settings = {**keys, "MINIO_BROWSER": "off", "MINIO_UPDATE": "off"}
    command = [str(program), "server", "--quiet", "--address", f"127.0.0.1:{port}", str(folder)]
    with running(command, port, {**os.environ, **settings}):
        server = S3Server(port)
        client = boto3.client(
            "s3",
            endpoint_url=server.endpoint,
            region_name=KEYS["AWS_DEFAULT_REGION"],
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )
        client.create_bucket(Bucket=BUCKET)
        yield server


@contextmanager
def moto() -> Iterator[S3Server]:
    """An S3 in memory; it checks no signatures."""
    port = free_port()
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with running(command, port, {**os.environ, **KEYS}):
        urllib.request.urlopen(urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")).close()
        yield S3Server(port)


@contextmanager
def running(command: list[str], port: int, environment: dict[str, str]) -> Iterator[None]:
    """A process that answers on ``port``, ended afterwards."""
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_it_answers(port, process)
            yield
        finally:
            process.terminate()


def wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return once something listens; no longer than half a minute."""
    end = time.monotonic() + 30
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            return
        except urllib.error.HTTPError:
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError(f"{process.args!r} does not answer")


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        return port
