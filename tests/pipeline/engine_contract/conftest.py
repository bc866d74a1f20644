"""A coordinator and an engine that it reaches by a folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.engine_contract.served import ServedEngine
from tests.pipeline.engine_contract.coordinator import Coordinator
from tests.pipeline.local_engine import LocalEngine


@pytest.fixture
def coordinator(tmp_path: Path) -> Coordinator:
    """Its folder is empty."""
    (tmp_path / "shared").mkdir()
    return Coordinator(tmp_path / "shared")


@pytest.fixture
def engine(coordinator: Coordinator, tmp_path: Path) -> ServedEngine:
    """In the process of the test, without Spark."""
    return ServedEngine(LocalEngine(tmp_path / "engine"), coordinator.folder)
