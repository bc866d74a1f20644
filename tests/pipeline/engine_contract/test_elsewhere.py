"""Which engines run elsewhere, and where."""

from __future__ import annotations

import pytest

from opendatafabric.errors import MalformedInput
from opendatafabric.metadata.transform import TransformSql
from pipeline.engine_contract.elsewhere import (
    EngineAddress,
    EngineImage,
    EnginePlace,
    EnginesElsewhere,
    parse_engine_place,
)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1:2884", EngineAddress("127.0.0.1:2884")),
        ("grpc://engine.example.org:5544", EngineAddress("engine.example.org:5544")),
        ("grpc://[::1]:5544", EngineAddress("[::1]:5544")),
        ("engine", EngineImage("engine")),
        ("engine:latest", EngineImage("engine:latest")),
        ("localhost:5000/engine:1", EngineImage("localhost:5000/engine:1")),
        ("example.org/engine@sha256:11", EngineImage("example.org/engine@sha256:11")),
    ],
)
def test_a_place_is_an_address_or_an_image(text: str, place: EnginePlace) -> None:
    assert parse_engine_place(text) == place


@pytest.mark.parametrize("text", ["", ":2884", "grpc://", "grpc://host", "http://host:1", "--privileged", "a b", "a\n"])
def test_what_is_neither_is_refused(text: str) -> None:
    with pytest.raises(MalformedInput):
        parse_engine_place(text)


def test_a_version_may_have_a_place_of_its_own() -> None:
    old, new = EngineImage("old"), EngineImage("new")
    elsewhere = EnginesElsewhere({"flink@1.9": old, "flink": new})
    assert elsewhere.place_of(TransformSql("Flink", "1.9")) == old
    assert elsewhere.place_of(TransformSql("flink", "1.20")) == new
    assert elsewhere.place_of(TransformSql("flink")) == new
    assert elsewhere.place_of(TransformSql("spark")) is None
