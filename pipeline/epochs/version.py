"""How a transform says that it means this dialect: by the version of its engine."""

from __future__ import annotations

from typing import Final

from opendatafabric.errors import UnsupportedVersion
from opendatafabric.metadata.transform import TransformSql

_FAMILY: Final = "odf-epoch/"
VERSION: Final = f"{_FAMILY}1"


def is_in_epochs(transform: TransformSql) -> bool:
    """Whether the transform is in this dialect.

    Raises:
        UnsupportedVersion: it is in a newer one.
    """
    version = transform.version or ""
    if not version.startswith(_FAMILY):
        return False
    if version != VERSION:
        raise UnsupportedVersion(
            f"the transform is in the dialect '{version}', which is not known here",
            expected=VERSION,
            hint="update this software",
        )
    return True
