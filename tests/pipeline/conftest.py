"""Views for tests of queries, in the session that all tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.pipeline.queries import RELATIONS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def relations(spark: SparkSession) -> None:
    """The relations of the golden queries; other modules have views of these names too."""
    for name, query in RELATIONS.items():
        spark.sql(query).createOrReplaceTempView(name)
