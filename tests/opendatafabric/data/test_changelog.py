"""Operations, and corrections in pairs."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from opendatafabric.data.changelog import OperationType, check_corrections, check_operations
from opendatafabric.errors import MalformedData
from tests.opendatafabric.data.changelogs import AIRPORTS, CF, CT, A, primary_key_of_airports, records


def test_operations_have_the_numbers_and_symbols_of_the_specification() -> None:
    assert [(int(op), op.symbol) for op in OperationType] == [(0, "+A"), (1, "-R"), (2, "-C"), (3, "+C")]


@pytest.mark.parametrize("path", sorted(AIRPORTS.iterdir()), ids=lambda path: path.name[-8:])
def test_corrections_of_a_real_dataset_come_in_pairs(path: Any) -> None:
    check_corrections(pq.read_table(path), primary_key_of_airports())


def test_pairs_of_equal_keys_next_to_each_other_are_fine() -> None:
    check_corrections(
        records((0, CF, "a", 1), (1, CT, "a", 2), (2, CF, None, 1), (3, CT, None, 2), (4, A, "b", 1)), ["city"]
    )
    check_corrections(records(), ["city"])


@pytest.mark.parametrize(
    ("rows", "offset"),
    [
        ([(7, CF, "a", 1)], 7),
        ([(7, CT, "a", 1)], 7),
        ([(7, CF, "a", 1), (8, CT, "b", 1)], 7),
        ([(7, CF, "a", 1), (8, A, "b", 1), (9, CT, "a", 1)], 7),
        ([(7, CT, "a", 1), (8, CF, "a", 1)], 7),
        ([(7, CF, "a", 1), (8, CT, "a", 1), (9, CT, "a", 2)], 9),
        ([(7, CF, "a", 1), (8, CF, "a", 1), (9, CT, "a", 2)], 7),
        ([(7, CF, None, 1), (8, CT, "a", 2)], 7),
    ],
)
def test_half_a_correction_is_refused_by_its_offset(rows: list[tuple[Any, ...]], offset: int) -> None:
    with pytest.raises(MalformedData, match=rf"offset {offset} lacks its other half"):
        check_corrections(records(*rows), ["city"])


@pytest.mark.parametrize("op", [4, -1, None])
def test_an_unknown_operation_is_refused_by_its_offset(op: int | None) -> None:
    with pytest.raises(MalformedData, match="offset 8 has no known operation"):
        check_operations(records((7, A, "a", 1), (8, op, "a", 1)))
