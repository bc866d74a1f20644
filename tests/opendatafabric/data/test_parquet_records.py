"""Reading records of Parquet files that strangers made."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data import parquet_records
from opendatafabric.data.logical_hash import logical_hash_parquet, logical_hash_table
from opendatafabric.data.parquet_records import ParquetRecords
from opendatafabric.errors import LimitExceeded, MalformedData, OdfError
from opendatafabric.limits import PARQUET_FOOTER_BYTES_MAX
from tests.opendatafabric.data.record_strategies import tables


def parquet_bytes(table: pa.Table, **options: object) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **options)
    return file.getvalue()


def hash_of(data: bytes) -> str:
    return str(logical_hash_parquet(io.BytesIO(data)))


SAMPLE = pa.table({"n": range(100), "t": [f"text {n}" if n % 3 else None for n in range(100)], "l": [[1, None]] * 100})
DATA = parquet_bytes(SAMPLE, compression="none")


@given(tables())
def test_records_keep_their_hash_in_a_file(table: pa.Table) -> None:
    views = [pa.types.is_binary_view(field.type) or pa.types.is_string_view(field.type) for field in table.schema]
    nested_views = any("view" in str(field.type) for field in table.schema)
    if any(views) or nested_views:  # not every version of the library can write them
        return
    assert hash_of(parquet_bytes(table)) == str(logical_hash_table(table))


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zstd"},
        {"use_dictionary": False},
        {"row_group_size": 7},
        {"data_page_version": "2.0", "data_page_size": 64},
        {"version": "1.0"},
        {"store_schema": False},
    ],
    ids=str,
)
def test_how_the_file_was_written_does_not_matter(options: dict[str, object]) -> None:
    assert hash_of(parquet_bytes(SAMPLE, **options)) == hash_of(DATA)


def test_a_path_and_an_open_file_give_the_same_and_the_file_stays_open(tmp_path: Path) -> None:
    path = tmp_path / "slice"
    path.write_bytes(DATA)
    with path.open("rb") as file:
        assert logical_hash_parquet(file) == logical_hash_parquet(str(path))
        assert not file.closed


def test_batches_are_bounded_in_rows() -> None:
    records = ParquetRecords(io.BytesIO(parquet_bytes(pa.table({"a": range(100_000)}), row_group_size=100_000)))
    sizes = [batch.num_rows for batch in records.batches()]
    assert sum(sizes) == records.num_rows == 100_000
    assert max(sizes) <= 32_768


def test_a_batch_that_takes_too_much_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_records, "PARQUET_BATCH_BYTES_MAX", 1_000)
    with pytest.raises(LimitExceeded, match="too large"):
        hash_of(DATA)


def test_a_missing_file_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        logical_hash_parquet(str(tmp_path / "missing"))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"PAR1",
        b"PAR1PAR1",
        b"offset,op\n0,0\n",
        b"PAR1" + bytes(4) + b"PAR1",
        b"PAR1" + (10_000).to_bytes(4, "little") + b"PAR1",
        DATA[:-4] + b"PARE",
        DATA[:-1],
        DATA[100:],
    ],
    ids=[
        "empty",
        "magic",
        "twice",
        "csv",
        "no footer",
        "long footer",
        "encrypted",
        "cut at the end",
        "cut at the start",
    ],
)
def test_what_is_no_parquet_file_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedData):
        hash_of(data)


def test_a_footer_over_the_limit_is_not_even_read() -> None:
    with pytest.raises(LimitExceeded, match="too long"):
        hash_of(DATA[:-8] + (PARQUET_FOOTER_BYTES_MAX + 1).to_bytes(4, "little") + b"PAR1")


def test_text_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(MalformedData, match="UTF8"):
        hash_of(DATA.replace(b"text 10", b"text \xff\xff"))


def test_a_footer_that_promises_more_rows_than_there_are_is_refused() -> None:
    footer = DATA[-8 - int.from_bytes(DATA[-8:-4], "little") : -8]
    assert footer.count(b"\xc8\x01") > 1  # 100 rows, as a zigzag number
    more = DATA.replace(footer, footer.replace(b"\xc8\x01", b"\xca\x01"))
    with pytest.raises(MalformedData):
        hash_of(more)


@given(st.lists(st.tuples(st.integers(0, len(DATA) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_damage_anywhere_is_another_hash_the_same_hash_or_a_typed_refusal(changes: list[tuple[int, int]]) -> None:
    data = bytearray(DATA)
    for position, value in changes:
        data[position] = value
    with suppress(OdfError):
        assert hash_of(bytes(data)).startswith("f9680c00120")


@given(st.integers(0, len(DATA) - 1))
def test_a_file_cut_anywhere_is_refused(size: int) -> None:
    with pytest.raises(OdfError):
        hash_of(DATA[:size])


def test_a_failing_disk_is_not_taken_for_bad_data() -> None:
    class FailingFile(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() < 100:
                raise OSError(5, "Input/output error")
            return super().read(size)

    with pytest.raises(OSError, match="Input/output"):
        logical_hash_parquet(FailingFile(DATA))


def test_a_file_of_no_columns_has_the_hash_of_nothing() -> None:
    assert hash_of(parquet_bytes(pa.table({}))).endswith("80f8434a")


@given(st.integers(1, 30), st.integers(0, 110), st.integers(0, 110), st.integers(1, 40))
def test_only_batches_that_hold_some_of_the_wanted_records_are_given(
    group_rows: int, start: int, stop: int, batch_rows: int
) -> None:
    records = ParquetRecords(io.BytesIO(parquet_bytes(SAMPLE, row_group_size=group_rows)))
    batches = list(records.batches(batch_rows, ["n"], within=range(start, stop)))
    found = [number for batch in batches for number in batch.column("n").to_pylist()]
    assert [number for number in found if start <= number < stop] == list(range(start, min(stop, 100)))
    assert all(any(start <= number < stop for number in batch.column("n").to_pylist()) for batch in batches)
