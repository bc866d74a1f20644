"""Every block of the real datasets: read, written to the same bytes, and shown as the reference's log shows it."""

from __future__ import annotations

import re
from pathlib import Path

from opendatafabric.codec.block_codec import decode_block, is_canonical
from opendatafabric.codec.yaml_codec import read_block_manifest, write_block_manifest
from tests.for_every import for_every
from tests.vectors.load import FOLDER

LOGS = sorted(FOLDER.glob("datasets*/*.log.yaml"))
BLOCKS = sorted(FOLDER.glob("datasets*/**/blocks/f1620*"))


def logged(log: Path) -> dict[str, str]:
    """The manifests of a log by the hash of their block."""
    parts = re.split(r"^---\n# Block: (\w+)\n", log.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {block_hash: text.rstrip("\n") for block_hash, text in zip(parts[::2], parts[1::2], strict=True)}


@for_every(BLOCKS, ids=lambda path: path.name[-8:])
def test_a_real_block_is_canonical_and_has_its_name_for_a_hash(path: Path) -> None:
    block = decode_block(path.read_bytes())

    assert str(block.hash) == path.name
    assert is_canonical(block)
    assert read_block_manifest(write_block_manifest(block.block)) == block.block


@for_every(LOGS, ids=lambda log: log.name)
def test_blocks_are_shown_as_in_the_log_of_the_reference(log: Path) -> None:
    folder = log.with_name(log.name.removesuffix(".log.yaml")) / "blocks"

    shown = {
        path.name: write_block_manifest(decode_block(path.read_bytes()).block).rstrip("\n") for path in folder.iterdir()
    }

    assert shown == logged(log)
    assert shown
