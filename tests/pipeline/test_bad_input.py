"""Bad input from end to end: an error that names file, line and column, and a head that has not moved."""

from __future__ import annotations

import gzip
import os
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from opendatafabric.errors import (
    ChainError,
    IncompatibleSchema,
    LimitExceeded,
    MalformedSource,
    NotFound,
    OdfError,
    UnsupportedOperation,
)
from opendatafabric.metadata.events import AddPushSource, SetPollingSource
from opendatafabric.metadata.sources import (
    CompressionFormat,
    FetchStepUrl,
    MergeStrategyAppend,
    PrepStepDecompress,
    ReadStep,
    ReadStepCsv,
    ReadStepEsriShapefile,
    ReadStepGeoJson,
    ReadStepJson,
    ReadStepNdGeoJson,
    ReadStepNdJson,
    ReadStepParquet,
)
from pipeline import unpack as unpacking
from pipeline.commit import Outcome
from pipeline.fetch import FetchOptions
from pipeline.ingest import Given, ingest
from pipeline.poll import poll
from pipeline.push_sources import push_source
from pipeline.readers import bounded_zip
from pipeline.worker_place import JobFolders
from storage.dataset import Dataset
from tests.pipeline.datasets import blocks_of, day, new_dataset
from tests.pipeline.local_engine import LocalEngine

COLUMNS = ("event_time TIMESTAMP", "city STRING NOT NULL", "n BIGINT")
CSV = ReadStepCsv(schema=COLUMNS, header=True)
GOOD = b"event_time,city,n\n2024-01-01T00:00:00Z,kyiv,1\n"
HEADER = b"event_time,city,n\n"


@dataclass(frozen=True)
class Bad:
    """What is wrong, and how it is told."""

    wrong: str
    read: ReadStep
    raw: bytes
    error: type[OdfError]
    message: str


def parquet(**columns: Any) -> bytes:
    """A file of those columns."""
    sink = BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


ND_JSON = ReadStepNdJson(schema=COLUMNS)
PARQUET = ReadStepParquet(schema=COLUMNS)
CASES = [
    Bad("a row with a column too few", CSV, GOOD + b"2024-01-01,lviv\n", MalformedSource, "line 3 has another number"),
    Bad("a row with a column too many", CSV, GOOD + b"2024-01-01,a,1,2\n", MalformedSource, "line 3 has another"),
    Bad("a wrong type", CSV, HEADER + b"2024-01-01,kyiv,many\n", MalformedSource, "line 2: column 'n' does not fit"),
    Bad("a number too large", CSV, HEADER + b",kyiv,9223372036854775808\n", MalformedSource, "line 2: column 'n'"),
    Bad("a time that is none", CSV, HEADER + b"soon,kyiv,1\n", MalformedSource, "line 2: column 'event_time'"),
    Bad("a null where none may be", CSV, GOOD + b"2024-01-01,,1\n", MalformedSource, "line 3: column 'city' is empty"),
    Bad(
        "a bad encoding", CSV, GOOD + b"2024-01-01,\xff,1\n", MalformedSource, "line 3, byte 12: the text is not UTF-8"
    ),
    Bad("another encoding", CSV, GOOD.decode().encode("utf-16"), MalformedSource, "the text is not UTF-8"),
    Bad("a quote that never ends", CSV, HEADER + b'2024-01-01,"kyiv,1\n', MalformedSource, "line 2|no CSV"),
    Bad("no text at all", CSV, bytes(range(256)), MalformedSource, "not UTF-8"),
    Bad("a line that is no JSON", ND_JSON, b'{"city": "a"}\n{"city":\n', MalformedSource, "line 2, column"),
    Bad("a line that is no object", ND_JSON, b'{"city": "a"}\n7\n', MalformedSource, "line 2 is no JSON object"),
    Bad("a wrong member", ND_JSON, b'{"city": "a", "n": "x"}\n', MalformedSource, "line 1: column 'n' does not fit"),
    Bad("a missing member", ND_JSON, b'{"city": "a"}\n{"n": 1}\n', MalformedSource, "line 2: column 'city' is empty"),
    Bad("bad UTF-8 in JSON", ND_JSON, b'{"city": "a"}\n{"city": "\xc3"}\n', MalformedSource, "line 2, byte 11"),
    Bad("a document cut off", ReadStepJson(), b'[{"city": "a"}, {', MalformedSource, "line 1, column 18"),
    Bad("no array", ReadStepJson(sub_path="rows"), b'{"rows": 1}', MalformedSource, "no array at 'rows'"),
    Bad("no collection", ReadStepGeoJson(), b'{"type": "Point"}', MalformedSource, "no FeatureCollection"),
    Bad("no feature", ReadStepNdGeoJson(), b"\n{}\n", MalformedSource, "line 2 is no GeoJSON Feature"),
    Bad("no archive", ReadStepEsriShapefile(), b"PK but not really", MalformedSource, "no zip archive"),
    Bad("no Parquet", PARQUET, b"PAR1 but not really", MalformedSource, "no readable Parquet"),
    Bad("a missing column", PARQUET, parquet(city=["a"], n=[1]), MalformedSource, "'event_time' is not in the file"),
    Bad("a system column", ReadStepCsv(schema=("offset INT",)), b"1\n", IncompatibleSchema, "column 'offset'"),
    Bad("an operation", ReadStepCsv(schema=("op INT",)), b"1\n", IncompatibleSchema, "column 'op'"),
    Bad("no time as event time", ReadStepCsv(schema=("event_time INT",)), b"1\n", IncompatibleSchema, "is no time"),
    Bad("an option", ReadStepCsv(schema=COLUMNS, encoding="latin1"), GOOD, UnsupportedOperation, "'latin1'"),
]


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    """Without Spark: none of it is needed here."""
    return LocalEngine(tmp_path / "engine")


async def push(dataset: Dataset, engine: Any, file: Path, *, source: str = "default", on: int = 2) -> Outcome:
    """Ingest the file under its name."""
    return await ingest(
        dataset,
        engine,
        Given(file, name=file.name),
        choose=lambda position: push_source(position.state, source),
        system_time=day(on),
    )


def source_of(read: ReadStep, name: str = "default") -> AddPushSource:
    """A push source that appends."""
    return AddPushSource(name, read, None, MergeStrategyAppend())


def written(folder: Path, raw: bytes) -> Path:
    """A file of those bytes."""
    file = folder / "rows.txt"
    file.write_bytes(raw)
    return file


async def head_stays(dataset: Dataset, attempt: Callable[[], Awaitable[object]], error: type[OdfError]) -> OdfError:
    """The error of the attempt, after which the dataset is what it was: head and blocks."""
    head, blocks = await dataset.head(), len(await blocks_of(dataset))
    with pytest.raises(error) as raised:
        await attempt()
    assert (await dataset.head(), len(await blocks_of(dataset))) == (head, blocks)
    return raised.value


@pytest.mark.parametrize("bad", CASES, ids=lambda bad: bad.wrong)
async def test_what_is_wrong_is_told_and_the_head_stays(tmp_path: Path, engine: LocalEngine, bad: Bad) -> None:
    dataset = await new_dataset(source_of(bad.read))
    file = written(tmp_path, bad.raw)
    error = await head_stays(dataset, lambda: push(dataset, engine, file), bad.error)
    with pytest.raises(bad.error, match=bad.message):
        raise error
    if not isinstance(error, UnsupportedOperation):
        assert error.message.startswith("rows.txt: ")


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("event_time TIMESTAMP", "city STRING"), "other columns than the dataset"),
        (("event_time TIMESTAMP", "n BIGINT", "city STRING"), "other columns than the dataset"),
        (("event_time TIMESTAMP", "city STRING", "n STRING"), "column 'n' has another type"),
        (("event_time DATE", "city STRING", "n BIGINT"), "column 'event_time' has another type"),
    ],
)
async def test_a_schema_that_changed_incompatibly_is_refused(
    tmp_path: Path, engine: LocalEngine, columns: tuple[str, ...], message: str
) -> None:
    changed = source_of(ReadStepCsv(schema=columns, header=True), "changed")
    dataset = await new_dataset(source_of(CSV), changed)
    await push(dataset, engine, written(tmp_path, GOOD))
    file = written(tmp_path, b"a\n" + b",".join([b"2024-01-01"] * len(columns)) + b"\n")
    if "BIGINT" in "".join(columns):
        file.write_bytes(b"a,b,c\n" + b",".join(b"1" if "BIGINT" in each else b"2024-01-01" for each in columns))
    error = await head_stays(dataset, lambda: push(dataset, engine, file, source="changed", on=3), IncompatibleSchema)
    assert message in error.message


async def test_a_null_in_a_column_that_the_dataset_requires_is_refused(tmp_path: Path, engine: LocalEngine) -> None:
    looser = source_of(ReadStepCsv(schema=("event_time TIMESTAMP", "city STRING", "n BIGINT")), "looser")
    dataset = await new_dataset(source_of(CSV), looser)
    await push(dataset, engine, written(tmp_path, GOOD))
    file = written(tmp_path, b"2024-01-01,,1\n")
    error = await head_stays(dataset, lambda: push(dataset, engine, file, source="looser", on=3), OdfError)
    assert "column 'city' may not be null" in error.message


async def test_a_clock_that_goes_back_is_refused(tmp_path: Path, engine: LocalEngine) -> None:
    dataset = await new_dataset(source_of(CSV))
    file = written(tmp_path, GOOD)
    await push(dataset, engine, file, on=5)
    await head_stays(dataset, lambda: push(dataset, engine, file, on=4), ChainError)


async def test_a_file_without_bytes_adds_no_rows(tmp_path: Path, engine: LocalEngine) -> None:
    dataset = await new_dataset(source_of(CSV))
    await push(dataset, engine, written(tmp_path, GOOD))
    outcome = await push(dataset, engine, written(tmp_path, b""), on=3)
    assert (outcome.changed, outcome.answer.rows.read) == (False, 0)


async def test_a_file_without_bytes_and_without_schema_is_nothing(tmp_path: Path, engine: LocalEngine) -> None:
    for read in (ReadStepCsv(), ReadStepNdJson(), ReadStepJson(), ReadStepParquet(), ReadStepEsriShapefile()):
        dataset = await new_dataset(source_of(read))
        assert not (await push(dataset, engine, written(tmp_path, b""))).changed


async def test_a_source_that_is_gone_is_told_by_name(tmp_path: Path, engine: LocalEngine) -> None:
    dataset = await new_dataset(source_of(CSV))
    error = await head_stays(dataset, lambda: push(dataset, engine, tmp_path / "gone.csv"), NotFound)
    assert "gone.csv cannot be read" in error.message


@pytest.mark.parametrize("read", [CSV, ND_JSON, ReadStepParquet()], ids=lambda read: type(read).__name__)
async def test_a_source_that_vanishes_while_it_is_read_leaves_the_head(
    tmp_path: Path, engine: LocalEngine, read: ReadStep
) -> None:
    dataset = await new_dataset(source_of(read))
    vanishing = Vanishing(engine)
    file = written(tmp_path, GOOD)
    head = await dataset.head()
    with pytest.raises((OdfError, OSError)):
        await push(dataset, vanishing, file)
    assert await dataset.head() == head


async def test_an_archive_that_unpacks_into_too_much_leaves_the_head(
    tmp_path: Path, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "UNPACKED_BYTES_PER_BYTE_MAX", 100)
    bombs = {CompressionFormat.GZIP: gzip.compress(bytes(10_000_000)), CompressionFormat.ZIP: zipped("zeros")}
    for packing, raw in bombs.items():
        url = written(tmp_path, raw).as_uri()
        steps = (PrepStepDecompress(packing),)
        dataset = await new_dataset(SetPollingSource(FetchStepUrl(url), steps, CSV, None, MergeStrategyAppend()))

        async def polled(dataset: Dataset = dataset) -> None:
            async for _ in poll(dataset, engine, clock=lambda: day(2), options=FetchOptions()):
                pass

        error = await head_stays(dataset, polled, LimitExceeded)
        assert "too large" in error.message


async def test_a_shapefile_that_unpacks_into_too_much_leaves_the_head(
    tmp_path: Path, engine: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_zip, "JSON_DOCUMENT_BYTES_MAX", 1_000_000)
    dataset = await new_dataset(source_of(ReadStepEsriShapefile()))
    file = written(tmp_path, zipped("a.shp"))
    error = await head_stays(dataset, lambda: push(dataset, engine, file), LimitExceeded)
    assert "a.shp" in error.message


def zipped(name: str) -> bytes:
    """An archive of ten million zeros."""
    sink = BytesIO()
    with ZipFile(sink, "w", ZIP_DEFLATED) as archive:
        archive.writestr(name, bytes(10_000_000))
    return sink.getvalue()


class Vanishing:
    """An engine whose input is gone when the job begins."""

    def __init__(self, engine: LocalEngine) -> None:
        self._engine = engine

    def folders(self) -> AbstractContextManager[JobFolders]:
        """Those of the engine."""
        return self._engine.folders()

    async def run(self, job: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """The answer without the file."""
        os.unlink(arguments["file"])
        return await self._engine.run(job, arguments)
