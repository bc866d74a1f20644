"""Parameters of paths by their names: what they are called is what they are, on every route."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from repo_server.error_table import ERROR_TYPES
from verify.report_record import SCHEMA_NAME

_NAME: Final = r"^[A-Za-z0-9]+(-[A-Za-z0-9]+)*(\.[A-Za-z0-9]+(-[A-Za-z0-9]+)*)*$"
_HASH: Final = {"type": "string", "pattern": "^f1620[0-9a-f]{64}$"}


@dataclass(frozen=True, slots=True)
class PathParameter:
    """``example`` is what examples on the page have there."""

    says: str
    schema: Mapping[str, Any]
    example: str


PATH_PARAMETERS: Final[Mapping[str, PathParameter]] = {
    "member": PathParameter("the account of the member", {"type": "string", "pattern": _NAME}, "bob"),
    "holder": PathParameter(
        "an account, or `team:` and the name of a team of the account that the dataset is of",
        {"type": "string", "pattern": _NAME.replace("^", "^(team:)?")},
        "bob",
    ),
    "token_id": PathParameter("the id of a token", {"type": "string"}, "8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11"),
    "account": PathParameter("the account that the dataset lies under", {"type": "string", "pattern": _NAME}, "alice"),
    "name": PathParameter("the name of the dataset", {"type": "string", "pattern": _NAME}, "weather"),
    "did": PathParameter(
        "the id of a dataset",
        {"type": "string", "pattern": "^did:odf:fed01[0-9a-f]{64}$"},
        "did:odf:fed01063757be6c3ed4b0ba984ee63bcc461a141cac351a4999dcf70c2e98909000bb",
    ),
    "hash": PathParameter(
        "a multihash; base16 is written, base58btc and base64url are read too",
        _HASH,
        "f1620042bed65edc88382107ac3a8a256199ccb13b8d304f5de858973a2e0ba6474da",
    ),
    "ref": PathParameter("`head`, or `staging` behind a gate", {"type": "string"}, "head"),
    "kind": PathParameter("the kind of object", {"enum": ["data", "checkpoints"]}, "data"),
    "upload": PathParameter("the upload, as its `Location` calls it", {"type": "string"}, "0"),
    "run": PathParameter("the number of a run", {"type": "integer", "minimum": 1}, "1"),
    "token": PathParameter("the upload token that `prepare` gave", {"type": "string"}, "e30="),
    "code": PathParameter("the code of an error", {"enum": sorted(ERROR_TYPES)}, "ref-conflict"),
    "schema": PathParameter("the file of a schema", {"enum": [SCHEMA_NAME]}, SCHEMA_NAME),
    "webhook": PathParameter("the id of a webhook", {"type": "string"}, "8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11"),
    "delivery": PathParameter("the number of a delivery", {"type": "string"}, "1"),
    "publisher": PathParameter("the id of a publisher", {"type": "string"}, "8c5e3a52-7c1e-4a53-a8a4-0c6f3b0e9d11"),
    "cid": PathParameter("a CID of IPFS", {"type": "string"}, "bafkqaaa"),
    "path": PathParameter("a path below a folder", {"type": "string"}, "refs/head"),
}
EXAMPLE_BLOCK: Final = "f16206ff9214aa3b0353d5ab65cb66ad62ba6ace3d7e39036ceae24b575123be9807a"
"""The hash of a block, where examples have that of an object otherwise."""

_UNKNOWN: Final = PathParameter("", {"type": "string"}, "x")


def path_parameter(name: str) -> PathParameter:
    """What the parameter ``name`` of a path is."""
    return PATH_PARAMETERS.get(name, _UNKNOWN)
