"""The logical hash is over records: the same table, stored in two different ways, has one logical hash.

Run it: python examples/03_hash_records.py
"""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow.parquet

from opendatafabric.data.logical_hash import logical_hash_parquet
from opendatafabric.multihash import physical_hash

DATA = Path(__file__).parent / "datasets" / "iowa.electricity" / "data"

for path in sorted(DATA.iterdir()):
    other_way = io.BytesIO()
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table, other_way, compression="none", row_group_size=5)
    print("physical:", physical_hash(path.read_bytes()).short, "and", physical_hash(other_way.getvalue()).short)
    with path.open("rb") as file:
        print("logical: ", logical_hash_parquet(file).short, "and", logical_hash_parquet(other_way).short)
