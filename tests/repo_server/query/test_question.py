"""Questions as they come, and as they are echoed."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.errors import MalformedInput
from opendatafabric.multihash import physical_hash
from opendatafabric.query_limits import QUERY_DATASETS_MAX
from pipeline.query.answer_form import JsonShape, SchemaFormat
from repo_server.query.question import (
    Include,
    NamedDataset,
    Question,
    question_from_address,
    question_from_body,
)
from tests.pipeline.datasets import day
from tests.storage.chains import dataset_id

ID, BLOCK = dataset_id(1), physical_hash(b"a block")
DATASET = {"id": str(ID), "alias": "alice/foo", "blockHash": str(BLOCK)}


def test_only_the_query_is_needed() -> None:
    assert question_from_body({"query": "select 1"}) == Question("select 1")


def test_every_field_is_read() -> None:
    body = {
        "query": "select 1",
        "queryDialect": "SqlDataFusion",
        "dataFormat": "json-aoa",
        "include": ["proof", "Schema"],
        "schemaFormat": "odfyaml",
        "datasets": [DATASET],
        "skip": 1,
        "limit": 2,
        "asAt": "2024-01-02T00:00:00Z",
        "asOf": "2024-01-03T00:00:00Z",
        "state": True,
    }
    found = question_from_body(body)
    assert found.include == {Include.PROOF, Include.SCHEMA}
    assert (found.shape, found.schema_format) == (JsonShape.AOA, SchemaFormat.ODF_YAML)
    assert found.datasets == (NamedDataset(ID, "alice/foo", BLOCK),)
    assert (found.skip, found.limit, found.as_at, found.as_of, found.state) == (1, 2, day(2), day(3), True)


def test_what_is_echoed_has_all_defaults() -> None:
    assert Question("select 1").echoed([]) == {
        "query": "select 1",
        "queryDialect": "SqlDataFusion",
        "dataFormat": "JsonAoS",
        "include": [],
        "datasets": [],
        "skip": 0,
        "limit": 100,
    }


def test_a_proof_means_the_input_and_a_format_the_schema() -> None:
    assert Question("", include=frozenset({Include.PROOF})).includes == {Include.PROOF, Include.INPUT}
    echoed = Question("", schema_format=SchemaFormat.PARQUET).echoed([NamedDataset(ID, "alice/foo", BLOCK)])
    assert echoed["include"] == ["Schema"]
    assert echoed["schemaFormat"] == "Parquet"
    assert echoed["datasets"] == [DATASET]
    assert Question("", include=frozenset({Include.SCHEMA})).echoed([])["schemaFormat"] == "ArrowJson"


@pytest.mark.parametrize("as_at", [None, day(1)])
@pytest.mark.parametrize("state", [False, True])
def test_what_is_echoed_asks_the_same(as_at: Any, state: bool) -> None:
    asked = Question("select 1", include=frozenset({Include.PROOF}), skip=3, limit=4, as_at=as_at, state=state)
    echoed = asked.echoed([NamedDataset(ID, "alice/foo", BLOCK)])
    assert question_from_body(echoed).echoed(question_from_body(echoed).datasets) == echoed


@pytest.mark.parametrize(
    "changed",
    [
        {"more": 1},
        {"query": None},
        {"query": 1},
        {"query": "x" * 100_001},
        {"limit": -1},
        {"limit": "1"},
        {"limit": True},
        {"limit": 1.5},
        {"skip": 2**63},
        {"include": ["Everything"]},
        {"include": ["PROOF"]},
        {"include": "Proof"},
        {"include": [1]},
        {"dataFormat": "Csv"},
        {"schemaFormat": None},
        {"queryDialect": "Sql"},
        {"datasets": [DATASET | {"more": "x"}]},
        {"datasets": [{"id": str(ID)}]},
        {"datasets": [DATASET | {"id": "x"}]},
        {"datasets": [DATASET | {"blockHash": "x"}]},
        {"datasets": ["x"]},
        {"datasets": [DATASET] * (QUERY_DATASETS_MAX + 1)},
        {"asAt": "yesterday"},
        {"state": 1},
    ],
)
def test_what_is_unknown_or_of_another_kind_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(MalformedInput):
        question_from_body({"query": "select 1"} | changed)


def test_a_question_without_a_query_is_none() -> None:
    with pytest.raises(MalformedInput, match="query"):
        question_from_body({})


def test_an_address_says_the_same_in_words() -> None:
    parameters = {"query": "select 1", "format": "jsonsoa", "include": "PROOF,schema", "skip": "1", "limit": "2"}
    assert question_from_address(parameters) == Question(
        "select 1", shape=JsonShape.SOA, include=frozenset({Include.PROOF, Include.SCHEMA}), skip=1, limit=2
    )
    assert question_from_address({"query": "x", "state": "true"}).state


@pytest.mark.parametrize("changed", [{"datasets": "[]"}, {"limit": "x"}, {"include": "all"}, {"foo": ""}])
def test_an_address_with_something_else_is_refused(changed: dict[str, str]) -> None:
    with pytest.raises(MalformedInput):
        question_from_address({"query": "select 1"} | changed)


@given(st.dictionaries(st.sampled_from([*Question.__slots__, "query", "limit", "datasets"]), st.text() | st.integers()))
def test_any_object_is_a_question_or_refused(body: dict[str, Any]) -> None:
    with contextlib.suppress(MalformedInput):
        assert isinstance(question_from_body(body), Question)
