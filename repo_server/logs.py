"""The log: one JSON object a line on stderr, with everything that could be a secret blotted out."""

from __future__ import annotations

import logging
import re
import sys
from datetime import UTC, datetime
from typing import Any, Final

import orjson

REQUESTS: Final = logging.getLogger("odf.requests")
SERVER: Final = logging.getLogger("odf.server")

_SECRETS: Final = re.compile(
    r"ka_[0-9a-z]{8,}"
    r"|eyJ[\w-]+\.[\w-]+\.[\w-]*"
    r"|(?<=bearer )(?!token header)[^\s'\",]+"
    r"|(?<=bearer%20)[^\s'\",]+"
    r"|(?<=\"password\":)\s*\"(?:[^\"\\]|\\.)*\""
    r"|(?<=://)[^/\s:@]*:[^/\s@]*(?=@)",
    re.IGNORECASE,
)
_BLOT: Final = "[redacted]"
_FIELDS: Final = "fields"


def redacted(text: str) -> str:
    """``text`` without access tokens, passwords and credentials in URLs."""
    return _SECRETS.sub(_BLOT, text)


class JsonLines(logging.Formatter):
    """One record as one line; what a call passes as ``extra={"fields": {…}}`` stands beside the message."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": redacted(record.getMessage()),
        }
        for name, value in getattr(record, _FIELDS, {}).items():
            line[name] = redacted(value) if isinstance(value, str) else value
        if record.exc_info:
            line["exception"] = redacted(self.formatException(record.exc_info))
        return orjson.dumps(line, default=str).decode()


def start_logging(level: str) -> None:
    """Send everything that this process logs to stderr as JSON lines."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("aiohttp.access", "alembic", "aiosqlite", "asyncio"):
        logging.getLogger(name).setLevel("WARNING")
