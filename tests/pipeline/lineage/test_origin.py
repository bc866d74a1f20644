"""Places of sources are told without secrets, and records by the blocks that brought them."""

from __future__ import annotations

import pytest

from opendatafabric.chain.push_sources import PushSources
from opendatafabric.chain.state import ChainState
from opendatafabric.metadata.events import AddData, SetPollingSource
from opendatafabric.metadata.slices import SourceState
from opendatafabric.metadata.sources import (
    EnvVar,
    FetchStep,
    FetchStepContainer,
    FetchStepEthereumLogs,
    FetchStepFilesGlob,
    FetchStepMqtt,
    FetchStepUrl,
    MergeStrategyAppend,
    ReadStepParquet,
    RequestHeader,
)
from pipeline.lineage.origin import place_of, sources_of
from tests.pipeline.datasets import csv_source

SECRET = "s3cret"


@pytest.mark.parametrize(
    ("fetch", "told"),
    [
        (
            FetchStepUrl(f"https://me:{SECRET}@data.example/a.csv?key={SECRET}", headers=(RequestHeader("a", SECRET),)),
            "https://data.example/a.csv",
        ),
        (FetchStepFilesGlob("/data/*.csv"), "/data/*.csv"),
        (FetchStepContainer("prices:1", env=(EnvVar("TOKEN", SECRET),), args=(SECRET,)), "container prices:1"),
        (FetchStepMqtt("broker.example", 1883, "me", SECRET, ()), "mqtt broker.example:1883"),
        (FetchStepEthereumLogs(node_url=f"wss://eth.example/v3/{SECRET}"), "logs of Ethereum at eth.example"),
        (FetchStepEthereumLogs(node_url=f"https://[{SECRET}"), "logs of Ethereum"),
        (FetchStepEthereumLogs(chain_id=1), "logs of Ethereum, chain 1"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_a_place_is_told_without_what_may_be_secret(fetch: FetchStep, told: str) -> None:
    assert place_of(fetch) == told
    polled = SetPollingSource(fetch, None, ReadStepParquet(), None, MergeStrategyAppend())
    assert sources_of(AddData(), ChainState(polling_source=polled)) == (f"polled from {told}",)


def test_of_several_push_sources_all_are_told_unless_the_block_says_which() -> None:
    both = PushSources().with_source(csv_source(name="a")).with_source(csv_source(name="b"))
    state = ChainState(push_sources=both)
    assert sorted(sources_of(AddData(), state)) == ["pushed into 'a'", "pushed into 'b'"]
    said = AddData(new_source_state=SourceState("b", "odf/etag", "1"))
    assert sources_of(said, state) == ("pushed into 'b'",)


def test_without_any_source_none_is_told() -> None:
    assert sources_of(AddData(), ChainState.empty()) == ()
