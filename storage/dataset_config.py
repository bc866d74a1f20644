"""Where a dataset was pulled from and pushed to: ``info/config``, in the form kamu writes and reads.

Local to the place and never transferred. What else stands in the file is kept.
"""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Any, Final

from opendatafabric.codec.yaml_reader import Mapping, Node, Scalar, Sequence, read_documents
from opendatafabric.codec.yaml_writer import write_yaml
from opendatafabric.errors import MalformedManifest
from opendatafabric.layout import INFO, INFO_CONFIG
from storage.local import durable

_KIND: Final = "DatasetConfig"
_NAME: Final = INFO_CONFIG.partition("/")[2]
_CONFIG_BYTES_MAX: Final = 1024 * 1024


class Direction(Enum):
    """The list in which a remote stands."""

    PULL = "pullAliases"
    PUSH = "pushAliases"


def remotes_of(dataset: Path, direction: Direction) -> list[str]:
    """The remotes of the dataset folder, as they were given, oldest first.

    Raises:
        MalformedManifest: the file is there and no DatasetConfig.
    """
    found = _read(dataset).get(direction.value) or []
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise _malformed(dataset)
    return found


def remember_remote(dataset: Path, direction: Direction, remote: str) -> None:
    """Add a remote to the dataset folder unless it is known; errors as ``remotes_of``."""
    known = remotes_of(dataset, direction)
    if remote in known:
        return
    content = {**_read(dataset), direction.value: [*known, remote]}
    text = write_yaml({"kind": _KIND, "version": 1, "content": content})
    with durable.translated(f"write {INFO_CONFIG}"), durable.opened_folder(dataset, INFO, create=True) as folder:
        durable.replace_file(folder, _NAME, text.encode())


def _read(dataset: Path) -> dict[str, Any]:
    try:
        with durable.opened_folder(dataset, INFO) as folder:
            text = durable.read_file(folder, _NAME, size_max=_CONFIG_BYTES_MAX).decode()
    except OSError as error:
        if durable.is_absent(error):
            return {}
        raise durable.storage_error(error, f"read {INFO_CONFIG}") from error
    except UnicodeDecodeError:
        raise _malformed(dataset) from None
    manifests = [_plain(document) for document in read_documents(text)]
    match manifests:
        case [{"kind": "DatasetConfig", "content": dict(content)}]:
            return content
    raise _malformed(dataset)


def _plain(node: Node) -> Any:
    match node:
        case Mapping(entries=entries):
            return {str(_plain(key)): _plain(value) for key, value in entries}
        case Sequence(items=items):
            return [_plain(item) for item in items]
        case Scalar(value=value):
            return value
    raise AssertionError(node)


def _malformed(dataset: Path) -> MalformedManifest:
    return MalformedManifest(
        f"{dataset / INFO_CONFIG} is no {_KIND}", expected="kind, version, content", hint="correct or remove the file"
    )
