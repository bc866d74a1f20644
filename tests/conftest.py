"""Settings of the whole test suite: Hypothesis profiles, and the rule that under CI nothing may be skipped."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

NO_SKIP_VARIABLE = "ODF_TESTS_NO_SKIP"

_RELAXED = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
settings.register_profile("quick", max_examples=25, deadline=None, suppress_health_check=_RELAXED)
settings.register_profile("ci", max_examples=50, deadline=None, derandomize=True, suppress_health_check=_RELAXED)
settings.register_profile("long", max_examples=2000, deadline=None, suppress_health_check=_RELAXED)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


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
