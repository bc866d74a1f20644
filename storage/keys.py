"""Keys as the stores take them: matched by the layout, split into folder and name before any path is joined.

Everything under ``refs/`` is refused here: it changes by compare-and-swap only, through a RefStore.
"""

from __future__ import annotations

import re
from typing import Final

from opendatafabric.errors import MalformedIdentifier
from opendatafabric.layout import BLOCKS, CHECKPOINTS, DATA, INFO, INFO_FILES, REPORTS, parse_key

ADDRESSED_FOLDERS: Final = (BLOCKS, DATA, CHECKPOINTS)
"""Folders of a chain, whose file names are the hashes of the files; what no ref leads to there is garbage."""

HASHED_FOLDERS: Final = (*ADDRESSED_FOLDERS, REPORTS)
"""The same, and what no ref leads to though it is wanted."""

OBJECT_FOLDERS: Final = (*HASHED_FOLDERS, INFO)

_PHYSICAL_KEY: Final = re.compile(rf"(?:{'|'.join(HASHED_FOLDERS)})/f1620[0-9a-f]{{64}}", re.ASCII)


def split_key(key: str) -> tuple[str, str]:
    """Folder and file name of an object's key.

    Raises:
        MalformedIdentifier: no key of the layout, one of a BlockRef, or a hash of another kind than the physical one.
    """
    # The pattern admits canonical physical hashes alone, at a tenth of the cost of parsing; walks ask it per block.
    if _PHYSICAL_KEY.fullmatch(key) is None and key not in INFO_FILES:
        parse_key(key)
        raise MalformedIdentifier(f"{key} is no physical hash", expected="sha3-256 (f1620…)")
    folder, _, name = key.partition("/")
    return folder, name


def is_addressed(key: str) -> bool:
    """Whether ``key`` names its bytes by their hash, so that equal keys mean equal bytes."""
    return key.partition("/")[0] in HASHED_FOLDERS


def is_object_key(key: str) -> bool:
    """Whether ``split_key`` would take it."""
    try:
        split_key(key)
    except MalformedIdentifier:
        return False
    return True
