"""Snapshot: the worked examples of the reference, and what it leaves to chance and we refuse."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import MalformedSource
from opendatafabric.metadata.sources import MergeStrategySnapshot
from tests.pipeline.merge.scenario import Scenario, record


@pytest.fixture
def snapshot(tmp_path: Path) -> Scenario:
    """The population of cities, as it is now."""
    return Scenario(tmp_path, MergeStrategySnapshot(("city",)), ("city STRING", "population BIGINT"))


@pytest.fixture
def timed(tmp_path: Path) -> Scenario:
    """The same with an event time from the source."""
    schema = ("event_time TIMESTAMP", "city STRING", "population BIGINT")
    return Scenario(tmp_path, MergeStrategySnapshot(("city",)), schema)


@pytest.fixture
def compared(tmp_path: Path) -> Scenario:
    """The same where notes do not count."""
    schema = ("city STRING", "population BIGINT", "note STRING")
    return Scenario(tmp_path, MergeStrategySnapshot(("city",), ("population",)), schema)


class TestSnapshot:
    def test_the_first_state_is_added_in_the_order_of_the_key(self, snapshot: Scenario) -> None:
        found = snapshot.write(record(city="b", population=2), record(city="a", population=1))
        assert found == [("+A", 1, "a", 1), ("+A", 1, "b", 2)]

    def test_the_difference_is_corrected_added_and_retracted(self, snapshot: Scenario) -> None:
        snapshot.write(
            record(city="vancouver", population=1),
            record(city="seattle", population=2),
            record(city="kyiv", population=3),
        )
        found = snapshot.write(
            record(city="seattle", population=2), record(city="kyiv", population=4), record(city="odessa", population=5)
        )
        assert found == [("-C", 1, "kyiv", 3), ("+C", 2, "kyiv", 4), ("+A", 2, "odessa", 5), ("-R", 1, "vancouver", 1)]

    def test_an_unchanged_state_adds_nothing(self, snapshot: Scenario) -> None:
        snapshot.write(record(city="a", population=None))
        assert snapshot.write(record(city="a", population=None)) == []

    def test_the_order_of_the_input_does_not_matter(self, snapshot: Scenario) -> None:
        snapshot.write(record(city="a", population=1), record(city="b", population=2))
        assert snapshot.write(record(city="b", population=2), record(city="a", population=1)) == []

    def test_an_empty_input_retracts_everything(self, snapshot: Scenario) -> None:
        snapshot.write(record(city="a", population=1), record(city="b", population=2))
        assert snapshot.write() == [("-R", 1, "a", 1), ("-R", 1, "b", 2)]

    def test_what_was_retracted_can_come_back(self, snapshot: Scenario) -> None:
        snapshot.write(record(city="a", population=1))
        snapshot.write()
        assert snapshot.write(record(city="a", population=7)) == [("+A", 3, "a", 7)]

    def test_changes_are_compared_with_the_last_state_not_the_first(self, snapshot: Scenario) -> None:
        snapshot.write(record(city="a", population=1))
        snapshot.write(record(city="a", population=2))
        assert snapshot.write(record(city="a", population=1)) == [("-C", 2, "a", 2), ("+C", 3, "a", 1)]

    def test_another_event_time_is_a_change(self, timed: Scenario) -> None:
        timed.write(record(1, city="a", population=1))
        assert timed.write(record(2, city="a", population=1)) == [("-C", 1, "a", 1), ("+C", 2, "a", 1)]

    def test_a_missing_event_time_is_no_change(self, timed: Scenario) -> None:
        timed.write(record(1, city="a", population=1))
        assert timed.write(record(city="a", population=1)) == []

    def test_columns_that_are_not_compared_do_not_make_a_change(self, compared: Scenario) -> None:
        compared.write(record(city="a", population=1, note="x"))
        assert compared.write(record(city="a", population=1, note="y")) == []

    def test_a_key_that_repeats_is_refused_with_its_row(self, snapshot: Scenario) -> None:
        with pytest.raises(MalformedSource, match=r"row 1 .* city = 'a'"):
            snapshot.write(record(city="a", population=1), record(city="a", population=2))

    def test_a_key_that_is_null_is_refused_with_its_row(self, snapshot: Scenario) -> None:
        with pytest.raises(MalformedSource, match="row 2 has no 'city'"):
            snapshot.write(record(city="a", population=1), record(population=2))
