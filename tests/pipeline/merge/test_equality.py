"""Values that differ, keys that are equal: one notion of both, that of Spark SQL."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from pipeline.merge.equality import differing
from pipeline.projection.keys import keys_of
from tests.pipeline.projection.test_keys import VALUES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN = float("nan")
SPECIAL: dict[str, tuple[Any, list[Any]]] = {
    **VALUES,
    "double": (pa.float64(), [0.0, -0.0, 1.5, NAN, -NAN, float("inf"), None]),
    "float": (pa.float32(), [0.0, -0.0, 1.5, NAN, None]),
    "doubles": (pa.list_(pa.float64()), [[0.0], [-0.0], [NAN], [NAN, 1.0], [1.0, NAN], [None], [], None]),
    "lists": (pa.list_(pa.list_(pa.int32())), [[], [[]], [[], []], [[1]], [[1], []], [None], None]),
    "deep": (
        pa.struct([("a", pa.struct([("b", pa.float64())])), ("c", pa.list_(pa.string()))]),
        [
            {"a": {"b": 0.0}, "c": ["x"]},
            {"a": {"b": -0.0}, "c": ["x"]},
            {"a": None, "c": ["x"]},
            {"a": {"b": None}},
            None,
        ],
    ),
}
NOT_IN_SPARK = ("clock", "large", "nothing")
"""Types that Spark cannot hold, or cannot take from Arrow."""


def pairs(name: str) -> tuple[pa.Array, pa.Array]:
    data_type, values = SPECIAL[name]
    both = [*product(values, repeat=2)]
    return pa.array([one for one, _ in both], data_type), pa.array([other for _, other in both], data_type)


@pytest.mark.parametrize("name", SPECIAL)
def test_values_differ_where_keys_of_them_do(name: str) -> None:
    one, other = pairs(name)
    keys = keys_of(pa.table({"one": one}), ["one"]).encoded.to_pylist()
    others = keys_of(pa.table({"other": other}), ["other"]).encoded.to_pylist()
    assert differing(one, other).tolist() == [key != another for key, another in zip(keys, others, strict=True)]


@pytest.mark.parametrize("name", [name for name in SPECIAL if name not in NOT_IN_SPARK])
def test_values_differ_where_spark_says_so(name: str, spark: SparkSession) -> None:
    from pipeline.carried import to_frame  # noqa: PLC0415

    one, other = pairs(name)
    frame = to_frame(spark, pa.table({"one": one, "other": other, "row": range(len(one))}))
    found = frame.selectExpr("row", "not (one <=> other) as differs").orderBy("row").toArrow()
    assert differing(one, other).tolist() == found.column("differs").to_pylist()


def test_chunks_make_no_difference() -> None:
    whole = pa.chunked_array([[1, None, 3], [4]])
    assert differing(whole, pa.chunked_array([[1, None], [2, 4]])).tolist() == [False, False, True, False]


@pytest.mark.parametrize("data_type", [pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
def test_layouts_of_text_can_be_compared(data_type: pa.DataType) -> None:
    one, other = pa.array(["a", None, "b"]), pa.array(["a", None, "c"], data_type)
    assert differing(one, other).tolist() == differing(other, one).tolist() == [False, False, True]


def test_columns_without_rows_do_not_differ() -> None:
    assert differing(pa.array([], pa.list_(pa.int8())), pa.array([], pa.list_(pa.int8()))).tolist() == []
