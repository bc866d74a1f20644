"""Every error family ends with a documented exit code."""

from __future__ import annotations

import pytest

from cli.exit_codes import EXIT_CODES, ExitCode, exit_code_of
from opendatafabric import errors
from tools.errors_page import families, raised


@pytest.mark.parametrize("family", families(), ids=lambda family: family.code)
def test_every_family_has_an_exit_code_that_is_not_success(family: type[errors.OdfError]) -> None:
    assert exit_code_of(raised(family)) not in {ExitCode.OK, ExitCode.INTERRUPTED}


@pytest.mark.parametrize(
    ("family", "code"),
    [
        (errors.HashMismatch, 3),
        (errors.MalformedBlock, 3),
        (errors.ChainError, 3),
        (errors.MalformedIdentifier, 2),
        (errors.DatasetNotFound, 4),
        (errors.NotARepository, 4),
        (errors.RefConflict, 5),
        (errors.ChainsDiverged, 5),
        (errors.AuthenticationRequired, 6),
        (errors.PeerUnavailable, 7),
        (errors.StorageFull, 7),
        (errors.ProtocolViolation, 1),
    ],
)
def test_a_family_takes_the_nearest_code_above_it(family: type[errors.OdfError], code: int) -> None:
    assert exit_code_of(raised(family)) == code


def test_codes_of_families_are_unique() -> None:
    codes = [family.code for family in families()]
    assert len(codes) == len(set(codes))


def test_the_base_family_is_listed_so_that_every_error_finds_a_code() -> None:
    assert errors.OdfError in EXIT_CODES
