"""A workshop for derivatives, its engine in the process of the test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.pipeline.local_engine import LocalEngine
from tests.pipeline.transform.derived import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Workshop:
    """Empty, without Spark."""
    (tmp_path / "files").mkdir()
    return Workshop(LocalEngine(tmp_path / "engine"), tmp_path / "files")
