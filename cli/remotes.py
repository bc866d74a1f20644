"""The remotes of a dataset: remembered after a transfer, so that the next one needs no address."""

from __future__ import annotations

from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from cli.datasets import absolute_path, is_address, is_archive, is_dataset_folder
from cli.output import print_note
from opendatafabric.dataset_ref import DatasetRef, parse_dataset_ref
from opendatafabric.errors import MalformedIdentifier, MalformedInput, RefNotFound, StorageError
from storage.dataset_config import Direction, remember_remote, remotes_of

_HINTS: Final = {
    Direction.PULL: "pull it once by its address: odf pull URL --as NAME",
    Direction.PUSH: "say where it goes: --to URL",
}


def local_ref(text: str) -> DatasetRef | None:
    """The dataset of the repository that ``text`` names; ``None`` for an address or a folder."""
    if is_address(text) or is_dataset_folder(text) or is_archive(text):
        return None
    try:
        return parse_dataset_ref(text)
    except MalformedIdentifier:
        return None


def remembered(name: str, folder: Path | None, direction: Direction) -> str:
    """The one remote of the dataset, which is remembered in its ``folder`` if it has one.

    Raises:
        RefNotFound: there is none, or there are several.
    """
    known = () if folder is None else remotes_of(folder, direction)
    if len(known) == 1:
        return known[0]
    verb = direction.name.lower()
    if not known:
        raise RefNotFound(f"{name} was never {verb}ed here, so its remote is not known", hint=_HINTS[direction])
    raise RefNotFound(f"{name} has several remotes to {verb}: {', '.join(known)}", hint="give one of them")


def remember(folder: Path | None, direction: Direction, remote: str) -> None:
    """Keep ``remote`` for the next time, where there is a folder, unless there is a password in it."""
    text = remote if is_address(remote) else Path(absolute_path(remote)).as_uri()
    if folder is None or "@" in urlsplit(text).netloc:
        return
    try:
        remember_remote(folder, direction, text)
    except (StorageError, MalformedInput) as error:  # the transfer itself succeeded
        print_note(f"odf: the remote is not remembered: {error.message}")
