"""Cells for people."""

from __future__ import annotations

from cli.records import cell, operation_cell


def test_cells_show_nothing_for_null_and_signs_for_operations() -> None:
    assert (cell(None), cell(1.5), cell("a")) == ("", "1.5", "a")
    assert [operation_cell(value) for value in (0, 1, 2, 3, 7, None)] == ["+A", "-R", "-C", "+C", "7", ""]
