"""Requests of a coordinator, done by our engine: its files in, a slice and a checkpoint out where it wants them.

The engine itself sees copies in its own folders only. Paths of requests lie in one folder, or are refused: whoever may
ask the service cannot read or write elsewhere through it.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from opendatafabric.codec.yaml_codec import write_event_manifest
from opendatafabric.errors import AccessDenied, Conflict, MalformedInput, NotFound, StorageError
from opendatafabric.metadata.engine_messages import (
    RawQueryRequest,
    RawQueryResponseSuccess,
    TransformRequest,
    TransformRequestInput,
    TransformResponseSuccess,
)
from opendatafabric.metadata.events import SetTransform
from opendatafabric.metadata.transform import TransformInput, TransformSql
from pipeline.engine_contract.checkpoint import Watermarks, advanced, read_checkpoint, slowest, write_checkpoint
from pipeline.ingest import Engine, folders_of
from pipeline.ingest_request import IngestAnswer
from pipeline.worker_place import JobFolders

T = TypeVar("T")
RAW_QUERY_JOB: Final = "raw-query"
TRANSFORM_JOB: Final = "contract-transform"


@dataclass(frozen=True, slots=True)
class ServedEngine:
    """``engine`` for coordinators whose files lie in ``root``.

    Both methods raise:
        InvalidQuery, IncompatibleSchema, UnsupportedOperation: the query, its result or its engine do not hold.
        AccessDenied, NotFound, Conflict: a path that is elsewhere, not there, or there already.
        MalformedInput, LimitExceeded, EngineUnavailable, EngineDied, StorageError: the rest.
    """

    engine: Engine
    root: Path

    async def raw_query(self, request: RawQueryRequest) -> RawQueryResponseSuccess:
        """A query over files; without any row there is no new one."""
        target = await _in_thread(self._new, request.output_data_path)
        if not request.input_data_paths:
            raise MalformedInput("the query has no input files", hint="an empty input is a file without rows")
        async with folders_of(self.engine) as folders:
            files = await _in_thread(self._give, request.input_data_paths, folders, "input")
            made = folders.made / "result"
            arguments = {"transform": _manifest(request.transform), "files": list(map(str, files)), "made": str(made)}
            answer = await self.engine.run(RAW_QUERY_JOB, arguments)
            await _in_thread(_hand_over, made, target)
        return RawQueryResponseSuccess(answer["records"])

    async def transform(self, request: TransformRequest) -> TransformResponseSuccess:
        """A step of a derivative; without any row there is no slice, without any watermark no checkpoint."""
        data, checkpoint = [
            await _in_thread(self._new, path) for path in (request.new_data_path, request.new_checkpoint_path)
        ]
        before = await _in_thread(self._remembered, request.prev_checkpoint_path)
        watermarks = advanced(before, request.query_inputs)
        async with folders_of(self.engine) as folders:
            arguments = await _in_thread(self._arguments, request, folders)
            answer = IngestAnswer.from_message(await self.engine.run(TRANSFORM_JOB, arguments))
            await _in_thread(_hand_over, folders.made / "slice", data)
        if watermarks:
            await _in_thread(_written, checkpoint, write_checkpoint(watermarks))
        interval = None if answer.data is None else answer.data.offset_interval
        return TransformResponseSuccess(interval, slowest(watermarks, request.query_inputs))

    def _arguments(self, request: TransformRequest, folders: JobFolders) -> dict[str, Any]:
        """As those of a step whose inputs are known by their chains, with a schema file for the schema."""
        inputs = [self._input(each, folders, str(index)) for index, each in enumerate(request.query_inputs)]
        return {
            "transform": _manifest(request.transform, request.query_inputs),
            "inputs": inputs,
            "made": str(folders.made / "slice"),
            "system_time": str(request.system_time),
            "vocabulary": asdict(request.vocab),
            "schema": None,
            "next_offset": request.next_offset,
            "memory": None,
        }

    def _input(self, given: TransformRequestInput, folders: JobFolders, name: str) -> dict[str, Any]:
        interval = given.offset_interval
        if interval is not None and not given.data_paths:
            raise MalformedInput(f"input '{given.query_alias}' has new records and no files")
        (schema,) = self._give([given.schema_file], folders, f"schema-{name}")
        return {
            "alias": given.query_alias,
            "schema_file": str(schema),
            "vocabulary": asdict(given.vocab),
            "slices": list(map(str, self._give(given.data_paths, folders, f"slice-{name}"))),
            "interval": None if interval is None else [interval.start, interval.end],
            "blocks": [],
        }

    def _remembered(self, path: str | None) -> Watermarks:
        return {} if path is None else read_checkpoint(self._existing(path).read_bytes())

    def _give(self, paths: Sequence[str], folders: JobFolders, name: str) -> list[Path]:
        return [folders.give(self._existing(path), f"{name}-{index}") for index, path in enumerate(paths)]

    def _existing(self, text: str) -> Path:
        path = self._inside(text)
        if not path.is_file():
            raise NotFound(f"there is no file {text}")
        return path

    def _new(self, text: str) -> Path:
        path = self._inside(text)
        if path.exists():
            raise Conflict(f"there is a file {text} already", hint="results go to new files")
        return path

    def _inside(self, text: str) -> Path:
        if "\0" in text or not Path(text).resolve().is_relative_to(self.root.resolve()):
            raise AccessDenied(f"{text} is outside of {self.root}", hint="odf engine serve --root names the folder")
        return Path(text).resolve()


def _manifest(transform: TransformSql, inputs: Sequence[TransformRequestInput] = ()) -> str:
    """As a block would say it."""
    named = tuple(TransformInput(each.dataset_id, each.query_alias) for each in inputs)
    return write_event_manifest(SetTransform(named, transform))


def _hand_over(made: Path, target: Path) -> None:
    """What a job has made, if it has made anything."""
    if made.exists():
        shutil.copyfile(made, target)


def _written(target: Path, content: bytes) -> None:
    target.write_bytes(content)


async def _in_thread(function: Callable[..., T], *arguments: object) -> T:
    """Files are not waited for in the loop; what the system says of them is an error of ours."""
    try:
        return await asyncio.to_thread(function, *arguments)
    except OSError as error:
        raise StorageError(f"{error.filename}: {error.strerror}") from None
