"""References taken apart, with the names that the vectors give to the parts."""

from __future__ import annotations

from typing import Any

from opendatafabric.dataset_ref import (
    AmbiguousAlias,
    DatasetAlias,
    DatasetAliasRemote,
    DatasetPushTarget,
    DatasetRef,
    DatasetRefAny,
    DatasetRefRemote,
    DatasetUrl,
    RemoteDatasetId,
)
from opendatafabric.did import DatasetId
from opendatafabric.names import RepoName


def text_of(value: object) -> str | None:
    return None if value is None else str(value)


def alias_parts(alias: DatasetAlias) -> dict[str, Any]:
    return {"account": text_of(alias.account), "name": str(alias.name)}


def remote_alias_parts(alias: DatasetAliasRemote) -> dict[str, Any]:
    return {"repo": str(alias.repo), "account": text_of(alias.account), "name": str(alias.name)}


def local_parts(found: DatasetRef) -> dict[str, Any]:
    if isinstance(found, DatasetId):
        return {"variant": "ID", "id": str(found)}
    return {"variant": "Alias", **alias_parts(found)}


def any_parts(found: DatasetRefAny) -> dict[str, Any]:
    match found:
        case DatasetAlias():
            return {"variant": "LocalAlias", **alias_parts(found)}
        case AmbiguousAlias(first, name):
            return {"variant": "AmbiguousAlias", "repo_or_account": str(first), "name": str(name)}
        case DatasetAliasRemote():
            return {"variant": "RemoteAlias", **remote_alias_parts(found)}
        case _:
            return remote_parts(found)


def remote_parts(found: DatasetRefRemote | DatasetPushTarget) -> dict[str, Any]:
    match found:
        case RemoteDatasetId(repo, dataset_id):
            return {"variant": "ID", "repo": text_of(repo), "id": str(dataset_id)}
        case DatasetAliasRemote():
            return {"variant": "Alias", **remote_alias_parts(found)}
        case RepoName():
            return {"variant": "Repository", "repo": str(found)}
        case DatasetUrl(url):
            return {"variant": "Url", "url": url}
