"""What an engine remembers of the watermarks of its inputs."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opendatafabric.did import DatasetId
from opendatafabric.errors import LimitExceeded, MalformedData, OdfError
from opendatafabric.instant import Instant
from opendatafabric.limits import ENGINE_CHECKPOINT_BYTES_MAX
from pipeline.engine_contract.checkpoint import advanced, read_checkpoint, slowest, write_checkpoint
from tests.pipeline.datasets import day
from tests.pipeline.engine_contract.coordinator import Coordinator, id_of
from tests.strategies import dataset_ids, edited

moments = st.integers(1, 28).map(day)
watermarks = st.dictionaries(dataset_ids, moments, max_size=3)


@pytest.fixture
def files(tmp_path: Path) -> Coordinator:
    return Coordinator(tmp_path)


@given(watermarks)
def test_watermarks_come_back(given_marks: Mapping[DatasetId, Instant]) -> None:
    assert read_checkpoint(write_checkpoint(given_marks)) == given_marks


def test_the_same_watermarks_give_the_same_bytes() -> None:
    one, other = id_of("one"), id_of("other")
    assert write_checkpoint({one: day(1), other: day(2)}) == write_checkpoint({other: day(2), one: day(1)})


def test_a_file_for_each_input_holds_its_watermark_as_text() -> None:
    with tarfile.open(fileobj=io.BytesIO(write_checkpoint({id_of("one"): day(1)}))) as archive:
        (member,) = archive
        file = archive.extractfile(member)
        assert file is not None
        assert member.name == f"{str(id_of('one')).removeprefix('did:odf:')}.watermark"
        assert file.read().decode() == f"{day(1)}\n"


@given(st.data())
def test_no_bytes_do_harm(data: st.DataObject) -> None:
    damaged = data.draw(edited(write_checkpoint({id_of("one"): day(1)})))
    try:
        read_checkpoint(damaged)
    except OdfError as error:
        assert isinstance(error, MalformedData)  # noqa: PT017 - any other way out is fine


@pytest.mark.parametrize("data", [b"no tar", b"x" * 10_240])
def test_a_checkpoint_of_another_engine_is_told(data: bytes) -> None:
    with pytest.raises(MalformedData, match="not one of this engine"):
        read_checkpoint(data)


def test_a_checkpoint_over_the_limit_is_not_read() -> None:
    with pytest.raises(LimitExceeded):
        read_checkpoint(bytes(ENGINE_CHECKPOINT_BYTES_MAX + 1))


def test_a_watermark_is_carried_and_does_not_go_back(files: Coordinator) -> None:
    before = {id_of("one"): day(5), id_of("two"): day(6)}
    inputs = [files.input(name="one", marks=(day(4), day(3))), files.input(name="two", marks=(day(7), day(8)))]
    assert advanced(before, inputs) == {id_of("one"): day(5), id_of("two"): day(8)}


def test_the_step_is_as_late_as_its_slowest_input(files: Coordinator) -> None:
    inputs = [files.input(name="one"), files.input(name="two")]
    assert slowest({id_of("one"): day(5), id_of("two"): day(6)}, inputs) == day(5)


def test_an_input_that_never_had_a_watermark_holds_the_step_back(files: Coordinator) -> None:
    assert slowest({id_of("one"): day(5)}, [files.input(name="one"), files.input(name="two")]) is None
