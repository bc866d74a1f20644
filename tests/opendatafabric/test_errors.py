"""The error families: their codes are a contract."""

from __future__ import annotations

import re

import pytest

from opendatafabric import errors
from opendatafabric.errors import ChainError, OdfError, RefConflict, TransientStorageError

FAMILIES = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, OdfError)]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_family_has_a_code_of_its_own_in_kebab_case(family: type[OdfError]) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", family.code)
    assert [other for other in FAMILIES if other.code == family.code] == [family]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_family_says_what_it_is_for(family: type[OdfError]) -> None:
    assert family.__doc__
    assert family.__doc__.endswith((".", ")."))


def test_an_error_tells_all_it_knows_as_plain_values() -> None:
    error = RefConflict("head has moved", expected=1, found=None, hint="read the head again")
    assert error.as_dict() == {
        "code": "ref-conflict",
        "message": "head has moved",
        "retryable": False,
        "expected": "1",
        "hint": "read the head again",
    }
    assert str(error) == "head has moved"


def test_a_chain_error_names_the_rule_and_the_block() -> None:
    error = ChainError("offsets jump", rule="B7", sequence_number=0)
    assert error.as_dict()["rule"] == "B7"
    assert error.as_dict()["sequence_number"] == "0"
    assert "sequence_number" not in ChainError("offsets jump", rule="B7").as_dict()


def test_only_what_may_pass_by_itself_is_worth_a_retry() -> None:
    assert {family.code for family in FAMILIES if family.retryable} == {
        "storage-unavailable",
        "peer-unavailable",
        "peer-refusal",
        "engine-died",
    }
    assert TransientStorageError("busy").as_dict()["retryable"] is True
