"""Kinds of sources that this version does not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import UnsupportedOperation
from opendatafabric.metadata.sources import FetchStepContainer
from pipeline.fetch import FetchOptions, fetch


async def test_kinds_that_are_not_polled_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperation, match="Container"):
        await fetch(FetchStepContainer("image"), None, tmp_path, FetchOptions())
