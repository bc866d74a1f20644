"""A secret of 32 bytes in a file that only its owner may read, made when it is first needed.

Written whole under another name first: of several processes that begin at once, one wins and all read the same. The
secret is in no message.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from opendatafabric.errors import AccessDenied, MalformedInput
from storage.local import durable

SECRET_BYTES: Final = 32
_OWNER_ONLY: Final = 0o600


def read_or_make_secret(path: Path) -> bytes:
    """The secret in ``path``; made when there is no such file.

    Raises:
        AccessDenied: others than the owner may read it.
        MalformedInput: it holds something else.
        StorageError: it cannot be read or made.
    """
    with durable.translated(f"read {path}"):
        if not path.exists():
            _make(path)
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise AccessDenied(f"others may read the key file {path}", hint=f"chmod 600 {path}")
        text = path.read_text(encoding="ascii", errors="replace").strip()
    try:
        secret = bytes.fromhex(text)
    except ValueError:
        secret = b""
    if len(secret) != SECRET_BYTES:
        raise MalformedInput(f"{path} holds no key", expected=f"{2 * SECRET_BYTES} hex digits")
    return secret


def replace_secret(path: Path, secret: bytes) -> None:
    """Let ``path`` hold that secret from now on, whole or not at all.

    Raises:
        StorageError: it cannot be written; the old one stays.
    """
    with durable.translated(f"write {path}"):
        hidden = _hidden(path, secret)
        try:
            hidden.replace(path)
        except OSError:
            hidden.unlink()
            raise


def _make(path: Path) -> None:
    hidden = _hidden(path, secrets.token_bytes(SECRET_BYTES))
    try:
        if not path.exists():
            os.link(hidden, path)
    except FileExistsError:
        pass
    finally:
        hidden.unlink()


def _hidden(path: Path, secret: bytes) -> Path:
    hidden = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    descriptor = os.open(hidden, os.O_CREAT | os.O_EXCL | os.O_WRONLY, _OWNER_ONLY)
    with os.fdopen(descriptor, "wb") as file:
        file.write(secret.hex().encode() + b"\n")
        file.flush()
        os.fsync(file.fileno())
    return hidden
