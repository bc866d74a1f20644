"""Nothing can change unseen: copy a dataset, flip one bit of a slice, and let the check find it.

Run it: python examples/04_find_a_flipped_bit.py
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

from storage.open import open_dataset
from verify.integrity import verify_integrity

DATASET = Path(__file__).parent / "datasets" / "com.yahoo.stocks.monthly"

with tempfile.TemporaryDirectory() as folder:
    copy = Path(shutil.copytree(DATASET, Path(folder) / "copy"))
    print(asyncio.run(verify_integrity(open_dataset(str(copy)))).as_text())

    slice_file = next((copy / "data").iterdir())
    damaged = bytearray(slice_file.read_bytes())
    damaged[1000] ^= 1
    slice_file.write_bytes(damaged)
    print(asyncio.run(verify_integrity(open_dataset(str(copy)))).as_text())
