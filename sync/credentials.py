"""Access tokens of remote repositories, one per origin (``scheme://host[:port]``), in a file only its owner reads.

The file is ``$XDG_CONFIG_HOME/odf/tokens.json`` (``~/.config`` when the variable is not set), mode 0600. A token saved
for one origin is never sent to another.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

from opendatafabric.errors import MalformedIdentifier, StorageError
from sync.smart.connect import token_headers

_MANNER = re.compile("^(odf|kubo|pin)[+]")


def origin_of(url: str) -> str:
    """``scheme://host[:port]`` of an address, whatever stands before it (``odf+``, ``kubo+``, ``pin+``).

    Raises:
        MalformedIdentifier: no address of a server.
    """
    parts = urlsplit(_MANNER.sub("", url))
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise MalformedIdentifier(f"{url} is not the address of a server", hint="write it as http(s)://HOST[:PORT]/")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


def token_for(url: str) -> str | None:
    """The token saved for the origin of ``url``; none for an address that is no server's."""
    try:
        return _read().get(origin_of(url))
    except MalformedIdentifier:
        return None


def headers_for(url: str) -> dict[str, str]:
    """What requests to the origin of ``url`` say of the caller."""
    return token_headers(token_for(url))


def save_token(url: str, access_token: str) -> Path:
    """Keep ``access_token`` for the origin of ``url`` in place of an older one; returns the file."""
    path = token_file()
    tokens = {**_read(), origin_of(url): access_token}
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Written beside and renamed: mkstemp gives mode 0600 from the first byte on, a crash leaves the old file whole.
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".tokens-")
        with os.fdopen(descriptor, "w") as stream:
            json.dump({"version": 1, "tokens": tokens}, stream, indent=2)
        Path(temporary).replace(path)
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def token_file() -> Path:
    """Where the tokens lie."""
    configured = os.environ.get("XDG_CONFIG_HOME", "")
    base = Path(configured) if configured.startswith("/") else Path.home() / ".config"
    return base / "odf" / "tokens.json"


def _read() -> dict[str, str]:
    path = token_file()
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StorageError(f"{path} cannot be read: {error}", hint="remove the file and log in again") from error
    tokens = content.get("tokens") if isinstance(content, dict) else None
    return tokens if isinstance(tokens, dict) else {}
