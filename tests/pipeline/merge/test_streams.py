"""ChangelogStream and UpsertStream: the worked examples of the reference."""

from __future__ import annotations

from pathlib import Path

import pytest

from opendatafabric.errors import IncompatibleSchema, MalformedSource
from opendatafabric.metadata.sources import MergeStrategyChangelogStream, MergeStrategyUpsertStream
from tests.pipeline.merge.scenario import Scenario, record


@pytest.fixture
def changelog(tmp_path: Path) -> Scenario:
    """A source that says what each row does."""
    schema = ("op INT NOT NULL", "key STRING", "n BIGINT")
    return Scenario(tmp_path, MergeStrategyChangelogStream(("key",)), schema)


@pytest.fixture
def upsert(tmp_path: Path) -> Scenario:
    """A source of new states, and of keys that are gone (op 1)."""
    return Scenario(tmp_path, MergeStrategyUpsertStream(("key",)), ("op INT", "key STRING", "n BIGINT"))


class TestChangelogStream:
    def test_rows_pass_by_key_and_operation(self, changelog: Scenario) -> None:
        found = changelog.write(record(op=3, key="b", n=3), record(op=2, key="b", n=2), record(op=0, key="a", n=1))
        assert found == [("+A", 1, "a", 1), ("-C", 1, "b", 2), ("+C", 1, "b", 3)]

    def test_rows_of_one_key_and_operation_stay_in_the_order_of_the_input(self, changelog: Scenario) -> None:
        found = changelog.write(record(op=0, key="a", n=9), record(op=0, key="a", n=1))
        assert [row[3] for row in found] == [9, 1]

    def test_an_operation_that_is_none_is_refused(self, changelog: Scenario) -> None:
        with pytest.raises(MalformedSource, match="row 1"):
            changelog.write(record(op=7, key="a", n=1))

    def test_a_source_without_operations_is_refused(self, tmp_path: Path) -> None:
        scenario = Scenario(tmp_path, MergeStrategyChangelogStream(("key",)), ("key STRING",))
        with pytest.raises(IncompatibleSchema, match="'op'"):
            scenario.write(record(key="a"))


class TestUpsertStream:
    def test_the_last_row_of_each_key_is_compared_with_the_state(self, upsert: Scenario) -> None:
        upsert.write(record(op=0, key="a", n=1), record(op=0, key="b", n=2), record(op=0, key="c", n=3))
        found = upsert.write(
            record(op=0, key="b", n=2),
            record(op=0, key="c", n=4),
            record(op=0, key="c", n=5),
            record(op=1, key="a", n=99),
            record(op=1, key="z", n=1),
            record(op=0, key="d", n=6),
        )
        assert found == [("-R", 1, "a", 1), ("-C", 1, "c", 3), ("+C", 2, "c", 5), ("+A", 2, "d", 6)]

    def test_what_comes_and_goes_in_one_input_leaves_nothing(self, upsert: Scenario) -> None:
        assert upsert.write(record(op=0, key="a", n=1), record(op=1, key="a", n=1)) == []

    def test_keys_that_do_not_come_stay(self, upsert: Scenario) -> None:
        upsert.write(record(op=0, key="a", n=1), record(op=0, key="b", n=1))
        assert upsert.write(record(op=0, key="a", n=1)) == []

    def test_rows_without_operation_do_nothing(self, upsert: Scenario) -> None:
        assert upsert.write(record(op=None, key="a", n=1)) == []

    def test_the_column_op_may_be_missing(self, tmp_path: Path) -> None:
        scenario = Scenario(tmp_path, MergeStrategyUpsertStream(("key",)), ("key STRING", "n BIGINT"))
        scenario.write(record(key="a", n=1))
        assert scenario.write(record(key="a", n=2)) == [("-C", 1, "a", 1), ("+C", 2, "a", 2)]

    def test_null_keys_are_one_key(self, upsert: Scenario) -> None:
        upsert.write(record(op=0, key=None, n=1))
        assert upsert.write(record(op=0, key=None, n=2)) == [("-C", 1, None, 1), ("+C", 2, None, 2)]
