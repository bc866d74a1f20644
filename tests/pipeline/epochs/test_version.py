"""The version of the engine names the dialect."""

from __future__ import annotations

import pytest

from opendatafabric.errors import UnsupportedVersion
from opendatafabric.metadata.transform import TransformSql
from pipeline.epochs.version import is_in_epochs


@pytest.mark.parametrize("version", [None, "", "3.5.0", "epoch"])
def test_other_versions_are_of_the_reference(version: str | None) -> None:
    assert not is_in_epochs(TransformSql("spark", version))


def test_the_dialect_is_known_by_its_version() -> None:
    assert is_in_epochs(TransformSql("spark", "odf-epoch/1"))


@pytest.mark.parametrize("version", ["odf-epoch/2", "odf-epoch/", "odf-epoch/1.1"])
def test_a_newer_one_is_not_taken_for_this(version: str) -> None:
    with pytest.raises(UnsupportedVersion, match=version):
        is_in_epochs(TransformSql("spark", version))
