"""Settings of the whole test suite: Hypothesis profiles, and the rule that under CI nothing may be skipped."""

from __future__ import annotations

import gc
import os
import re
import signal
import subprocess
import sys
import uuid
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from storage.s3.location import S3Location, parse_s3_address
from tests.storage.s3.servers import KEYS, S3Server, versitygw

pytest_plugins = ["tests.spark_fixtures"]

NO_SKIP_VARIABLE = "ODF_TESTS_NO_SKIP"

_RELAXED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("quick", max_examples=25, deadline=None, suppress_health_check=_RELAXED)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, suppress_health_check=_RELAXED)
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=_RELAXED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class ExampleServer:
    """What ``make run`` starts, on a free port; ``var`` is where it keeps its repository."""

    address: str
    var: Path
    process: subprocess.Popen[str]


@pytest.fixture(scope="session")
def example_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExampleServer]:
    """The program behind ``make run``, with its example datasets, stopped by Ctrl-C at the end."""
    var = tmp_path_factory.mktemp("example-server") / "var"
    log = var.with_name("stderr.txt")
    command = [sys.executable, str(ROOT / "examples" / "run.py"), "--port", "0", "--var", str(var)]
    with (
        log.open("w") as stderr,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, text=True) as process,
    ):
        printed = ""
        found = None
        while found is None and (line := process.stdout.readline() if process.stdout else ""):
            printed += line
            found = re.search(r"repository is at (http://\S+)\. ", line)
        assert found is not None, printed + log.read_text()
        yield ExampleServer(found[1], var, process)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0, log.read_text()


@pytest.fixture(scope="session")
def s3_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    """A real S3 server."""
    with versitygw(tmp_path_factory.mktemp("versitygw") / "buckets") as server:
        yield server


@pytest.fixture
def s3_place(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Location:
    """An empty place in its bucket, and the keys to it."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return parse_s3_address(f"{s3_server.address}tests/{uuid.uuid4().hex}")


def pytest_sessionstart() -> None:
    """Thousands of tests and modules are made and none of it is garbage: looking through it takes seconds each time."""
    gc.disable()


def pytest_collection_finish() -> None:
    """From here on what is made may be garbage; what was collected never is."""
    gc.freeze()
    gc.enable()


def skips_are_failures() -> bool:
    """Whether this run must have every part that the tests use (CI sets the variable)."""
    return os.environ.get(NO_SKIP_VARIABLE, "") not in {"", "0"}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skip into a failure that tells the reason."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and skips_are_failures():
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"skipped, though {NO_SKIP_VARIABLE} is set: {reason}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for a module that skips itself while it is collected."""
    report = yield
    if report.skipped and skips_are_failures():
        report.outcome = "failed"
        report.longrepr = f"{collector.nodeid} skipped itself, though {NO_SKIP_VARIABLE} is set"
    return report
