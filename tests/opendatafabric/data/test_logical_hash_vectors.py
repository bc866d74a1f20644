"""The golden hashes: every file must give the hash that the reference gave it, or be refused as it was there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from opendatafabric.data.logical_hash import logical_hash_batches, logical_hash_parquet
from opendatafabric.errors import MalformedData
from opendatafabric.multihash import Multihash, physical_hash
from tests.for_every import for_every
from tests.vectors.load import FOLDER, vectors

FILES = FOLDER / "logical-hash"
CASES = vectors("logical-hash/hashes.json")
DATASETS = sorted([*(FOLDER / "datasets").iterdir(), *(FOLDER / "datasets-spark").iterdir()])
DATASETS = [path for path in DATASETS if path.is_dir()]


def name_of(case: dict[str, Any]) -> str:
    return f"{case['name']}-{case['format']}"


def logical_hash_arrow(path: Path, rows: tuple[int, int] | None) -> Multihash:
    reader = pa.ipc.open_file(path)
    batches = [reader.get_batch(index) for index in range(reader.num_record_batches)]
    return logical_hash_batches(reader.schema, [batch.slice(*rows) for batch in batches] if rows else batches)


def hash_of(case: dict[str, Any]) -> Multihash:
    path = FILES / case["file"]
    return (
        logical_hash_parquet(str(path)) if case["format"] == "parquet" else logical_hash_arrow(path, case.get("slice"))
    )


@for_every([case for case in CASES if case["hash"]], ids=name_of)
def test_a_file_has_the_hash_that_the_reference_gave_it(case: dict[str, Any]) -> None:
    assert str(hash_of(case)) == case["hash"]


@for_every([case for case in CASES if not case["hash"]], ids=name_of)
def test_a_file_that_the_reference_cannot_hash_is_refused_by_column_and_type(case: dict[str, Any]) -> None:
    with pytest.raises(MalformedData, match=r"column '.+' of type .+ has no logical hash") as caught:
        hash_of(case)
    assert caught.value.hint


def test_all_golden_files_are_asked_for() -> None:
    assert len(CASES) == 405
    assert {case["file"] for case in CASES} == {path.name for path in FILES.iterdir()} - {"hashes.json"}


def slices_of(folder: Path) -> list[tuple[str, str, int]]:
    """Logical hash, physical hash and size of every slice in the printed chain."""
    text = (folder.parent / f"{folder.name}.log.yaml").read_text()
    pattern = r"newData:\n\s+logicalHash: (\w+)\n\s+physicalHash: (\w+)\n\s+offsetInterval:\n.*\n.*\n\s+size: (\d+)"
    return [(logical, physical, int(size)) for logical, physical, size in re.findall(pattern, text)]


@for_every(DATASETS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_slices_of_a_real_dataset_are_what_its_chain_says(folder: Path) -> None:
    slices = slices_of(folder)
    assert len(slices) == len(list((folder / "data").iterdir())) > 0
    for logical, physical, size in slices:
        data = (folder / "data" / physical).read_bytes()
        assert (str(physical_hash(data)), len(data)) == (physical, size)
        assert str(logical_hash_parquet(str(folder / "data" / physical))) == logical
