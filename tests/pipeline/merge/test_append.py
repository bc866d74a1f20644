"""Append and Ledger against what the spec and the reference do."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import IncompatibleSchema
from opendatafabric.metadata.sources import MergeStrategyAppend, MergeStrategyLedger
from tests.pipeline.merge.scenario import Scenario, record

SCHEMA = ("event_time TIMESTAMP", "city STRING", "n BIGINT")


@pytest.fixture
def append(tmp_path: Path) -> Scenario:
    """Records that are only ever added."""
    return Scenario(tmp_path, MergeStrategyAppend(), SCHEMA)


@pytest.fixture
def ledger(tmp_path: Path) -> Scenario:
    """Records that are told by city and event time."""
    return Scenario(tmp_path, MergeStrategyLedger(("event_time", "city")), SCHEMA)


class TestAppend:
    def test_all_rows_are_added_by_event_time_and_ties_by_their_place_in_the_input(self, append: Scenario) -> None:
        rows = [record(3, city="b", n=1), record(2, city="z", n=2), record(3, city="a", n=3)]
        assert append.write(*rows) == [("+A", 2, "z", 2), ("+A", 3, "b", 1), ("+A", 3, "a", 3)]

    def test_the_same_rows_are_added_again(self, append: Scenario) -> None:
        append.write(record(1, city="a", n=1))
        assert append.write(record(1, city="a", n=1)) == [("+A", 1, "a", 1)]

    def test_late_rows_are_added_behind_earlier_slices(self, append: Scenario) -> None:
        append.write(record(9, city="a", n=1))
        assert append.write(record(2, city="b", n=2)) == [("+A", 2, "b", 2)]

    def test_rows_without_event_time_get_that_of_the_ingest_and_stand_in_its_place(self, append: Scenario) -> None:
        rows = [record(5, city="later", n=1), {"city": "now", "n": 2}]
        assert append.write(*rows) == [("+A", 1, "now", 2), ("+A", 5, "later", 1)]

    def test_no_rows_make_a_schema_and_no_slice(self, append: Scenario) -> None:
        assert append.write() == []
        assert append.answer is not None
        assert append.answer.schema is not None


class TestLedger:
    def test_rows_of_known_keys_are_passed_over_whatever_else_they_say(self, ledger: Scenario) -> None:
        ledger.write(record(1, city="vancouver", n=675), record(1, city="kyiv", n=2900))
        found = ledger.write(record(1, city="kyiv", n=2901), record(2, city="kyiv", n=2950))
        assert found == [("+A", 2, "kyiv", 2950)]

    def test_nothing_new_adds_nothing(self, ledger: Scenario) -> None:
        ledger.write(record(1, city="a", n=1))
        assert ledger.write(record(1, city="a", n=1)) == []

    def test_keys_that_repeat_within_the_input_all_pass(self, ledger: Scenario) -> None:
        assert len(ledger.write(record(1, city="a", n=1), record(1, city="a", n=2))) == 2

    def test_a_key_with_a_null_is_new_each_time(self, ledger: Scenario) -> None:
        ledger.write(record(1, city=None, n=1))
        assert ledger.write(record(1, city=None, n=1)) == [("+A", 1, None, 1)]

    def test_a_missing_time_in_the_key_becomes_that_of_the_ingest_and_is_known_as_such(self, ledger: Scenario) -> None:
        assert ledger.write(record(city="a", n=1)) == [("+A", 1, "a", 1)]
        assert ledger.write(record(1, city="a", n=2), record(city="a", n=3)) == [("+A", 2, "a", 3)]
        assert ledger.write(record(1, city="a", n=4), record(2, city="a", n=5)) == []

    def test_removed_rows_stay(self, ledger: Scenario) -> None:
        ledger.write(record(1, city="a", n=1), record(1, city="b", n=2))
        assert ledger.write(record(1, city="b", n=2)) == []

    def test_late_and_unordered_rows_are_added_in_the_order_of_their_time(self, ledger: Scenario) -> None:
        ledger.write(record(9, city="a", n=1))
        found = ledger.write(record(8, city="a", n=2), record(7, city="a", n=3), record(9, city="a", n=4))
        assert found == [("+A", 7, "a", 3), ("+A", 8, "a", 2)]

    def test_a_key_column_that_is_not_there_is_refused(self, tmp_path: Path) -> None:
        scenario = Scenario(tmp_path, MergeStrategyLedger(("town",)), SCHEMA)
        with pytest.raises(IncompatibleSchema, match="'town'"):
            scenario.write(record(1, city="a", n=1))
