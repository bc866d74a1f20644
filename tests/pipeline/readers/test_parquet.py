"""Parquet as a source."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.errors import MalformedSource
from opendatafabric.metadata.sources import ReadStepParquet
from pipeline.readers import read_records


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two columns of two rows."""
    path = tmp_path / "input.parquet"
    pq.write_table(pa.table({"a": ["x", None], "n": pa.array([1, 2], pa.int64())}), path)
    return path


def test_without_schema_the_columns_are_those_of_the_file(file: Path) -> None:
    found = read_records(file, ReadStepParquet())
    assert found is not None
    assert found.to_pylist() == [{"a": "x", "n": 1}, {"a": None, "n": 2}]


def test_a_schema_chooses_and_casts_columns(file: Path) -> None:
    found = read_records(file, ReadStepParquet(schema=("n SMALLINT",)))
    assert found is not None
    assert found.schema == pa.schema([("n", pa.int16())])


def test_a_column_that_is_not_there_is_named(file: Path) -> None:
    with pytest.raises(MalformedSource, match="'z' is not in the file"):
        read_records(file, ReadStepParquet(schema=("z INT",)))


def test_a_null_where_none_may_be_is_named_with_its_row(file: Path) -> None:
    with pytest.raises(MalformedSource, match="row 2: column 'a' is empty"):
        read_records(file, ReadStepParquet(schema=("a STRING NOT NULL",)))


def test_other_bytes_are_no_parquet(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.write_bytes(b"PAR1 but not really")
    with pytest.raises(MalformedSource, match="no readable Parquet"):
        read_records(file, ReadStepParquet())


def test_an_empty_file_is_nothing(tmp_path: Path) -> None:
    file = tmp_path / "input"
    file.touch()
    assert read_records(file, ReadStepParquet()) is None
