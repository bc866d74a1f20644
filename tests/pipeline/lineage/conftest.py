"""A workshop for derivatives, as in the tests of transforms."""

from __future__ import annotations

from tests.pipeline.transform.conftest import workshop

__all__ = ["workshop"]
