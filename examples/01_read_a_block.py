"""A metadata block is a file whose name is its hash: read one, check it, print it for people.

Run it: python examples/01_read_a_block.py
"""

from __future__ import annotations

from pathlib import Path

from opendatafabric.codec.block_codec import decode_block
from opendatafabric.codec.yaml_codec import write_block_manifest

DATASET = Path(__file__).parent / "datasets" / "us.faa.airports"

head = (DATASET / "refs" / "head").read_text()
block = decode_block((DATASET / "blocks" / head).read_bytes())

assert str(block.hash) == head, "the bytes are not what the name says"
print(write_block_manifest(block.block))
