"""The process of one query: takes a request from its input, walls itself in, writes the answer to its output.

What goes wrong is told as JSON on the last line of standard error, with exit code 1. Libraries are loaded before the
request comes, so that a process which waits answers at once; ``environment`` keeps them from starting threads, for the
walls can only be entered by a process that has one. Where they start some all the same, no query of others is run.
"""

from __future__ import annotations

import errno
import json
import os
import resource
import sys
from contextlib import suppress
from importlib import import_module
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import Any, BinaryIO, Final

from opendatafabric.errors import EngineUnavailable, LimitExceeded, OdfError
from pipeline.query.places import took_too_much_memory
from pipeline.query.request import QueryLimits, request_from_json
from pipeline.sandbox import enter_sandbox

_SPARE_BYTES: Final = 1024 * 1024 * 1024
"""What libraries and threads take themselves, most of it never touched."""
_LIBRARIES: Final = (
    "pipeline.query.answers",
    "pipeline.query.tables",
    "dateutil.relativedelta",
    "numpy.ma",
    "pyarrow._json",
    "pyarrow.acero",
    "pyarrow.dataset",
    "pyarrow.substrait",
)
"""Ours, and what Arrow loads late."""

_ARENA_KIB: Final = "65536"
"""What allocators set aside at a time: a gibibyte each, if nobody says so, which would be most of what is allowed."""

_STACK_BYTES: Final = 100 * 1024 * 1024
_NO_SANDBOX: Final = "this machine has no sandbox for queries of others"


def environment() -> dict[str, str]:
    """For the process: nothing of ours, and libraries without threads of their own until they are used."""
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "TZ": "UTC",
        "LC_ALL": "C.UTF-8",
        "OPENBLAS_NUM_THREADS": "1",
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
        "MIMALLOC_ARENA_RESERVE": _ARENA_KIB,
    }


class _NoPandas(MetaPathFinder):
    """Arrow would load pandas where it is installed; no answer needs it, and behind the walls that takes a second."""

    def find_spec(self, fullname: str, path: object = None, target: object = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError(fullname)


def load_libraries() -> None:
    """All that an answer may need: behind the walls nothing is found in time, for nothing compiled can be kept."""
    sys.meta_path.insert(0, _NoPandas())
    for name in _LIBRARIES:
        with suppress(ImportError):  # what is missing is told when an answer needs it
            import_module(name)


def main(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer the request that ``source`` holds, into ``sink``.

    Raises:
        InvalidQuery, LimitExceeded, MalformedData: it cannot be answered.
        EngineUnavailable: there is no DataFusion, or no sandbox where one has to be.
    """
    load_libraries()
    from pipeline.query.answers import write_answer  # noqa: PLC0415 - loaded by the process alone

    text = source.read()
    limits = _wall_in(json.loads(text))
    try:
        write_answer(request_from_json(text), sink)
        sink.flush()
    except MemoryError:
        raise took_too_much_memory() from None
    except OSError as error:
        if error.errno != errno.EFBIG:
            raise
        raise LimitExceeded(
            "the answer is too long", expected=f"at most {limits.result_bytes} bytes", hint="ask for less"
        ) from None


def _wall_in(message: dict[str, Any]) -> QueryLimits:
    limits = QueryLimits(**message["limits"])
    folders = [Path(table["folder"]) for table in message["tables"]]
    files = [file.resolve() for folder in folders for file in folder.iterdir()]
    code = [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).parents[2]]
    if not enter_sandbox(readable=[*code, *folders, *files], writable=[]) and limits.foreign:
        raise EngineUnavailable(_NO_SANDBOX, hint="allow user namespaces and Landlock")
    _deepen_the_stack()
    _at_most(resource.RLIMIT_DATA, limits.memory_bytes + _SPARE_BYTES)
    if limits.result_bytes is not None:
        _at_most(resource.RLIMIT_FSIZE, limits.result_bytes)
    return limits


def _deepen_the_stack() -> None:
    """Queries that are long rather than hostile are walked by recursion too; the kernel leaves this room."""
    soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
    room = _STACK_BYTES if hard == resource.RLIM_INFINITY else min(hard, _STACK_BYTES)
    if soft != resource.RLIM_INFINITY and soft < room:
        resource.setrlimit(resource.RLIMIT_STACK, (room, hard))


def _at_most(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, hard if hard == resource.RLIM_INFINITY else min(hard, most)))


def answer_standard_input() -> int:
    """``main`` between standard input and output; the exit code."""
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    try:
        main(os.fdopen(os.dup(0), "rb"), sink)
    except BrokenPipeError:
        return 1  # whoever asked has gone
    except OdfError as error:
        told = error
    except Exception as error:
        told = OdfError(f"the query failed: {type(error).__name__}: {error}"[:1_000])
    else:
        return 0
    sys.stderr.write(json.dumps(told.as_dict()) + "\n")
    sys.stderr.flush()
    return 1


if __name__ == "__main__":
    # Threads of the engine do not outlive the interpreter well.
    os._exit(answer_standard_input())
