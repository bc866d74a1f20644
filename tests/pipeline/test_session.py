"""The session: what is fixed in it, what is closed, and what it says of itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed")

from pipeline.session import FIXED, FUNCTIONS_DROPPED, fingerprint, versions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def only(session: SparkSession, query: str) -> Any:
    return session.sql(query).toArrow().column(0).to_pylist()[0]


def test_every_setting_that_changes_results_is_in_force(spark: SparkSession) -> None:
    assert {name: spark.conf.get(name) for name in FIXED} == dict(FIXED)


def test_times_are_those_of_utc(spark: SparkSession) -> None:
    assert only(spark, "select cast(timestamp'2020-07-01 12:00:00' as string)") == "2020-07-01 12:00:00"
    assert (
        str(spark.sql("select timestamp'2020-07-01 12:00:00Z' t").toArrow().schema.field("t").type)
        == "timestamp[us, tz=UTC]"
    )


def test_what_does_not_fit_is_an_error_and_not_null(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        only(spark, "select cast('x' as int)")


def test_files_are_no_relations(spark: SparkSession) -> None:
    with pytest.raises(Exception, match=r"TABLE_OR_VIEW_NOT_FOUND|UNSUPPORTED"):
        spark.sql("select * from text.`/etc/hostname`")


def test_variables_in_a_query_are_text(spark: SparkSession) -> None:
    assert only(spark, "select '${env:HOME}'") == "${env:HOME}"


@pytest.mark.parametrize("name", FUNCTIONS_DROPPED)
@pytest.mark.parametrize("prefix", ["", "builtin.", "system.builtin."])
def test_functions_that_reach_outside_are_gone(spark: SparkSession, prefix: str, name: str) -> None:
    with pytest.raises(Exception, match=r"UNRESOLVED_ROUTINE|ROUTINE_NOT_FOUND|SINGLE_PART_NAMESPACE"):
        spark.sql(f"select {prefix}{name}('java.lang.System', 'lineSeparator')")


def test_the_fingerprint_names_versions_and_the_hash_of_the_settings(spark: SparkSession) -> None:
    told = fingerprint(spark).as_dict()
    assert set(versions(spark)) == {"pyspark", "java", "pyarrow"}
    assert re.fullmatch(r"pyspark 4\.\d+\.\d+", told["engine"])
    assert re.match(r"\d\d", told["java"])
    assert told["settings"].startswith("f1620")
    assert told["configuration"] == dict(FIXED)


def test_the_fingerprint_names_the_time_zones_that_java_has(spark: SparkSession) -> None:
    assert re.fullmatch(r"20\d\d[a-z]", fingerprint(spark).time_zone_data)


def test_the_hash_of_the_settings_changes_with_a_setting(spark: SparkSession) -> None:
    before = fingerprint(spark).settings_hash
    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        assert fingerprint(spark).settings_hash != before
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", FIXED["spark.sql.shuffle.partitions"])
    assert fingerprint(spark).settings_hash == before
