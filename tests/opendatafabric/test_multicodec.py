"""Names and numbers of the multicodec table."""

from __future__ import annotations

from typing import Any

import pytest

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.multicodec import Multicodec
from tests.vectors.load import cases


@pytest.mark.parametrize("case", cases("ids.json", "multicodec_name", ok=True))
def test_a_name_of_the_vectors_is_known(case: dict[str, Any]) -> None:
    found = Multicodec.from_label(case["input"])
    assert {"code": int(found), "name": found.label} == case["expected"]


@pytest.mark.parametrize("case", cases("ids.json", "multicodec_code", ok=True))
def test_a_code_of_the_vectors_is_known(case: dict[str, Any]) -> None:
    found = Multicodec.from_code(int(case["input"], 16))
    assert {"code": int(found), "name": found.label} == case["expected"]


@pytest.mark.parametrize("case", cases("ids.json", "multicodec_name", ok=False))
def test_a_name_that_the_reference_does_not_know_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        Multicodec.from_label(case["input"])


@pytest.mark.parametrize("case", cases("ids.json", "multicodec_code", ok=False))
def test_a_code_that_the_reference_does_not_know_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedIdentifier):
        Multicodec.from_code(int(case["input"], 16))


@pytest.mark.parametrize("codec", Multicodec)
def test_a_codec_is_found_by_its_own_label(codec: Multicodec) -> None:
    assert Multicodec.from_label(codec.label) is codec
