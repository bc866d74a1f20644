"""A request goes to the engine as a message, and comes out as it went in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from opendatafabric.data.vocabulary import DatasetVocabulary
from opendatafabric.metadata.events import SetDataSchema
from opendatafabric.metadata.slices import OffsetInterval
from pipeline.transform.input_block import InputBlock
from pipeline.transform.request import GivenInput, Memory, TransformRequest
from tests.pipeline.datasets import day
from tests.pipeline.transform.derived import query_over

SCHEMA = SetDataSchema(raw_arrow_schema=b"any")
MEMORIES = [None, Memory(Path("/out/checkpoint")), Memory(Path("/out/c"), Path("/in/c"), day(1), day(2))]


@pytest.mark.parametrize("memory", MEMORIES)
def test_nothing_is_lost_in_a_message(memory: Memory | None) -> None:
    blocks = (InputBlock(None, None, day(1)), InputBlock(3, day(1), day(2)))
    given = GivenInput("a", SCHEMA, DatasetVocabulary(), (Path("/in/slice"),), OffsetInterval(0, 3), blocks)
    request = TransformRequest(
        query_over("select 1", "a"), (given,), Path("/out/slice"), day(3), DatasetVocabulary(), SCHEMA, 4, memory
    )
    assert TransformRequest.from_message(json.loads(json.dumps(request.to_message()))) == request
