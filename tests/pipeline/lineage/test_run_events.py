"""Steps as run events: what the chain says and what may be seen, the same wherever it is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from opendatafabric.codec.block_codec import encode_block
from opendatafabric.metadata.block import MetadataBlock
from opendatafabric.metadata.events import ExecuteTransform, ExecuteTransformInput, SetTransform
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.metadata.transform import SqlQueryStep, TransformSql
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from pipeline.lineage.run_events import SeenDataset, Step, Teller, producer
from tests.pipeline.lineage.open_lineage import check_run_event
from tests.pipeline.transform.derived import id_of, query_over
from tests.storage.chains import instant

TELLER = Teller("https://data.example", producer("1.2.3"))
OLD, NEW = physical_hash(b"old"), physical_hash(b"new")
READ = ExecuteTransformInput(id_of("a"), OLD, NEW, prev_offset=9, new_offset=19)


def data(start: int, end: int) -> DataSlice:
    name = physical_hash(b"slice")
    return DataSlice(Multihash(HashCodec.ARROW0_SHA3_256, name.digest), name, OffsetInterval(start, end), 1_234)


def step(
    event: ExecuteTransform | None = None,
    transform: SetTransform | None = None,
    *,
    output: SeenDataset | None = None,
    a: SeenDataset | None = None,
) -> Step:
    event = event or ExecuteTransform((READ,), new_data=data(0, 4))
    block = encode_block(MetadataBlock(instant(7), OLD, 3, event))
    inputs = {} if a is None else {id_of("a"): a}
    made = transform or query_over("select 1", "a")
    return Step(id_of("mine"), block, event, made, output or SeenDataset(), inputs)


def told(given: Step) -> Any:
    event = TELLER.run_event(given)
    check_run_event(event)
    return event


def test_a_step_is_a_complete_run_of_its_query() -> None:
    event = told(step())
    assert (event["eventType"], event["eventTime"]) == ("COMPLETE", "2024-01-01T00:00:07Z")
    assert event["job"]["facets"]["sql"]["query"] == "select 1"
    assert event["producer"] == "urn:odf-repository:1.2.3"
    assert (event["job"]["namespace"], event["outputs"][0]["namespace"]) == ("did:odf", "did:odf")


def test_datasets_are_called_by_their_ids_and_versions_are_blocks() -> None:
    given = step()
    (output,), (a,) = told(given)["outputs"], told(given)["inputs"]
    assert (output["name"], a["name"]) == (id_of("mine").multibase, id_of("a").multibase)
    assert output["facets"]["version"]["datasetVersion"] == str(given.block.hash)
    assert a["facets"]["version"]["datasetVersion"] == str(NEW)


def test_what_was_read_and_written_is_counted() -> None:
    event = told(step())
    assert event["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 10
    statistics = event["outputs"][0]["outputFacets"]["outputStatistics"]
    assert (statistics["rowCount"], statistics["size"]) == (5, 1_234)


def test_a_step_that_read_and_wrote_nothing_says_so() -> None:
    nothing = ExecuteTransformInput(id_of("a"), OLD, None, prev_offset=9)
    event = told(step(ExecuteTransform((nothing,), new_watermark=instant(1))))
    (a,), (output,) = event["inputs"], event["outputs"]
    assert (a["inputFacets"]["inputStatistics"]["rowCount"], a["facets"]["version"]["datasetVersion"]) == (0, str(OLD))
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 0
    never = told(step(ExecuteTransform((ExecuteTransformInput(id_of("a")),))))
    assert "version" not in never["inputs"][0]["facets"]


def test_what_is_read_for_the_first_time_is_counted_from_its_first_record() -> None:
    first = ExecuteTransformInput(id_of("a"), None, NEW, new_offset=2)
    event = told(step(ExecuteTransform((first,), new_data=data(0, 2))))
    assert event["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 3


def test_only_the_first_records_create_the_dataset() -> None:
    assert told(step())["outputs"][0]["facets"]["lifecycleStateChange"]["lifecycleStateChange"] == "CREATE"
    later = ExecuteTransform((READ,), prev_offset=4, new_data=data(5, 9))
    for event in (later, ExecuteTransform((READ,))):
        assert "lifecycleStateChange" not in told(step(event))["outputs"][0]["facets"]


def test_of_datasets_that_may_be_seen_names_owners_and_columns_are_told() -> None:
    seen = SeenDataset("alice/a", "alice", [("city", "String"), ("population", "Int64")])
    (a,) = told(step(a=seen))["inputs"]
    assert a["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "https://data.example", "name": "alice/a", "type": "TABLE"}
    ]
    assert a["facets"]["ownership"]["owners"] == [{"name": "account:alice", "type": "OWNER"}]
    assert a["facets"]["schema"]["fields"][1] == {"name": "population", "type": "Int64"}
    (hidden,) = told(step())["inputs"]
    assert set(hidden["facets"]) == {"version"}


def test_runs_and_jobs_are_the_same_each_time_and_follow_the_query() -> None:
    one, again = told(step()), told(step(a=SeenDataset("alice/a")))
    assert (one["run"]["runId"], one["job"]["name"]) == (again["run"]["runId"], again["job"]["name"])
    other = told(step(transform=query_over("select 2", "a")))
    assert (other["run"]["runId"], other["job"]["name"] == one["job"]["name"]) == (one["run"]["runId"], False)
    later = told(step(ExecuteTransform((READ,), prev_offset=4, new_data=data(5, 9))))
    assert later["run"]["runId"] != one["run"]["runId"]


def test_several_steps_of_sql_are_told_one_after_another() -> None:
    queries = (SqlQueryStep("first", "select 1"), SqlQueryStep(None, "select * from first"))
    made = replace(query_over("", "a"), transform=TransformSql("spark", version="3.5", queries=queries))
    event = told(step(transform=made))
    assert event["job"]["facets"]["sql"]["query"] == "-- first\nselect 1;\n-- the result\nselect * from first"
    engine = event["run"]["facets"]["processing_engine"]
    assert (engine["name"], engine["version"]) == ("spark", "3.5")


@pytest.mark.parametrize("transform", [TransformSql("spark", query="select 9"), TransformSql("spark")])
def test_a_short_form_of_a_query_is_told_too(transform: TransformSql) -> None:
    event = told(step(transform=replace(query_over("", "a"), transform=transform)))
    assert event["job"]["facets"]["sql"]["query"] == (transform.query or "")


def test_a_step_without_a_transform_that_is_known_has_no_query() -> None:
    event = told(replace(step(), transform=None))
    assert event["job"]["name"] == id_of("mine").multibase
    assert "sql" not in event["job"]["facets"]
