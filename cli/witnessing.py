"""Looking at one dataset in several places, and remembering what each showed.

What was seen is kept in ``witness.json`` beside the tokens of the user (``credentials``), by place, without the
passwords and queries of addresses.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import orjson

from cli.datasets import connected, locate
from opendatafabric.errors import MalformedIdentifier, StorageError
from opendatafabric.multihash import Multihash
from sync.credentials import token_file
from verify.witness import ALARMS, Look, Seen, Shown, witness


async def look(ref: str, others: Sequence[str], repository: str, *, accept: bool) -> list[Shown]:
    """What the places show. Remembered from now on is what gave no alarm, or with ``accept`` everything.

    Raises:
        MalformedIdentifier, DatasetNotFound, NotARepository: ``ref`` or an address is none.
    """
    async with AsyncExitStack() as stack:
        places = {}
        for text in (ref, *others):
            located = await locate(text, repository)
            places[_name(located.location)] = await stack.enter_async_context(connected(located))
        known = _read()
        shown = await witness(places, _seen(known, places))
    _write({**known, **{each.place: _plain(each.seen) for each in shown if each.seen and _counts(each, accept)}})
    return shown


def _counts(shown: Shown, accept: bool) -> bool:
    return accept or (shown.look not in ALARMS and shown.look is not Look.UNREACHABLE)


def memory_file() -> Path:
    """Where it is remembered."""
    return token_file().with_name("witness.json")


def _name(location: str) -> str:
    if "://" not in location:
        return location
    parts = urlsplit(location)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


def _plain(seen: Seen) -> dict[str, Any]:
    return {"head": str(seen.head), "sequenceNumber": seen.sequence_number}


def _seen(known: Mapping[str, Any], places: Mapping[str, object]) -> dict[str, Seen]:
    return {
        place: Seen(Multihash.from_text(known[place]["head"]), int(known[place]["sequenceNumber"]))
        for place in places
        if place in known
    }


def _read() -> dict[str, Any]:
    try:
        told = orjson.loads(memory_file().read_bytes())
        _seen(told, told)
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, MalformedIdentifier) as error:
        hint = "remove the file to begin anew"
        raise StorageError(f"{memory_file()} cannot be read: {type(error).__name__}", hint=hint) from error
    return dict(told)


def _write(known: Mapping[str, Any]) -> None:
    path = memory_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".witness-")
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(orjson.dumps(dict(known), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS))
        Path(temporary).replace(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
