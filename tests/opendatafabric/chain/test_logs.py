"""What the reference printed of its chains is, block by block, what we write of the same bytes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opendatafabric.codec.block_codec import decode_block
from opendatafabric.codec.yaml_codec import write_block_manifest
from tests.opendatafabric.chain.test_validate import DATASETS, read_chain


def printed_blocks(folder: Path) -> list[tuple[str, str]]:
    """Hash and manifest of each block in the log beside ``folder``, newest first."""
    log = folder.with_name(f"{folder.name}.log.yaml").read_text(encoding="utf-8")
    parts = re.split(r"^---\n# Block: ", log, flags=re.MULTILINE)[1:]
    return [(part.partition("\n")[0], part.partition("\n")[2].strip()) for part in parts]


@pytest.mark.parametrize("folder", DATASETS, ids=lambda folder: f"{folder.parent.name}/{folder.name}")
def test_our_manifests_are_those_of_the_log(folder: Path) -> None:
    ours = [
        (str(block.hash), write_block_manifest(decode_block(block.raw).block).strip())
        for block in reversed(read_chain(folder))
    ]
    assert ours == printed_blocks(folder)
