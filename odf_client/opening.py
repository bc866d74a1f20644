"""From what people type to a dataset."""

from __future__ import annotations

import os
from pathlib import Path

from odf_client.address import Address
from odf_client.bars import Shown
from odf_client.cache import Cache
from odf_client.dataset import Dataset
from odf_client.repository import Repository
from opendatafabric.errors import MalformedIdentifier
from storage.folders import is_dataset_folder
from storage.open import CAR_SUFFIX


def open_dataset(
    ref: str | os.PathLike[str],
    *,
    repository: str | os.PathLike[str] | None = None,
    token: str | None = None,
    cache: Cache | None = None,
    replace: bool = False,
    progress: Shown = None,
) -> Dataset:
    """The dataset at an address or in a folder; by a name or a DID, that of a ``repository``.

    Addresses are ``odf+http(s)://``, ``http(s)://HOST/ACCOUNT/NAME``, ``file://``, ``s3://`` (the extra ``s3``), or a
    path. Without a ``token`` the one is taken that ``odf login`` keeps for the server. ``replace`` takes another chain
    than the one that was there when it was last read.

    >>> open_dataset("odf+https://data.example/alice/weather")
    >>> open_dataset("did:odf:fed01…", repository="https://data.example")

    Raises:
        DatasetNotFound, AuthenticationRequired, AccessDenied, PeerUnavailable: it cannot be had.
        HashMismatch, ChainError: its chain does not hold.
        ChainsDiverged: another chain is there than before.
        MalformedIdentifier: no address, and no repository is named.
    """
    text = os.fspath(ref)
    if repository is not None:
        return Repository(repository, token=token, cache=cache).open(text, replace=replace, progress=progress)
    if "://" not in text and not is_dataset_folder(Path(text)) and not text.endswith(CAR_SUFFIX):
        raise MalformedIdentifier(
            f"{text} is neither an address nor the folder of a dataset", hint="repository=… says where a name is known"
        )
    return Dataset(Address(text, token), cache or Cache(), replace=replace, progress=progress)
