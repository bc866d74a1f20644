"""Records become files piece by piece: how many there are is not seen in the memory that it takes."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.data.slice_format import system_fields
from opendatafabric.metadata.slices import DataSlice, OffsetInterval
from opendatafabric.multihash import HashCodec, Multihash, physical_hash
from pipeline.query.answer_form import AnswerForm, FileKind
from pipeline.query.child import environment
from pipeline.query.request import QueryRequest, QueryTable, RecordsWanted
from storage.records.moment import records_said_by

pytestmark = pytest.mark.slow
MIB = 1024 * 1024
ROWS = 100_000
SCHEMA = pa.schema([*system_fields(), ("text", pa.string()), ("share", pa.float64())])
ANSWERS = """
import sys
from pathlib import Path
from pipeline.query.child import load_libraries, request_from_json
load_libraries()
from pipeline.query.answers import write_answer
with open(sys.argv[2], "wb") as sink:
    write_answer(request_from_json(Path(sys.argv[1]).read_text()), sink)
(peak,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")]
print(int(peak) * 1024)
"""


def with_slices(folder: Path, slices: int) -> QueryRequest:
    """All records of so many slices."""
    folder.mkdir()
    found = []
    for number in range(slices):
        offsets = np.arange(number * ROWS, (number + 1) * ROWS)
        times = pa.array(np.full(ROWS, 1_704_067_200_000)).cast(SCHEMA.field(2).type)
        texts = np.char.add("some text of some length ", offsets.astype(str))
        columns = [offsets, np.zeros(ROWS, np.int32), times, times, texts, offsets / 7]
        arrays = [pa.array(each).cast(field.type) for each, field in zip(columns, SCHEMA, strict=True)]
        pq.write_table(pa.table(arrays, SCHEMA), folder / f"{number:09}", row_group_size=ROWS // 2)
        name = physical_hash(str(number).encode())
        interval = OffsetInterval(int(offsets[0]), int(offsets[-1]))
        found.append(DataSlice(Multihash(HashCodec.ARROW0_SHA3_256, name.digest), name, interval, 1))
    known = replace(records_said_by({}, found, None), schema=SCHEMA)
    return QueryRequest("", (QueryTable("", folder, known),), wanted=RecordsWanted(0, slices * ROWS))


def peak_of(request: QueryRequest, folder: Path) -> int:
    """The most bytes of memory that the process held while it answered."""
    (folder / "request").write_text(request.to_json())
    command = [sys.executable, "-P", "-c", ANSWERS, str(folder / "request"), str(folder / "answer")]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.parametrize("shape", [FileKind.CSV, FileKind.ARROW, FileKind.PARQUET], ids=lambda shape: shape.value)
def test_four_times_the_records_take_no_more_memory(tmp_path: Path, shape: FileKind) -> None:
    peaks = []
    for slices in (2, 8):
        asked = with_slices(tmp_path / f"slices-{slices}", slices)
        peaks.append(peak_of(QueryRequest("", asked.tables, form=AnswerForm(shape), wanted=asked.wanted), tmp_path))
    assert peaks[1] - peaks[0] < 25 * MIB, peaks
