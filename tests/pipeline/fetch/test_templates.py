"""Templates in the fields of a fetch step."""

from __future__ import annotations

import pytest

from opendatafabric.errors import AccessDenied, LimitExceeded, MalformedManifest
from pipeline.fetch.templates import resolve


def test_the_first_alternative_with_a_value_wins() -> None:
    assert resolve("a ${{ env.X || env.Y || 'z' }} ${{ 1.5 }}", {"Y": "y"}) == "a y 1.5"


def test_a_variable_that_is_not_allowed_is_refused() -> None:
    with pytest.raises(AccessDenied, match=r"env\.X"):
        resolve("${{ env.X }}", {})


def test_a_value_that_holds_its_own_template_ends() -> None:
    with pytest.raises(LimitExceeded):
        resolve("${{ env.X }}", {"X": "${{ env.X }}"})


def test_other_forms_are_refused() -> None:
    with pytest.raises(MalformedManifest, match="os"):
        resolve("${{ os.environ }}", {})
