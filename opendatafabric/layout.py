"""Every key of a dataset, as the reference lays it out (spec: Dataset Layout)::

    <dataset>/
    ├── refs/head             text of a block hash, 69 bytes, no newline
    ├── blocks/<hash>         one metadata block
    ├── data/<hash>           one data slice (Parquet)
    ├── checkpoints/<hash>    one checkpoint
    ├── reports/<hash>        one verification report; local to the place, never transferred
    └── info/                 local to the place, never transferred
        ├── alias             "account/name" or "name"
        ├── config            where it was pulled from and pushed to
        ├── engines           what made the steps of a derivative that were made here
        ├── policy            how its head may move here
        ├── signatures        who signed its heads

``<hash>`` is the canonical base16 multihash, so that one object never has two keys.
"""

from __future__ import annotations

import re
from typing import Final

from opendatafabric.block_ref import check_block_ref
from opendatafabric.errors import MalformedIdentifier
from opendatafabric.multihash import Multihash

REFS: Final = "refs"
BLOCKS: Final = "blocks"
DATA: Final = "data"
CHECKPOINTS: Final = "checkpoints"
REPORTS: Final = "reports"
INFO: Final = "info"
FOLDERS: Final = (REFS, BLOCKS, DATA, CHECKPOINTS, INFO)
"""Those of every dataset."""

ALL_FOLDERS: Final = (*FOLDERS, REPORTS)
"""And those that are made when they are needed."""

INFO_ALIAS: Final = f"{INFO}/alias"
INFO_CONFIG: Final = f"{INFO}/config"
INFO_ENGINES: Final = f"{INFO}/engines"
INFO_POLICY: Final = f"{INFO}/policy"
INFO_SIGNATURES: Final = f"{INFO}/signatures"
INFO_FILES: Final = frozenset({INFO_ALIAS, INFO_CONFIG, INFO_ENGINES, INFO_POLICY, INFO_SIGNATURES})

_HASH_KEY: Final = re.compile(r"(blocks|data|checkpoints|reports)/(f[0-9a-f]{4,74})", re.ASCII)


def block_key(block_hash: Multihash) -> str:
    return f"{BLOCKS}/{block_hash}"


def data_key(physical_hash: Multihash) -> str:
    return f"{DATA}/{physical_hash}"


def checkpoint_key(physical_hash: Multihash) -> str:
    return f"{CHECKPOINTS}/{physical_hash}"


def report_key(physical_hash: Multihash) -> str:
    return f"{REPORTS}/{physical_hash}"


def ref_key(name: str) -> str:
    return f"{REFS}/{check_block_ref(name)}"


def parse_key(key: str) -> tuple[str, Multihash]:
    """Folder and hash of a key of ``blocks/``, ``data/``, ``checkpoints/`` or ``reports/``.

    Raises:
        MalformedIdentifier: any other text, other spellings of the hash included.
    """
    found = _HASH_KEY.fullmatch(key)
    if found is None:
        raise MalformedIdentifier(
            f"{key[:200]!r} is no key of a dataset", expected="blocks/f1620…, data/…, checkpoints/… or reports/…"
        )
    parsed = Multihash.from_text(found[2])
    if str(parsed) != found[2]:
        raise MalformedIdentifier(f"{key[:200]!r} is not the canonical key", expected=f"{found[1]}/{parsed}")
    return found[1], parsed
