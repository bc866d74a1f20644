"""A dataset is a changelog: read the records of a moment as Arrow, as they are or as the state they lead to.

Run it: python examples/05_read_records.py
"""

from __future__ import annotations

from pathlib import Path

import odf_client

REPOSITORY = Path(__file__).parent / "datasets"
AFTER_TWO_POLLS = "2026-11-21T02:54:18Z"

airports = odf_client.Repository(REPOSITORY).open("us.faa.airports")
print(f"{airports.to_arrow().num_rows} records of all operations")
print(f"{airports.to_arrow(projected=True).num_rows} airports as of what is known now")
known_then = airports.to_arrow(["iata", "name"], as_at=AFTER_TWO_POLLS, projected=True)
print(f"{known_then.num_rows} airports as at {AFTER_TWO_POLLS}, the first of them {known_then['name'][0]}")
for batch in airports.scan(["op", "iata", "city"], offsets=(500, 502)):
    print(batch.to_pylist())
