"""What the logical hash depends on, and what it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.data.logical_hash import (
    LogicalHasher,
    join_columns,
    logical_hash_batches,
    logical_hash_table,
)
from opendatafabric.data.struct_nulls import leaves
from opendatafabric.errors import MalformedData
from tests.opendatafabric.data.record_strategies import plain_hash, tables

# Data of one nullable column "a" and its sha3-256, from the fact sheet of the format.
KNOWN = {
    "ad08e4321f7646db27347a5fa2eb63b02dca5e951fa8a9867767234f3b072492": pa.array([], pa.int32()),
    "be616af6e5981cd2b8dd08b2930cc12beac066cf300ba5c8e815b6553e3bd9e7": pa.array([1, None, 3], pa.int32()),
    "0a04e3be6d9b6923ab063270f4a7d8c9a8a71b30b503c96dc28406e8e458e953": pa.array([1, None, -3], pa.int32()),
    "9148bc280e6d08a46db46b9745e265351daf5fa2ec48cb597b022a01ae16d916": pa.array(["a", None, "", "é"]),
    "a692913d7621f17e1d7436e99fa7d0c5fdf45809af9e7d448a74b5dbfe340b9a": pa.array([True, None, False]),
    "ae54ba358ef8309e0f5fe6abac118d7c5e7e9057fdb1a126248d104528d93207": pa.array(
        [1000, None], pa.timestamp("ms", "UTC")
    ),
    "4741e528d8c8301b68f6e55883aa8bd8f587786ab6c97c3d8c128290d34cf1cb": pa.array(
        [[1, None, 2], None, [], [3]], pa.list_(pa.int32())
    ),
}


def digest(table: pa.Table) -> str:
    return logical_hash_table(table).digest.hex()


@pytest.mark.parametrize("expected", KNOWN)
def test_known_columns_have_their_known_hash(expected: str) -> None:
    assert digest(pa.table({"a": KNOWN[expected]})) == expected


def test_two_columns_have_their_known_hash() -> None:
    table = pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["a", "b"]})
    assert digest(table) == "728431b2a625d98db81dbb5c0b9fe52cc5dc738596800fcf3f0c9fe8efb26ead"


@given(tables())
def test_the_hash_is_that_of_the_definition_taken_literally(table: pa.Table) -> None:
    assert str(logical_hash_table(table)) == plain_hash(table)


@given(tables(), st.integers(1, 7))
def test_batches_do_not_matter(table: pa.Table, rows: int) -> None:
    assert logical_hash_batches(table.schema, table.to_batches(rows)) == logical_hash_table(table)


@given(tables(), st.integers(0, 12), st.integers(0, 12))
def test_a_slice_has_the_hash_of_a_copy_of_its_rows(table: pa.Table, start: int, count: int) -> None:
    part = table.slice(start, count)
    copied = (
        pa.Table.from_pylist(part.to_pylist(), part.schema) if len(set(part.schema.names)) == len(part.schema) else part
    )
    assert logical_hash_table(part) == logical_hash_table(copied)


@given(tables())
def test_columns_may_be_fed_in_any_order(table: pa.Table) -> None:
    hasher = LogicalHasher(table.schema)
    batches = [leaves(batch) for batch in table.to_batches(4)]
    for index in reversed(range(len(hasher.columns))):
        for batch in batches:
            hasher.columns[index].update(batch[index])
    assert join_columns(table.schema, hasher.columns) == logical_hash_table(table)


def test_more_rows_than_one_step_give_the_hash_of_all() -> None:
    rows = 200_001
    column = pa.array(np.arange(rows), mask=np.arange(rows) % 3 == 0)
    table = pa.table({"a": column, "t": pa.array([None if n % 5 else str(n) for n in range(rows)])})
    whole = pa.record_batch(table.combine_chunks().to_batches()[0])
    assert logical_hash_table(whole) == logical_hash_batches(table.schema, table.to_batches(1_000))


def test_nullability_metadata_and_item_names_do_not_matter() -> None:
    item, element = pa.field("item", pa.int8()), pa.field("element", pa.int8(), nullable=False)
    bare = pa.schema([pa.field("l", pa.list_(item))])
    dressed = pa.schema([pa.field("l", pa.list_(element), nullable=False, metadata={"k": "v"})], metadata={"m": "w"})
    rows = [{"l": [1, 2]}, {"l": []}]
    assert logical_hash_table(pa.Table.from_pylist(rows, bare)) == logical_hash_table(
        pa.Table.from_pylist(rows, dressed)
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.table({"a": [1]}), pa.table({"b": [1]})),
        (pa.table({"a": [1], "b": [1]}), pa.table({"b": [1], "a": [2]})),
        (pa.table({"a": pa.array([1], pa.int32())}), pa.table({"a": pa.array([1], pa.uint32())})),
        (pa.table({"a": [1, 2]}), pa.table({"a": [2, 1]})),
        (pa.table({"a": pa.array([1], pa.timestamp("ms", "UTC"))}), pa.table({"a": pa.array([1], pa.timestamp("ms"))})),
        (
            pa.table({"a": pa.array([1], pa.timestamp("ms", "UTC"))}),
            pa.table({"a": pa.array([1], pa.timestamp("ms", "+00:00"))}),
        ),
        (pa.table({"a": [""]}), pa.table({"a": pa.array([None], pa.string())})),
        (pa.table({"a": [{"b": 1}]}), pa.table({"a": [1], "b": [1]})),
        (pa.table({"a": [-0.0]}), pa.table({"a": [0.0]})),
    ],
    ids=["name", "order", "type", "rows", "zone", "zone text", "null or empty", "nesting", "sign of zero"],
)
def test_what_makes_other_records_makes_another_hash(one: pa.Table, other: pa.Table) -> None:
    assert logical_hash_table(one) != logical_hash_table(other)


@pytest.mark.parametrize("data_type", [pa.string(), pa.large_string(), pa.string_view()], ids=str)
def test_layouts_of_text_are_hashed_alike(data_type: pa.DataType) -> None:
    rows = ["a", None, "", "é", "a text too long to lie in a view"]
    assert digest(pa.table({"a": pa.array(rows, data_type)})) == digest(pa.table({"a": pa.array(rows)}))


def test_an_extension_type_is_hashed_as_what_it_stores() -> None:
    stored = pa.array([bytes(range(16)), None], pa.binary(16))
    extended = pa.ExtensionArray.from_storage(pa.uuid(), stored)
    assert digest(pa.table({"a": extended})) == digest(pa.table({"a": stored}))
    lists = [pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), items) for items in (extended, stored)]
    assert digest(pa.table({"a": lists[0]})) == digest(pa.table({"a": lists[1]}))


def test_what_lies_under_a_null_does_not_matter_outside_of_structs() -> None:
    bits = pa.py_buffer(b"\x05")
    arrays = [
        pa.Array.from_buffers(pa.int32(), 3, [bits, pa.py_buffer(np.array([1, hidden, 3], np.int32))])
        for hidden in (7, 9)
    ]
    assert digest(pa.table({"a": arrays[0]})) == digest(pa.table({"a": arrays[1]}))


def test_a_null_list_may_hide_items() -> None:
    hidden = pa.Array.from_buffers(
        pa.list_(pa.int64()), 2, [pa.py_buffer(b"\x02"), pa.py_buffer(np.array([0, 2, 3], np.int32))],
        children=[pa.array([8, 9, 1])],
    )  # fmt: skip
    assert digest(pa.table({"a": hidden})) == digest(pa.table({"a": pa.array([None, [1]], pa.list_(pa.int64()))}))


def test_a_field_that_is_null_under_a_valid_struct_is_hashed_by_what_lies_there() -> None:
    hashes = set()
    for hidden in (7, 9):
        field = pa.Array.from_buffers(
            pa.int32(), 3, [pa.py_buffer(b"\x01"), pa.py_buffer(np.array([1, hidden, 0], np.int32))]
        )
        nulls = pa.array([False, False, True])
        struct = pa.StructArray.from_arrays([field], ["f"], mask=nulls)
        hashes.add(digest(pa.table({"a": struct})))
    assert len(hashes) == 2


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1], pa.duration("s")),
        pa.array(["a"]).dictionary_encode(),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int8())),
        pa.array([[{"a": 1}]]),
        pa.nulls(1),
        pa.array([[None]], pa.list_(pa.null())),
    ],
    ids=lambda column: str(column.type),
)
def test_types_without_a_hash_are_refused_by_their_path(column: pa.Array) -> None:
    with pytest.raises(MalformedData, match=r"column 'outer\.inner' of type .+ has no logical hash"):
        logical_hash_table(pa.table({"outer": pa.StructArray.from_arrays([column], ["inner"])}))


def test_a_null_column_without_rows_has_a_hash() -> None:
    assert logical_hash_table(pa.schema([("a", pa.null())]).empty_table())


def test_batches_of_another_schema_are_refused() -> None:
    batches = [pa.record_batch({"a": [1]}), pa.record_batch({"a": ["x"]})]
    with pytest.raises(MalformedData, match="other columns"):
        logical_hash_table(iter(batches))


def test_no_batches_have_no_schema_and_no_hash() -> None:
    none: list[Any] = []
    with pytest.raises(MalformedData, match="no schema"):
        logical_hash_table(none)


def test_a_hash_can_be_asked_for_on_the_way() -> None:
    batch = pa.record_batch({"a": [1, 2]})
    hasher = LogicalHasher(batch.schema)
    hasher.update(batch)
    assert hasher.finish() == logical_hash_table(batch)
    hasher.update(batch)
    assert hasher.finish() == logical_hash_batches(batch.schema, [batch, batch])
