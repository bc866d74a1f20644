"""What a request to the gateway asks for: which form, how much of it (trustless and path gateway specifications)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from http import HTTPStatus
from typing import Final

from aiohttp import web

from opendatafabric.ipfs.walk import Scope
from repo_server.problems import Refused, message


class Form(Enum):
    """Forms of an answer; the value is how ``?format=`` names them."""

    FILE = ""
    RAW = "raw"
    CAR = "car"
    RECORD = "ipns-record"


MEDIA_TYPES: Final = {
    Form.RAW: "application/vnd.ipld.raw",
    Form.CAR: "application/vnd.ipld.car",
    Form.RECORD: "application/vnd.ipfs.ipns-record",
}
_BYTES: Final = re.compile(r"(-?\d{1,18}):(\*|-?\d{1,18})", re.ASCII)


@dataclass(frozen=True, slots=True)
class EntityBytes:
    """First and last byte of a file; negative ones count from its end, ``None`` is the end."""

    first: int
    last: int | None

    def of(self, size: int) -> tuple[int, int | None]:
        """First byte and the byte after the last, of a file of ``size`` bytes."""
        start = self.first if self.first >= 0 else max(0, size + self.first)
        if self.last is None:
            return start, None
        return start, max(0, (self.last if self.last >= 0 else size + self.last) + 1)


def form_of(request: web.Request) -> Form:
    """The form that ``?format=`` names, else the first known one in ``Accept``, else the file itself.

    Raises:
        Refused: a form that is not served.
    """
    named = request.query.get("format")
    if named is not None:
        known = {form.value: form for form in MEDIA_TYPES}
        if named not in known:
            raise _bad(f"format {named[:100]!r} is not served", HTTPStatus.NOT_ACCEPTABLE)
        return known[named]
    for part in request.headers.get("Accept", "").split(","):
        media_type, *parameters = (text.strip().lower() for text in part.split(";"))
        form = next((form for form, name in MEDIA_TYPES.items() if name == media_type), None)
        if form is Form.CAR and any(text.startswith("version=") and text != "version=1" for text in parameters):
            raise _bad("only version 1 of CAR is served", HTTPStatus.NOT_ACCEPTABLE)
        if form is not None:
            return form
    return Form.FILE


def scope_of(request: web.Request) -> Scope:
    """``dag-scope``; everything by default."""
    named = request.query.get("dag-scope", Scope.ALL.value)
    try:
        return Scope(named)
    except ValueError:
        raise _bad(f"dag-scope {named[:100]!r} is none of block, entity, all") from None


def entity_bytes_of(request: web.Request) -> EntityBytes | None:
    """``entity-bytes``, if given."""
    text = request.query.get("entity-bytes")
    if text is None:
        return None
    found = _BYTES.fullmatch(text)
    if found is None:
        raise _bad(f"entity-bytes {text[:100]!r} is not like 0:* or 10:-5")
    return EntityBytes(int(found[1]), None if found[2] == "*" else int(found[2]))


def _bad(text: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> Refused:
    return Refused(message(text, status))
