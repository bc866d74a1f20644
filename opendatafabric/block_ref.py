"""Names of BlockRefs: the files in ``refs/`` (spec: Dataset Layout).

The wire knows ``head`` alone; stores may hold more, such as staging refs.
"""

from __future__ import annotations

import re
from typing import Final

from opendatafabric.errors import MalformedIdentifier

HEAD: Final = "head"
STAGING: Final = "staging"
"""Where pushes to a dataset with a gate land; it becomes the head when they were verified."""

_BLOCK_REF: Final = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)


def check_block_ref(name: str) -> str:
    """``name`` itself if it may name a BlockRef.

    Raises:
        MalformedIdentifier: anything but up to 64 lower-case letters, digits and ``-``.
    """
    if _BLOCK_REF.fullmatch(name) is None:
        raise MalformedIdentifier(f"{name[:100]!r} is no name of a block reference", expected="head")
    return name
