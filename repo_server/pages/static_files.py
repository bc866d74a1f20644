"""The files that pages load: one style, small scripts. Their names hold a hash, so that browsers keep them for ever."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent.parent / "static"
_HASH_CHARS: Final = 12
PREFIX: Final = "/static"


@dataclass(frozen=True, slots=True)
class StaticFile:
    """One file as it is sent; ``name`` is what it is asked for by."""

    name: str
    content: bytes
    content_type: str


def _read(path: Path) -> StaticFile:
    content = path.read_bytes()
    name = f"{path.stem}.{hashlib.sha256(content).hexdigest()[:_HASH_CHARS]}{path.suffix}"
    return StaticFile(name, content, mimetypes.types_map[path.suffix])


_BY_PLAIN_NAME: Final[Mapping[str, StaticFile]] = {path.name: _read(path) for path in sorted(_FOLDER.iterdir())}
FILES: Final[Mapping[str, StaticFile]] = {each.name: each for each in _BY_PLAIN_NAME.values()}


def text_of(plain_name: str) -> str:
    """What is in the file of that plain name."""
    return _BY_PLAIN_NAME[plain_name].content.decode()


STYLE: Final = text_of("app.css")


def static_path(plain_name: str) -> str:
    """Where the file of that plain name is asked for: ``app.css`` → ``/static/app.HASH.css``."""
    return f"{PREFIX}/{_BY_PLAIN_NAME[plain_name].name}"
